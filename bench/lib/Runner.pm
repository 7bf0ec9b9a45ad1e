# SPDX-License-Identifier: BSD-2-Clause
#
# Running commands for the benchmarks: CPU time of a command and all it waited
# for (by the program rusage), CPU time of the machine, background processes
# that are ended by the pid they were started with.
package Runner;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use JSON::PP ();
use POSIX qw(WNOHANG);
use Time::HiRes qw(time sleep);

our @EXPORT_OK = qw($ROOT $BUILD $DIR start finish stop run measured usage_of machine_cpu process_cpu
	with_children have slurp program);

our $ROOT = abs_path(dirname(__FILE__) . '/../..');
our $BUILD = $ENV{BUILD} ? abs_path($ENV{BUILD}) : "$ROOT/build";
# On a disk: some workloads need one.
our $DIR = tempdir('dwell-bench-XXXXXX', DIR => $ENV{DWELL_BENCH_DIR} // '/var/tmp', CLEANUP => 1);

my %running;
my $main = $$;
my $clock = POSIX::sysconf(POSIX::_SC_CLK_TCK());

END {
	if ($$ == $main) {
		my $status = $?;
		stop($_, 'TERM') for keys %running;
		$? = $status;
	}
}

$SIG{INT} = $SIG{TERM} = sub { exit 130 };

sub slurp {
	my ($path) = @_;
	open my $fh, '<', $path or return '';
	local $/;
	return scalar(<$fh>) // '';
}

sub program {
	my ($name) = @_;
	my $path = "$BUILD/tests/programs/$name";
	-x $path or die "$path is not built: make programs\n";
	return $path;
}

sub have {
	my ($command) = @_;
	return $command if $command =~ m{/} && -x $command;
	for my $dir (split(/:/, $ENV{PATH}), '/usr/sbin', '/sbin') {
		return "$dir/$command" if -x "$dir/$command";
	}
	return undef;
}

# In a process group of its own, output in a file.
sub start {
	my ($log, @command) = @_;
	my $pid = fork() // die "fork: $!";
	if (!$pid) {
		setpgrp(0, 0);
		open STDIN, '<', '/dev/null';
		open STDOUT, '>', $log or POSIX::_exit(126);
		open STDERR, '>&', \*STDOUT;
		{ no warnings; exec {$command[0]} @command; }
		POSIX::_exit(127);
	}
	$running{$pid} = 1;
	return $pid;
}

# The exit status, 128 + N after signal N; a command over its time is killed.
sub finish {
	my ($pid, $seconds) = @_;
	my $until = time + $seconds;
	while (waitpid($pid, WNOHANG) == 0) {
		kill 'KILL', -$pid if time > $until;
		sleep 0.005;
	}
	my $status = $?;
	delete $running{$pid};
	return $status & 127 ? 128 + ($status & 127) : $status >> 8;
}

sub stop {
	my ($pid, $signal) = @_;
	return unless $running{$pid};
	kill $signal, -$pid;
	return finish($pid, 60);
}

# Runs to the end; returns (status, output).
sub run {
	my @command = @_;
	my $log = "$DIR/run.log";
	my $status = finish(start($log, @command), 600);
	return ($status, slurp($log));
}

# The command, such that usage_of($file) afterwards says what it used.
sub measured {
	my ($file, @command) = @_;
	return (program('rusage'), '-o', $file, @command);
}

# {wall, cpu} in seconds and {switches} of a measured command.
sub usage_of {
	my ($file) = @_;
	my $usage = eval { JSON::PP->new->decode(slurp($file)) } or return undef;
	return {
		wall => $usage->{wall_ns} / 1e9, cpu => ($usage->{user_us} + $usage->{system_us}) / 1e6,
		switches => $usage->{voluntary} + $usage->{involuntary},
	};
}

# Seconds all CPUs were busy since boot, stolen time left out.
sub machine_cpu {
	my ($user, $nice, $system, undef, undef, $irq, $softirq) =
		slurp('/proc/stat') =~ /^cpu +(\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)/;
	return ($user + $nice + $system + $irq + $softirq) / $clock;
}

# Seconds of CPU that processes used (pids, separated by commas).
sub process_cpu {
	my ($pids) = @_;
	my $ticks = 0;
	for my $pid (split /,/, $pids) {
		my @fields = split ' ', slurp("/proc/$pid/stat") =~ s/^.*\) //sr;
		$ticks += $fields[11] + $fields[12] if @fields;
	}
	return $ticks / $clock;
}

# $pid and its children, separated by commas.
sub with_children {
	my ($pid) = @_;
	return join ',', $pid, split ' ', slurp("/proc/$pid/task/$pid/children");
}

1;
