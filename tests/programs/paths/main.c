// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs whose paths are known: who works while the base, the main thread, waits for it.
 *
 *   paths CASE [--rounds N] [--dir DIR] [--port N]
 *
 * Every party logs when it works, in functions known by name, and when it waits for whom, by the
 * clock. The truth of a function is the time that some party worked in it while the base waited
 * for that party, or for one that waited for it, and so on; the work of the base counts as well.
 * {"on_path": {"work_a": ns, ...}, "off_path": {...}, ...}
 */
#include "tests/programs/paths/paths.h"

#include <getopt.h>
#include <sys/mman.h>

#define MAX_ENTRIES 20000
#define MAX_NUMBERS 8
#define MAX_PARTIES 8

struct entry {
	char name[24]; /* of a function; "": a wait */
	int party;
	int awaited;
	uint64_t from;
	uint64_t until; /* 0: not yet */
};

static struct shared {
	struct entry entries[MAX_ENTRIES];
	int n;
	pid_t tids[MAX_PARTIES];
	struct {
		char name[24];
		uint64_t ns;
	} numbers[MAX_NUMBERS];
} * shared;

static __thread int self = BASE;
static __thread struct entry *latest_wait;

int rounds = 20;
int port;
const char *directory = ".";

void party__become(int party)
{
	self = party;
	shared->tids[party] = thread_id();
}

void until_asleep(int party)
{
	char path[64], stat[256];

	snprintf(path, sizeof(path), "/proc/%d/stat", shared->tids[party]);
	for (;;) {
		int fd = open(path, O_RDONLY);
		ssize_t n = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
		const char *state;

		if (fd >= 0)
			close(fd);
		if (n <= 0)
			die("%s: %s", path, strerror(errno));
		stat[n] = '\0';
		state = strrchr(stat, ')');
		if (state && (state[2] == 'S' || state[2] == 'D'))
			return;
		sched_yield();
	}
}

pid_t party__fork(int party, void (*run)(void))
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	party__become(party);
	run();
	_exit(0);
}

void party__wait_for(int party, pid_t pid)
{
	wait__begin(party);
	if (waitpid(pid, NULL, 0) != pid)
		die("waitpid: %s", strerror(errno));
	wait__end();
}

static struct entry *add_entry(void)
{
	int n = __atomic_fetch_add(&shared->n, 1, __ATOMIC_RELAXED);

	if (n >= MAX_ENTRIES)
		die("too many rounds");
	return &shared->entries[n];
}

void wait__begin(int party)
{
	latest_wait = add_entry();
	*latest_wait = (struct entry){.party = self, .awaited = party, .from = wall_ns()};
}

void wait__end(void)
{
	latest_wait->until = wall_ns();
}

void wait__was_for(int party)
{
	latest_wait->awaited = party;
}

void log_work(const char *name, uint64_t since)
{
	struct entry *entry = add_entry();

	snprintf(entry->name, sizeof(entry->name), "%s", name);
	entry->party = self;
	entry->from = since;
	entry->until = wall_ns();
}

void truth__add(const char *name, uint64_t ns)
{
	int i = 0;

	while (shared->numbers[i].name[0] && strcmp(shared->numbers[i].name, name) != 0)
		i++;
	snprintf(shared->numbers[i].name, sizeof(shared->numbers[i].name), "%s", name);
	__atomic_fetch_add(&shared->numbers[i].ns, ns, __ATOMIC_RELAXED);
}

/* A macro: the function is to be on the stack by its own name. */
#define WORK(function)                                                                             \
	SEPARATE void function(uint64_t ms)                                                        \
	{                                                                                          \
		uint64_t since = wall_ns();                                                        \
                                                                                                   \
		while (wall_ns() - since < ms * NS_PER_MS)                                         \
			BURN(1000);                                                                \
		log_work(#function, since);                                                        \
		NO_TAIL_CALL();                                                                    \
	}

WORK(work_a)
WORK(work_b)
WORK(work_c)
WORK(work_d)
WORK(work_e)
WORK(other_work)

void get(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		die("read: %s", strerror(errno));
}

void put(int fd)
{
	if (write(fd, "x", 1) != 1)
		die("write: %s", strerror(errno));
}

/* The part of [@from, @until) in which the base waited for @party, over others if need be. */
static uint64_t on_path(int party, uint64_t from, uint64_t until, int depth)
{
	uint64_t ns = 0;

	if (from >= until || depth > 8)
		return 0;
	if (party == BASE)
		return until - from;
	for (int i = 0; i < shared->n; i++) {
		const struct entry *wait = &shared->entries[i];
		uint64_t end = wait->until ? wait->until : UINT64_MAX;

		if (!wait->name[0] && wait->awaited == party && wait->from < until && end > from)
			ns += on_path(wait->party, wait->from > from ? wait->from : from,
				      end < until ? end : until, depth + 1);
	}
	return ns;
}

static void print_truth(void)
{
	static const char *const kinds[] = {"on_path", "off_path"};

	printf("{");
	for (int off = 0; off < 2; off++) {
		const char *comma = "";

		printf("\"%s\": {", kinds[off]);
		for (int i = 0; i < shared->n; i++) {
			struct entry *one = &shared->entries[i];
			uint64_t ns[2] = {};
			bool first = one->name[0];

			for (int k = 0; k < i && first; k++)
				first = strcmp(one->name, shared->entries[k].name) != 0;
			for (int k = i; k < shared->n && first; k++) {
				struct entry *same = &shared->entries[k];
				uint64_t on;

				if (strcmp(one->name, same->name) != 0)
					continue;
				on = on_path(same->party, same->from, same->until, 0);
				ns[0] += on;
				ns[1] += same->until - same->from - on;
			}
			if (!first)
				continue;
			printf("%s\"%s\": %" PRIu64, comma, one->name, ns[off]);
			comma = ", ";
		}
		printf("}, ");
	}
	for (int i = 0; i < MAX_NUMBERS && shared->numbers[i].name[0]; i++)
		printf("\"%s\": %" PRIu64 ", ", shared->numbers[i].name, shared->numbers[i].ns);
	printf("\"rounds\": %d}\n", rounds);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"pass", run_pass},	    {"chain", run_chain},	    {"handoff", run_handoff},
	{"triangle", run_triangle}, {"signals", run_signals},	    {"eventfd", run_eventfd},
	{"uring", run_uring},	    {"polls", run_polls},	    {"pool", run_pool},
	{"tree", run_tree},	    {"background", run_background}, {"crowd", run_crowd},
	{"server", run_server},	    {"hosts", run_hosts},	    {"listen", run_listen},
	{"ask", run_ask},	    {"relay", run_relay},
};

int main(int argc, char **argv)
{
	static const struct option options[] = {{"rounds", required_argument, NULL, 'r'},
						{"dir", required_argument, NULL, 'd'},
						{"port", required_argument, NULL, 'p'},
						{}};
	size_t i = 0;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r')
			rounds = atoi(optarg);
		else if (option == 'p')
			port = atoi(optarg);
		else if (option == 'd')
			directory = optarg;
		else
			return 2;
	}
	while (i < sizeof(cases) / sizeof(cases[0]) &&
	       (optind >= argc || strcmp(argv[optind], cases[i].name) != 0))
		i++;
	if (i == sizeof(cases) / sizeof(cases[0]))
		die("usage: paths CASE [--rounds N] [--dir DIR]");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	prctl(PR_SET_TIMERSLACK, 1);
	/* So that writing to one who has gone is an error, not an end. */
	signal(SIGPIPE, SIG_IGN);
	party__become(BASE);
	cases[i].run();
	print_truth();
	return 0;
}
