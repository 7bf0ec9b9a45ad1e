# SPDX-License-Identifier: BSD-2-Clause
#
# The name that libbpf's headers have for the processor, as in __TARGET_ARCH_x86.
BPF_ARCH := x86
