#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# The sampling clock takes a bounded share of each CPU: a period so short that ticks
# would take more makes it slow down. It says so in every view, and the time on the
# CPU is still what it exactly was.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

my $busy = 'i=0; while [ $((i += 1)) -lt ' . full(1500000, 400000) . ' ]; do :; done';

# The clock, as the time on the CPU says it: the sum of the points of ticks, and of their squares.
sub sampled {
	my ($file) = @_;
	my ($sum, $squares) = (0, 0);
	for my $event (grep { $_->{event} eq 'sample' } events('-i', $file, '--no-stacks')) {
		$sum += $event->{points};
		$squares += $event->{points} ** 2;
	}
	return ($sum, $squares);
}

my $got = record(['-c', 10, '-o', 'short.data'], 'sh', '-c', "($busy) & $busy; wait");
is($got->{status}, 0, 'ticks every 10 us: recorded');
my $report = report('-i', 'short.data');
cmp_ok($report->{slowest_clock_ns}, '>', $report->{period_ns}, 'the clock was slowed');
cmp_ok($report->{clock_share}, '>', 0.1, 'as it would have taken more than a tenth of a CPU');
like(run($DWELL, $_, '-i', 'short.data')->{out}, qr/^# clock +: slowed to a tick every .* a tick took .*, which every .* is \d+% of a CPU$/m,
	"$_ says so") for qw(report waits);

# A tick of w points stands for w on average, and is off by less than if each had come
# by chance: the variance of the sum is at most that of the squares (bound: one run in a million).
my ($sum, $squares) = sampled('short.data');
my $points = $report->{exact}{cpu_ns} / $report->{period_ns};
near($sum, $points, 4.9 * sqrt($squares), 'points on the CPU');

# A causal profile says so, too: there the shortest period is 50 us.
SKIP: {
	skip('ticks are cheap here', 2) if $report->{clock_share} * 10 < 10;
	$got = run({seconds => 120}, $DWELL, 'causal', 'run', '-c', 50, '-o', 'short.causal', '--', program('figure1'), '--iterations', 100);
	is($got->{status}, 0, 'causal, ticks every 50 us: it ran');
	like(run($DWELL, 'causal', 'report', '-i', 'short.causal')->{out} . slurp('short.causal'),
		qr/the sampling clock was slowed to a tick every /, 'and says so');
}

# What is short enough to be cheap is left alone.
$got = record(['-c', 20000, '-o', 'long.data'], 'sh', '-c', "$busy");
is($got->{status}, 0, 'ticks every 20 ms: recorded');
$report = report('-i', 'long.data');
is($report->{slowest_clock_ns}, 0, 'the clock was not slowed');
unlike(run($DWELL, 'report', '-i', 'long.data')->{out}, qr/^# clock/m, 'and nothing says so');

done_testing();
