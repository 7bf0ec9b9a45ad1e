/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps BPF task storage busy for --seconds S: a thread on each of the first two CPUs looks up
 * the element of its own process in a map of that type, again and again. Before Linux 6.2, BPF
 * programs on the same CPU cannot look up task storage meanwhile.
 */
#include "tests/programs/common/program.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>

#define THREADS 2

static int map, process;
static double seconds = 1;

static int create_map(void)
{
	struct btf *btf = btf__new_empty();
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	int type = btf ? btf__add_int(btf, "int", 4, BTF_INT_SIGNED) : -1;

	if (type < 0 || btf__load_into_kernel(btf))
		die("btf");
	options.btf_fd = (uint32_t)btf__fd(btf);
	options.btf_key_type_id = options.btf_value_type_id = (uint32_t)type;
	return bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, "storage", 4, 4, 0, &options);
}

static void *look_up(void *cpu)
{
	uint64_t end = wall_ns() + (uint64_t)(seconds * 1e9);
	int value;

	stay_on((int)(intptr_t)cpu);
	while (wall_ns() < end)
		for (int i = 0; i < 1000; i++)
			if (bpf_map_lookup_elem(map, &process, &value))
				die("look up");
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int value = 1;

	if (argc == 3 && !strcmp(argv[1], "--seconds"))
		seconds = atof(argv[2]);
	map = create_map();
	process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (map < 0 || process < 0 || bpf_map_update_elem(map, &process, &value, BPF_ANY))
		die("task storage");
	for (intptr_t i = 0; i < THREADS; i++)
		threads[i] = start_thread(look_up, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
