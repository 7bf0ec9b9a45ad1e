/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machine code that is in no file: writes a loop to anonymous executable memory, names it
 * jit_loop in /tmp/perf-PID.map, and calls it from call_jit for --seconds S. The loop has no
 * unwind table. It keeps a frame pointer, like the code of most just-in-time compilers; with
 * --bare it has no frame.
 *
 * True by construction: nearly all CPU time is in jit_loop, called by call_jit. The map file
 * stays, as other programs leave theirs, unless --remove is given.
 */
#include "tests/programs/common/program.h"

#include <getopt.h>
#include <sys/mman.h>

/* Count the first argument down to zero, with a frame and without. */
#if defined(__x86_64__)
static const uint8_t framed[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0x48, 0xff, 0xcf, /* dec %rdi */
	0x75, 0xfb,	  /* jnz -5 */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
};
static const uint8_t bare[] = {
	0x48, 0xff, 0xcf, /* dec %rdi */
	0x75, 0xfb,	  /* jnz -5 */
	0xc3,		  /* ret */
};
#elif defined(__aarch64__)
static const uint32_t framed[] = {
	0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	0x910003fd, /* mov x29, sp */
	0xf1000400, /* subs x0, x0, #1 */
	0x54ffffe1, /* b.ne -4 */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
static const uint32_t bare[] = {
	0xf1000400, /* subs x0, x0, #1 */
	0x54ffffe1, /* b.ne -4 */
	0xd65f03c0, /* ret */
};
#else
#define NO_CODE 1
static const uint8_t framed[1];
static const uint8_t bare[1];
#endif

#ifndef NO_CODE
#define NO_CODE 0
#endif

static bool without_frame;

static const void *code(size_t *size)
{
	*size = without_frame ? sizeof(bare) : sizeof(framed);
	return without_frame ? (const void *)bare : (const void *)framed;
}

typedef void (*loop_function)(uint64_t);

static loop_function make_loop(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const void *source;
	size_t size;

	if (memory == MAP_FAILED)
		die("mmap");
	source = code(&size);
	memcpy(memory, source, size);
	if (mprotect(memory, 4096, PROT_READ | PROT_EXEC))
		die("mprotect");
	__builtin___clear_cache(memory, (char *)memory + size);
	return (loop_function)memory;
}

static void write_map(char *path, size_t size, loop_function loop)
{
	size_t code_size;
	FILE *map;

	code(&code_size);
	snprintf(path, size, "/tmp/perf-%d.map", getpid());
	map = fopen(path, "we");
	if (!map)
		die("%s", path);
	fprintf(map, "%lx %zx jit_loop\n", (unsigned long)loop, code_size);
	fclose(map);
}

KEEP void call_jit(loop_function loop, uint64_t turns)
{
	loop(turns);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"seconds", required_argument, NULL, 's'},
		{"bare", no_argument, NULL, 'b'},
		{"remove", no_argument, NULL, 'r'},
		{"ready", required_argument, NULL, 'R'},
		{},
	};
	uint64_t seconds = 2, begin, in_loop = 0;
	const char *ready_path = NULL;
	bool remove_map = false;
	loop_function loop;
	char path[64];
	int opt;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == 's')
			seconds = strtoull(optarg, NULL, 10);
		else if (opt == 'r')
			remove_map = true;
		else if (opt == 'b')
			without_frame = true;
		else if (opt == 'R')
			ready_path = optarg;
		else
			return 2;
	}
	if (NO_CODE)
		return 77; /* no code for this machine */

	loop = make_loop();
	write_map(path, sizeof(path), loop);
	ready(ready_path);
	begin = wall_ns();
	while (wall_ns() - begin < seconds * NS_PER_S) {
		uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		call_jit(loop, 10000000);
		in_loop += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	}
	if (remove_map)
		unlink(path);
	printf("{\"program\": \"jit\", \"pid\": %d, \"map\": \"%s\", \"jit_loop_cpu_ns\": %" PRIu64
	       ", \"cpu_ns\": %" PRIu64 "}\n",
	       getpid(), path, in_loop, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
