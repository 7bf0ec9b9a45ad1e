#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Debian trixie: libbpf 1.5, elfutils 0.192 when this was written.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Builds;

check_release('trixie', [qw(clang-19 llvm-19-dev)], ['gcc-14', 'clang-19']);
