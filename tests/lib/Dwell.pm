# SPDX-License-Identifier: BSD-2-Clause
#
# What the end-to-end tests share: a directory of its own for every test,
# running dwell and the known-answer programs, JSON, comparing shares.
#
# Besides modules that come with perl, JSON::XS is used: it is sixty times as fast as JSON::PP.
# A test kills only what it started, by its pid. A missing privilege skips a test, but fails it
# when CI=true. DWELL_TEST_KEEP=1 keeps the directory.
package Dwell;

use strict;
use warnings;

use Cwd qw(abs_path getcwd);
use Exporter 'import';
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use IO::Handle;
use IO::Socket::INET ();
use JSON::XS ();
use List::Util qw(max sum0);
use POSIX qw(WNOHANG);
use Test::More;
use Time::HiRes qw(time sleep);

our @EXPORT = qw($DWELL $DIR program run start stop finish is_running wait_for slurp spew
	decode record record_measured report free_port events rows_of stopped_and_queued accounted_for weight_of time_of distance near nothing_lost
	others_share full need_dwell need_recording need_root need_command);

my $root = abs_path(dirname(__FILE__) . '/../..');
my $build = $ENV{BUILD} ? abs_path($ENV{BUILD}) : "$root/build";

our $DWELL = $ENV{DWELL} ? abs_path($ENV{DWELL}) : "$build/dwell";
our $DIR = tempdir('dwell-test-XXXXXX', TMPDIR => 1, CLEANUP => !$ENV{DWELL_TEST_KEEP});

my $home = getcwd();
my $me = $$;
my $json = JSON::XS->new->utf8->max_depth(1 << 16); # of stacks of threads
my %started;

chdir $DIR or die "$DIR: $!";

# Whoever runs the tests in the background has them ignored.
$SIG{$_} = 'DEFAULT' for qw(INT QUIT HUP);

END {
	if ($$ == $me) {
		my $status = $?;
		stop($_, 'KILL') for keys %started;
		chdir $home;
		$? = $status;
	}
}

# The path of a known-answer program.
sub program {
	my ($name) = @_;
	my $path = "$build/tests/programs/$name";
	-x $path or die "$path is not built: make programs\n";
	return $path;
}

sub slurp {
	my ($path) = @_;
	open my $fh, '<', $path or return '';
	local $/;
	return scalar(<$fh>) // '';
}

sub spew {
	my ($path, $text) = @_;
	open my $fh, '>', $path or die "$path: $!";
	print $fh $text;
	close $fh;
}

sub decode {
	my ($text) = @_;
	my $value = eval { $json->decode($text) };
	diag("no JSON: " . substr($text, 0, 300)) unless defined $value;
	return $value;
}

# Starts a command in the background: output in FILES.out and FILES.err.
sub start {
	my %how = ref $_[0] ? %{shift()} : ();
	my @command = @_;
	my $name = $how{name} // "run" . scalar(keys %started);
	my $pid = fork();
	die "fork: $!" unless defined $pid;
	if (!$pid) {
		setpgrp(0, 0) if $how{group};
		open STDIN, '<', '/dev/null';
		open STDOUT, '>', "$DIR/$name.out" or POSIX::_exit(126);
		open STDERR, '>', "$DIR/$name.err" or POSIX::_exit(126);
		%ENV = (%ENV, %{$how{env}}) if $how{env};
		{ no warnings; exec {$command[0]} @command; }
		POSIX::_exit(127);
	}
	$started{$pid} = $name;
	return $pid;
}

sub is_running {
	my ($pid) = @_;
	return -d "/proc/$pid" && slurp("/proc/$pid/stat") !~ /\) Z /;
}

# Waits for a started command: {status, signal, out, err, timeout}.
sub finish {
	my ($pid, $seconds) = @_;
	my $name = $started{$pid} or return;
	my $until = time + ($seconds // 180);
	my $timeout = 0;
	my $got;
	while (($got = waitpid($pid, WNOHANG)) == 0) {
		if (time > $until) {
			$timeout = 1;
			kill 'KILL', $pid;
		}
		sleep 0.01;
	}
	my $result = $?;
	delete $started{$pid};
	return {
		pid => $pid, timeout => $timeout, signal => $result & 127,
		status => $result & 127 ? 128 + ($result & 127) : $result >> 8,
		out => slurp("$DIR/$name.out"), err => slurp("$DIR/$name.err"),
	};
}

sub stop {
	my ($pid, $signal) = @_;
	return unless $started{$pid};
	kill $signal // 'TERM', $pid;
	return finish($pid);
}

# Runs a command to its end; a first argument {seconds => N} limits it (180).
sub run {
	my %how = ref $_[0] ? %{shift()} : ();
	my $result = finish(start(\%how, @_), $how{seconds});
	fail("in time: @_") if $result->{timeout};
	return $result;
}

# True as soon as the code returns true, false after so many seconds.
sub wait_for {
	my ($seconds, $code) = @_;
	my $until = time + $seconds;
	while (time < $until) {
		return 1 if $code->();
		sleep 0.01;
	}
	return 0;
}

# A TCP port that no server listens at.
sub free_port {
	my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die "$!";
	return $socket->sockport;
}

# Runs `dwell record`; returns its result, with the JSON the program printed in {truth}.
sub record {
	my ($options, @command) = @_;
	my $result = run({seconds => 180}, $DWELL, 'record', @$options, @command ? ('--', @command) : ());
	$result->{truth} = decode($result->{out}) if $result->{out} =~ /^\s*\{/;
	diag($result->{err}) if $result->{status} && $result->{err} ne '';
	return $result;
}

# The report, with idle waits unless @options say otherwise.
sub report {
	my (@options) = @_;
	my $result = run({seconds => 120}, $DWELL, 'report', '--json', '--idle', @options);
	diag("report @options: status $result->{status}: $result->{err}") if $result->{status};
	return decode($result->{out});
}

# `dwell script --json`: the fields of each line, and {frames}, symbol and DSO in turns, innermost
# first. Events with the same stack share them.
sub events {
	my (@options) = @_;
	my $result = run({seconds => 180}, $DWELL, 'script', '--json', @options);
	diag("script @options: status $result->{status}: $result->{err}") if $result->{status};
	my (%frames, @events);
	for my $line (split /\n/, $result->{out}) {
		# There are few different stacks, but they are most of the text.
		my $stack = $line =~ s/,("stack":.*)/}/ ? $1 : '"stack":[]}';
		my $event = decode($line);
		$event->{frames} = $frames{$stack} //=
			[map { ($_->{symbol}, $_->{dso}) } @{decode("{$stack")->{stack}}];
		push @events, $event;
	}
	return @events;
}

# Of a recording by --trace: for how many ns threads were stopped, and for how many they were in the run
# queue, while their name was $comm.
sub stopped_and_queued {
	my ($data, $comm) = @_;
	my ($stopped, $queued) = (0, 0);
	for my $wait (grep { $_->{event} eq 'interval' } events('-i', $data, '--comm', $comm, '--no-stacks')) {
		my $begin = $wait->{class} eq 'sched' ? $wait->{t_out_ns} : $wait->{t_wake_ns};
		$queued += $wait->{t_in_ns} - $begin;
		$stopped += $begin - $wait->{t_out_ns} if $wait->{class} eq 'stopped';
	}
	return ($stopped, $queued);
}

# The rows of a report whose fields match: {comm => 'T1', symbol => qr/pread/}.
sub rows_of {
	my ($report, %want) = @_;
	return grep {
		my $row = $_;
		!grep {
			my $value = $row->{$_} // '';
			ref $want{$_} ? $value !~ $want{$_} : $value ne $want{$_};
		} keys %want;
	} @{$report->{rows}};
}

sub weight_of {
	my ($report, %want) = @_;
	my $sum = 0;
	$sum += $_->{weight} for rows_of($report, %want);
	return $sum;
}

# Their calibrated time, ns: what shares are made of.
sub time_of {
	my ($report, %want) = @_;
	my $sum = 0;
	$sum += $_->{self_ns} for rows_of($report, %want);
	return $sum;
}

# How long the waits of a thread were of which it does not know when they ended.
sub unknown_ns {
	my ($truth) = @_;
	return sum0(values %{$truth->{unknown_ns} // {}}, map { $_->{unknown_ns} } values %{$truth->{activities} // {}});
}

# The shares of a path, in percent, that are accounted for, or whose wakers the kernel hid.
sub accounted_for {
	my ($path) = @_;
	return 0 unless $path && defined $path->{accounted_percent};
	my $hidden = $path->{lost}{'wakers, hidden from tracing by the kernel'} // 0;
	my @left = @{$path->{tree}};
	my ($waits, $unknown_ns) = (0, 0);
	while (my $node = shift @left) {
		push @left, @{$node->{children}};
		next if ($node->{category} // '') ne 'unknown';
		$waits += $node->{count};
		$unknown_ns += $node->{self_ns};
	}
	return $path->{accounted_percent} + ($waits <= $hidden ? 100 * $unknown_ns / $path->{wall_ns} : 0);
}

# The largest share of its life that a thread of @truths did not measure: before and after that it may wait
# for a CPU, and the kernel can hide wakeups.
sub not_measured {
	my ($report, @truths) = @_;
	my %recorded = map { $_->{tid} => $_->{lifetime_ns} } @{$report->{threads}};
	return max(0, map { (($recorded{$_->{tid}} // 0) + unknown_ns($_)) / $_->{lifetime_ns} - 1 }
		grep { $_->{name} ne 'main' } @truths);
}

# record() of a program whose truth is that of its threads, and the report. Beside many others the share
# that is not measured can be large: then it is recorded again. Tests allow for what is unknown then.
sub record_measured {
	my ($options, @command) = @_;
	my ($got, $report);
	for (1 .. 5) {
		$got = record($options, @command);
		$report = report('-i', $options->[1]);
		my $share = not_measured($report, @{$got->{truth}{threads}});
		last if $share < 0.005;
		note(sprintf 'recorded again: %.1f%% of a thread was not measured', 100 * $share);
	}
	cmp_ok(not_measured($report, @{$got->{truth}{threads}}), '<', 0.05, 'threads have measured their lives');
	return ($got, $report);
}

# How far $got is from $want, which is a number, or the least and the most that it can be.
sub distance {
	my ($got, $want) = @_;
	my ($least, $most) = ref $want ? @$want : ($want, $want);
	return max($least - $got, $got - $most, 0);
}

sub near {
	my ($got, $want, $tolerance, $name) = @_;
	my $ok = distance($got, $want) <= $tolerance;
	my $truth = join ' to ', map { sprintf '%.2f', $_ } ref $want ? @$want : $want;
	ok($ok, sprintf('%s: %.2f, truth %s (within %g)', $name, $got, $truth, $tolerance));
	return $ok;
}

# Nothing is missing. Some kernels hide some tasks from tracing (those that manage
# a virtual machine): while one runs, nothing is told of what its CPU does. How often
# that was is known: the kernel counts all switches of the machine. A recorded thread
# can miss one wakeup for each of them, that of the interrupt it waited for, which is
# one in a hundred at most. Where nothing is hidden that leaves the few while it began
# and ended. Its switch-in is seen by what it does next, but not where stacks are taken
# at the switch-out.
sub nothing_lost {
	my ($report, $name) = @_;
	my $untold = $report->{machine_switches} - $report->{machine_switches_traced};
	my %count = (lost => 0, switches => 0, wakers => 0, times => 0);
	my $seen = 0;
	for my $cause (keys %{$report->{lost}}) {
		my ($hidden) = $cause =~ /^(\w+), hidden/;
		$count{$hidden // 'lost'} += $report->{lost}{$cause};
	}
	$seen += $_->{voluntary} + $_->{involuntary} for @{$report->{threads}};
	return ok($count{lost} == 0 && $count{switches} <= ($report->{rung} eq 'switch-out' ? $untold + 2 : 0)
			&& $count{times} <= $untold + 2
			&& $count{wakers} <= 2 + $untold * @{$report->{threads}}
			&& $count{wakers} <= 2 + $seen / 100
			&& $report->{machine_switches_traced} >= $seen - $count{switches},
		"$name: nothing lost; hidden by the kernel: $count{switches} switches of "
			. "$untold on the machine, $count{wakers} wakeups")
		|| diag(explain($report->{lost}));
}

# CPU seconds that the machine was busy or stolen by a hypervisor, less those of our children.
sub others_seconds {
	my (undef, $user, $nice, $system, undef, undef, $irq, $softirq, $steal) = split ' ', slurp('/proc/stat');
	my (undef, undef, $children_user, $children_system) = times;
	return ($user + $nice + $system + $irq + $softirq + $steal) / POSIX::sysconf(POSIX::_SC_CLK_TCK())
		- $children_user - $children_system;
}

# The share of the machine's CPUs that other programs have while @code runs, which waits for all
# that it starts.
sub others_share {
	my ($code) = @_;
	my ($seconds, $began) = (others_seconds(), time);
	$code->();
	my $share = (others_seconds() - $seconds) / (time - $began) / `nproc`;
	return $share > 0 ? $share : 0;
}

# The first value when DWELL_TEST_FULL=1, else the second: for sizes.
sub full {
	my ($large, $small) = @_;
	return $ENV{DWELL_TEST_FULL} ? $large : $small;
}

sub missing {
	my ($what) = @_;
	plan(skip_all => $what) if ($ENV{CI} // '') ne 'true';
	fail("$what, and CI=true");
	done_testing;
	exit 1;
}

sub need_dwell {
	-x $DWELL or die "$DWELL is not built: make\n";
}

sub need_root {
	need_dwell();
	missing('needs root') if $>;
}

# Recording works here at all.
sub need_recording {
	need_dwell();
	my $try = run({seconds => 30}, $DWELL, 'record', '-o', "$DIR/probe.data", '--', 'true');
	return if $try->{status} == 0;
	my ($why) = $try->{err} =~ /([^\n]*)/;
	missing("cannot record here ($why)") if $> || $why =~ /not permitted|permission|privilege/i;
	die "dwell record does not work: $try->{err}\n";
}

# Tools that are not part of the project: their absence only skips.
sub need_command {
	for my $name (@_) {
		next if grep { -x "$_/$name" } split(/:/, $ENV{PATH}), '/usr/sbin', '/sbin';
		plan(skip_all => "$name is not installed");
	}
}

1;
