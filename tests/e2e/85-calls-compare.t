#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# What slow requests did that median ones did not: one in a hundred does something more, and the
# program measures how long that takes.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use POSIX qw(ceil);
use Test::More;

need_recording();
plan skip_all => 'dwell-cc is for x86-64' if qx(uname -m) ne "x86_64\n";

my $root = dirname(dirname($FindBin::Bin));
my $count = full(10000, 2000);
my $percentile = 99.5; # of the slow ones, half
is(run(dirname($DWELL) . '/dwell-cc', '-O2', '-g', '-fdwell-min-size=0', "-I$root", '-D_GNU_SOURCE', '-o', 'compare',
	"$root/tests/calls/compare.c", '-lpthread')->{status}, 0, 'a program is built');

sub sum {
	my $sum = 0;
	$sum += $_ for @_;
	return $sum;
}

# The sum of the rows of that name: with the function that waited, and where that is not known, without.
sub rows_like {
	my ($compare, $what) = @_;
	my @rows = grep { $_->{what} =~ $what } @{$compare->{rows}};
	my %sums;
	for my $key (qw(from_ns to_ns from_count to_count)) {
		$sums{$key} = sum(map { $_->{$key} } @rows);
	}
	return \%sums;
}

# The requests of both groups as the program measured them: ids are their order, fastest first here.
sub groups {
	my ($requests, @truth) = @_;
	my @by_length = reverse map { $truth[$_->{id} - 1] } @{$requests->{requests}};
	my $n = @by_length;
	my $around = $n / 5 < 200 ? int($n / 5) : 200;
	my $first = ceil($n / 2) - 1 - int($around / 2);
	return ([@by_length[$first .. $first + $around - 1]], [@by_length[ceil($percentile / 100 * $n) - 1 .. $n - 1]]);
}

sub adds_up {
	my ($compare, $what) = @_;
	for my $side (qw(from to)) {
		my $sum = sum(map { $_->{"${side}_ns"} } @{$compare->{rows}});
		near($sum, $compare->{$side}{mean_ns}, 1 + 1e-6 * $sum, "$what: the rows of '$side' add up");
	}
	my @differences = map { $_->{to_ns} - $_->{from_ns} } @{$compare->{rows}};
	near(sum(@differences), $compare->{to}{mean_ns} - $compare->{from}{mean_ns}, 1 + 1e-6 * $compare->{to}{mean_ns},
		"$what: and their differences");
	is_deeply(\@differences, [sort { $b <=> $a } @differences], "$what: the largest difference is first");
}

for my $how (['sleep', 'waits: sleep', 'sleep_long'], ['lock', 'waits: futex known_lock, for hold_long', 'wait_long']) {
	my ($mode, $what, $function) = @$how;
	my ($requests, $from, $to, $slow);
	# Until all are there, and those that lost their CPU for 100 ms are not the most: a busy machine.
	for (1 .. 8) {
		my $got = run({seconds => 120}, $DWELL, 'latency', 'run', '--request', 'served', '-o', 'c.data', '--',
			'./compare', $mode, $count);
		is($got->{status}, 0, "$mode: it is recorded");
		my @truth = map { [split] } split /\n/, $got->{out};
		$requests = decode(run($DWELL, 'latency', 'requests', '--json', '-i', 'c.data',
			'--compare', "p50,p$percentile")->{out});
		next if $requests->{count} != $count;
		($from, $to) = groups($requests, @truth);
		$slow = grep { $_->[1] } @$to;
		last if 2 * $slow > @$to;
	}
	is($requests->{count}, $count, "$mode: all requests are there") or next;
	my $compare = $requests->{compare};
	adds_up($compare, $mode);
	is($compare->{from}{requests}, scalar @$from, "$mode: the group around the median");
	is($compare->{to}{requests}, scalar @$to, "$mode: the group of slow ones");
	for (['from', $from], ['to', $to]) {
		my ($side, $group) = @$_;
		my $mean = sum(map { $_->[0] } @$group) / @$group;
		cmp_ok($compare->{$side}{mean_ns}, '<=', $mean, "$mode: '$side' is not longer than it was");
	}
	next if !$slow;
	my $hidden = sum(values %{$requests->{lost}}); # by the kernel
	# What they did more, but for the time until they ran again, which a busy machine makes long.
	my $more = sum(map { $_->[1] } @$to) / @$to;
	my $wait = rows_like($compare, qr/^$what(, in \w+)?$/);
	my ($first) = grep { $_->{what} ne 'run queue' } @{$compare->{rows}};
	like($first->{what}, qr/^$what(, in \w+)?$/, "$mode: what they did more is first");
	ok((grep { $_->{what} eq "$what, in $function" } @{$compare->{rows}}), "$mode: with the function that waited");
	cmp_ok($wait->{to_ns}, '<=', $more, "$mode: not longer than it took");
	my $told = $wait->{to_ns} + rows_like($compare, qr/^(run queue|$function)$/)->{to_ns};
	cmp_ok($told, '>=', (0.97 - $hidden / $slow) * $more, sprintf('%s: and as long, %.3f of %.3f ms', $mode, $wait->{to_ns} / 1e6, $more / 1e6));
	near($wait->{to_count} * @$to, $slow, 0.03 * $slow + 1 + $hidden, "$mode: once in each of the slow ones");
	is($wait->{from_ns}, 0, "$mode: and never in the others");
	like(run($DWELL, 'latency', 'requests', '-i', 'c.data', '--compare', "p50,p$percentile")->{out},
		qr/# from : p50, \d+ requests.*\n# to   : p99\.5, .*(?s:.*)\n +\+\S+ ms .* $what, in $function\n/, "$mode: as text");
}

# Other percentiles, and what is none.
my $compare = decode(run($DWELL, 'latency', 'requests', '--json', '-i', 'c.data', '--compare', '10,max')->{out})->{compare};
is($compare->{to}{requests}, 1, 'the slowest');
adds_up($compare, 'p10 and max');
for my $wrong ('p50', 'p50,p50', 'p50,p101', 'p50,', 'p50,slow', 'p50,p99,p99.9') {
	my $got = run($DWELL, 'latency', 'requests', '-i', 'c.data', '--compare', $wrong);
	is($got->{status}, 2, "--compare $wrong is refused");
	like($got->{err}, qr/two percentiles/, 'and the message says what is expected');
}

done_testing;
