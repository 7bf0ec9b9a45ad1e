#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Exact times of threads are what the kernel counts, within 1 ms and 1% in both directions: of programs
# that are born and reaped during a recording, by their rusage; of threads from before it, by their own
# clocks (tests/programs/run_times.c); of all others, at most what schedstat says. Also when the recorder
# is stopped for a while, on a machine that is overcommitted, and where the kernel hides switches. The
# times of a thread add up to its life, and those of all threads are no more than the CPUs have.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(max min sum0);
use Test::More;
use Time::HiRes qw(sleep);

need_recording();
need_command('hackbench');

chomp(my $cpus = `nproc`);

# The least and the most CPU time at $time, by the readings before and after it.
sub cpu_at {
	my ($log, $time) = @_;
	my ($low, $high) = (0, $#$log);
	return if !$log || $time < $log->[0][0] || $time > $log->[$high][0];
	while ($high - $low > 1) {
		my $middle = int(($low + $high) / 2);
		($log->[$middle][0] <= $time ? $low : $high) = $middle;
	}
	my ($before, $after) = @$log[$low, $high];
	return (max($before->[1], $after->[1] - ($after->[0] - $time)),
		min($after->[1], $before->[1] + ($time - $before->[0])));
}

# How far $cpu is out of bounds by more than 1 ms and 1%; 0 if it is not.
sub off {
	my ($cpu, $least, $most) = @_;
	return $cpu - $most if $cpu > $most * 1.01 + 1e6;
	return $cpu - $least if $cpu < $least * 0.99 - 1e6;
	return 0;
}

sub schedstats {
	my %ran;
	for my $path (glob '/proc/[0-9]*/task/[0-9]*/schedstat') {
		my ($tid) = $path =~ m{(\d+)/schedstat};
		my ($ns) = split ' ', slurp($path);
		$ran{$tid} = $ns if defined $ns;
	}
	return \%ran;
}

# Exact times of the threads of a recording that pass, by tid, with their begin and end.
sub exact {
	my ($name) = @_;
	my $report = report('-i', $name);
	my %times = map { $_->{tid} => $_ } @{$report->{threads}};
	for my $line (grep { /^\{"event":"exit"/ } split /\n/, run($DWELL, 'script', '--json', '-i', $name)->{out}) {
		my $event = decode($line);
		my $thread = $times{$event->{tid}} or next;
		$thread->{end} = $report->{start_ns} + $event->{time_ns};
		$thread->{begin} = $thread->{end} - $event->{lifetime_ns};
	}
	return ($report, \%times);
}

# Sums: of each thread, and of all.
sub adds_up {
	my ($what, $report) = @_;
	my (@wrong, $unseen);
	for my $thread (@{$report->{threads}}) {
		my $sum = sum0(map { $thread->{"${_}_ns"} // 0 } qw(cpu io lock sched other stopped stolen not_seen));
		push @wrong, "$thread->{comm} $sum of $thread->{lifetime_ns}" if $sum != $thread->{lifetime_ns};
		$unseen += $thread->{not_seen_ns};
	}
	is("@wrong", '', "$what: the times of each thread are its life");
	my $all = sum0(map { $_->{cpu_ns} } @{$report->{threads}});
	cmp_ok($all, '<=', $cpus * ($report->{duration_ns} + 1e6), sprintf('%s: %.3f s on CPUs, of %.3f s', $what, $all / 1e9,
		$cpus * $report->{duration_ns} / 1e9));
	my $causes = sum0(map { $report->{lost}{$_} } grep { /^times, hidden|^switches|^events/ } keys %{$report->{lost}});
	ok($unseen < 1e6 || $causes, sprintf('%s: %.3f s not seen, and why is counted', $what, $unseen / 1e9));
}

# Threads whose logs are in $file.
sub own_clocks_agree {
	my ($what, $file, $times) = @_;
	my (%log, @wrong, $largest);
	push @{$log{$_->[0]}}, [@$_[1, 2]] for map { [split] } split /\n/, slurp($file);
	my $compared = 0;
	for my $tid (keys %log) {
		my $thread = $times->{$tid} or next;
		my ($begin_least, $begin_most) = cpu_at($log{$tid}, $thread->{begin});
		my ($end_least, $end_most) = cpu_at($log{$tid}, $thread->{end});
		next unless defined $begin_least && defined $end_least;
		my $off = off($thread->{cpu_ns}, $end_least - $begin_most, $end_most - $begin_least);
		push @wrong, sprintf('%s: %.3f ms, truth %.3f to %.3f', $thread->{comm}, map { $_ / 1e6 } $thread->{cpu_ns},
			$end_least - $begin_most, $end_most - $begin_least) if $off;
		$compared++;
	}
	is("@wrong", '', "$what: on-CPU times are those of the threads' own clocks");
	is($compared, 10, "$what: of all threads")
		or diag(join "\n", map { sprintf '%s: log %s to %s, recorded %s to %s', $_, $log{$_}[0][0], $log{$_}[-1][0],
			map { $_ // '-' } @{$times->{$_} // {}}{qw(begin end)} } sort keys %log);
}

# run_times from before a recording until after it, which @options and $meanwhile->(pid) make.
sub from_before {
	my ($what, $options, $meanwhile) = @_;
	unlink 'ready', 'times.log', 'times.data';
	my $program = start(program('run_times'), '--log', "$DIR/times.log", '--ready', "$DIR/ready", '--seconds', 600);
	wait_for(180, sub { -s "$DIR/ready" }) or BAIL_OUT('run_times does not start');
	my @target = grep { $_ eq '-a' } @$options;
	@target = ('-p', $program) unless @target;
	my $before = schedstats();
	my $recorder = start($DWELL, 'record', '-o', 'times.data', '--no-symbols', @$options, @target == 2 ? @target : ());
	$meanwhile->($recorder) if $meanwhile;
	is(finish($recorder, 120)->{status}, 0, "$what: recorded") or return;
	my $after = schedstats();
	sleep 0.02; # a reading of each clock
	is(stop($program)->{status}, 0, "$what: the program ends");
	my ($report, $times) = exact('times.data');
	own_clocks_agree($what, 'times.log', $times);
	adds_up($what, $report);
	# A count can be a tick old in $before.
	my @high = grep { defined $after->{$_} && defined $before->{$_} && defined $times->{$_}
		&& off($times->{$_}{cpu_ns}, 0, $after->{$_} - $before->{$_} + 4e6) } keys %$before;
	is(join(', ', map { sprintf '%s %.3f of %.3f s', $times->{$_}{comm}, map { $_ / 1e9 } $times->{$_}{cpu_ns},
			$after->{$_} - $before->{$_} } @high), '', "$what: no thread has more than the kernel counts");
	return $report;
}

# Stops the recorder for a while, in the middle.
sub pause {
	my ($recorder) = @_;
	sleep 0.5;
	kill 'STOP', $recorder;
	sleep full(5, 1.2);
	kill 'CONT', $recorder;
}

# Born and reaped.
for my $options (full([[], ['--trace']], [['--trace']])->@*) {
	my $what = "born and reaped, @$options";
	is(record(['-o', 'born.data', '--no-symbols', @$options], program('run_times'), '--log', "$DIR/born.log", '--children',
		full(400, 10))->{status}, 0, "$what: recorded");
	my ($report) = exact('born.data');
	my (%cpu, @wrong);
	$cpu{$_->{pid}} += $_->{cpu_ns} for @{$report->{threads}};
	my @children = map { [split] } split /\n/, slurp('born.log');
	for my $child (@children) {
		my ($pid, undef, $used) = @$child;
		push @wrong, sprintf('%.3f ms of %.3f', ($cpu{$pid} // 0) / 1e6, $used / 1e6) if off($cpu{$pid} // 0, $used, $used);
	}
	is("@wrong", '', "$what: on-CPU times are those of rusage");
	adds_up($what, $report);
}

if (full(1, 0)) {
	from_before('attached', ['--duration', 10]);
	from_before('recorder stopped', ['--duration', 12], \&pause);
}
from_before('recorder stopped, --trace', ['--duration', full(12, 2), '--trace', '-m', 64], \&pause);

# An overcommitted machine, and what is left of that.
my @hackbench = ('hackbench', '-g', 1, '-l', 100_000_000);

# Overcommits it for a while, in the middle of a recording.
sub overcommit {
	my ($recorder) = @_;
	wait_for(180, sub { -s 'times.data' }) or return;
	my $load = start({group => 1}, @hackbench);
	sleep 0.7;
	stop($load);
	sleep 0.4;
	kill 'INT', $recorder;
}

if (full(1, 0)) {
	my $load = start({group => 1}, @hackbench);
	from_before("under hackbench, $_", ['-a', '--duration', 6]) for 1 .. 30;
	stop($load);
	from_before("after hackbench, $_", ['-a', '--duration', 6]) for 1 .. 30;
} else {
	from_before('hackbench', ['-a', '--duration', 100], \&overcommit);
}

done_testing;
