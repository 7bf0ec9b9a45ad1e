#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Time in which a thread is not allowed to run: by the quota of a control group, a freezer, a signal, a
# tracer, SCHED_DEADLINE, real-time throttling. It is as long as who stopped the thread measured, or as the
# kernel counts it, it is neither run queue nor sleep, and every view names what stopped the thread.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Groups;
use List::Util qw(sum0);
use Test::More;

need_recording();
need_root();

my $program = program('stopped');
my $ms = 1e6;

# ns of the worker in the recording: by class, all of it, and its waits of one kind with their objects.
sub times_of {
	my ($data, $kind) = @_;
	my $report = report('-i', $data, '--comm', 'worker,counted');
	my %ns;
	for my $thread (@{$report->{threads}}) {
		$ns{$_} += $thread->{"${_}_ns"} // $thread->{ns}{$_} // 0 for qw(cpu io lock sched other stopped stolen);
	}
	my @waits = grep { $_->{event} eq 'interval' && ($_->{kind} // '') =~ $kind }
		events('-i', $data, '--comm', 'worker,counted');
	return (\%ns, \@waits);
}

# What all views say of the recording: the object's name is in the bottleneck's row, the path and the report.
sub named_in_views {
	my ($data, $name, $what) = @_;
	my $waits = decode(run($DWELL, 'waits', '-i', $data, '--json', '--comm', 'worker')->{out});
	my ($edge) = grep { $_->{from} =~ /^worker/ } @{$waits->{edges}};
	like($edge->{to}, $name, "$what: waits has an edge to it");
	my ($vertex) = grep { $_->{name} eq $edge->{to} } @{$waits->{threads}};
	is($vertex->{type}, 'limit', "$what: which is no thread");
	my ($worker) = map { $_->{tid} } grep { $_->{name} =~ /^worker/ } @{$waits->{threads}};
	my $path = run($DWELL, 'path', '-i', $data, '--of', $worker);
	like($path->{out}, qr/^#   not allowed to run +[\d.]+/m, "$what: path has a line for it") or diag($path->{err});
	like($path->{out}, qr/\[stopped: $name/, "$what: path names it");
}

sub recorded {
	my ($data, @arguments) = @_;
	my $got = record(['--trace', '-o', $data], $program, @arguments);
	return $got if $got->{status} == 0;
	return undef if $got->{status} == 77; # refused by the kernel
	is($got->{status}, 0, "recorded: @arguments") or diag $got->{err};
	return undef;
}

# The worker was stopped for at least and at most that long, and it is waiting for nothing else then.
sub bounded {
	my ($what, $got, $data, $name, $kind) = @_;
	my $truth = decode($got->{out});
	my ($ns, $waits) = times_of($data, $kind);
	my $slack = 1 * $ms;
	cmp_ok($ns->{stopped}, '>=', $truth->{least_ns} - $slack, "$what: not less than it was stopped");
	cmp_ok($ns->{stopped}, '<=', $truth->{most_ns} + $slack, "$what: nor more");
	is(scalar(grep { $_->{t_wake_ns} - $_->{t_out_ns} > 50 * $ms } @$waits), $truth->{rounds}, "$what: as often as it was");
	named_in_views($data, $name, $what);
}

for my $naps ([], ['naps']) {
	my $got = recorded('signal.data', 'signal', @$naps);
	bounded("SIGSTOP @$naps", $got, 'signal.data', qr/stopped by stopped \(\d+\)/, qr/^stopped$/) if $got;
}

# A process that was stopped before it was recorded, and still is at the end, or goes on before.
for my $goes_on (0, 1) {
	my $what = $goes_on ? 'stopped before, goes on' : 'stopped all the time';
	my $pid = start('sleep', '60');
	kill 'STOP', $pid;
	wait_for(180, sub { slurp("/proc/$pid/stat") =~ /\) T / });
	my $data = "before$goes_on.data";
	my $busy = start('sh', '-c', 'while sleep 0.01; do :; done');
	my $recorder = start($DWELL, 'record', '--trace', '-o', $data, '-p', "$pid,$busy");
	my $begun;
	wait_for(180, sub { my $size = -s $data or return; $begun //= $size; return $size > $begun });
	kill 'CONT', $pid if $goes_on;
	wait_for(180, sub { slurp("/proc/$pid/stat") !~ /\) T / }) if $goes_on;
	is(stop($recorder, 'INT')->{status}, 0, "$what: recorded");
	stop($_, 'KILL') for $pid, $busy;
	my ($stop) = grep { $_->{event} eq 'interval' && $_->{class} eq 'stopped' } events('-i', $data, '--tid', $pid);
	is($stop->{kind}, 'stopped', "$what: it is");
}

# A tracer works for as long as it stops another: it is waited for.
if (my $got = recorded('trace.data', 'trace')) {
	my $truth = decode($got->{out});
	my ($ns) = times_of('trace.data', qr/^ptrace stop$/);
	cmp_ok($ns->{stopped}, '>=', $truth->{least_ns} - $ms, 'ptrace: not less than it was stopped');
	cmp_ok($ns->{stopped}, '<=', $truth->{most_ns} + $ms, 'ptrace: nor more');
	my $waits = decode(run($DWELL, 'waits', '-i', 'trace.data', '--json', '--comm', 'worker')->{out});
	my ($edge) = grep { $_->{from} =~ /^worker/ } @{$waits->{edges}};
	like($edge->{to}, qr/^stopped/, 'ptrace: the tracer is waited for');
}

for my $subsystem ('freezer', 'none') {
	my ($top, $version) = Groups::top($subsystem);
	my $group = $top ? Groups::make($top, "frozen-$subsystem") : undef;
	my $file = $group && "$group/" . ($version == 1 ? 'freezer.state' : 'cgroup.freeze');
	SKIP: {
		skip "no freezer of control groups version " . ($subsystem eq 'freezer' ? 1 : 2), 1 if !$file || !-e $file;
		my $got = recorded('frozen.data', 'freeze', $file) or skip 'refused', 1;
		bounded("freezer, version $version", $got, 'frozen.data', qr{frozen /\S*dwell-test-$$-frozen-$subsystem}, qr/^frozen$/);
	}
}

# A quota: what the kernel counts while the worker computes. A parent's quota stops its children, too, and is named.
my ($top, $version) = Groups::top('cpu');
sub quota {
	my ($group, $us) = @_;
	return Groups::set("$group/cpu.max", "$us 100000") if $version == 2;
	return Groups::set("$group/cpu.cfs_period_us", 100000) && Groups::set("$group/cpu.cfs_quota_us", $us);
}
SKIP: {
	my $outer = $top ? Groups::make($top, 'quota') : undef;
	skip 'no control groups for CPU time', 1 if !$outer || !quota($outer, 20000);
	# So that the worker uses up its quota on a busy machine, too.
	Groups::set($version == 2 ? "$outer/cpu.weight" : "$outer/cpu.shares", $version == 2 ? 10000 : 100000);
	my @groups = ($outer);
	if ($version == 1) {
		my $inner = Groups::make($outer, 'inner');
		push @groups, $inner if $inner;
	}
	for my $group (@groups) {
		my $what = $group eq $outer ? 'a quota' : 'the quota of a group around it';
		my ($got, $ns, $waits, $truth);
		for (1 .. 6) {
			$got = recorded('quota.data', 'quota', "$group/cgroup.procs") or last;
			($ns, $waits) = times_of('quota.data', qr/^cpu quota$/);
			$truth = decode($got->{out});
			last if $truth->{throttled_least_ns} > 10 * $ms;
			note("$what: it was stopped for $truth->{throttled_least_ns} ns, again");
		}
		next if !$got;
		my ($least, $most) = @$truth{qw(throttled_least_ns throttled_most_ns)};
		my $slack = $most / 100 > $ms ? $most / 100 : $ms;
		my ($stopped, $queued) = stopped_and_queued('quota.data', 'counted');
		# From 6.18 on, the kernel counts while a thread waits for a CPU, to be stopped when it has it.
		ok($least - $slack - $queued <= $stopped && $stopped <= $most + $slack, "$what: as long as the kernel counts")
			or diag "$least <= $stopped <= $most";
		cmp_ok($stopped + $queued, '>=', $truth->{waited_least_ns} - $slack - $ns->{stolen}, "$what: and all that it waited");
		ok(@$waits > 0, "$what: its waits are of the kind");
		named_in_views('quota.data', qr{cpu quota /dwell-test-$$-quota(?! /)}, $what);
		my $text = run($DWELL, 'waits', '-i', 'quota.data', '--comm', 'worker')->{out};
		# On a busy machine, a thread with a small quota may wait longer for a CPU.
		$text =~ s/\s+/ /g;
		like($text, qr/worker -> cpu quota \S+ cpu quota \S+ \(20 of 100 ms\)/, "$what: waits has its values");
		like($text, qr/worker is not allowed to run \d+% of the time: cpu quota \S+ \(20 of 100 ms\)\./, "$what: and says so")
			if $ns->{stopped} > 2 * $ns->{sched};
	}
}

# A thread that waits for a CPU is moved to one where the quota has been used up.
SKIP: {
	my $group = $top ? Groups::make($top, 'moved') : undef;
	skip 'no control groups for CPU time, or one CPU', 1 if !$group || !-d '/sys/devices/system/cpu/cpu1' || !quota($group, 20000);
	my $got = recorded('moved.data', 'quota', "$group/cgroup.procs", 'moves') or skip 'refused', 1;
	my ($idle, $gaps) = @{decode($got->{out})}{qw(idle_ns gaps_ns)};
	my ($stopped) = stopped_and_queued('moved.data', 'counted');
	my $ticks = 80 * $ms; # of 8 times
	ok($idle - $ticks <= $stopped && $stopped <= $gaps + $ms, 'the quota of another CPU: as long as it was')
		or diag "$idle <= $stopped <= $gaps";
}

# Each long gap in which the worker did not run is stopped, queued or stolen.
for (['deadline', qr/deadline throttling/], ['realtime', qr/real-time throttling/]) {
	my ($how, $name) = @$_;
	SKIP: {
		my $got = recorded("$how.data", $how) or skip "the kernel refuses $how", 1;
		my ($gaps, $long) = @{decode($got->{out})}{qw(gaps_ns long_gaps_ns)};
		my ($ns, $waits) = times_of("$how.data", qr/^$name$/);
		skip "$how: nothing was throttled", 1 if $how eq 'realtime' && !@$waits;
		named_in_views("$how.data", $name, $how);
		cmp_ok($ns->{stopped}, '<=', $gaps + $ms, "$how: not more than the gaps");
		cmp_ok($ns->{stopped} + $ns->{sched} + $ns->{stolen} + $ms, '>=', 0.99 * $long, "$how: long gaps are explained")
			or diag "gaps $gaps, stopped $ns->{stopped}, queued $ns->{sched}, stolen $ns->{stolen}";
	}
}

done_testing;
