#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# More threads than CPUs, all of them in the target in turn: what they wait for a CPU that
# others of them have is not the target's, nor is the time of a pause in it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();

my @pool = (program('causal'), 'pool', '--ns-per-loop', 1.6);

sub period_of_pool {
	return decode(run(@pool, '--seconds', 1, @_)->{out})->{period_ns};
}

# What other programs take of the CPUs may be missing with the speedup, or without it.
my ($pool, $faster, $whole);
my $others = others_share(sub {
	$pool = causal_until(0.15, [['look_around', 0.75]], ['--target', 'look_around', '--speedup', 75], @pool,
		'--seconds', 2);
	for (1 .. 3) {
		$faster += period_of_pool('--scale', 'look_around=75');
		$whole += period_of_pool();
	}
});
near(effect($pool, 'look_around', 0.75) // 9, 1 - $faster / $whole, 0.15 + $others,
	'a pool: the real gain is predicted');

$others = others_share(sub {
	$pool = causal_until(0.1, [['other', 1]], ['--class', 'other', '--speedup', 100], @pool, '--seconds', 2);
});
cmp_ok(effect($pool, 'other', 1) // 9, '<', 0.1 + $others, 'its CPUs are full: shorter waits gain little');

my $errands = causal_until(0.2, [['other', 0.5]], ['--class', 'other', '--speedup', 50], program('causal'), 'errands',
	'--seconds', 2, '--ns-per-loop', 1.6);
cmp_ok(effect($errands, 'other', 0.5) // 0, '>', 0.25, 'but who runs briefly beside others gains');

done_testing();
