# SPDX-License-Identifier: BSD-2-Clause
#
# The name that libbpf's headers have for the processor, as in __TARGET_ARCH_x86.
BPF_ARCH := x86
# Of the runtime of dwell-cc: only general registers are saved before it is called.
SHADOW_FLAGS := -mgeneral-regs-only -fcf-protection=none
