#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Code that is in no file: named by /tmp/perf-PID.map, and by its address
# without one.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Statistics;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

my $got = record(['-o', 'jit.data'], program('jit'), '--seconds', 2);
plan(skip_all => 'no code for this machine') if $got->{status} == 77;
my $truth = $got->{truth};
my $report = report('-i', 'jit.data');
my $share = 100 * $truth->{jit_loop_cpu_ns} / $truth->{cpu_ns};

# The share of jit_loop in user mode: the program's own clock leaves out interrupts. One point for
# what it does in the kernel.
sub share_of_loop {
	my ($report) = @_;
	my ($loop, $user) = (0, 0);
	for my $row (grep { !$_->{kernel} } rows_of($report, class => 'cpu')) {
		$user += $row->{weight};
		$loop += $row->{weight} if $row->{symbol} eq 'jit_loop';
	}
	return ($user ? 100 * $loop / $user : -1, 1 + share_bound($share, $user));
}
my ($found, $bound) = share_of_loop($report);
near($found, $share, $bound, 'the function is named by the map');
unlink $truth->{map};
near((share_of_loop(report('-i', 'jit.data')))[0], $share, $bound, 'and still is when the map is gone');

# Its caller: code without an unwind table, but with a frame pointer.
sub share_below_call_jit {
	my ($with, $all) = (0, 0);
	for (split /\n/, run($DWELL, 'script', '-i', $_[0], '--folded', '--idle')->{out}) {
		my ($stack, $weight) = /^(.*jit_loop.*) (\d+)$/ or next;
		$all += $weight;
		$with += $weight if $stack =~ /;main;call_jit;/;
	}
	return 100 * $with / ($all || 1);
}
cmp_ok(share_below_call_jit('jit.data'), '>=', 95, 'with a frame pointer: under main and call_jit');
$got = record(['-o', 'frameless.data'], program('jit'), '--seconds', 1, '--bare');
unlink $got->{truth}{map};
TODO: {
	local $TODO = 'neither unwind table nor frame pointer';
	cmp_ok(share_below_call_jit('frameless.data'), '>=', 95, 'without: too');
}

$got = record(['-o', 'unnamed.data', '--no-symbols'], program('jit'), '--seconds', 1, '--remove');
$report = report('-i', 'unnamed.data');
ok(!rows_of($report, symbol => 'jit_loop'), 'without a map it has no name');
cmp_ok(time_of($report, class => 'cpu'), '>', 0.9 * $report->{exact}{cpu_ns}, 'but its time is there');

done_testing;
