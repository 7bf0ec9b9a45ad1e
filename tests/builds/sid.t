#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Debian sid: libbpf 1.7, elfutils 0.196 when this was written.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Builds;

check_release('sid', [qw(clang-21 llvm-21-dev)], ['gcc-16', 'clang-21']);
