#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Thousands of threads that always do the same at the same time, so that most waits are left out and
# few instants would tell little: the time in each of five system calls is what the threads
# measured, within the standard errors of independent samples. And processes that all want a CPU at
# the same time: the time that they waited for it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

# Periods that the samples of waits represent, in all and in the run queue, by system call; and upper
# bounds of the variance of their sum. A sample of weight w comes by chance. Of common points, which
# count 1, the error in a cell is one of the threads that begin or end a wait there, twice as many
# as are recorded.
sub waited {
	my ($file, $period_ns) = @_;
	my (%by, %edges);
	for my $event (grep { $_->{event} eq 'interval' } events('-i', $file, '--no-stacks')) {
		for ($event->{syscall}, 'run queue') {
			my ($points, $begin) = $_ eq 'run queue' ? ($event->{runq_points}, $event->{t_wake_ns})
				: ($event->{runq_points} + $event->{blocked_points}, $event->{t_out_ns});
			$by{$_}{points} += $points;
			$by{$_}{variance} += $points * $event->{spacing} if $event->{spacing} > 1;
			next if !$points;
			my $cell = $period_ns * $event->{spacing};
			$edges{$_}{"$cell " . int($begin / $cell)}++;
			$edges{$_}{"$cell " . int($event->{t_in_ns} / $cell)}++;
		}
	}
	for my $sum (keys %edges) {
		$by{$sum}{variance} += $_ ** 2 for values %{$edges{$sum}};
	}
	return \%by;
}

# Recorded again where dwell got no CPU for so long that its buffer was full.
sub recorded {
	my ($file, @options) = @_;
	my ($got, $report);
	for (1 .. 5) {
		$got = record(['-o', $file], program('crowd'), @options);
		is($got->{status}, 0, "@options: recorded") or last;
		$report = report('-i', $file);
		last if !$report->{lost}{'events, ring buffer full'};
		note("$report->{lost}{'events, ring buffer full'} events were lost");
	}
	return ($report, decode($got->{out} =~ /^(\{.*\})$/m ? $1 : ''), waited($file, $report->{period_ns}));
}

# 4.9 standard errors: one false alarm in a million; and the threads' own measuring is part of what
# they measure.
sub agrees {
	my ($found, $truth_ns, $period_ns, $name) = @_;
	my $error = sqrt($found->{variance}) * $period_ns / 1e9;
	near(($found->{points} // 0) * $period_ns / 1e9, $truth_ns / 1e9, 4.9 * $error + 0.002 * $truth_ns / 1e9, $name);
}

my ($report, $truth, $by) = recorded('threads.data', '--threads', full(8000, 1000),
	'--ms', full(10000, 3000), '--cycle-ms', full(2000, 400));
cmp_ok($report->{widest_spacing_ns}, '>=', 64 * $report->{period_ns}, 'waits were left out');
agrees($by->{$_}, $truth->{calls}{$_}, $report->{period_ns}, $_) for sort keys %{$truth->{calls}};

# The kernel hides the wakeups of some, and what it counts for them differs: exact times are tested elsewhere.
($report, $truth, $by) = recorded('processes.data', '--processes', full(1000, 400), '--cycle-ms', full(250, 100),
	'--work-us', 50, '--ms', full(5000, 1500));
# On a busy machine they wait for so long that no wait is left out.
agrees($by->{'run queue'}, $report->{exact}{sched_ns}, $report->{period_ns}, 'run queue');
note(sprintf('the kernel counts %.2f s', $truth->{queued_ns} / 1e9));

done_testing();
