// SPDX-License-Identifier: BSD-2-Clause
#include "collect/probes/uprobes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "base/array.h"

/* Of include/uapi/linux/bpf.h, since Linux 6.6; libbpf before 1.3 does not know it. */
#define ATTACH_UPROBE_MULTI    48
#define UPROBE_MULTI_AT_RETURN 1U

struct multi_link_attr {
	uint32_t program;
	uint32_t target;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t semaphores;
	uint64_t cookies;
	uint32_t n;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t reserved;
};

struct uprobes {
	ARRAY(int) fds; /* multi-links */
	ARRAY(struct bpf_link *) links;
	int error; /* of the last place that was refused */
};

struct attachment {
	struct uprobes *uprobes;
	struct bpf_program *program;
	char path[32]; /* of the file */
	uint64_t *offsets;
	uint64_t *cookies;
	uint64_t *semaphores;
	bool multi;
	bool at_return;
	size_t refused;
};

void uprobes__prepare(struct bpf_program *program, const struct kernel_info *kernel)
{
	if (kernel->uprobe_multi)
		bpf_program__set_expected_attach_type(program,
						      (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
}

static int attach_multi(const struct attachment *attachment, size_t first, size_t n)
{
	struct multi_link_attr attr = {
		.program = (uint32_t)bpf_program__fd(attachment->program),
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)attachment->path,
		.offsets = (uint64_t)(uintptr_t)(attachment->offsets + first),
		.semaphores = (uint64_t)(uintptr_t)(attachment->semaphores + first),
		.cookies = (uint64_t)(uintptr_t)(attachment->cookies + first),
		.n = (uint32_t)n,
		.multi_flags = attachment->at_return ? UPROBE_MULTI_AT_RETURN : 0,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	if (fd < 0)
		return -errno;
	if (!array__push(&attachment->uprobes->fds, fd))
		return 0;
	close(fd);
	return -ENOMEM;
}

static int attach_one(const struct attachment *attachment, size_t at)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = attachment->cookies[at],
		    .ref_ctr_offset = attachment->semaphores[at],
		    .retprobe = attachment->at_return);
	struct bpf_link *link = bpf_program__attach_uprobe_opts(
		attachment->program, -1, attachment->path, attachment->offsets[at], &options);

	if (!link)
		return -errno;
	if (!array__push(&attachment->uprobes->links, link))
		return 0;
	bpf_link__destroy(link);
	return -ENOMEM;
}

/* A link with a place that the kernel refuses fails: then each half is tried. */
static void attach_range(struct attachment *attachment, size_t first, size_t n)
{
	int err = -EAGAIN;

	if (attachment->multi)
		err = attach_multi(attachment, first, n);
	else if (n == 1)
		err = attach_one(attachment, first);
	if (!err)
		return;
	if (n > 1) {
		attach_range(attachment, first, n / 2);
		attach_range(attachment, first + n / 2, n - n / 2);
		return;
	}
	attachment->refused++;
	attachment->uprobes->error = err;
}

int uprobes__attach(struct bpf_program *program, const struct kernel_info *kernel, int fd,
		    const struct uprobe_place *places, size_t n, bool at_return, size_t *refused,
		    struct uprobes **out)
{
	_cleanup_(uprobes__freep) struct uprobes *uprobes = calloc(1, sizeof(*uprobes));
	_cleanup_free_ uint64_t *offsets = calloc(n, sizeof(*offsets));
	_cleanup_free_ uint64_t *cookies = calloc(n, sizeof(*cookies));
	_cleanup_free_ uint64_t *semaphores = calloc(n, sizeof(*semaphores));
	struct attachment attachment = {.uprobes = uprobes,
					.program = program,
					.offsets = offsets,
					.cookies = cookies,
					.semaphores = semaphores,
					.multi = kernel->uprobe_multi,
					.at_return = at_return};

	*refused = 0;
	if (!uprobes || !offsets || !cookies || !semaphores)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		offsets[i] = places[i].offset;
		cookies[i] = places[i].cookie;
		semaphores[i] = places[i].semaphore;
	}
	snprintf(attachment.path, sizeof(attachment.path), "/proc/self/fd/%d", fd);
	attach_range(&attachment, 0, n);
	*refused = attachment.refused;
	if (attachment.refused == n)
		return uprobes->error;
	*out = TAKE_PTR(uprobes);
	return 0;
}

void uprobes__free(struct uprobes *uprobes)
{
	if (!uprobes)
		return;
	for (size_t i = 0; i < uprobes->fds.n; i++)
		close(uprobes->fds.data[i]);
	for (size_t i = 0; i < uprobes->links.n; i++)
		bpf_link__destroy(uprobes->links.data[i]);
	array__free(&uprobes->fds);
	array__free(&uprobes->links);
	free(uprobes);
}
