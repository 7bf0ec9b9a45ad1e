// SPDX-License-Identifier: BSD-2-Clause
#include "collect/capture/task_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/error.h"

int task_walk__run(const struct bpf_program *program, event_fn on_event, void *arg)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *buffer = malloc(1 << 16);
	size_t used = 0;
	ssize_t n;

	if (!link)
		return error__errno(-errno, "cannot walk over the tasks");
	fd = bpf_iter_create(bpf_link__fd(link));
	bpf_link__destroy(link);
	if (fd < 0 || !buffer)
		return error__errno(fd < 0 ? -errno : -ENOMEM, "cannot walk over the tasks");
	while ((n = read(fd, buffer + used, (1 << 16) - used)) > 0 || (n < 0 && errno == EAGAIN)) {
		size_t at = 0;
		uint64_t size;

		used += n > 0 ? (size_t)n : 0;
		while (used - at >= sizeof(size)) {
			memcpy(&size, buffer + at, sizeof(size));
			if (size > used - at - sizeof(size))
				break;
			if (size)
				on_event(arg, (void *)(buffer + at + sizeof(size)), size);
			at += sizeof(size) + size;
		}
		used -= at;
		memmove(buffer, buffer + at, used);
	}
	return n < 0 ? error__errno(-errno, "cannot read the tasks") : 0;
}
