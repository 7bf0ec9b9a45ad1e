#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Debian bookworm: libbpf 1.1, elfutils 0.188 when this was written.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Builds;

check_release('bookworm', [qw(clang-14 llvm-14-dev clang-16 llvm-16-dev clang-19 llvm-19-dev)], ['gcc-12', 'clang-14'], ['gcc-12', 'clang-16'], ['gcc-12', 'clang-19']);
