#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# dwell record --trace: one interval for every context switch the kernel counted,
# none lost, none invented; each wait names the thread or the interrupt that
# ended it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

# Intervals of each thread, and its waits without a waker, from `dwell script`.
# A new thread's way to its first run is no switch.
sub intervals_of {
	my ($file) = @_;
	my (%count, %wakerless, $example);
	my $got = run({seconds => 180, name => 'script'}, $DWELL, 'script', '--json', '--no-stacks', '-i', $file);
	for my $line (split /\n/, $got->{out}) {
		next unless $line =~ /"event":"interval"/;
		my $interval = decode($line);
		$count{$interval->{tid}}++ unless $interval->{flags} =~ /first/;
		next if $interval->{class} eq 'sched' || $interval->{flags} =~ /unfinished|begun-before/;
		next if $interval->{waker_context} =~ /^(?:softirq|hardirq|nmi)$/;
		next if $interval->{waker_context} eq 'task' && $interval->{waker_tid} > 0;
		$wakerless{$interval->{tid}}++;
		$example = $line;
	}
	note("no waker: $example") if $example;
	return (\%count, \%wakerless);
}

sub sum {
	my $sum = 0;
	$sum += $_ for @_;
	return $sum;
}

# What every trace must fulfil; returns (report, switches counted by the recording).
sub check_trace {
	my ($name, $file) = @_;
	my $report = report('-i', $file);
	my ($count, $wakerless) = intervals_of($file);
	my ($switches, $ended, $off) = (0, 0, 0);

	nothing_lost($report, $name);
	# The last switch of a thread that ended has no interval: it never came back.
	for my $thread (@{$report->{threads}}) {
		my $all = $thread->{voluntary} + $thread->{involuntary};
		my $difference = $all - ($count->{$thread->{tid}} // 0);
		$switches += $all;
		$ended++ if $thread->{exited};
		next if $difference == 0 || $difference == 1;
		$off++;
		diag("$thread->{comm} $thread->{tid}: $all switches, "
			. ($count->{$thread->{tid}} // 0) . ' intervals') if $off < 5;
	}
	is($off, 0, "$name: each thread has as many intervals as switches");
	cmp_ok($switches - sum(values %$count), '<=', $ended, "$name: so has the whole");
	my $hidden = sum(map { $report->{lost}{$_} } grep { /waker.*hidden/ } keys %{$report->{lost}});
	my $without = sum(values %$wakerless);
	ok($without <= $hidden, "$name: every wait names its waker, or an interrupt; $without do not, "
		. "$hidden wakeups were hidden by the kernel");
	return ($report, $switches);
}

# Against getrusage() in the threads themselves, at the end of each.
my $got = record(['--trace', '-o', 'switches.data'], program('switches'), '--rounds', full(50000, 3000));
is($got->{status}, 0, 'switches: recorded');
my ($report) = check_trace('switches', 'switches.data');
my %thread = map { $_->{tid} => $_ } @{$report->{threads}};
my ($wrong, $foreign) = (0, 0);
for my $truth (@{$got->{truth}{threads}}) {
	my $mine = $thread{$truth->{tid}} // {voluntary => -1, involuntary => -1};
	my $difference = $mine->{voluntary} + $mine->{involuntary} - $truth->{voluntary}
		- $truth->{involuntary};
	next if $difference >= 0 && $difference <= 3;
	$wrong++;
	diag("$truth->{name} $truth->{tid}: $difference switches more than it counted itself");
}
is($wrong, 0, 'switches: as many as each thread counted itself');

# Who wakes whom is known here.
my %tids = map { $_->{tid} => 1 } @{$got->{truth}{threads}};
my ($waits, $known) = (0, 0);
for my $line (split /\n/, run($DWELL, 'script', '--json', '--no-stacks', '-i', 'switches.data', '--comm',
	'pipe,futex')->{out}) {
	next unless $line =~ /"event":"interval"/;
	my $interval = decode($line);
	next if $interval->{class} eq 'sched' || $interval->{flags} =~ /first/;
	next unless $interval->{syscall} =~ /^(?:read|write|futex)$/;
	$waits++;
	$known++ if $tids{$interval->{waker_tid}} || $interval->{waker_pid} == $got->{truth}{pid};
}
cmp_ok($waits, '>', 100, 'switches: there are waits for other threads');
is($known, $waits, 'switches: all of them ended by another thread of the program');

# Against wait4() of a whole tree of processes.
my %workloads = (
	hackbench => ['hackbench', '-g', 2, '-l', full(2000, 100)],
	'hackbench threads' => ['hackbench', '-T', '-p', '-g', 2, '-l', full(2000, 100)],
	'stress-ng' => ['stress-ng', '--switch', 2, '--switch-ops', full(500000, 20000), '-q'],
	sysbench => ['sysbench', 'threads', '--threads=4', '--events=' . full(2000, 100), '--time=0', 'run'],
);
for my $name (sort keys %workloads) {
	my @command = @{$workloads{$name}};
SKIP: {
		skip "$command[0] is not installed", 6 unless grep { -x "$_/$command[0]" } split /:/, $ENV{PATH};
		# If dwell gets no CPU for long while a program is new, not all of its stacks fit: then again.
		for (1 .. 5) {
			$got = record(['--trace', '-m', 131072, '-o', 'tree.data'], program('rusage'), '-o',
				'rusage.json', @command);
			last unless report('-i', 'tree.data')->{lost}{'stacks of new programs, ring buffer full'};
		}
		is($got->{status}, 0, "$name: recorded");
		my $truth = decode(slurp('rusage.json'));
		my ($report, $switches) = check_trace($name, 'tree.data');
		my @helper = grep { $_->{comm} eq 'rusage' } @{$report->{threads}};
		$switches -= sum(map { $_->{voluntary} + $_->{involuntary} } @helper);
		my $counted = $truth->{voluntary} + $truth->{involuntary};
		# A recording counts up to a task's exit, wait4() also the switch after it,
		# the last, if that came before the parent waited.
		my $fewer = $counted - $switches;
		my $tasks = scalar @{$report->{threads}};
		ok($fewer >= -1 && $fewer <= $tasks,
			"$name: of $counted switches by wait4() all but $fewer are there; $tasks tasks");
	}
}

done_testing;
