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
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

my $got = record(['-o', 'jit.data'], program('jit'), '--seconds', 2);
plan(skip_all => 'no code for this machine') if $got->{status} == 77;
my $truth = $got->{truth};
my $report = report('-i', 'jit.data');
my $share = 100 * $truth->{jit_loop_cpu_ns} / $truth->{cpu_ns};
my $cpu = weight_of($report, class => 'cpu');
near(100 * weight_of($report, class => 'cpu', symbol => 'jit_loop') / $cpu, $share, 2,
	'the function is named by the map');
unlink $truth->{map};
near(100 * weight_of(report('-i', 'jit.data'), class => 'cpu', symbol => 'jit_loop') / $cpu,
	$share, 2, 'and still is when the map is gone');

# Its caller: code without an unwind table, but with a frame pointer.
sub share_below_call_jit {
	my ($with, $all) = (0, 0);
	for (split /\n/, run($DWELL, 'script', '-i', $_[0], '--folded')->{out}) {
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
cmp_ok(weight_of($report, class => 'cpu'), '>', 500, 'but its time is there');

done_testing;
