#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# "Why does it hang?": attach to a program that is stuck and see in which call,
# below which functions.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

my %cases = (
	pause => ['other', qr/pause/, qr/^signal wait$/],
	pipe => ['other', qr/read/, qr/^pipe read$/],
	futex => ['lock', qr/lock|futex/, qr/^futex$/],
);
for my $where (sort keys %cases) {
	my ($class, $symbol, $kind) = @{$cases{$where}};
	my $pid = start({name => $where}, program('hang'), '--ready', "ready.$where", '--in', $where);
	ok(wait_for(180, sub { -s "ready.$where" }), "$where: a program is stuck");
	sleep 0.3;
	my $got = run($DWELL, 'record', '-o', "$where.data", '--duration', '1', '-p', $pid);
	is($got->{status}, 0, "$where: recorded for a second");
	my $report = report('-i', "$where.data");
	my $all = weight_of($report);
	cmp_ok($all, '>', 0, "$where: a thread that never ran meanwhile has samples");
	is(weight_of($report, class => $class), $all, "$where: all of them class $class");
	is(weight_of($report, symbol => $symbol), $all, "$where: in the call");
	is(weight_of($report, kind => $kind), $all, "$where: kind $kind");
	my $folded = run($DWELL, 'script', '-i', "$where.data", '--folded', '--idle')->{out};
	like($folded, qr/main;stuck_outer;stuck_inner;/, "$where: and the functions that led there");

	my $end = stop($pid, $where eq "futex" ? "KILL" : "TERM");
	is(decode($end->{out})->{interrupted}, 0, "$where: it was not disturbed") if $where ne 'futex';
}

done_testing;
