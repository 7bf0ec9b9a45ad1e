# SPDX-License-Identifier: BSD-2-Clause
#
# The profilers compared: how a user would call each. A wrapper gets the command
# (or "-p PID") as its last arguments; the others run beside the workload, are
# started before it (ready: what it prints once it is at work) and ended by SIGINT
# after it. perf is spared the build ids (-B): perf 6.1 aborts over some.
package Profilers;

use strict;
use warnings;

use Runner qw($BUILD have);

# Sums off-CPU time by kernel and user stack, as offcputime does.
my $offcpu = <<'EOT';
tracepoint:sched:sched_switch {
	if (@start[args->next_pid]) {
		@[args->next_comm, @kernel[args->next_pid], @user[args->next_pid]] =
			sum(nsecs - @start[args->next_pid]);
		delete(@start[args->next_pid]);
	}
	if (args->prev_pid) {
		@start[args->prev_pid] = nsecs;
		@kernel[args->prev_pid] = kstack;
		@user[args->prev_pid] = ustack;
	}
}
END { clear(@start); clear(@kernel); clear(@user); }
EOT

my $dwell = $ENV{DWELL} // "$BUILD/dwell";

our @all = (
	{name => 'none', about => 'no profiler'},
	{
		name => 'dwell', about => 'dwell record: on- and off-CPU samples, 1 ms', needs => $dwell,
		wrap => sub { ($dwell, 'record', '-o', $_[0], $_[1] ? ('-p', $_[1]) : '--') },
	},
	$ENV{BEFORE} ? {
		name => 'before', about => "the same by $ENV{BEFORE}", needs => $ENV{BEFORE},
		wrap => sub { ($ENV{BEFORE}, 'record', '-o', $_[0], $_[1] ? ('-p', $_[1]) : '--') },
	} : (),
	{
		name => 'dwell-trace', about => 'dwell record --trace: every interval', needs => $dwell,
		wrap => sub { ($dwell, 'record', '--trace', '-o', $_[0], $_[1] ? ('-p', $_[1]) : '--') },
	},
	{
		name => 'dwell-linked', about => 'dwell record --trace --wakers linked: what dwell path needs',
		needs => $dwell,
		wrap => sub { ($dwell, 'record', '--trace', '--wakers', 'linked', '-o', $_[0], $_[1] ? ('-p', $_[1]) : '--') },
	},
	{
		name => 'perf-sampling', about => 'perf record -e cpu-clock -c 1000000 -g: on-CPU samples, 1 ms',
		needs => 'perf',
		wrap => sub { (qw(perf record -q -B -e cpu-clock -c 1000000 -g -o), $_[0],
			$_[1] ? ('-p', $_[1]) : '--') },
	},
	{
		name => 'perf-tracing', about => 'perf record -e sched:sched_switch,sched:sched_wakeup -g',
		needs => 'perf',
		wrap => sub { (qw(perf record -q -B -e sched:sched_switch -e sched:sched_wakeup -g -o), $_[0],
			$_[1] ? ('-p', $_[1]) : '--') },
	},
	{
		name => 'perf-sched', about => 'perf sched record: switches and wakeups of the machine, no stacks',
		needs => 'perf',
		wrap => sub { (qw(perf sched record -q -B -o), $_[0], $_[1] ? ('-p', $_[1]) : '--') },
	},
	{
		name => 'perf-trace', about => 'perf trace: every system call', needs => 'perf',
		wrap => sub { (qw(perf trace -o), $_[0], $_[1] ? ('-p', $_[1]) : '--') },
	},
	{
		name => 'bpftrace', about => 'bpftrace, off-CPU time by stack, system-wide', needs => 'bpftrace',
		beside => sub { ('bpftrace', '-e', $offcpu) },
		ready => qr/Attaching/, env => {BPFTRACE_MAP_KEYS_MAX => 65536, BPFTRACE_NO_USER_SYMBOLS => 1},
	},
	{
		name => 'offcputime', about => 'offcputime of libbpf-tools', needs => 'offcputime',
		beside => sub { ((have('offcputime')), $_[1] ? ('-p', $_[1]) : (), '--stack-storage-size', 65536,
			600) },
	},
);

# Those wanted that can run here; the others are named on standard error.
sub available {
	my %wanted = map { $_ => 1 } @_;
	my @found;
	for my $profiler (@all) {
		next if %wanted && !$wanted{$profiler->{name}} && $profiler->{name} ne 'none';
		if ($profiler->{needs} && !have($profiler->{needs})) {
			print STDERR "bench: $profiler->{name}: $profiler->{needs} is not installed\n";
			next;
		}
		push @found, $profiler;
	}
	return @found;
}

1;
