#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A thread that has ended but is still listed by the kernel (the first one of a
# process that goes on) is not taken for one that lives.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

my $pid = start(program('leaderless'), '--ready', 'ready');
wait_for(180, sub { -s 'ready' }) or BAIL_OUT('the program does not start');
is(record(['-o', 'heir.data', '-p', $pid, '--duration', '6'])->{status}, 0, 'recorded by its pid');
cmp_ok(scalar(() = glob "/proc/$pid/task/*"), '>', 1, 'the process goes on');
stop($pid);

my $report = report('-i', 'heir.data');
my ($leader, @more) = grep { $_->{tid} == $pid } @{$report->{threads}};
my ($heir) = grep { $_->{comm} eq 'heir' } @{$report->{threads}};
ok($leader && !@more, 'the leader is listed once');
cmp_ok($leader->{lifetime_ns}, '<', 0.6 * $heir->{lifetime_ns}, 'and lives until it left');
near(100 * $heir->{lifetime_ns} / $report->{duration_ns}, 100, 5, 'the heir lives to the end');

done_testing;
