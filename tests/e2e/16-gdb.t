#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Stacks are those that gdb shows, frame by frame, of programs stopped at random
# moments.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();
need_command('gdb');

my %programs = (
	chains => [program('chains'), '--seconds', 100, '--plugin', program('plugin.so')],
	'chains-O3' => [program('chains-O3'), '--seconds', 100],
	'chains-static-pie' => [program('chains-static-pie'), '--seconds', 100],
	perl => [$^X, '-e', 'while (1) { my %h = map { $_ => [sort { $a <=> $b } 1 .. $_] } 1 .. 50;
		select undef, undef, undef, 0.001 }'],
);

for my $name (sort keys %programs) {
	my $pid = start(@{$programs{$name}});
	sleep 1;
	my $got = run({seconds => 120}, "$FindBin::Bin/../gdb/compare", '--stops', full(20, 4), $pid);
	stop($pid, 'KILL');
	my ($stacks, $differ) = $got->{out} =~ /(\d+) stacks, \d+ frames, (\d+) differ/;
	cmp_ok($stacks // 0, '>=', 4, "$name: there are stacks to compare") or diag($got->{err});
	is($differ, 0, "$name: all of " . ($stacks // 0) . ' are the same') or diag($got->{out});
}

done_testing;
