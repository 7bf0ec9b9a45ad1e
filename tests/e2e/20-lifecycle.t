#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Threads and processes that come and go: none is missing, none is counted
# twice, names and execs are followed.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

my %count = (threads => full(2000, 500), processes => full(20000, 2000), spawns => 50, execs => 10,
	signals => 5, daemons => 10, renames => 4);

my $got = record(['-o', 'life.data'], program('lifecycle'), map { ("--$_", $count{$_}) } sort keys %count);
is($got->{status}, 0, 'recorded');
is($got->{truth}{$_}, $count{$_}, "the program did $count{$_} $_") for sort keys %count;

my $report = report('-i', 'life.data');
my (%comm, %pids);
for my $thread (@{$report->{threads}}) {
	$comm{$thread->{comm}}++;
	$pids{$thread->{pid}}++;
}
nothing_lost($report, 'lifecycle');

# main; children; each spawn, exec, and killed child; daemons and their parents.
my $processes = 1 + $count{processes} + $count{spawns} + $count{execs} + $count{signals}
	+ 2 * $count{daemons};
is(scalar(keys %pids), $processes, 'every process is there') unless $processes > 30000;
is($comm{many}, $count{threads}, 'every thread is there, under its name');
is($comm{daemon}, $count{daemons}, 'grandchildren whose parent is gone are followed');
is($comm{exe}, $count{spawns} + $count{execs}, 'an exec gives a new name');
is($comm{usurper} // 0, 0, 'a thread that execs takes the new name too');
is($comm{fourth}, 1, 'a renamed thread is listed once, by its last name');

# Time is booked under the name of the moment.
$report = report('-i', 'life.data', '--sort', 'comm');
ok(weight_of($report, comm => $_) > 0, "there is time under the name '$_'")
	for qw(first second third fourth daemon);

# Totals of all threads sum to their lifetimes.
my ($sum, $life) = (0, 0);
for my $thread (@{$report->{threads}}) {
	$life += $thread->{lifetime_ns};
	$sum += $thread->{"${_}_ns"} // 0 for qw(cpu io lock sched other stopped stolen not_seen);
}
near(100 * $sum / $life, 100, 0.1, 'the times of all threads sum to their lifetimes');

done_testing;
