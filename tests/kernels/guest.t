#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# In a guest with another kernel (see ladder.t): every rung of the ladder it has takes
# the same stacks, nothing is lost, every waker is known. Here no kernel hides
# tasks from tracing: what is only bounded elsewhere must be none. Causal profiling
# makes experiments. With arguments, only the checks with these names run: see @checks.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use OtherKernel;
use List::Util qw(sum0);
use Test::More;

# Where sleepers' stacks can be taken, by the kernel's version and by how it was
# compiled (what a compiler has split or cloned cannot be traced by its name).
my ($major, $minor) = `uname -r` =~ /^(\d+)\.(\d+)/;
my @rungs = qw(kprobe switch-out);
unshift @rungs, 'fexit' if slurp('/proc/kallsyms') =~ /^\w+ [tT] finish_task_switch$/m;
unshift @rungs, 'sched_exit_tp' if $major * 1000 + $minor >= 6015;
note("Linux $major.$minor has: @rungs");

sub check_switches {
	my ($rung, $what) = (@_, $_[0]);
	# Room for all copies of stacks, as one thread emulates both CPUs, and the recorder may not get one for long.
	my $got = record(['-v', '--no-symbols', '--trace', '--stack-at', $rung, '-m', 65536, '-o', 'switches.data'], program('switches'),
		'--rounds', 200, '--pairs', 1);
	is($got->{status}, 0, "$what: switches recorded") or diag($got->{err});
	like($got->{err}, qr/\b\Q$rung\E\b/, "$what: is what record -v names");
	my $report = report('-i', 'switches.data', '--sort', 'comm');
	my @lost = grep { $report->{lost}{$_} } keys %{$report->{lost}};
	# Kernels from 7.0 are preempted where schedule() ends, which stands in for finish_task_switch():
	# what they skip then is counted, and nothing else may be.
	@lost = grep { !/skipped by the kernel/ } @lost if $rung eq 'fexit' && $major >= 7;
	is(join(', ', map { "$report->{lost}{$_} $_" } @lost), '', "$what: nothing lost, nothing hidden");

	my (%intervals, %by_nobody);
	for my $event (events('-i', 'switches.data', '--no-stacks')) {
		next unless $event->{event} eq 'interval' && $event->{flags} !~ /first|unfinished/;
		$intervals{$event->{tid}}++;
		$by_nobody{$event->{comm}}++ if $event->{class} ne 'sched' && $event->{waker_context} eq 'unknown';
	}
	my @off = grep {
		my $difference = $_->{voluntary} + $_->{involuntary} - ($intervals{$_->{tid}} // 0);
		$difference < 0 || $difference > 1;
	} @{$report->{threads}};
	is(scalar(@off), 0, "$what: each thread has as many intervals as switches")
		or diag(map { "$_->{comm} $_->{tid}: $_->{voluntary} + $_->{involuntary} switches, "
				. ($intervals{$_->{tid}} // 0) . " intervals\n" } @off);
	is_deeply(\%by_nobody, {}, "$what: every wait names its waker, or an interrupt");
}

# Waits of the two threads at known places, each with the functions that lead there. (The main
# thread tries both files with a read of its own.)
my @places = (
	[pread => qw(do_reads)], [pwrite => qw(do_write)],
	[pthread_cond_wait => qw(wait_barrier)],
);

sub check_stacks {
	my ($rung) = @_;
	my $got = record(['--stack-at', $rung, '-o', 'figure1.data'], program('figure1'), '--iterations', 60);
	is($got->{status}, 0, "$rung: figure1 recorded") or diag($got->{err});
	my %seen;
	my ($right, $waits) = (0, 0);
	for my $event (grep { $_->{event} eq 'interval' } events('-i', 'figure1.data')) {
		next if $event->{comm} !~ /^T[12]$/ || $event->{class} eq 'sched' || !@{$event->{frames}};
		my %frames = @{$event->{frames}};
		my @symbols = keys %frames;
		for my $place (@places) {
			my ($call, $caller) = @$place;
			next unless grep { /^(?:__)?(?:libc_)?\Q$call\E/ } @symbols;
			$waits++;
			my $good = grep { $_ eq $caller } @symbols;
			$right++ if $good;
			$seen{$call}++ if $good;
		}
	}
	cmp_ok($waits, '>', 20, "$rung: there are waits at known places");
	cmp_ok($right, '>=', 0.995 * $waits, "$rung: $right of $waits have their caller");
	ok($seen{$_}, "$rung: $_ is seen") for qw(pread pwrite);
	my $truncated = report('-i', 'figure1.data')->{truncated};
	note(join ', ', map { "$truncated->{$_} $_" } sort keys %$truncated);
}

# Wakeups come while the kernel is within task storage, where dwell's own states of threads
# are, too: before 6.2 they cannot be looked up there then.
sub check_busy_storage {
	my $pid = start(program('task_storage'), '--seconds', 300);
	my $got = record(['--no-symbols', '--trace', '-o', 'storage.data'], program('switches'), '--rounds', 300, '--pairs', 1);
	ok(is_running($pid), 'task storage was in use all the while');
	stop($pid, 'KILL');
	is($got->{status}, 0, 'task storage in use: switches recorded') or diag($got->{err});
	my $lost = report('-i', 'storage.data', '--sort', 'comm')->{lost};
	is(join(', ', map { "$lost->{$_} $_" } grep { $lost->{$_} } keys %$lost), '', 'task storage in use: nothing lost, nothing hidden');
	my %by_nobody;
	for my $event (events('-i', 'storage.data', '--no-stacks')) {
		$by_nobody{$event->{comm}}++ if $event->{event} eq 'interval' && $event->{flags} !~ /first|unfinished/
			&& $event->{class} ne 'sched' && $event->{waker_context} eq 'unknown';
	}
	is_deeply(\%by_nobody, {}, 'task storage in use: every wait names its waker, or an interrupt');
}

# What dwell path records: all kernel threads, and whoever is linked to the command by wakeups.
sub check_path {
	my $got = record(['--no-symbols', '--trace', '--wakers', 'linked', '-o', 'path.data'], program('paths'), 'pass', '--rounds', 5);
	is($got->{status}, 0, 'dwell path: recorded');
	my $path = decode(run({seconds => 120}, $DWELL, 'path', '--json', '-i', 'path.data')->{out});
	cmp_ok($path->{accounted_percent}, '>=', 95, 'dwell path: accounted for');
	is(scalar(@{$path->{gaps}}), 0, 'dwell path: no gaps');
}

# Requests over connections: at the tracepoints of Linux 6.3, or at all system calls. And calls of a
# function, which a return probe ends: stacks go on to the caller, through the probe's trampoline.
sub check_requests {
	for my $source ('tcp:7777', "unix:$DIR/socket", 'answer') {
		my $address = $source eq 'answer' ? 'tcp:7778' : $source;
		my $got = record(['--trace', '-o', 'requests.data', '--request', $source], program('requests'), 'closed', $address, '--requests', 30);
		is($got->{status}, 0, "$source: recorded") or diag($got->{err});
		my $path = decode(run({seconds => 120}, $DWELL, 'path', '--json', '-i', 'requests.data', '--request', $source)->{out});
		my ($truth, $latency) = (decode($got->{out}), $path->{requests}{latency});
		my ($least, $most) = $source eq 'answer' ? @$truth{qw(answer_least_ns answer_most_ns)} : @$truth{qw(least_ns most_ns)};
		is($path->{requests}{count}, 30, "$source: number of requests");
		ok($least <= $latency->{sum_ns} && $latency->{sum_ns} <= $most, "$source: latency")
			or diag("$least <= $latency->{sum_ns} <= $most");
		my ($outermost) = map { $_->{children}[0]{frame} // '' } @{$path->{tree}};
		like($outermost, qr/^(?:_start|clone|__clone3?|start_thread)/, "$source: stacks") if $source eq 'answer';
	}
}

# Calls of functions, by return probes and (in a program with exceptions) by probes at their exits: one link
# for all places since Linux 6.6, one each before.
sub check_calls {
	my $dir = $FindBin::Bin =~ s/kernels$/calls/r;
	is(run({seconds => 120}, 'g++', '-O2', '-g', '-o', 'thrown', "$dir/thrown.cc")->{status}, 0, 'calls: a program is built');
	my %programs = ('answer' => [30, program('requests'), 'closed', 'tcp:7779', '--requests', 30], 'once,tail' => [30, './thrown', 30]);
	for my $functions (sort keys %programs) {
		my ($n, @command) = @{$programs{$functions}};
		my $got = run({seconds => 240}, $DWELL, 'latency', 'run', '--limit', 0, '--function', $functions, '-o', 'calls.data', '--', @command);
		is($got->{status}, 0, "calls of $functions: recorded") or diag($got->{err});
		my $report = decode(run({seconds => 120}, $DWELL, 'latency', 'report', '--json', '-i', 'calls.data')->{out});
		my %calls;
		$calls{$_->{name} =~ s/\(.*//r} += $_->{calls} for @{$report->{functions}};
		is($calls{(split /,/, $functions)[0]}, $n, "calls of $functions: all of them");
		is($calls{tail}, $n * 2 / 3, 'and those that ended with a jump') if $functions =~ /tail/;
	}
}

# What all halves of experiments in the profile saw, in all: {halves, hit_ns} of the target,
# {delay_ns} put in for it, {visits} of the progress point $point.
sub seen_by_experiments {
	my ($point) = @_;
	my (%seen, %name);
	$seen{$_} = 0 for qw(halves hit_ns delay_ns visits);
	for my $line (map { decode($_) } split /\n/, slurp('p')) {
		$name{"$line->{run} $line->{id}"} = $line->{name} if $line->{type} eq 'point';
		next unless $line->{type} eq 'experiment';
		for my $half (@$line{qw(base with)}) {
			$seen{halves}++;
			$seen{$_} += $half->{$_} for qw(hit_ns delay_ns);
			$seen{visits} += $_->[1] for grep { $name{"$line->{run} $_->[0]"} eq $point } @{$half->{points}};
		}
	}
	return \%seen;
}

# Virtual speedups of what every round waits for. In an emulated machine times mean nothing, so
# no prediction is looked at: experiments are made, they count visits, hits in the target and the
# time that is put in for them, and threads can be paused. Where a busy host left no room for
# that, a longer run is added to the profile.
sub check_causal {
	my ($what, $point, $options, @command) = @_;
	my ($got, $seen);
	unlink 'p';
	for my $seconds (3, 6, 12, 24) {
		$got = causal_more([@$options, '--speedup', 50, '--min-visits', 1], @command,
			'--ns-per-loop', 2, '--seconds', $seconds);
		$seen = seen_by_experiments($point);
		last if $got->{status} || !grep { !$_ } values %$seen;
	}
	is($got->{status}, 0, "$what: ran") or diag($got->{err});
	cmp_ok($seen->{halves}, '>=', 2, "$what: experiments are made");
	ok($seen->{visits}, "$what: visits of $point are counted");
	ok($seen->{hit_ns}, "$what: it is hit");
	ok($seen->{delay_ns}, "$what: time is put in for that");
	unlike(problems_of($got), qr/libdwell\.so is not in|did not send/, "$what: threads can be paused");
	return $got;
}

# Code, with progress that the program itself tells and with a function's visits; and a kind of
# waiting, told by the kernel's stack when it is over.
sub check_virtual_speedups {
	my @barrier = (program('causal'), 'barrier');
	my $got = check_causal('a function', 'round', ['--target', 'work_long'], @barrier);
	ok((grep { $_->{function} eq 'work_long' && $_->{ns} } @{$got->{report}{places}}),
		'a function: samples are in it');
	check_causal('beside a probe', 'work_long', ['--target', 'work_long', '--progress', 'work_long'], @barrier);
	check_causal('a kind of waiting', 'round', ['--class', 'sleep'], program('causal'), 'usleep-barrier');
}

# Calls @$tests by other types of the kernel (OtherKernel.pm).
sub by_other_types {
	my ($changes, $tests) = @_;
	my $file = make_types('types', @$changes);
	is(run('mount', '--bind', $file, $TYPES)->{status}, 0, 'other types are mounted');
	$tests->();
	is(run('umount', $TYPES)->{status}, 0, 'and unmounted');
}

# What 5.15 to 5.17 have: stacks by frame pointers, and no lock points of the kernel; threads that
# are left at the end have no user stack; no causal profiles.
sub check_as_5_15 {
	check_switches('switch-out', 'as 5.15');
	my $got = record(['--no-symbols', '--trace', '-o', 'figure1.data'], program('figure1'), '--iterations', 60);
	is($got->{status}, 0, 'as 5.15: figure1 recorded');
	my $report = report('-i', 'figure1.data', '--sort', 'comm');
	cmp_ok($report->{truncated}{frame_pointer}, '>', 20, 'as 5.15: the report has the number of stacks by frame pointers')
		or diag explain $report->{truncated};
	is(join(', ', map { "$report->{lost}{$_} $_" } grep { $report->{lost}{$_} } keys %{$report->{lost}}), '', 'as 5.15: nothing lost');
	my ($pid, %classes) = (start(program('hang'), '--ready', 'ready'));
	wait_for(180, sub { -s 'ready' });
	is(record(['--no-symbols', '-p', $pid, '--duration', '2s', '-o', 'pid.data'])->{status}, 0, 'as 5.15: a running program: recorded');
	stop($pid, 'KILL');
	unlink 'ready';
	$classes{$_->{class}}++ for grep { $_->{event} eq 'interval' && $_->{flags} =~ /unfinished/ } events('-i', 'pid.data');
	ok(%classes, 'as 5.15: threads that wait at the end are in the recording');
	$got = run({seconds => 60}, $DWELL, 'causal', 'run', '-o', 'p', '--', 'true');
	isnt($got->{status}, 0, 'as 5.15: no causal profile');
	like($got->{err}, qr/^dwell: causal profiling needs Linux 5\.17 or later$/m, 'and why not');
}

# Of two groups with a quota, the outer one stops the worker: it is named. Before 6.18, only the end of the
# stop is seen, when no group is throttled any more: the innermost one is named.
sub check_outer_quota {
	my ($top) = @_;
	spew("$top/limited/cgroup.subtree_control", '+cpu');
	mkdir "$top/limited/inner";
	spew("$top/limited/inner/cpu.max", '90000 100000');
	my $got = record(['--no-symbols', '--trace', '-o', 'outer.data'], program('stopped'), 'quota', "$top/limited/inner/cgroup.procs");
	is($got->{status}, 0, 'the quota of an outer group: recorded') or diag($got->{err});
	my $named = $major > 6 || ($major == 6 && $minor >= 18) ? qr{cpu quota /limited \(20 of 100 ms\)}
		: qr{cpu quota /limited(?: \(20|/inner \(90) of 100 ms\)};
	like(run($DWELL, 'waits', '-i', 'outer.data')->{out} =~ s/\s+/ /gr, $named, 'the quota of an outer group: it is named')
		or diag(join("\n", grep { /quota/ } split /\n/, run($DWELL, 'waits', '-i', 'outer.data')->{out}));
}

# What $measure returns: a result of record() and, for each bound, its name, the least, the value and the most.
# Up to six times: one thread emulates both CPUs, so that one of them may stand still for a tenth of a second
# anywhere, also after the kernel has read a clock and before dwell reads its own.
sub bounds {
	my ($what, $measure) = @_;
	my ($got, @bounds);
	for (1 .. 6) {
		($got, @bounds) = $measure->();
		last if !grep { $_->[2] < $_->[1] || $_->[2] > $_->[3] } @bounds;
		note("$what, again: ", join '; ', map { sprintf '%s: %.0f <= %.0f <= %.0f', @$_ } @bounds);
	}
	is($got->{status}, 0, "$what: recorded") or diag($got->{err});
	ok($_->[1] <= $_->[2] && $_->[2] <= $_->[3], sprintf '%s: %s: %.0f <= %.0f <= %.0f', $what, @$_) for @bounds;
}

# memory.high of a control group: as long as the worker had no CPU, and not more often than the kernel counts.
sub check_memory_high {
	my ($group) = @_;
	my $what = 'memory.high';
	mkdir $group;
	spew("$group/memory.high", 16 << 20);
	bounds($what, sub {
		my ($before) = slurp("$group/memory.events") =~ /^high (\d+)/m;
		my $got = record(['--trace', '-o', 'high.data'], program('stopped'), 'memory', "$group/cgroup.procs");
		my ($events) = slurp("$group/memory.events") =~ /^high (\d+)/m;
		my $gaps = decode($got->{out})->{gaps_ns};
		my ($worker) = grep { $_->{comm} eq 'worker' } @{report('-i', 'high.data')->{threads}};
		my %ns = map { $_ => $worker->{"${_}_ns"} // $worker->{ns}{$_} // 0 } qw(stopped sched io lock other stolen);
		my @waits = grep { $_->{event} eq 'interval' } events('-i', 'high.data', '--comm', 'worker');
		my @stops = grep { ($_->{kind} // '') eq 'memory throttling' } @waits;
		# The function that the kernel sleeps in, behind those of the scheduler and of timers.
		my @high = grep {
			my %frames = @{$_->{frames}};
			my ($in) = grep { exists $frames{$_} && !/^_*schedule/ } @{$_->{frames}};
			$_->{class} ne 'sched' && ($in // '') =~ /^_*mem_cgroup_handle_over_high/;
		} @waits;
		return ($got, ['number of stops', 1, scalar @stops, $events - $before],
			['as many as waits in its function', scalar @high, scalar @stops, scalar @high],
			['not more than the gaps', 0, $ns{stopped}, $gaps + 1e6],
			['the gaps are explained', 0.99 * $gaps - 1e6, sum0(values %ns), 'inf']);
	});
	like(run($DWELL, 'waits', '-i', 'high.data')->{out} =~ s/\s+/ /gr, qr{memory throttling /high \(memory\.high 16 MiB\)}, "$what: named, with its value");
}

# Of two threads on one CPU, one waits while the other CPU is idle, or not.
sub check_affinity {
	for my $how ('idle', 'busy') {
		bounds("affinity, $how", sub {
			my $got = record(['--no-symbols', '--trace', '-o', 'affinity.data'], program('affinity'), $how);
			my ($least, $most, $idle, $occupied) = @{decode($got->{out})}{qw(waited_least_ns waited_most_ns idle_ns occupied_ns)};
			my ($stopped, $queued) = stopped_and_queued('affinity.data', 'bound');
			return ($got, ['as long as the kernel counts', 0.97 * $least, $stopped + $queued, 1.03 * $most],
				['stopped while the other CPU is idle', 0.99 * $idle - 1e6, $stopped, 'inf'],
				['queued while it is busy', 0.99 * $occupied - 1e6, $queued, 'inf']);
		});
	}
}

# A quota of a control group of version 2, by the kernel's counter. That goes on when threads that were to be stopped
# sleep, or have exited; from 6.18 on also while they wait for a CPU, to be stopped when they have it.
sub check_quota {
	my ($group) = @_;
	bounds('a quota', sub {
		my $got = record(['--no-symbols', '--trace', '-o', 'quota.data'], program('stopped'), 'quota', "$group/cgroup.procs");
		my $truth = decode($got->{out});
		my ($stopped, $queued) = stopped_and_queued('quota.data', 'counted');
		my $early = $major * 1000 + $minor >= 6018 ? $queued : 0;
		return ($got, ['as long as it waited', 0.97 * $truth->{waited_least_ns}, $stopped + $queued, 1.03 * $truth->{waited_most_ns}],
			['stopped as long as the kernel counts', 0.99 * $truth->{throttled_least_ns} - $early - 1e6, $stopped, 1.01 * $truth->{throttled_most_ns} + 1e6]);
	});
}

# A thread that waits for a CPU is moved to one where the quota has been used up.
sub check_moved {
	my ($group) = @_;
	bounds('a quota of another CPU', sub {
		my $got = record(['--no-symbols', '--trace', '-o', 'moved.data'], program('stopped'), 'quota', "$group/cgroup.procs", 'moves');
		my ($idle, $gaps) = @{decode($got->{out})}{qw(idle_ns gaps_ns)};
		my ($stopped) = stopped_and_queued('moved.data', 'counted');
		return ($got, ['as long as it was', 0.99 * $idle - 1e6, $stopped, $gaps + 1e6]);
	});
}

sub check_stop_signal {
	bounds('a stop signal', sub {
		my $got = record(['--no-symbols', '--trace', '-o', 'signal.data'], program('stopped'), 'signal');
		my ($least, $most) = @{decode($got->{out})}{qw(least_ns most_ns)};
		my ($worker) = grep { $_->{comm} eq 'worker' } @{report('-i', 'signal.data')->{threads}};
		return ($got, ['as long as it was', $least - 1e6, $worker->{stopped_ns} // $worker->{ns}{stopped}, $most + 1e6]);
	});
}

sub check_stopped {
	my $top = "$DIR/groups";
	mkdir $top;
	is(system('mount', '-t', 'cgroup2', 'none', $top), 0, 'stopped: control groups of version 2');
	spew("$top/cgroup.subtree_control", '+cpu +memory');
	mkdir "$top/limited";
	spew("$top/limited/cpu.max", '20000 100000');
	check_quota("$top/limited");
	check_moved("$top/limited");
	check_stop_signal();
	check_outer_quota($top);
	check_memory_high("$top/high");
	check_affinity();
	system('umount', $top);
}

my @checks = (busy_storage => \&check_busy_storage, path => \&check_path, stopped => \&check_stopped,
	requests => \&check_requests, calls => \&check_calls, speedups => \&check_virtual_speedups);
if (@ARGV) {
	my %checks = @checks;
	$checks{$_}->() for @ARGV;
	done_testing();
	exit;
}
$_->() for grep { ref } @checks;
for my $rung (@rungs) {
	check_switches($rung);
	check_stacks($rung);
}
by_other_types([@AS_5_15, $major * 1000 + $minor < 6005 ? () : 'btf_trace_block_io_start=none'], \&check_as_5_15);
unless (grep { $_ eq 'fexit' } @rungs) {
	by_other_types(\@FEXIT_OF_SCHEDULE, sub {
		check_switches('fexit');
		check_stacks('fexit');
	});
}

# What a user does first: the best rung by itself, on a command and by pid.
my $got = record(['-v', '--no-symbols', '-o', 'best.data'], program('figure1'), '--iterations', 20);
is($got->{status}, 0, 'no rung asked for: recorded');
like($got->{err}, qr/\b\Q$rungs[0]\E\b/, "and $rungs[0] was chosen");

my $pid = start(program('hang'), '--ready', 'ready');
wait_for(180, sub { -s 'ready' });
$got = record(['--no-symbols', '-p', $pid, '--duration', '2s', '-o', 'pid.data']);
is($got->{status}, 0, 'a running program: recorded');
stop($pid, 'KILL');
my $report = report('-i', 'pid.data', '--sort', 'comm');
ok(@{$report->{threads}} > 0, 'its threads are there');
# The machine is quiet: what it does while programs are attached and detached would be most of it.
cmp_ok($report->{machine_switches} - $report->{machine_switches_traced}, '<=', 5 + 0.1 * $report->{machine_switches},
	'the programs see the switches that the machine makes while it is recorded');

done_testing();
