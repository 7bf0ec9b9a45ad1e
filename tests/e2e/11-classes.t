#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Shares of computing and of each class of waiting, in intervals far shorter
# and far longer than the sampling period: within 1 point of what the program
# measured. Every thread's exact CPU time is what its CPU clock says, and its times sum to its lifetime.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(max min sum);
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

my @classes = qw(cpu io lock sched other);

# The least and the most time of a class that @threads can have had. When they were woken is unknown where
# the kernel hides it. The kernel's count of CPU time, which dwell's is (below), can be more than the time
# between the switches, for up to a switch per run, and less by what a hypervisor stole (switch_log.h).
sub true_ns {
	my ($class, @threads) = @_;
	my $ns = sum(map { $_->{"${class}_ns"} } @threads);
	my $counted_more = sum(map { $_->{counted_cpu_ns} - $_->{cpu_ns} } @threads);
	return [$ns + min($counted_more, 0), $ns + max($counted_more, 0)] if $class eq 'cpu';
	return [$ns - max($counted_more, 0), $ns + sum(map { values %{$_->{unknown_ns}} } @threads)] if $class eq 'sched';
	return [$ns - sum(map { $_->{unknown_ns}{$class} } @threads), $ns];
}

sub percent {
	my ($ns, $of) = @_;
	return [map { 100 * $_ / $of } @$ns];
}

for my $scale (qw(short long mixed)) {
	my ($got, $report) = record_measured(['-o', "$scale.data", '-c', 500], program('classes'), '--scale', $scale,
		'--keep-cpus-busy', '--seconds', full(30, 5));
	my %truth = map { $_->{tid} => $_ } @{$got->{truth}{threads}};
	is($got->{status}, 0, "$scale intervals are recorded");
	nothing_lost($report, $scale);

	# Program-wide, from the samples.
	my $names = qr/^(?:worker\d+|partner\d+|main)$/;
	my $weight = weight_of($report, comm => $names);
	my $lifetime = 0;
	$lifetime += $_->{lifetime_ns} for values %truth;
	for my $class (@classes) {
		near(100 * weight_of($report, comm => $names, class => $class) / $weight,
			percent(true_ns($class, values %truth), $lifetime), 1, "$scale: $class, sampled");
	}
	near($weight * $report->{period_ns} / $lifetime * 100, 100, 1,
		"$scale: the samples stand for all time");

	# Each thread, from its exact totals.
	my ($worst, $worst_cpu, $worst_sum, $found) = (0, 0, 0, 0);
	for my $thread (grep { $truth{$_->{tid}} } @{$report->{threads}}) {
		my $true = $truth{$thread->{tid}};
		my $sum = 0;
		$found++;
		for my $class (@classes) {
			my $off = distance($thread->{"${class}_ns"}, true_ns($class, $true));
			$sum += $thread->{"${class}_ns"};
			next if $true->{name} eq 'main'; # prepares its files before
			$off = 100 * $off / $true->{lifetime_ns};
			diag(sprintf '%s %s: %.2f points off', $true->{name}, $class, $off) if $off > 1;
			$worst = $off if $off > $worst;
		}
		# Of its life, the thread has not measured the begin and the end.
		my $not_measured = $thread->{lifetime_ns} - $true->{lifetime_ns};
		my $off_cpu = distance($thread->{cpu_ns}, [$true->{counted_cpu_ns}, $true->{counted_cpu_ns} + $not_measured]);
		$worst_cpu = max($worst_cpu, 100 * $off_cpu / $thread->{lifetime_ns});
		$sum += $thread->{$_} for qw(stolen_ns not_seen_ns);
		my $off = 100 * abs($sum - $thread->{lifetime_ns}) / $thread->{lifetime_ns};
		$worst_sum = $off if $off > $worst_sum;
	}
	is($found, scalar(keys %truth), "$scale: every thread is there");
	cmp_ok($worst, '<=', 1, "$scale: each thread's exact class times are true, within 1 point");
	cmp_ok($worst_cpu, '<=', 0.1, "$scale: each thread's exact CPU time is what the kernel counts, within 0.1 points");
	cmp_ok($worst_sum, '<=', 0.1, "$scale: each thread's times sum to its lifetime, within 0.1 %");
}

done_testing;
