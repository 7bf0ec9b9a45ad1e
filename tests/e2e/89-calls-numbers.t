#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# How many calls there were, how long they took in all, and where they came from: by a program that counts and
# measures its own. However busy the machine is, times add up, and intervals are of the right width.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(sum0);
use Test::More;
use Time::HiRes qw(time);

need_recording();
plan skip_all => 'dwell-cc is for x86-64' if qx(uname -m) ne "x86_64\n";

my $root = dirname(dirname($FindBin::Bin));
my $cc = dirname($DWELL) . '/dwell-cc';

sub calls_report {
	return decode(run($DWELL, 'latency', 'report', '--json', '-i', 'n.data', @_)->{out});
}

sub rows {
	my ($report, %of) = @_;
	return grep { my $row = $_; !grep { ($row->{$_} // '') ne $of{$_} } keys %of } @{$report->{functions}};
}

sub total_of { return sum0(map { $_->{total_ns} } @_); }

# No call takes longer than those that call it, and none longer than the recording: exactly.
sub check_sums {
	my ($report, $name) = @_;
	my %by_caller;
	push @{$by_caller{$_->{caller} // ''}}, $_ for @{$report->{functions}};
	my $recording = $report->{duration_ns};
	cmp_ok(total_of(@{$by_caller{''}}), '<=', $recording, "$name: outermost calls take no longer than the recording");
	for my $caller (grep { $_ && $_ ne 'recurse' } keys %by_caller) {
		my @within = grep { $_->{name} ne $caller } @{$by_caller{$caller}};
		cmp_ok(total_of(@within), '<=', total_of(rows($report, name => $caller)), "$name: what $caller calls takes no longer");
	}
}

# The truth lies in an interval of 95% that is widened by 2.5: once in a million it does not.
sub check_calls {
	my ($row, $calls, $what) = @_;
	my $width = $row->{calls_high} - $row->{calls_low};
	ok($calls >= $row->{calls_low} - 0.75 * $width - 1 && $calls <= $row->{calls_high} + 0.75 * $width + 1,
		sprintf '%s: %.0f calls (%.0f..%.0f) for %d', $what, @$row{qw(calls calls_low calls_high)}, $calls);
}

# As long as the program says, which includes what measuring takes (100 ns a call of 2 us and more).
sub check_time {
	my ($row, $ns, $calls, $what) = @_;
	my $slack = 2.5 * $row->{total_error_ns} + 0.1 * $ns + 300 * $calls + 20e6;
	ok(abs($row->{total_ns} - $ns) <= $slack, sprintf '%s: %.3f ms (+-%.3f) for %.3f', $what, $row->{total_ns} / 1e6,
		$slack / 1e6, $ns / 1e6);
}

# All that the program calls: small() calls handle(), and recurse() itself 20 times, and spin() 21 times.
sub all_calls {
	my %calls;
	for (split /\n/, slurp('counted')) {
		my ($function, undef, $n) = split;
		$calls{$function} += $n;
	}
	return sum0(values %calls) + $calls{small} + 41 * $calls{recurse};
}

for my $compiler (qw(gcc clang)) {
	is(run({env => {DWELL_CC => $compiler}}, $cc, '-O2', '-g', "-I$root", '-D_GNU_SOURCE', '-o', 'counted_program',
		"$root/tests/calls/counted.c")->{status}, 0, "$compiler: a program is built");
	my ($report, $is_whole, $had_cpus);
	for (1 .. 10) {
		is(run($DWELL, 'latency', 'run', '-o', 'n.data', '--', './counted_program', full(6000, 2000))->{status}, 0,
			'it is recorded');
		$report = calls_report();
		check_sums($report, $compiler);
		my $all = all_calls();
		my $calls = $report->{calls} // 0;
		$is_whole = $calls > 0.98 * $all && $calls < 1.02 * $all && $report->{unseen_ns} < 0.02 * $report->{run_ns};
		last if $is_whole;
		$had_cpus ||= !$report->{no_cpu_to_spare} && $report->{waited_for_cpu_ns} < 0.05 * $report->{run_ns};
		diag(($report->{calls} // 'not known how many') . " of $all calls: the first looks came late");
	}
	my %lines;
	for (split /\n/, slurp('counted')) {
		last if !$is_whole;
		my ($function, $line, $calls, $ns) = split;
		my ($row, @more) = rows($report, name => $function, line => $line);
		ok($row && !@more, "$compiler: $function is called in line $line") or next;
		like($row->{file}, qr/counted\.c$/, 'of the right file');
		check_calls($row, $calls, "$compiler: $function");
		check_time($row, $ns, $calls, "$compiler: $function");
		$lines{$function}++;
	}
	ok($is_whole || !$had_cpus, "$compiler: with CPUs to spare, the program is looked at from its begin on");
	SKIP: {
		skip 'the program was never looked at from the begin on', 8 if !$is_whole;
		is($lines{work}, 3, "$compiler: three places call work");
		my ($long) = sort { $b->{mean_ns} <=> $a->{mean_ns} } rows($report, name => 'work');
		my ($other) = rows($report, name => 'work', caller => 'handle');
		cmp_ok($long->{p50_ns} // 0, '>', 700e3, "$compiler: one of them with long calls");
		ok(!rows($report, name => 'leaf'), "$compiler: a function that calls nothing and has no loop is left out");
		ok(scalar(rows($report, name => 'small')), "$compiler: a small one that calls another is there");
		ok(scalar(rows($report, name => 'handle', caller => 'small')), "$compiler: and so is what it calls");

		# All calls from a function in one row.
		my ($all, @others) = rows(calls_report('--by', 'caller'), name => 'work', caller => 'handle');
		ok($all && !@others && !$all->{line}, "$compiler: one row for all places of a caller");
		my $sum = total_of(rows($report, name => 'work', caller => 'handle'));
		cmp_ok(abs($all->{total_ns} - $sum), '<=', 3, "$compiler: with their time");
	}
}

# Orders, and the text.
my $report = calls_report();
for (['mean', 'mean_ns'], ['p9999', 'p9999_ns'], ['total', 'total_ns']) {
	my ($rank, $key) = @$_;
	my @values = map { $_->{$key} // 0 } @{calls_report('--rank', $rank)->{functions}};
	is_deeply(\@values, [sort { $b <=> $a } @values], "sorted by $rank");
}
my $text = run($DWELL, 'latency', 'report', '-i', 'n.data')->{out};
SKIP: {
	skip 'the program was looked at too late', 2 if !defined $report->{calls} || !rows($report, name => 'work', caller => 'handle');
	like($text, qr/\d+\.\.\d+ .* counted\.c:\d+  work < handle$/m, 'the interval and the line');
	like($text, qr/^# calls +: (?:\d+, as|about \d+:) the program counts them/m, 'the number of all calls');
}
is($text =~ /^# warning +: no CPU to spare/m ? 1 : 0, $report->{no_cpu_to_spare} ? 1 : 0, 'the warning is in both');

# On one CPU with the thread that looks, there is none to spare. That thread must not keep it from the program.
SKIP: {
	skip 'no taskset', 3 if system('taskset --version >/dev/null 2>&1');
	my @program = ('./counted_program', full(2000, 1000));
	my ($got, $ratio);
	for (1 .. 5) {
		my $start = time;
		run('taskset', '-c', 0, @program);
		my $alone = time - $start;
		$got = run({seconds => 180}, 'taskset', '-c', 0, $DWELL, 'latency', 'run', '-o', 'n.data', '--', @program);
		$ratio = calls_report()->{duration_ns} / 1e9 / $alone;
		last if $ratio < 10;
	}
	cmp_ok($ratio, '<', 10, 'the program gets the CPU');
	like($got->{err}, qr/no CPU to spare/, 'it is said when it is recorded');
	like(run($DWELL, 'latency', 'report', '-i', 'n.data')->{out}, qr/^# warning +: no CPU to spare/m,
		'and in the report');
}

done_testing;
