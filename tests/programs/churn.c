/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that come and go, in all the ways by which they leave something behind in a profiler:
 *
 *   --processes N   in all
 *   --rate N        a second, at most (0: as fast as they end)
 *   --folder PATH   where files are made, and removed (.)
 *
 * Four kinds in turn: one that runs code it generated; a copy of this program under a name of its
 * own, which is removed when it has ended; one with threads, each of which writes a file with a
 * name of its own; one that waits for a futex. Each computes for about a millisecond.
 *
 * Truth: the processes that ended as expected; a line after each thousand.
 */
#include "tests/programs/common/program.h"

#include <linux/futex.h>
#include <sys/mman.h>

#define AT_ONCE 4

static uint64_t compute_loops;
static const char *folder = ".";

KEEP void compute(void)
{
	BURN(compute_loops);
	NO_TAIL_CALL();
}

/* Code that nobody knows: sub $1,%edi; jnz back; ret. */
KEEP void run_generated(void)
{
	static const unsigned char code[] = {0x83, 0xef, 0x01, 0x75, 0xfb, 0xc3};
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*generated)(unsigned int);

	if (at == MAP_FAILED)
		die("mmap");
	memcpy(at, code, sizeof(code));
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		die("mprotect");
	memcpy(&generated, &at, sizeof(generated));
	generated((unsigned int)compute_loops);
}

static void copy_self(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY | O_CREAT, 0700);
	static char buffer[65536];
	ssize_t n;

	if (from < 0 || to < 0)
		die("%s", path);
	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		if (write(to, buffer, (size_t)n) != n)
			die("%s", path);
	close(from);
	close(to);
}

static void copy_name(char *path, size_t size, uint64_t number)
{
	snprintf(path, size, "%s/churn-%" PRIu64, folder, number);
}

static void run_copy(uint64_t number)
{
	char path[4096], loops[32];
	char *const argv[] = {path, (char *)"--compute", loops, NULL};

	copy_name(path, sizeof(path), number);
	copy_self(path);
	snprintf(loops, sizeof(loops), "%" PRIu64, compute_loops);
	execv(path, argv);
	_exit(127);
}

static void *write_file(void *arg)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/churn-%d-%d", folder, getpid(), thread_id());
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	unlink(path);
	compute();
	if (fd < 0 || write(fd, arg, 1) != 1 || fsync(fd))
		die("%s", path);
	close(fd);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		threads[i] = start_thread(write_file, (void *)"x");
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void wait_for_futex(void)
{
	const struct timespec soon = {.tv_nsec = 2000000};
	uint32_t word = 1;

	compute();
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &soon, NULL, 0);
}

static pid_t begin(uint64_t number)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	if (number % 4 == 0)
		run_generated();
	else if (number % 4 == 1)
		run_copy(number);
	else if (number % 4 == 2)
		run_threads();
	else
		wait_for_futex();
	_exit(0);
}

static bool end(pid_t pid, uint64_t number)
{
	char path[4096];
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	copy_name(path, sizeof(path), number);
	if (number % 4 == 1)
		unlink(path);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	uint64_t processes = 1000, rate = 0, good = 0, start;
	pid_t pids[AT_ONCE] = {};

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--processes"))
			processes = strtoull(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--rate"))
			rate = strtoull(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--folder"))
			folder = argv[i + 1];
		else if (!strcmp(argv[i], "--compute"))
			compute_loops = strtoull(argv[i + 1], NULL, 10);
	}
	if (compute_loops) { /* a copy */
		compute();
		return 0;
	}
	compute_loops = loops_per_ms();
	start = wall_ns();
	for (uint64_t i = 0; i < processes + AT_ONCE; i++) {
		pid_t *slot = &pids[i % AT_ONCE];

		if (*slot)
			good += end(*slot, i - AT_ONCE);
		if (rate && start + i * NS_PER_S / rate > wall_ns())
			sleep_ns(start + i * NS_PER_S / rate - wall_ns());
		*slot = i < processes ? begin(i) : 0;
		if (i && i % 1000 == 0 && dprintf(STDOUT_FILENO, "%" PRIu64 "\n", i) < 0)
			die("standard output");
	}
	printf("{\"program\": \"churn\", \"pid\": %d, \"processes\": %" PRIu64 "}\n", getpid(),
	       good);
	return good == processes ? 0 : 1;
}
