#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Attaching to what already runs, by process, by thread, to everything; and
# letting go without disturbing it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Statistics;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

my $signals = program('signals');

# Whether a file is larger than when this was asked first.
my %begun;
sub grows {
	my ($file) = @_;
	my $size = -s $file or return 0;
	$begun{$file} //= $size;
	return $size > $begun{$file};
}

# One process: recorded while attached, undisturbed before, meanwhile and after.
my $pid = start({name => 'alone'}, $signals, '--seconds', 12, '--ready', 'ready');
ok(wait_for(180, sub { -s 'ready' }), 'a program runs');
my $got = run($DWELL, 'record', '-o', 'p.data', '--duration', '2', '-p', $pid);
is($got->{status}, 0, 'record -p for 2 s');
ok(is_running($pid), 'the program runs on');
my $report = report('-i', 'p.data');
my @threads = grep { $_->{pid} == $pid } @{$report->{threads}};
is(scalar(@threads), 1, 'its thread is in the recording');
is(scalar(@{$report->{threads}}), 1, 'and nothing else');
my $sum = 0;
$sum += $threads[0]{"${_}_ns"} // 0 for qw(cpu io lock sched other stopped stolen not_seen);
near(100 * $sum / $threads[0]{lifetime_ns}, 100, 0.1, 'its times sum to the time attached');
# Sampling is unbiased off the CPU. On it, ticks miss the end of short runs: half of the time of bursts
# of some us at most (18-calibration.t).
for my $class (qw(io lock sched other)) {
	my $share = 100 * $threads[0]{"${class}_ns"} / $sum;
	near(100 * weight_of($report, class => $class) * $report->{period_ns} / $sum, $share,
		share_bound($share, $sum / $report->{period_ns}), "the samples stand for all of it: $class");
}
cmp_ok(weight_of($report, class => 'cpu') * $report->{period_ns}, '>', 0.5 * $threads[0]{cpu_ns},
	'and for what it ran');
my $seen = $sum - $threads[0]{stolen_ns} - $threads[0]{not_seen_ns};
near(100 * time_of($report) / $seen, 100, 0.1, 'calibrated samples stand for all of it that has a class');

# Ctrl-C on the recorder leaves the process alone.
my $recorder = start({name => 'int'}, $DWELL, 'record', '-o', 'int.data', '-p', $pid);
ok(wait_for(180, sub { grows('int.data') }), 'it is recorded');
is(stop($recorder, 'INT')->{status}, 0, 'SIGINT detaches');
ok(is_running($pid), 'the program runs on');
ok(weight_of(report('-i', 'int.data')) > 0, 'and the recording can be read');

my $truth = decode(finish($pid)->{out});
is($truth->{interrupted}, 0, 'the program saw no interrupted call in all that');

# The recorder ends when the process does.
$pid = start({name => 'ended'}, $signals, '--seconds', 600, '--ready', 'again');
ok(wait_for(180, sub { -s 'again' }), 'another program runs');
$recorder = start({name => 'ends'}, $DWELL, 'record', '-o', 'ends.data', '-p', $pid);
ok(wait_for(180, sub { grows('ends.data') }), 'it is recorded');
is(stop($pid, 'KILL')->{signal}, 9, 'it ends');
$got = finish($recorder);
is($got->{status}, 0, 'the recorder ends with it') or diag($got->{err});

# Who has ended, though nobody has asked how, is no process any more.
$pid = start({name => 'zombie'}, 'true');
ok(wait_for(180, sub { slurp("/proc/$pid/stat") =~ /\) Z / }), 'a process has ended');
$got = run($DWELL, 'record', '-o', 'z.data', '--duration', '10', '-p', $pid);
is($got->{status}, 1, 'it cannot be recorded');
like($got->{err}, qr/no thread of the processes is there any more/, 'which is told');
finish($pid);

# Two processes.
my @two = map { start({name => "two$_"}, $signals, '--seconds', 60, '--ready', "ready$_") } 0, 1;
ok(wait_for(180, sub { -s 'ready0' && -s 'ready1' }), 'two programs run');
run($DWELL, 'record', '-o', 'two.data', '--duration', '1', '-p', join(',', @two));
$report = report('-i', 'two.data');
is_deeply([sort { $a <=> $b } map { $_->{pid} } @{$report->{threads}}],
	[sort { $a <=> $b } @two], 'record -p PID,PID has both');

# Everything on the machine.
run($DWELL, 'record', '-o', 'all.data', '--duration', '1', '-a');
$report = report('-i', 'all.data');
my %seen = map { $_->{pid} => 1 } @{$report->{threads}};
ok($seen{$_}, "record -a has process $_") for @two;
ok((grep { $_->{pid} != $two[0] && $_->{pid} != $two[1] } @{$report->{threads}}),
	'and others');
stop($_, 'KILL') for @two;

# One thread of many, and none of its siblings.
$pid = start({name => 'classes'}, program('classes'), '--seconds', 60, '--ready', 'ready.c');
ok(wait_for(180, sub { -s 'ready.c' }), 'a program with many threads runs');
my $tid;
wait_for(180, sub {
	($tid) = map { m{/(\d+)/comm$} } grep { slurp($_) eq "worker1\n" } glob "/proc/$pid/task/*/comm";
});
$got = run($DWELL, 'record', '-o', 't.data', '--duration', '1', '-t', $tid);
is($got->{status}, 0, 'record -t for 1 s');
$report = report('-i', 't.data');
is_deeply([map { $_->{tid} } @{$report->{threads}}], [$tid], 'record -t has that thread only');
is($report->{threads}[0]{comm}, 'worker1', 'under its name');
stop($pid, 'KILL');

# What is in a control group, or enters it.
SKIP: {
	my ($mount) = slurp('/proc/mounts') =~ /^\S+ (\S+) cgroup2 /m;
	my $group = ($mount // '') . "/dwell-test-$$";
	skip 'no cgroup of version 2 can be made here', 3 unless $mount && mkdir $group;
	my $entered = start({name => 'entered'}, 'sh', '-c',
		"sleep 1; echo \$\$ > $group/cgroup.procs && exec $signals --seconds 60");
	my $outside = start({name => 'outside'}, $signals, '--seconds', 60);
	$got = run($DWELL, 'record', '-o', 'group.data', '--duration', '3', '--cgroup', $group);
	is($got->{status}, 0, 'record --cgroup');
	my %seen = map { $_->{pid} => 1 } @{report('-i', 'group.data')->{threads}};
	ok($seen{$entered}, 'has the process that entered');
	ok(!$seen{$outside}, 'and not the one outside');
	stop($_, 'KILL') for $entered, $outside;
	rmdir $group;
}

done_testing;
