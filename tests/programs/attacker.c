// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a local user does in a directory of theirs, to make a program of root open or change a file
 * outside of it; and what tells whether that worked. Run by tests/e2e/95-attacks.t:
 *
 *	attacker watch FILE...			prints what is opened or changed
 *	attacker links DIR NAME TARGET...	puts links to TARGETs where NAME is, or is to be
 *	attacker pipes DIR NAME			the same with pipes
 *	attacker swap DIR NAME TARGET		DIR/NAME is a directory and a link to TARGET in turn
 *	attacker named COMMAND [ARG...]		runs it without O_TMPFILE, as on some file systems
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STOLEN	 "stolen"
#define PAUSE_US 300 /* so that it does not take a whole CPU */

static char *const *targets;
static int n_targets; /* 0: pipes */
static unsigned int turn;

static __attribute__((noreturn)) void die(const char *what)
{
	perror(what);
	exit(1);
}

static int watch(int n, char **files)
{
	char events[4096] __attribute__((aligned(8)));
	int fd = inotify_init1(IN_CLOEXEC);
	ssize_t size;

	for (int i = 0; i < n; i++)
		if (inotify_add_watch(fd, files[i],
				      IN_OPEN | IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVE) < 0)
			die(files[i]);
	printf("watching\n");
	fflush(stdout);
	while ((size = read(fd, events, sizeof(events))) > 0) {
		for (char *at = events; at < events + size;) {
			const struct inotify_event *event = (const void *)at;

			printf("%s: event %x of '%s'\n", files[event->wd - 1], event->mask,
			       event->len ? event->name : "");
			at += sizeof(*event) + event->len;
		}
		fflush(stdout);
	}
	return 1;
}

static void plant(const char *name)
{
	const char *target = n_targets ? targets[turn++ % (unsigned int)n_targets] : NULL;
	int err;

	if (!target)
		err = mkfifo(name, 0666);
	else if (turn & 1)
		err = symlink(target, name);
	else
		err = link(target, name);
	/* Where a link to files of others is not allowed. */
	if (err && target && errno == EPERM)
		(void)!symlink(target, name);
}

/* What it planted itself, or the program that it was asked for when it replaced that. */
static bool is_own(const char *name, const struct stat *st)
{
	return !strcmp(name, STOLEN) || !S_ISREG(st->st_mode) || st->st_nlink > 1;
}

/* Takes away every file that appears, and leaves a link with its name. */
static void steal(void)
{
	DIR *all = opendir(".");
	const struct dirent *entry;
	struct stat st;

	while (all && (entry = readdir(all))) {
		if (entry->d_name[0] == '.' && strlen(entry->d_name) < 3)
			continue;
		if (lstat(entry->d_name, &st) || is_own(entry->d_name, &st))
			continue;
		if (!rename(entry->d_name, STOLEN))
			plant(entry->d_name);
	}
	if (all)
		closedir(all);
}

static __attribute__((noreturn)) void replace(const char *directory, const char *name)
{
	char partial[256], old[256];

	snprintf(partial, sizeof(partial), "%s.partial", name);
	snprintf(old, sizeof(old), "%s.old", name);
	if (chdir(directory))
		die(directory);
	for (;;) {
		unlink(name);
		plant(name);
		plant(partial);
		steal();
		plant(old);
		unlink(name);
		steal();
		unlink(old);
		usleep(PAUSE_US);
	}
}

static __attribute__((noreturn)) void swap(const char *directory, const char *name,
					   const char *target)
{
	char real[256];

	snprintf(real, sizeof(real), "%s.real", name);
	if (chdir(directory))
		die(directory);
	mkdir(name, 0777);
	for (;;) {
		if (rename(name, real) || symlink(target, name))
			die(name);
		usleep(PAUSE_US);
		if (unlink(name) || rename(real, name))
			die(name);
		usleep(PAUSE_US);
	}
}

static __attribute__((noreturn)) void run_named(char **command)
{
	/* openat(directory, name, flags): the lower half of the flags is enough. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		die("seccomp");
	execvp(command[0], command);
	die(command[0]);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	/* Not longer than the test. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!strcmp(mode, "watch"))
		return watch(argc - 2, argv + 2);
	if (!strcmp(mode, "named"))
		run_named(argv + 2);
	if (!strcmp(mode, "pipes") && argc == 4)
		replace(argv[2], argv[3]);
	if (!strcmp(mode, "links") && argc > 4) {
		targets = argv + 4;
		n_targets = argc - 4;
		replace(argv[2], argv[3]);
	}
	if (!strcmp(mode, "swap") && argc == 5)
		swap(argv[2], argv[3], argv[4]);
	fprintf(stderr, "usage: attacker watch|links|pipes|swap|named ...\n");
	return 2;
}
