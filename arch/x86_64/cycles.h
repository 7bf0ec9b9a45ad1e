/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

static inline uint64_t read_cycles(void)
{
	return __builtin_ia32_rdtsc();
}

static inline void relax_cpu(void)
{
	__builtin_ia32_pause();
}
