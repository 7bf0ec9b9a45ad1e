// SPDX-License-Identifier: BSD-2-Clause
#include "arch/uprobe_offset.h"

#include <unistd.h>

#include "arch/processor.h"

struct uprobe_offset uprobe_offset__choose(const uint8_t *code, size_t n)
{
	return processor__own()->instructions->choose_uprobe(code, n);
}

struct uprobe_offset uprobe_offset__at(int fd, uint64_t offset)
{
	uint8_t code[UPROBE_CODE_BYTES];
	ssize_t n = pread(fd, code, sizeof(code), (off_t)offset);

	return uprobe_offset__choose(code, n > 0 ? (size_t)n : 0);
}
