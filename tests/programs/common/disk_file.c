/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/programs/common/disk_file.h"

#define DISK_ALIGN_MAX 4096

void *disk_buffer(size_t size)
{
	void *memory = NULL;

	if (posix_memalign(&memory, DISK_ALIGN_MAX, size))
		die("posix_memalign");
	memset(memory, 'd', size);
	return memory;
}

void disk_file__create(struct disk_file *file, const char *dir, const char *name, uint64_t size,
		       int flags)
{
	const size_t chunk = 1 << 20;
	char *memory = disk_buffer(chunk);
	int fd;

	snprintf(file->path, sizeof(file->path), "%s/dwell-%d-%s", dir, getpid(), name);
	fd = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		die("%s", file->path);
	for (uint64_t done = 0; done < size; done += chunk)
		if (write(fd, memory, chunk) != (ssize_t)chunk)
			die("%s", file->path);
	if (fsync(fd))
		die("%s", file->path);
	close(fd);

	file->size = size;
	file->fd = open(file->path, O_RDWR | O_DIRECT | O_CLOEXEC | flags);
	if (file->fd < 0)
		file->fd = open(file->path, O_RDWR | O_CLOEXEC | flags);
	if (file->fd < 0)
		die("%s", file->path);
	file->block = pread(file->fd, memory, 512, 512) == 512 ? 512 : 4096;
	free(memory);
}

void disk_file__remove(struct disk_file *file)
{
	unlink(file->path);
	close(file->fd);
}
