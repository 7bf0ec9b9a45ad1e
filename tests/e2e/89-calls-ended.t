#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Whether the thread that had a shadow stack has ended, while the kernel removes it: a new thread takes the
# stack over then.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

plan skip_all => 'dwell-cc is for x86-64' if qx(uname -m) ne "x86_64\n";

my $root = dirname(dirname($FindBin::Bin));
my $built = run('gcc', '-O2', "-I$root", '-D_GNU_SOURCE', '-o', 'ended', "$root/tests/calls/ended.c",
	"$root/compiler/runtime/shadow_memory.c", '-lpthread');
is("$built->{status} $built->{err}", '0 ', 'the program is built');
my $got = run('./ended', 20000);
is("$got->{status} $got->{out}", "0 0 of 20000\n", 'all that were joined have');

done_testing;
