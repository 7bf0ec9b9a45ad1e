#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# The latency of functions that measure each of their calls themselves: quantiles of all calls, their
# number, and what slow calls waited for.
#
# Runs alone.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(max);
use Test::More;
use Time::HiRes qw(sleep);

need_recording();
plan skip_all => 'dwell-cc is for x86-64' if qx(uname -m) ne "x86_64\n";

my $root = dirname(dirname($FindBin::Bin));
my $cc = dirname($DWELL) . '/dwell-cc';
my @keys = qw(p50_ns p90_ns p99_ns p999_ns);
my @quantiles = (0.5, 0.9, 0.99, 0.999);

is(run($cc, '-O2', '-g', "-I$root", '-D_GNU_SOURCE', '-o', 'measured', "$root/tests/calls/measured.c", '-lpthread')->{status},
	0, 'a program is built');

sub lengths {
	my ($name) = @_;
	return sort { $a <=> $b } split /\n/, slurp($name);
}

# The length at quantile $q of @_, kept within 0 and 1.
sub at {
	my ($q, @lengths) = @_;
	my $i = int($q * @lengths);
	return $lengths[$i < 0 ? 0 : $i > $#lengths ? $#lengths : $i];
}

# Each quantile lies between two of what was measured: as far apart as a sample of as many calls as count
# can be wrong once in a million times, two periods for the start and the end, and 3 %. Calls near a
# quantile that were counted while a CPU was taken away are the rest.
sub compare {
	my ($report, $name) = @_;
	my ($function) = grep { $_->{name} eq $name } @{$report->{functions}};
	my @lengths = lengths($name);
	ok($function, "$name is there") or return;
	my $counted = $function->{observed} * $function->{calls};
	my $slack = 2 * $report->{resolution_ns};
	for my $i (0 .. $#keys) {
		my $error = 5 * sqrt($quantiles[$i] * (1 - $quantiles[$i]) / $counted) + 0.0005;
		my ($low, $high) = map { at($quantiles[$i] + $_, @lengths) } -$error, $error;
		my $got = $function->{$keys[$i]} // 0;
		$low = 0 if !$got && $low < $report->{resolution_ns};
		ok($got >= 0.97 * $low - $slack && $got <= 1.03 * $high + $slack,
			sprintf('%s: %s is %d for %d (%d to %d)', $name, $keys[$i], $got, at($quantiles[$i], @lengths),
				$low, $high));
	}
	# Ends that are counted are a sample; a look that delays the next push makes them fewer.
	my $bound = 0.1 + 5 / sqrt$counted;
	ok(abs($function->{calls} / @lengths - 1) < $bound,
		sprintf('%s: %d calls for %d', $name, $function->{calls}, scalar @lengths));
	return $function;
}

# Runs dwell; also how long a thread of it waited for a CPU at most, in ns.
sub run_watched {
	my $pid = start(@_);
	my %delay;
	while (is_running($pid)) {
		for my $file (glob "/proc/$pid/task/*/schedstat") {
			my (undef, $ns) = split ' ', slurp($file);
			$delay{$file} = $ns if defined $ns; # else the thread is gone
		}
		sleep 0.2;
	}
	return (finish($pid), max(0, values %delay));
}

# The program takes 25 us for one call of each of the first three, on a CPU of its own; the scanner needs another one.
# Recorded again until the program had its CPU for 0.4 of the time, the scanner waited for its CPU less than 0.1 of the
# time, and no gap was longer than 50 ms.
my $seconds = full(10, 4);
my ($got, $report, $had_cpus);
for (1 .. 5) {
	($got, my $delay_ns) = run_watched($DWELL, 'latency', 'run', '-o', 'm.data', '--', './measured', $seconds);
	is($got->{status}, 0, 'it is recorded');
	$report = decode(run($DWELL, 'latency', 'report', '--json', '-i', 'm.data')->{out});
	my $calls = () = lengths('steady');
	$had_cpus = $calls > 0.4 * $seconds * 1e6 / 25 && $delay_ns < 0.1 * $seconds * 1e9
		&& $report->{longest_gap_ns} < 50e6;
	last if $had_cpus;
	diag "$calls calls, scanner waited $delay_ns ns, $report->{longest_gap_ns} ns without a look: not compared";
}
SKIP: {
	skip 'program and scanner never had a CPU each', 1 if !$had_cpus;
	cmp_ok($report->{resolution_ns}, '<', 20000, 'stacks are looked at often enough');
	compare($report, $_) for qw(steady bimodal heavy deep0 deep10 deep19);
}

# Whoever waits for the lock waits for its holder.
my ($take) = grep { $_->{name} eq 'take' } @{$report->{functions}};
ok($take, 'the function that takes a lock is there');
my $holders = 0;
$holders += $_->{ns} for @{$take->{slow}{holders}};
my ($long) = grep { ($_->{function} // '') eq 'hold_long' } @{$take->{slow}{holders}};
SKIP: {
	skip 'nobody had to wait for the lock', 2 if $take->{slow}{lock_ns} < 100000;
	cmp_ok($holders, '>=', 0.99 * $take->{slow}{lock_ns}, 'who held the lock is known');
	cmp_ok($long ? $long->{ns} : 0, '>=', 0.99 * $holders, 'and what it was doing');
}
for my $function (@{$report->{functions}}) {
	my $slow = $function->{slow};
	my $sum = 0;
	$sum += $slow->{$_} for qw(cpu_ns runqueue_ns lock_ns disk_ns network_ns other_ns stolen_ns);
	is($sum, $slow->{ns}, "$function->{name}: the parts of slow calls add up");
	my $waited = 0;
	$waited += $_->{ns} for @{$slow->{ran_instead}};
	is($waited, $slow->{runqueue_ns}, 'and so do those who ran instead');
}

# A report for people, and its order.
my $text = run($DWELL, 'latency', 'report', '-i', 'm.data')->{out};
like($text, qr/^# resolution : /m, 'the resolution is told');
like($text, qr/heavy < main$/m, 'functions with their callers');
my @totals = map { $_->{total_ns} }
	@{decode(run($DWELL, 'latency', 'report', '--json', '--rank', 'total', '-i', 'm.data')->{out})->{functions}};
is_deeply(\@totals, [sort { $b <=> $a } @totals], 'sorted by the time of all calls');

# What has no calls.
$got = run($DWELL, 'latency', 'run', '-o', 'none.data', '--', 'true');
is($got->{status}, 0, 'another program is recorded');
like($got->{err}, qr/no program .* was built by dwell-cc/, 'and that it has no calls is told at once');
$got = run($DWELL, 'latency', 'report', '-i', 'none.data');
is($got->{status}, 1, 'it has no report');
like($got->{err}, qr/dwell-cc/, 'and the message says why');
is(run($DWELL, 'record', '-o', 'plain.data', '--', 'true')->{status}, 0, 'a recording without calls');
$got = run($DWELL, 'latency', 'report', '-i', 'plain.data');
is($got->{status}, 1, 'has no report either');
like($got->{err}, qr/no calls of functions\n.*dwell latency run/, 'and the message says how to get one');
$got = run($DWELL, 'latency', 'run', '--resolution', 2000000, '--', 'true');
is($got->{status}, 2, 'a resolution that is too long');
like($got->{err}, qr/--resolution must be/, 'is refused by its own name');
is(run($DWELL, 'latency', 'report', '--rank', 'name', '-i', 'm.data')->{status}, 2, 'an unknown order');

done_testing;
