/* SPDX-License-Identifier: BSD-2-Clause */
/* Why the kernel or libbpf refused something: what libbpf would have printed, of this thread. */
#pragma once

#include <stdbool.h>

/* From now on libbpf prints nothing: refusal__error() has its last message. */
void refusal__keep_messages(void);

/* Forgets messages, before another attempt. */
void refusal__forget(void);

/* Whether the reason was a field that this kernel's structures lack. */
bool refusal__of_field(void);

/* Sets a message that the kernel refused to @what, and a hint to what helps. Returns @err. */
int refusal__error(int err, const char *what);
