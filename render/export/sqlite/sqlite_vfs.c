// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/sqlite/sqlite_vfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "dwell-descriptor"

/* Only one connection is made at a time. */
static int database_fd = -1;

struct file {
	sqlite3_file base; /* first, as SQLite has it */
	int fd;
	int error; /* errno of the last call that failed */
};

static int file_close(sqlite3_file *file)
{
	return SQLITE_OK;
}

/* What is behind the end reads as zeros. */
static int file_read(sqlite3_file *base, void *to, int size, sqlite3_int64 offset)
{
	struct file *file = (struct file *)base;
	int done = 0;

	while (done < size) {
		ssize_t n = pread(file->fd, (char *)to + done, (size_t)(size - done),
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			file->error = errno;
			return SQLITE_IOERR_READ;
		}
		if (!n) {
			memset((char *)to + done, 0, (size_t)(size - done));
			return SQLITE_IOERR_SHORT_READ;
		}
		done += (int)n;
	}
	return SQLITE_OK;
}

static int file_write(sqlite3_file *base, const void *from, int size, sqlite3_int64 offset)
{
	struct file *file = (struct file *)base;
	int done = 0;

	while (done < size) {
		ssize_t n = pwrite(file->fd, (const char *)from + done, (size_t)(size - done),
				   (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			file->error = errno;
			return file->error == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
		}
		done += (int)n;
	}
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
	struct file *file = (struct file *)base;

	if (!ftruncate(file->fd, (off_t)size))
		return SQLITE_OK;
	file->error = errno;
	return SQLITE_IOERR_TRUNCATE;
}

static int file_sync(sqlite3_file *file, int flags)
{
	return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
	struct file *file = (struct file *)base;
	struct stat st;

	if (fstat(file->fd, &st)) {
		file->error = errno;
		return SQLITE_IOERR_FSTAT;
	}
	*size = st.st_size;
	return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int level)
{
	return SQLITE_OK;
}

static int file_check_reserved_lock(sqlite3_file *file, int *reserved)
{
	*reserved = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
	return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *file)
{
	return 4096;
}

static int file_device(sqlite3_file *file)
{
	return 0;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_lock,
	.xCheckReservedLock = file_check_reserved_lock,
	.xFileControl = file_control,
	.xSectorSize = file_sector_size,
	.xDeviceCharacteristics = file_device,
};

static sqlite3_vfs *default_vfs(const sqlite3_vfs *vfs)
{
	return vfs->pAppData;
}

/* Files for sorting, which SQLite creates without a name of ours, are those of its default. */
static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags,
		    int *out_flags)
{
	struct file *file = (struct file *)base;

	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return default_vfs(vfs)->xOpen(default_vfs(vfs), name, base, flags, out_flags);
	*file = (struct file){.base.pMethods = &methods, .fd = database_fd};
	if (out_flags)
		*out_flags = flags;
	return SQLITE_OK;
}

/* No journal is there, and none is made. */
static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
	*result = 0;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int size, char *path)
{
	return snprintf(path, (size_t)size, "%s", name) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *to)
{
	return default_vfs(vfs)->xRandomness(default_vfs(vfs), size, to);
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
	return default_vfs(vfs)->xSleep(default_vfs(vfs), us);
}

static int vfs_time(sqlite3_vfs *vfs, double *now)
{
	return default_vfs(vfs)->xCurrentTime(default_vfs(vfs), now);
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *text)
{
	return default_vfs(vfs)->xGetLastError(default_vfs(vfs), size, text);
}

static sqlite3_vfs descriptor_vfs = {
	.iVersion = 1,
	.mxPathname = 64,
	.zName = NAME,
	.xOpen = vfs_open,
	.xDelete = vfs_delete,
	.xAccess = vfs_access,
	.xFullPathname = vfs_full_path,
	.xRandomness = vfs_randomness,
	.xSleep = vfs_sleep,
	.xCurrentTime = vfs_time,
	.xGetLastError = vfs_last_error,
};

static int register_vfs(void)
{
	sqlite3_vfs *base = sqlite3_vfs_find(NULL);

	if (!base)
		return SQLITE_ERROR;
	descriptor_vfs.pAppData = base;
	descriptor_vfs.szOsFile = base->szOsFile > (int)sizeof(struct file)
					  ? base->szOsFile
					  : (int)sizeof(struct file);
	return sqlite3_vfs_register(&descriptor_vfs, 0);
}

int sqlite_vfs__open(int fd, sqlite3 **db)
{
	int code = sqlite3_initialize();

	code = code == SQLITE_OK ? register_vfs() : code;
	if (code != SQLITE_OK)
		return code;
	database_fd = fd;
	return sqlite3_open_v2("database", db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NAME);
}

int sqlite_vfs__errno(sqlite3 *db)
{
	struct file *file = NULL;

	if (!db || sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, (void *)&file) ||
	    !file || file->base.pMethods != &methods)
		return 0;
	return file->error;
}
