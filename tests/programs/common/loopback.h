/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP connections over the loopback device. */
#pragma once

#include <netinet/in.h>

/* A listening socket on a free port; *@address becomes its address. Accept blocks. */
int loopback__listen(struct sockaddr_in *address, int backlog);

/*
 * Opens both ends of a connection, with TCP_NODELAY. To be called before the processes that use it
 * are forked, so that neither waits for the other to connect.
 */
void loopback__connect(int *client_fd, int *server_fd);
