// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/path/cpu_occupants.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sorted.h"

/* A run of a recorded thread. */
struct cpu_run {
	uint64_t from;
	uint64_t until;
	uint32_t thread;
	uint32_t next; /* number of the interval that ends it */
};

typedef ARRAY(struct cpu_run) cpu_runs;

struct cpu {
	cpu_runs runs; /* by from */
	size_t found;  /* the run that was found last */
	size_t first;  /* in the model's cpu_runs */
	size_t n;
	size_t found_other;
};

struct cpu_occupants {
	const struct model *model;
	struct cpu *cpus; /* by number + 1; NULL: not made yet */
	size_t n_cpus;
};

/* A time of the wait in which no recorded thread had the CPU. */
struct gap {
	uint64_t from;
	uint64_t until;
};

int cpu_occupants__new(const struct model *model, struct cpu_occupants **out)
{
	struct cpu_occupants *occupants = calloc(1, sizeof(*occupants));

	if (!occupants)
		return -ENOMEM;
	occupants->model = model;
	*out = occupants;
	return 0;
}

void cpu_occupants__free(struct cpu_occupants *occupants)
{
	if (!occupants)
		return;
	for (size_t i = 0; i < occupants->n_cpus; i++)
		array__free(&occupants->cpus[i].runs);
	free(occupants->cpus);
	free(occupants);
}

static int make_cpus(struct cpu_occupants *occupants)
{
	const struct model *model = occupants->model;
	size_t n = 1;

	for (size_t t = 1; t < model->threads.n; t++)
		for (size_t i = 0; i < model->threads.data[t].intervals.n; i++)
			if (model->threads.data[t].intervals.data[i].cpu >= n)
				n = model->threads.data[t].intervals.data[i].cpu + 1U;
	for (size_t i = 0; i < model->cpu_runs.n; i++)
		if (model->cpu_runs.data[i].cpu >= n)
			n = model->cpu_runs.data[i].cpu + 1U;
	occupants->cpus = calloc(n, sizeof(*occupants->cpus));
	if (!occupants->cpus)
		return -ENOMEM;
	occupants->n_cpus = n;
	return 0;
}

/* The runs of the thread with @index that begin on a known CPU. */
static int add_runs(struct cpu_occupants *occupants, uint32_t index)
{
	const struct model_thread *thread = &occupants->model->threads.data[index];

	for (size_t i = 1; i <= thread->intervals.n; i++) {
		const struct model_interval *before = &thread->intervals.data[i - 1];
		struct cpu_run run = {.thread = index, .next = (uint32_t)i};

		if (!before->cpu || before->flags & INTERVAL_UNFINISHED ||
		    model_thread__lost_before(thread, i))
			continue;
		run.from = before->t_out + before->blocked_ns + before->runq_ns;
		run.until = i < thread->intervals.n ? before[1].t_out : thread->ended;
		if (run.from < run.until && array__push(&occupants->cpus[before->cpu].runs, run))
			return -ENOMEM;
	}
	return 0;
}

static int compare_runs(const void *a, const void *b)
{
	const struct cpu_run *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

static int make(struct cpu_occupants *occupants)
{
	const struct model *model = occupants->model;
	int err = make_cpus(occupants);

	for (uint32_t t = 1; t < model->threads.n && !err; t++)
		err = add_runs(occupants, t);
	for (size_t i = 0; i < occupants->n_cpus && !err; i++)
		array__sort(&occupants->cpus[i].runs, compare_runs);
	for (size_t i = 0; i < model->cpu_runs.n && !err; i++) {
		struct cpu *cpu = &occupants->cpus[model->cpu_runs.data[i].cpu];

		if (!cpu->n++)
			cpu->first = i;
	}
	return err;
}

/*
 * The run of another recorded thread than @waiter at @at; NULL: there is none. Then *@gap, which
 * is within the wait, is the time without.
 */
static const struct cpu_run *run_at(struct cpu *cpu, uint32_t waiter, uint64_t at, struct gap *gap)
{
	const struct cpu_run *runs = cpu->runs.data;
	size_t n;

	cpu->found = SORTED_COUNT_UNTIL(runs, cpu->runs.n, from, at, cpu->found);
	n = cpu->found;
	if (n && runs[n - 1].until > at && runs[n - 1].thread != waiter)
		return &runs[n - 1];
	if (n && runs[n - 1].until > gap->from && runs[n - 1].until <= at)
		gap->from = runs[n - 1].until;
	if (n < cpu->runs.n && runs[n].from < gap->until)
		gap->until = runs[n].from;
	return NULL;
}

/* How much of @gap a thread that is not recorded probably had the CPU. */
static uint64_t part_of(const struct model_cpu_run *run, const struct gap *gap)
{
	uint64_t from = run->from > gap->from ? run->from : gap->from;
	uint64_t until = run->until < gap->until ? run->until : gap->until;

	if (from >= until)
		return 0;
	return (uint64_t)((__uint128_t)run->ns * (until - from) / (run->until - run->from));
}

/*
 * Who of the threads that are not recorded had the CPU at @at in @gap. Runs that were recorded
 * together may overlap: they are laid out one after the other, as they began.
 */
static void other_at(const struct cpu_occupants *occupants, struct cpu *cpu,
		     const struct model_interval *wait, const struct gap *gap, uint64_t at,
		     struct cpu_occupant *found)
{
	const struct model *model = occupants->model;
	const struct model_cpu_run *runs = cpu->n ? &model->cpu_runs.data[cpu->first] : NULL;
	bool is_known = model_thread__is_recorded(&model->threads.data[wait->previous]);
	/* The thread that ran last is the only one that is known, or the only one that there was.
	 */
	bool is_last = !(wait->flags & INTERVAL_CPU_SEEN) ||
		       gap->until == wait->t_out + wait->blocked_ns + wait->runq_ns;
	uint64_t from = gap->from, length;

	if (cpu->n) {
		cpu->found_other =
			SORTED_COUNT_UNTIL(runs, cpu->n, until, gap->from, cpu->found_other);
		for (size_t i = cpu->found_other; i < cpu->n; i++) {
			if (runs[i].from >= gap->until && runs[i].until > gap->until &&
			    runs[i].until - gap->until > CPU_RUN_MERGED_NS)
				break;
			length = part_of(&runs[i], gap);
			if (length > gap->until - from)
				length = gap->until - from;
			is_known |= length && runs[i].thread == wait->previous;
			from += length;
			if (at >= from)
				continue;
			found->type = OCCUPANT_OTHER;
			found->thread = runs[i].thread;
			found->until = from;
			return;
		}
	}
	found->until = gap->until;
	if (wait->previous && !is_known && is_last) {
		found->type = OCCUPANT_OTHER;
		found->thread = wait->previous;
	} else {
		found->type = wait->flags & INTERVAL_CPU_SEEN ? OCCUPANT_IDLE : OCCUPANT_UNKNOWN;
	}
}

int cpu_occupants__at(struct cpu_occupants *occupants, uint32_t thread, size_t number, uint64_t at,
		      uint64_t until, struct cpu_occupant *found)
{
	const struct model_interval *wait =
		&occupants->model->threads.data[thread].intervals.data[number];
	struct gap gap = {.from = wait->t_out + wait->blocked_ns};
	const struct cpu_run *run;
	int err;

	*found = (struct cpu_occupant){.until = until};
	if (!wait->cpu || wait->flags & INTERVAL_UNFINISHED)
		return 0;
	err = occupants->cpus ? 0 : make(occupants);
	if (err)
		return err;
	gap.until = gap.from + wait->runq_ns;
	run = run_at(&occupants->cpus[wait->cpu], thread, at, &gap);
	if (run) {
		found->type = OCCUPANT_RUN;
		found->thread = run->thread;
		found->next = run->next;
		found->until = run->until;
	} else {
		other_at(occupants, &occupants->cpus[wait->cpu], wait, &gap, at, found);
	}
	if (found->until > until)
		found->until = until;
	return 0;
}
