// SPDX-License-Identifier: BSD-2-Clause
/* Which addresses a recording has, for their names (addresses.h). */
#include "collect/record/translate.h"
#include "collect/record/translator.h"

void translator__collect_addresses(struct translator *translator, struct addresses *addresses)
{
	translator->addresses = addresses;
}

void translator__refer(struct translator *translator, const struct stack_user *user, uint64_t hash,
		       bool exact)
{
	if (translator->addresses && hash && (user->pid || user->thread))
		addresses__refer(translator->addresses, user, hash, exact);
}

void translator__frames(struct translator *translator, const struct stack_user *user, uint64_t hash,
			const struct record_stack *stack)
{
	record_stream__stack_frames(translator->stream, hash, stack);
	if (!translator->addresses)
		return;
	if (stack->kernel)
		addresses__add_kernel(translator->addresses, stack->frames, stack->depth);
	else if (user->pid || user->thread)
		addresses__add_user(translator->addresses, user, hash, stack->frames, stack->depth);
}

static uint32_t process_of(void *arg, uint32_t thread)
{
	const struct known_thread *known = translator__find_thread(arg, thread);

	return known ? known->tgid : 0;
}

void translator__locate(struct translator *translator, const struct address_spaces *spaces)
{
	if (translator->addresses)
		addresses__locate(translator->addresses, spaces, process_of, translator);
}
