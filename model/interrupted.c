// SPDX-License-Identifier: BSD-2-Clause
/*
 * Wakeups in interrupts: the thread that an interrupt came upon has nothing to do with them. What
 * is known of it, its name and its frames, is removed, so that no view can show it as a cause.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/interrupted.h"

/* What a function on the kernel stack of a wakeup says. */
enum interrupt_hint {
	INTERRUPT_ENTRY = 1 << 0, /* an interrupt begins: what is further out was interrupted */
	INTERRUPT_EXIT = 1 << 1,  /* soft interrupts are handled at the end of one */
	INTERRUPT_SEND = 1 << 2,  /* a packet is sent, maybe to a socket of this machine */
};

static const struct {
	const char *name;
	uint8_t hint;
} functions[] = {
	{"irq_exit_rcu", INTERRUPT_ENTRY | INTERRUPT_EXIT},
	{"__irq_exit_rcu", INTERRUPT_ENTRY | INTERRUPT_EXIT},
	{"run_ksoftirqd", INTERRUPT_ENTRY | INTERRUPT_EXIT},
	{"handle_softirqs", INTERRUPT_ENTRY},
	{"__do_softirq", INTERRUPT_ENTRY},
	{"do_softirq", INTERRUPT_ENTRY},
	{"common_interrupt", INTERRUPT_ENTRY},
	{"asm_common_interrupt", INTERRUPT_ENTRY},
	{"exc_nmi", INTERRUPT_ENTRY},
	{"asm_exc_nmi", INTERRUPT_ENTRY},
	{"__dev_queue_xmit", INTERRUPT_SEND},
	{"ip_finish_output2", INTERRUPT_SEND},
	{"ip6_finish_output2", INTERRUPT_SEND},
	{"__tcp_transmit_skb", INTERRUPT_SEND},
	{"__ip_queue_xmit", INTERRUPT_SEND},
};

static const char *const entries[] = {"sysvec_", "__sysvec_", "asm_sysvec_", "fred_extint",
				      "asm_fred_"};

static uint8_t hint_of(const char *name)
{
	size_t n = strcspn(name, "."); /* without a suffix like ".part.0" */

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (!strncmp(name, functions[i].name, n) && !functions[i].name[n])
			return functions[i].hint;
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (!strncmp(name, entries[i], strlen(entries[i])))
			return INTERRUPT_ENTRY;
	return 0;
}

struct remover {
	struct model *model;
	uint8_t *locations; /* by location: bits of enum interrupt_hint */
	bool *cut;	    /* by stack: it was cut already */
};

static uint8_t stack_hints(const struct remover *remover, uint32_t index)
{
	const struct model *model = remover->model;
	const struct model_stack *stack = &model->stacks.data[index];
	uint8_t hints = 0;

	for (size_t i = 0; i < stack->depth; i++)
		hints |= remover->locations[model->stack_locations.data[stack->first + i]];
	return hints;
}

/* Over loopback, or to a container, a soft interrupt runs within the send of the waker. */
static bool is_sent(const struct remover *remover, const struct model_wake *wake)
{
	uint8_t hints = stack_hints(remover, wake->kernel);

	return wake->context == WAKER_SOFTIRQ && hints & INTERRUPT_SEND &&
	       !(hints & INTERRUPT_EXIT);
}

static bool is_entry(const struct remover *remover, const struct model_stack *stack, size_t i)
{
	uint32_t location = remover->model->stack_locations.data[stack->first + i];

	return remover->locations[location] & INTERRUPT_ENTRY;
}

/* Leaves the frames of the innermost interrupt, up to where it began. */
static void cut_interrupted(const struct remover *remover, uint32_t index)
{
	struct model *model = remover->model;
	struct model_stack *stack = &model->stacks.data[index];
	size_t n = 0;

	if (remover->cut[index])
		return;
	remover->cut[index] = true;
	while (n < stack->depth && !is_entry(remover, stack, n))
		n++;
	while (n < stack->depth && is_entry(remover, stack, n))
		n++;
	stack->depth = (uint16_t)n;
}

static void remove_of(const struct remover *remover, struct model_thread *thread)
{
	for (size_t i = 0; i < thread->wakes.n; i++) {
		struct model_wake *wake = &thread->wakes.data[i];

		if (wake->context < WAKER_SOFTIRQ || is_sent(remover, wake))
			continue;
		cut_interrupted(remover, wake->kernel);
		wake->waker = wake->user = 0;
	}
	for (size_t i = 0; i < thread->intervals.n; i++) {
		struct model_interval *interval = &thread->intervals.data[i];

		if (interval->waker_context >= WAKER_SOFTIRQ)
			interval->waker =
				interval->wake ? thread->wakes.data[interval->wake - 1].waker : 0;
	}
}

int model__remove_interrupted(struct model *model)
{
	struct remover remover = {.model = model};
	int err = -ENOMEM;

	remover.locations = calloc(model->locations.n + 1, 1);
	remover.cut = calloc(model->stacks.n + 1, sizeof(*remover.cut));
	if (remover.locations && remover.cut) {
		for (size_t i = 1; i < model->locations.n; i++) {
			const struct model_location *location = &model->locations.data[i];

			for (size_t k = 0; location->kernel && k < location->n_frames; k++)
				remover.locations[i] |= hint_of(model__string(
					model, model->frames.data[location->frame + k].name));
		}
		for (size_t i = 1; i < model->threads.n; i++)
			remove_of(&remover, &model->threads.data[i]);
		err = 0;
	}
	free(remover.locations);
	free(remover.cut);
	return err;
}
