#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Semaphores that are used as locks are locks, also if each waiter has one of its own; those of queues,
# results and barriers are not. dwell waits names the lock that is held by threads that sleep.
use strict;
use warnings;
no warnings 'portable'; # addresses

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

my $root = dirname(dirname($FindBin::Bin));
my $seconds = full(10, 1);

sub sum {
	my ($key, @list) = @_;
	my $sum = 0;
	$sum += $_->{$key} for @list;
	return $sum;
}

# The time that threads ran or waited for a CPU.
sub running {
	my ($report, @users) = @_;
	my %is_wanted = map { $_->{tid} => 1 } @users;
	return sum('ns', map { {ns => $_->{cpu_ns} + $_->{sched_ns}} }
		grep { $is_wanted{$_->{tid}} } @{$report->{threads}});
}

# Waits and holding times are what the threads measured, up to the time to run again, and to waits whose
# waker or switch the kernel hid.
sub compare {
	my ($what, $locks, $report, $lock, @users) = @_;
	my ($waited, $held) = (sum('waited', @users), sum('held', @users));
	my $hidden = 0;
	$hidden += $_ for values %{$locks->{lost}};
	my $slack = running($report, @users) + $hidden * $lock->{max_ns};
	ok($lock->{wait_ns} <= $waited && $lock->{wait_ns} >= 0.98 * $waited - $slack,
		sprintf('%s: waits of %.3f ms of %.3f', $what, $lock->{wait_ns} / 1e6, $waited / 1e6));
	my $told = sum('ns', @{$lock->{holders}});
	ok($told <= 1.02 * $held + $slack && $told >= 0.9 * $held - $slack,
		sprintf('%s: held for %.3f ms of %.3f', $what, $told / 1e6, $held / 1e6));
	my %is_user = map { $_->{tid} => 1 } @users;
	is((grep { !$is_user{$_->{tid}} } @{$lock->{holders}}), 0, "$what: by its users");
}

is(run(qw(cc -O2 -g -D_GNU_SOURCE -pthread -o semaphores), "$root/tests/calls/semaphores.c")->{status}, 0, 'a program is built');
my $got = record(['--trace', '-o', 'semaphores.data'], './semaphores', $seconds);
is($got->{status}, 0, 'and recorded');
my $truth = $got->{truth};
my $locks = decode(run($DWELL, qw(latency locks --json -i semaphores.data))->{out});
my $report = report('-i', 'semaphores.data');
my %at = map { $_->{address} => $_ } grep { defined $_->{address} } @{$locks->{locks}};

my $shared = $at{$truth->{addresses}{shared}};
ok($shared, 'a semaphore that who ends a wait had taken before is a lock') and do {
	is($shared->{name}, 'shared_lock', 'with its name');
	is((grep { $_->{function} ne 'use_shared' } @{$shared->{holders}}), 0, 'released in its function');
	compare('shared', $locks, $report, $shared, grep { $_->{name} =~ /^shared/ } @{$truth->{users}});
};
my ($private) = grep { $_->{name} =~ /take_private/ } @{$locks->{locks}};
ok($private, 'one of which each waiter has a semaphore is found by its place') and do {
	is($private->{name}, 'locks of take_private <- use_private <- use', 'that is its name');
	is($private->{address}, undef, 'its address is not known');
	compare('private', $locks, $report, $private, grep { $_->{name} =~ /^private/ } @{$truth->{users}});
};
ok(!$at{$truth->{addresses}{$_}}, "$_ is no lock") for qw(jobs done gate);
ok(!$at{$_->{own}}, "the semaphore of $_->{name} is no lock") for grep { $_->{name} =~ /^private/ } @{$truth->{users}};
cmp_ok($locks->{unclear}, '>', 0, 'waits for others are counted');
like(run($DWELL, qw(latency locks -i semaphores.data))->{out}, qr/^# unclear +: $locks->{unclear} waits, .*do not behave like locks/m, 'in text, too');

# Threads that sleep with a lock held: the lock is what limits them.
for my $options (['--trace'], []) {
	my $kind = $options->[0] // 'sampled';
	$got = record([@$options, '-o', 'slept.data'], './semaphores', $seconds, 3);
	is($got->{status}, 0, "$kind: threads that share a lock are recorded");
	my $document = decode(run($DWELL, qw(waits --json -i slept.data))->{out});
	my $lock = $document->{verdict}{lock};
	ok($lock, "$kind: the verdict has the lock") or next;
	is($lock->{address}, $got->{truth}{addresses}{shared}, "$kind: that one");
	my %is_user = map { $_->{tid} => 1 } grep { $_->{name} =~ /^shared/ } @{$got->{truth}{users}};
	ok($is_user{$lock->{holder}{tid}}, "$kind: held by one of its users");
	is($lock->{blocked_in}, 'sleep', "$kind: which sleeps");
	ok((grep { $_->{symbol} eq 'use_shared' } @{$lock->{stack}}), "$kind: in its function");
	like($document->{verdict}{text}, qr/sleep with a lock held that others wait for: shared_lock/, "$kind: as a sentence");
	unlike($document->{verdict}{text}, qr/in parallel/, "$kind: more in parallel would not help");
	like(run($DWELL, qw(waits -i slept.data))->{out}, qr/^  shared_lock, taken in use_shared: .*; meanwhile held .* by shared\d\/\d+.*\n.*sleep, with it held\n +waits in  .*use_shared/m, "$kind: and in a row");
}

done_testing;
