/* SPDX-License-Identifier: BSD-2-Clause */
/* USDT probes in the format of <sys/sdt.h>, without needing that header. x86-64 only. */
#pragma once

/* Defines the semaphore of probe @name: above 0 while a tracer is attached. */
#define PROBE_SEMAPHORE(name)                                                                      \
	__attribute__((section(".probes"), used)) volatile unsigned short name##_semaphore

#define PROBE(provider, name)                                                                      \
	__asm__ volatile("990:	nop\n"                                                              \
			 "	.pushsection .note.stapsdt, \"\", \"note\"\n"                           \
			 "	.balign 4\n"                                                            \
			 "	.4byte 992f - 991f, 994f - 993f, 3\n"                                   \
			 "991:	.asciz \"stapsdt\"\n"                                               \
			 "992:	.balign 4\n"                                                        \
			 "993:	.8byte 990b, _.stapsdt.base, " #name "_semaphore\n"                \
			 "	.asciz \"" #provider "\"\n"                                        \
			 "	.asciz \"" #name "\"\n"                                            \
			 "	.asciz \"\"\n"                                                          \
			 "994:	.balign 4\n"                                                        \
			 "	.popsection\n"                                                          \
			 "	.ifndef _.stapsdt.base\n"                                               \
			 "	.pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, "      \
			 "comdat\n"                                                                \
			 "	.weak _.stapsdt.base\n"                                                 \
			 "	.hidden _.stapsdt.base\n"                                               \
			 "_.stapsdt.base:	.space 1\n"                                              \
			 "	.size _.stapsdt.base, 1\n"                                              \
			 "	.popsection\n"                                                          \
			 "	.endif\n")
