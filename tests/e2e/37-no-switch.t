#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A thread that has its CPU from before the recording until after it, without a switch: it was
# running, not waiting for a CPU. The scheduler takes the CPU from a real-time thread for at most 50 ms
# of each second; a recording in which it does is made again.
#
# Runs alone.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_command(qw(chrt taskset));
need_recording();

my @cpus = map { /^processor\s*:\s*(\d+)/ ? $1 : () } split /\n/, slurp('/proc/cpuinfo');
plan(skip_all => 'needs two CPUs') if @cpus < 2;
my ($own, $other) = @cpus;
plan(skip_all => 'needs real-time priority')
	if run('taskset', '-c', $other, 'chrt', '-f', 1, 'true')->{status};

my $pid = start({name => 'spin'}, 'taskset', '-c', $other, 'chrt', '-f', 1, $^X, '-e', '1 while 1');
ok(wait_for(180, sub { slurp("/proc/$pid/cmdline") =~ /1 while 1/ && slurp("/proc/$pid/stat") =~ /\) R / }),
	'a thread has a CPU for itself');

# How often the thread was given a CPU so far.
sub runs {
	return (split ' ', slurp("/proc/$pid/schedstat"))[2];
}

# The times of the thread in a recording in which it had no switch; undef if every one has some.
sub record_without_switch {
	my ($frequency) = @_;
	for (1 .. 30) {
		my $before = runs();
		unlink 'spin.data'; # one without samples does not take an earlier one's place
		my $got = run('taskset', '-c', $own, $DWELL, 'record', '-o', 'spin.data', '--duration', '0.1',
			'-F', $frequency, '-p', $pid);
		die $got->{err} if $got->{status};
		next if runs() != $before || slurp("/proc/$pid/stat") !~ /\) R /;
		return (@{report('-i', 'spin.data')->{threads}})[0];
	}
	return;
}

# With ticks of the sampling clock in its run, and before the first one.
for my $frequency (1000, 1) {
	my $thread = record_without_switch($frequency);
	SKIP: {
		skip "$frequency Hz: the thread did not keep its CPU", 1 unless $thread;
		is($thread->{cpu_ns} + $thread->{stolen_ns}, $thread->{lifetime_ns}, "$frequency Hz: it ran all the time");
	}
}
stop($pid, 'KILL');

done_testing;
