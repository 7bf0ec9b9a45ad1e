#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Locks: who waited for which, who held it, for how long, and what it is called. The program measures
# how long it waits and holds; threads that wait for work do not wait for a lock.
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
my $seconds = full(10, 2);
my @program = ("$root/tests/calls/locks.c", '-D_GNU_SOURCE', '-pthread');

sub locks {
	return decode(run($DWELL, 'latency', 'locks', '--json', @_)->{out});
}

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

# One wait for each event that the kernel hides.
sub hidden {
	my ($locks, $lock) = @_;
	my $events = 0;
	$events += $_ for values %{$locks->{lost}};
	return $events * $lock->{max_ns};
}

# What a thread waited as it measured it is what dwell says, and the time to run again.
sub compare_waits {
	my ($locks, $report, $lock, $name, @users) = @_;
	my $waited = sum('waited', @users);
	my $least = 0.98 * $waited - running($report, @users) - hidden($locks, $lock);
	ok($lock->{wait_ns} <= $waited && $lock->{wait_ns} >= $least,
		sprintf('%s: waits of %.3f ms (%.3f to %.3f)', $name, $lock->{wait_ns} / 1e6, $least / 1e6, $waited / 1e6));
	cmp_ok($lock->{contended_ns}, '<=', $lock->{wait_ns}, "$name: and not longer with a waiter");
	ok($lock->{p50_ns} <= $lock->{p99_ns} && $lock->{p99_ns} <= $lock->{max_ns}, "$name: quantiles rise");
}

# A thread that takes the lock and one that holds it in a function of its own.
sub compare_holder {
	my ($locks, $lock, $name, $function, $holder, $taker) = @_;
	my @known = grep { $_->{tid} == $holder->{tid} && ($_->{function} // '') eq $function } @{$lock->{holders}};
	my @waited = grep { $_->{tid} == $taker->{tid} && $_->{holder} == $holder->{tid} } @{$lock->{waiters}};
	my $least = 0.99 * $lock->{wait_ns} - hidden($locks, $lock);
	# Waits that the taker caused, who may be preempted while it has the lock, are its own.
	$least -= sum('ns', grep { $_->{holder} == $taker->{tid} } @{$lock->{waiters}});
	cmp_ok(sum('ns', @waited), '>=', $least, "$name: the taker waited for its holder");
	is($waited[0]{thread}, $taker->{name}, "$name: who has a name");
	is(scalar @known, 1, "$name: it was released in $function");
	is($known[0]{thread}, $holder->{name}, "$name: by a thread with a name");
	cmp_ok($known[0]{ns}, '<=', $holder->{held} + $holder->{waited}, "$name: held no longer than it was");
	cmp_ok($known[0]{ns}, '>=', 0.99 * sum('ns', @waited), "$name: and as long as it was waited for");
}

# Somebody always waits for this one: then holding times are exact, up to who got a lock that was free.
sub compare_busy {
	my ($locks, $report, $lock, @users) = @_;
	my ($held, $told) = (sum('held', @users), sum('ns', @{$lock->{holders}}));
	cmp_ok($told, '>=', 0.95 * $held - running($report, @users) - hidden($locks, $lock), 'busy: it was held all the time');
	cmp_ok($told, '<=', $lock->{contended_ns}, 'busy: and not longer');
	is((grep { ($_->{function} // '') ne 'hold_busy' } @{$lock->{holders}}), 0, 'busy: in one function');
}

sub by_address {
	my ($locks, $address) = @_;
	my @found = grep { $_->{address} eq $address } @{$locks->{locks}};
	return $found[0];
}

sub users_of {
	my ($truth, $lock) = @_;
	return grep { $_->{lock} eq $truth->{addresses}{$lock} } @{$truth->{users}};
}

# Builds, records, and checks the names.
sub record_locks {
	my ($what, $names, @options) = @_;
	is(run(@options, '-o', 'locks', @program)->{status}, 0, "$what: a program is built");
	my $got = record(['--trace', '-o', 'locks.data'], './locks', $seconds);
	is($got->{status}, 0, "$what: and recorded");
	my $truth = $got->{truth};
	unlink 'locks'; # names are in the recording
	my $locks = locks('-i', 'locks.data');
	for my $lock (sort keys %$names) {
		my $found = by_address($locks, $truth->{addresses}{$lock});
		ok($found, "$what: $lock is there") or next;
		like($found->{name}, $names->{$lock}, "$what: $lock has its name");
	}
	my $condition = hex $truth->{addresses}{condition};
	is((grep { my $at = hex($_->{address}) - $condition; $at >= 0 && $at < 48 } @{$locks->{locks}}), 0,
		"$what: a condition variable is no lock");
	# Others are the C library's own, which are variables.
	my %is_known = map { $_ => 1 } values %{$truth->{addresses}};
	is((grep { defined $_->{process} && !$is_known{$_->{address}} && !defined $_->{variable} } @{$locks->{locks}}), 0,
		"$what: nor is the end of a thread");
	return ($truth, $locks);
}

my $heap = qr/^lock at 0x[0-9a-f]+, taken in take$/;
my ($truth, $locks) = record_locks('PIE', {settings => qr/^settings\.lock$/, lru => qr/^lru_locks\[3\]$/,
	busy => qr/^busy_lock$/, heap => $heap}, qw(cc -O2 -g -pie -fPIE));
my $report = report('-i', 'locks.data');
for my $name (qw(settings lru heap)) {
	my $lock = by_address($locks, $truth->{addresses}{$name}) or next;
	my ($holder, $taker) = users_of($truth, $name);
	compare_waits($locks, $report, $lock, $name, $holder, $taker);
	compare_holder($locks, $lock, $name, "hold_$name", $holder, $taker);
}
my $busy = by_address($locks, $truth->{addresses}{busy});
compare_waits($locks, $report, $busy, 'busy', users_of($truth, 'busy'));
compare_busy($locks, $report, $busy, users_of($truth, 'busy'));
my @waits = map { $_->{wait_ns} } @{$locks->{locks}};
is_deeply(\@waits, [sort { $b <=> $a } @waits], 'those that were waited for longest are first');

my $text = run($DWELL, 'latency', 'locks', '-i', 'locks.data')->{out};
like($text, qr/ settings\.lock \(pid \d+\)\n +held .* by hold-settings\/\d+, released in hold_settings/, 'text');
like(run($DWELL, 'latency', 'locks', '-i', 'locks.data', '--locks', 1)->{out}, qr/\n# \d+ more locks, [\d.]+% of the waiting: --locks 0\n\z/,
	'the first only');
# As many as have 0.1% of the waiting.
my $total = sum('wait_ns', @{$locks->{locks}});
my $listed = grep { $_->{wait_ns} >= 0.001 * $total } @{$locks->{locks}};
$listed = 20 if $listed > 20;
is(scalar(() = $text =~ /^ +\d+ +[\d.]+ \S+ +[\d.]+ /mg), $listed, 'those with next to no waiting are not listed');
is($text =~ /^# (\d+) more lock/m ? $1 : 0, @{$locks->{locks}} - $listed, 'but counted');
is(scalar(() = run($DWELL, 'latency', 'locks', '-i', 'locks.data', '--locks', 0)->{out} =~ /^ +\d+ +[\d.]+ \S+ +[\d.]+ /mg), scalar @{$locks->{locks}}, 'and with --locks 0 all are');

record_locks('no PIE', {settings => qr/^settings\.lock$/, lru => qr/^lru_locks\[3\]$/, heap => $heap},
	qw(cc -O2 -g -no-pie -fno-pie));
record_locks('without debug information', {settings => qr/^settings\+0x28$/, lru => qr/^lru_locks\+0x78$/,
	busy => qr/^busy_lock$/}, qw(cc -O2));
record_locks('stripped', {settings => qr/^locks\+0x[0-9a-f]+$/, heap => qr/^lock at 0x[0-9a-f]+, taken in locks\+0x/},
	qw(cc -O2 -s));
SKIP: {
	skip 'no clang', 1 if system('clang --version > /dev/null 2>&1');
	record_locks('clang', {settings => qr/^settings\.lock$/, lru => qr/^lru_locks\[3\]$/, heap => $heap},
		qw(clang -O2 -g));
}

# A lock of a file, which a thread waits for all the time and a child with a name holds.
my $of_file = record(['--trace', '-o', 'file.data'], program('waits'), '--only', 'flock', '--seconds', $seconds);
is($of_file->{status}, 0, 'a program that locks a file is recorded');
my $waiter = $of_file->{truth}{threads}{flock};
my $file_locks = locks('-i', 'file.data');
my ($file_lock) = grep { $_->{kind} eq 'file lock' } @{$file_locks->{locks}};
like($file_lock->{name}, qr/^file lock \Q$waiter->{object}\E/, 'a lock of a file has its name');
ok(!defined $file_lock->{process} && !defined $file_lock->{address}, 'and neither a process nor an address');
# The child asks by a pipe before, which is short.
cmp_ok($file_lock->{wait_ns}, '<=', $waiter->{blocked_ns}, 'the thread waited for it no longer than it was blocked');
cmp_ok($file_lock->{wait_ns}, '>=', 0.9 * $waiter->{blocked_ns} - hidden($file_locks, $file_lock), 'and for most of that');
is($file_lock->{waiters}[0]{tid}, $waiter->{tid}, 'it is the waiter');
is($file_lock->{holders}[0]{thread}, 'flock_holder', 'who released it held it');
like($file_lock->{holders}[0]{function}, qr/^(?:run_flock_holder|prepare_flock)/, 'in a known function');
like(run($DWELL, 'latency', 'locks', '-i', 'file.data')->{out}, qr/  file lock \Q$waiter->{object}\E.*\n +held .* by flock_holder/, 'text');

# Samples of waits are not enough.
is(run($DWELL, 'record', '-o', 'sampled.data', '--', 'true')->{status}, 0, 'a recording without --trace');
my $got = run($DWELL, 'latency', 'locks', '-i', 'sampled.data');
is($got->{status}, 1, 'has no locks');
like($got->{err}, qr/samples of waits.*\n.*dwell record --trace/, 'and the message says how to get them');

done_testing;
