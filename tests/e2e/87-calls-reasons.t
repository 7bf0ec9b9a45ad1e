#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Where slow calls spent their time: functions that take long for one reason each, and measure their wall
# and CPU time themselves. Both ways of measuring calls, shadow stacks and probes.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(sum0);
use Test::More;

need_recording();
plan skip_all => 'dwell-cc is for x86-64' if qx(uname -m) ne "x86_64\n";

my $root = dirname(dirname($FindBin::Bin));
my @flags = ('-O2', '-g', "-I$root", '-D_GNU_SOURCE', "$root/tests/calls/reasons.c", '-lpthread');
is(run(dirname($DWELL) . '/dwell-cc', '-o', 'reasons', @flags)->{status}, 0, 'a program is built');
is(run('gcc', '-o', 'plain', @flags)->{status}, 0, 'and without dwell-cc');
is(run('dd', 'if=/dev/urandom', 'of=data', 'bs=64k', 'count=64')->{status}, 0, 'and has a file');

my %part = (by_disk => 'disk_ns', by_lock => 'lock_ns', by_queue => 'runqueue_ns', by_network => 'network_ns',
	by_rest => 'other_ns');

# The one of @$calls that was told as %$found: it began then, as far as that is known. If several did, the one
# that took as long.
sub find_call {
	my ($calls, $start, $found) = @_;
	my $began = $start + $found->{begin_ns};
	my @near = grep { abs($_->[0] - $began) <= 50000 + $found->{uncertain_ns} } @$calls;
	my ($call) = sort { abs($a->[1] - $found->{length_ns}) <=> abs($b->[1] - $found->{length_ns}) } @near;
	return $call;
}

# What these calls took, as the function measured it: wall and CPU time. A scanner that had no CPU leaves out
# calls, and finds that another one was longer: so they are found by when they began. The third value: how many
# are not there.
sub truth {
	my ($name, $start, $found) = @_;
	my @calls = map { [split] } split /\n/, slurp($name);
	my ($wall, $cpu, $strangers) = (0, 0, 0);
	for my $told (@$found) {
		my $call = find_call(\@calls, $start, $told);
		$strangers += !$call;
		$wall += $call->[1], $cpu += $call->[2] if $call;
	}
	return ($wall, $cpu, $strangers);
}

# What is wrong with a report, as strings. The function waits for nothing else, but on a busy machine it waits
# for a CPU, too: what is neither its CPU time nor its own reason must be that, or be stolen. Its CPU time is the
# kernel's, which does not have what the kernel does for dwell at a switch, in interrupts, and the time that the host
# gave to others.
sub problems {
	my ($report, $name) = @_;
	my ($function) = grep { $_->{name} eq $name } @{$report->{functions}};
	return "$name is missing" if !$function;
	my $slow = $function->{slow};
	my ($wall, $cpu, $strangers) = truth($name, $report->{start_ns}, $slow->{longest});
	my $own = $slow->{$part{$name}};
	my $queued = $name eq 'by_queue' ? 0 : $slow->{runqueue_ns};
	# While another CPU is idle, a thread that may not have it waits for that, not for who has its own.
	my $limited = $name eq 'by_rest' ? 0
		: sum0(map { $_->{ns} } grep { ($_->{kind} // '') eq 'affinity' } @{$slow->{waits}});
	my $bound = 50000 * $slow->{calls} + $slow->{uncertain_ns};
	my @problems = map { "$name: $_->[0] is $_->[1] instead of $_->[2]" } grep { abs($_->[1] - $_->[2]) >= $_->[3] }
		['number of slow calls', scalar @{$slow->{longest}}, $slow->{calls}, 1],
		['their time', $slow->{ns}, $wall, 0.02 * $wall + $bound],
		['the time on the CPU', $slow->{cpu_ns}, $cpu, 0.05 * $wall + $bound],
		['the reason', $own + $queued + $limited + $slow->{stolen_ns}, $wall - $cpu, 0.05 * $wall + $bound];
	push @problems, "$name: $strangers calls are none" if $strangers;
	push @problems, "$name: no reason is told" if $own + ($name eq 'by_queue' ? $limited : 0) <= 0;
	push @problems, "$name: who held the lock" if $name eq 'by_lock' && ($slow->{holders}[0]{function} // '') ne 'hold';
	return @problems if $name ne 'by_queue';
	my $hog = sum0(map { $_->{ns} } grep { ($_->{comm} // '') =~ /^(?:hog|reasons|plain)$/ } @{$slow->{ran_instead}});
	my $others = sum0(map { $_->{ns} } @{$slow->{ran_instead}}) - $hog;
	push @problems, "$name: who had the CPU" if $own > 0 && $hog <= 0 && $others <= 0.5 * $own;
	return @problems;
}

# Whether so little is known of the calls that nothing is compared, as dwell says: who looks at them had no CPU then.
sub is_vague {
	my ($report, $name) = @_;
	my ($function) = grep { $_->{name} eq $name } @{$report->{functions}};
	return $function && $function->{slow}{uncertain_ns} > 0.1 * $function->{slow}{ns};
}

# Whether others had the CPUs, by dwell's warning, or by how long the program waited for them.
sub was_busy {
	my ($report) = @_;
	return $report->{no_cpu_to_spare} || $report->{waited_for_cpu_ns} > 0.05 * $report->{run_ns};
}

# A host that was busy at the wrong time is not so again and again. Each function is compared until it was right once.
my $calls = full(300, 100);
for my $how (['./reasons'], ['./plain', '--limit', 0, '--function', join ',', sort keys %part]) {
	my ($program, @options) = @$how;
	my %left = map { $_ => ['never compared'] } keys %part;
	my $had_cpus = 0;
	for my $attempt (1 .. 10) {
		my $got = run({seconds => 120}, $DWELL, 'latency', 'run', @options, '-o', 'r.data', '--', $program, $calls);
		is($got->{status}, 0, "$program is recorded");
		my $report = decode(run($DWELL, 'latency', 'report', '--functions', 0, '--json', '-i', 'r.data')->{out});
		$had_cpus += !was_busy($report);
		for my $name (sort keys %left) {
			next if is_vague($report, $name);
			$left{$name} = [problems($report, $name)];
			diag "attempt $attempt: $_" for @{$left{$name}};
			delete $left{$name} if !@{$left{$name}};
		}
		last if !%left;
	}
	for my $name (sort keys %part) {
		SKIP: {
			skip "$name: who looks at calls never had a CPU", 1
				if $program eq './reasons' && !$had_cpus && ($left{$name}[0] // '') eq 'never compared';
			is_deeply($left{$name} // [], [], "$program: where slow calls of $name spent their time");
		}
	}
}

done_testing;
