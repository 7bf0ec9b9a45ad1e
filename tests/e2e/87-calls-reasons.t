#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Where slow calls spent their time: functions that take long for one reason each, and measure their wall
# and CPU time themselves. Both ways of measuring calls, shadow stacks and probes.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(sum0);
use Test::More;

need_recording();
plan skip_all => 'dwell-cc is for x86-64' if qx(uname -m) ne "x86_64\n";

my $root = dirname(dirname($FindBin::Bin));
my @flags = ('-O2', '-g', "-I$root", '-D_GNU_SOURCE', "$root/tests/calls/reasons.c", '-lpthread');
is(run(dirname($DWELL) . '/dwell-cc', '-o', 'reasons', @flags)->{status}, 0, 'a program is built');
is(run('gcc', '-o', 'plain', @flags)->{status}, 0, 'and without dwell-cc');
is(run('dd', 'if=/dev/urandom', 'of=data', 'bs=64k', 'count=64')->{status}, 0, 'and has a file');

my %part = (by_disk => 'disk_ns', by_lock => 'lock_ns', by_queue => 'runqueue_ns', by_network => 'network_ns',
	by_rest => 'other_ns');

# What the slowest calls took, as the function measured it: wall and CPU time.
sub truth {
	my ($name, $n) = @_;
	my @calls = sort { $b->[0] <=> $a->[0] } map { [split] } split /\n/, slurp($name);
	my ($wall, $cpu) = (0, 0);
	($wall += $_->[0], $cpu += $_->[1]) for @calls[0 .. $n - 1];
	return ($wall, $cpu);
}

# The function waits for nothing else, but on a busy machine it waits for a CPU, too: what is neither its CPU
# time nor its own reason must be that. Its CPU time is the kernel's, which does not have what
# the kernel does for dwell at a switch, and in interrupts.
sub check {
	my ($report, $name) = @_;
	my ($function) = grep { $_->{name} eq $name } @{$report->{functions}};
	ok($function, "$name is there") or return;
	my $slow = $function->{slow};
	my ($wall, $cpu) = truth($name, $slow->{calls});
	my $own = $slow->{$part{$name}};
	my $queued = $name eq 'by_queue' ? 0 : $slow->{runqueue_ns};
	cmp_ok(abs($slow->{ns} - $wall), '<', 0.02 * $wall + 50000 * $slow->{calls}, "$name: time of the slow calls");
	cmp_ok(abs($slow->{cpu_ns} - $cpu), '<', 0.05 * $wall + 50000 * $slow->{calls}, "$name: on the CPU");
	cmp_ok(abs($own + $queued - ($wall - $cpu)), '<', 0.05 * $wall + 50000 * $slow->{calls}, "$name: the reason");
	cmp_ok($own, '>', 0, 'which is told');
	is($slow->{holders}[0]{function}, 'hold', 'who held the lock') if $name eq 'by_lock';
	return if $name ne 'by_queue';
	my $hog = sum0(map { $_->{ns} } grep { $_->{comm} =~ /^(?:hog|reasons|plain)$/ } @{$slow->{ran_instead}});
	my $others = sum0(map { $_->{ns} } @{$slow->{ran_instead}}) - $hog;
	ok($hog > 0 || $others > 0.5 * $own, 'who had the CPU');
}

# A scanner that loses its CPU for longer than a call takes does not know when it began and ended: then it
# is recorded again.
my $calls = full(300, 100);
for my $how (['./reasons'], ['./plain', '--limit', 0, '--function', join ',', sort keys %part]) {
	my ($program, @options) = @$how;
	my $report;
	for (1 .. 5) {
		my $got = run({seconds => 120}, $DWELL, 'latency', 'run', @options, '-o', 'r.data', '--', $program, $calls);
		is($got->{status}, 0, "$program is recorded");
		$report = decode(run($DWELL, 'latency', 'report', '--functions', 0, '--json', '-i', 'r.data')->{out});
		last if $report->{longest_gap_ns} < 2e6;
	}
	SKIP: {
		skip 'the scanner never had a CPU', 1 if $report->{longest_gap_ns} >= 2e6;
		check($report, $_) for sort keys %part;
	}
}

done_testing;
