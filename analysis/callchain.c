// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/callchain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between the reason to wait and the switch: they say nothing about the wait. */
static const char *const plumbing[] = {
	"__schedule",
	"__schedule_loop",
	"schedule",
	"schedule_timeout",
	"schedule_timeout_interruptible",
	"schedule_timeout_killable",
	"schedule_timeout_uninterruptible",
	"schedule_timeout_idle",
	"schedule_hrtimeout",
	"schedule_hrtimeout_range",
	"schedule_hrtimeout_range_clock",
	"schedule_preempt_disabled",
	"schedule_rtlock",
	"io_schedule",
	"io_schedule_timeout",
	"blk_io_schedule",
	"preempt_schedule",
	"preempt_schedule_common",
	"preempt_schedule_irq",
	"preempt_schedule_notrace",
	"preempt_schedule_thunk",
	"preempt_schedule_notrace_thunk",
	"raw_irqentry_exit_cond_resched",
	"irqentry_exit_cond_resched",
	"dynamic_preempt_schedule",
	"__cond_resched",
	"_cond_resched",
	"dynamic_cond_resched",
	"bit_wait",
	"bit_wait_io",
	"bit_wait_timeout",
	"bit_wait_io_timeout",
	"wait_woken",
	"freezable_schedule",
};

/*
 * What the C library's own calls go through on the way to the kernel: the
 * function that called them is the one a program knows. glibc 2.31 to 2.41, musl.
 */
static const char *const helpers[] = {
	"__futex_abstimed_wait_common",
	"__futex_abstimed_wait_common32",
	"__futex_abstimed_wait_common64",
	"__futex_abstimed_wait_cancelable64",
	"__futex_abstimed_wait64",
	"__futex_clocklock_wait64",
	"__futex_lock_pi64",
	"futex_wait",
	"futex_wait_simple",
	"futex_wait_cancelable",
	"futex_abstimed_wait",
	"futex_abstimed_wait_cancelable",
	"futex_reltimed_wait_cancelable",
	"do_futex_wait",
	"__lll_lock_wait",
	"__lll_lock_wait_private",
	"__lll_clocklock_wait",
	"__lll_timedlock_wait",
	"lll_lock_wait",
	"__pthread_cond_wait_common",
	"__pthread_mutex_lock_full",
	"__pthread_mutex_lock_slow",
	"__pthread_rwlock_rdlock_full",
	"__pthread_rwlock_rdlock_full64",
	"__pthread_rwlock_wrlock_full",
	"__pthread_rwlock_wrlock_full64",
	"__internal_syscall_cancel",
	"__syscall_cancel",
	"__syscall_cancel_arch",
	"__syscall_cancel_arch_end",
	"__libc_do_syscall",
	"__syscall_cp",
	"__syscall_cp_c",
	"__syscall_cp_asm",
	"__cp_end",
	"__timedwait",
	"__timedwait_cp",
	"__wait",
	"__futexwait",
	"__pthread_mutex_timedlock",
	/* and of those that wake */
	"__lll_lock_wake",
	"__lll_lock_wake_private",
	"lll_mutex_unlock_optimized",
	"__pthread_mutex_unlock_full",
	"futex_wake",
};

/* Whether @name, without ".isra.0" and the like, is in @list. */
static bool name_in(const char *name, const char *const *list, size_t n)
{
	size_t length = strcspn(name, ".");

	for (size_t i = 0; i < n; i++)
		if (!strncmp(name, list[i], length) && !list[i][length])
			return true;
	return false;
}

static int callchain_add(struct callchain *chain, const struct model *model, uint32_t stack_index)
{
	const struct model_stack *stack = &model->stacks.data[stack_index];

	for (size_t i = 0; i < stack->depth; i++) {
		uint32_t index = model->stack_locations.data[stack->first + i];
		const struct model_location *location = &model->locations.data[index];

		if (array__reserve(&chain->frames, location->n_frames))
			return -ENOMEM;
		for (uint32_t k = 0; k < location->n_frames; k++) {
			const struct model_frame *frame = &model->frames.data[location->frame + k];

			chain->frames.data[chain->frames.n++] = (struct callchain_frame){
				.location = index,
				.frame = location->frame + k,
				.name = frame->name,
				.dso = location->dso,
				.kernel = location->kernel,
				.inlined = k + 1 < location->n_frames,
			};
		}
	}
	return 0;
}

/* Takes the scheduler's frames off the inner end. */
static void callchain_cut_plumbing(struct callchain *chain, const struct model *model)
{
	size_t n = 0;

	while (n < chain->frames.n && name_in(model__string(model, chain->frames.data[n].name),
					      plumbing, ARRAY_SIZE(plumbing)))
		n++;
	/* Nothing but plumbing: better that than nothing. */
	if (!n || n == chain->frames.n)
		return;
	chain->frames.n -= n;
	memmove(chain->frames.data, chain->frames.data + n,
		chain->frames.n * sizeof(*chain->frames.data));
}

int callchain__set(struct callchain *chain, const struct model *model, uint32_t kernel,
		   uint32_t user, bool off_cpu)
{
	int err;

	chain->frames.n = 0;
	err = callchain_add(chain, model, kernel);
	if (err)
		return err;
	if (off_cpu)
		callchain_cut_plumbing(chain, model);
	chain->n_kernel = chain->frames.n;
	return callchain_add(chain, model, user);
}

void callchain__free(struct callchain *chain)
{
	array__free(&chain->frames);
}

/*
 * Inlined functions and nameless (static, stripped) ones are no API of the C
 * library either. In a program linked statically its reserved names still tell.
 */
static bool frame_is_helper(const struct callchain_frame *frame, const struct model *model)
{
	const char *name = model__string(model, frame->name);
	bool listed = name_in(name, helpers, ARRAY_SIZE(helpers));

	if (!model__is_c_library(model, frame->dso))
		return listed && !strncmp(name, "__", 2);
	return listed || frame->inlined || !*name;
}

ssize_t callchain__row(const struct callchain *chain, const struct model *model, bool off_cpu,
		       bool prefer_kernel)
{
	const struct callchain_frame *frames = chain->frames.data;
	size_t at = chain->n_kernel;

	if (!chain->frames.n)
		return -1;
	if (!off_cpu || (prefer_kernel && chain->n_kernel) || at == chain->frames.n)
		return 0;
	/* Only within one file: a program may have a function of that name, too. */
	while (at + 1 < chain->frames.n && frame_is_helper(&frames[at], model) &&
	       frames[at + 1].dso == frames[at].dso && frames[at + 1].name)
		at++;
	return (ssize_t)at;
}

ssize_t callchain__line(const struct callchain *chain, const struct model *model, size_t from)
{
	for (size_t i = from; i < chain->frames.n; i++)
		if (model->frames.data[chain->frames.data[i].frame].line)
			return (ssize_t)i;
	return -1;
}

const char *callchain_frame__text(const struct callchain_frame *frame, const struct model *model,
				  char text[static 24])
{
	if (frame->name)
		return model__string(model, frame->name);
	snprintf(text, 24, "0x%" PRIx64, model->locations.data[frame->location].address);
	return text;
}
