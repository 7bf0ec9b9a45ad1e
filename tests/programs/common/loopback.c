/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/programs/common/loopback.h"

#include "tests/programs/common/program.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

int loopback__listen(struct sockaddr_in *address, int backlog)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)address, size) || listen(fd, backlog) ||
	    getsockname(fd, (struct sockaddr *)address, &size))
		die("listen");
	return fd;
}

void loopback__connect(int *client_fd, int *server_fd)
{
	struct sockaddr_in address;
	int listener = loopback__listen(&address, 1);
	int one = 1;

	*client_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*client_fd < 0 || connect(*client_fd, (struct sockaddr *)&address, sizeof(address)))
		die("connect");
	*server_fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (*server_fd < 0)
		die("accept");
	setsockopt(*client_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(*server_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(listener);
}
