#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Threads that wait for a CPU while another one is idle that they may not use are stopped by their affinity,
# for as long as it is idle; when it is busy, they are in the run queue. Both together are what the kernel
# counts as their run delay. And every view says so.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(sum0);
use Test::More;

need_recording();
plan skip_all => 'there is one CPU' if !-d '/sys/devices/system/cpu/cpu1';
my $ms = 1e6;
my $tick = 10 * $ms; # of the idle time, where the kernel has no schedstats

# Sums of the threads, which are called "done" at last.
sub times_of {
	my ($data) = @_;
	my %ns;
	for my $thread (grep { $_->{comm} =~ /^(?:bound|done)$/ } @{report('-i', $data)->{threads}}) {
		$ns{$_} += $thread->{"${_}_ns"} // $thread->{ns}{$_} // 0 for qw(sched stopped stolen);
	}
	return %ns;
}

for my $how ('idle', 'busy') {
	for my $mode ('--trace', '--no-symbols') {
		my $what = "$how, $mode";
		my $data = "$how$mode.data";
		my $got = record([$mode, '-o', $data], program('affinity'), $how);
		is($got->{status}, 0, "$what: recorded") or next;
		my ($least, $most, $idle, $occupied) = @{decode($got->{out})}{qw(waited_least_ns waited_most_ns idle_ns occupied_ns)};
		my %ns = times_of($data);
		my $slack = $most / 100 > $ms ? $most / 100 : $ms;
		# How long they wait when they have computed is known for traced intervals only.
		@ns{qw(stopped sched)} = stopped_and_queued($data, 'bound') if $mode eq '--trace';
		my $all = $ns{sched} + $ns{stopped};
		my $bound = $mode eq '--trace' ? $most : 'inf';
		ok($least - $slack - $ns{stolen} <= $all && $all <= $bound + $slack + $ns{stolen}, "$what: all waits for a CPU are as long as the kernel counts")
			or diag explain [$least, $most, \%ns];
		cmp_ok($ns{stopped}, '>=', $idle - $tick - $slack, "$what: stopped while the other CPU is idle")
			or diag explain [$got->{out}, \%ns];
		SKIP: {
			skip 'others than the second CPU may be idle', 1 if -d '/sys/devices/system/cpu/cpu2';
			cmp_ok($ns{sched}, '>=', $occupied - $slack, "$what: and not when it is busy") or diag explain [$got->{out}, \%ns];
		}
		next if $mode ne '--trace' || $ns{stopped} < $ms;
		my @waits = grep { ($_->{kind} // '') eq 'affinity' } events('-i', $data, '--comm', 'bound');
		ok(@waits > 0, "$what: its waits are of the kind");
		my $name = qr/affinity 0 \(not allowed on the idle CPUs\)/;
		like(run($DWELL, 'waits', '-i', $data, '--percent-limit', 0)->{out} =~ s/\s+/ /gr, $name, "$what: waits says so");
		my ($tid) = map { $_->{tid} } @waits;
		like(run($DWELL, 'path', '-i', $data, '--of', $tid, '--percent-limit', 0)->{out}, qr/affinity 0/, "$what: path, too");
		like(run($DWELL, 'report', '-i', $data, '--sort', 'comm,kind', '--comm', 'bound', '--percent-limit', 0)->{out}, qr/affinity/, "$what: report, too");
	}
}

done_testing;
