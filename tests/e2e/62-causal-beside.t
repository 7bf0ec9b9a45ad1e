#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Beside programs that never leave a CPU: a thread must not pay for its pauses with the CPU time
# that a fair scheduler gives it. If it did, what sleeps half of the time would seem to slow the
# thread down to nothing.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();
need_command('taskset');

my $cpus = `nproc`;
my @others = map { start('taskset', '-c', $_, 'perl', '-e', '1 while 1') } 0 .. $cpus - 1;
my $got = causal_until(0.5, [['sleeper', 0.5]], ['--target', 'sleeper', '--speedup', '50'],
	program('undisturbed'), '--calm', '--seconds', 3);
is($got->{status}, 0, 'it ran');
no_effect($got, 'sleeper', 0.5, 'round', 0.5, 'sleeper: no effect');
stop($_) for @others;

done_testing();
