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

sub command {
	return (program('causal'), $_[0], '--ns-per-loop', 1.6);
}

# What @scale of the program's case @case really gains: measured in turn with the case as it is. Each
# call of the function that is returned measures twice more, and tells the gain of all so far,
# as other programs change the periods from one second to the next.
sub real_gain {
	my ($case, $scale) = @_;
	my @period_ns;
	return sub {
		for (1 .. 2) {
			$period_ns[0] += decode(run(command($case), '--seconds', 1)->{out})->{period_ns};
			$period_ns[1] += decode(run(command($case), '--seconds', 1, '--scale', $scale)->{out})->{period_ns};
		}
		return 1 - $period_ns[1] / $period_ns[0];
	};
}

# Of a pool, within what is allowed for and what other programs take of the CPUs: that may be missing with
# the speedup, or without it.
my ($pool, $gain, $measure) = (undef, undef, real_gain('pool', 'look_around=75'));
my $others = others_share(sub {
	$pool = causal_until(0.15, [['look_around', 0.75]], ['--target', 'look_around', '--speedup', 75],
		command('pool'), '--seconds', 2);
	$measure->();
});
my ($is_near, $effect) = is_predicted($pool, 'look_around', 0.75, 'item', sub {
	$gain = $measure->();
	return abs($_[0] - $gain) < 0.15 + $others;
});
ok($is_near, sprintf 'a pool: %.2f predicted, %.2f real', $effect, $gain);

$others = others_share(sub {
	$pool = causal_until(0.1, [['other', 1]], ['--class', 'other', '--speedup', 100], command('pool'), '--seconds', 2);
});
($is_near, $effect) = is_predicted($pool, 'other', 1, 'item', sub { return $_[0] < 0.1 + $others });
ok($is_near, sprintf 'its CPUs are full: shorter waits gain little: %.2f predicted', $effect);

my $errands = causal_until(0.2, [['other', 0.5]], ['--class', 'other', '--speedup', 50], command('errands'),
	'--seconds', 2);
$measure = real_gain('errands', 'other=50');
($is_near, $effect) = is_predicted($errands, 'other', 0.5, 'errand', sub {
	$gain = $measure->();
	return $_[0] > 0.25 && abs($_[0] - $gain) < 0.2;
});
ok($is_near, sprintf 'but who runs briefly beside others gains: %.2f predicted, %.2f real', $effect, $gain);

done_testing();
