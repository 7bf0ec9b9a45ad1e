#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Requests of a program built by dwell-cc: the slowest, and what one of them did, with the calls of
# whoever held the lock that it waited for.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();
plan skip_all => 'dwell-cc is for x86-64' if qx(uname -m) ne "x86_64\n";

my $root = dirname(dirname($FindBin::Bin));
is(run(dirname($DWELL) . '/dwell-cc', '-O2', '-g', '-fdwell-min-size=0', "-I$root", '-D_GNU_SOURCE', '-o', 'measured',
	"$root/tests/calls/measured.c", '-lpthread')->{status}, 0, 'a program is built');

sub requests {
	return decode(run($DWELL, 'latency', 'requests', '--json', '-i', 'm.data', @_)->{out});
}

# One that waited for the lock, if there is one among the slowest.
sub with_lock {
	my ($requests) = @_;
	for my $request (@{$requests->{requests}}[0 .. 19]) {
		next if $request->{begin_ns} < 1e9; # on a busy machine, the threads may not have been found yet
		my $timeline = requests('--timeline', $request->{id})->{timeline};
		return $timeline if grep { $_->{type} eq 'wait' && $_->{kind} eq 'futex' } @{$timeline->{items}};
	}
	return undef;
}

my ($requests, $timeline);
for (1 .. 5) { # until somebody had to wait for the lock
	my $got = run({seconds => 60}, $DWELL, 'latency', 'run', '--request', 'served', '-o', 'm.data', '--', './measured', 3);
	is($got->{status}, 0, 'it is recorded');
	$requests = requests();
	$timeline = with_lock($requests);
	last if $timeline;
}
my $served = split /\n/, slurp('take');
cmp_ok($requests->{count}, '<=', $served, 'not more requests than there were');
cmp_ok($requests->{count}, '>=', 0.99 * $served, 'all of them are there');
my @lengths = map { $_->{length_ns} } @{$requests->{requests}};
is_deeply(\@lengths, [sort { $b <=> $a } @lengths], 'the slowest first');
is($lengths[0], $requests->{latency}{max_ns}, 'which is the longest');

ok($timeline, 'a request that waited for the lock') or done_testing, exit;
my @items = @{$timeline->{items}};
my ($wait) = grep { $_->{type} eq 'wait' && $_->{kind} eq 'futex' } @items;
is($wait->{function}, 'hold_long', 'whoever held it is named');
my @held = grep { $_->{type} eq "holder's call" && $_->{tid} == $wait->{for} } @items;
ok((grep { $_->{function} eq 'hold_long' } @held), 'and what it did meanwhile is shown');
is((grep { $_->{begin_ns} + $_->{length_ns} > $timeline->{length_ns} } @items), 0, 'nothing is outside the request');
my ($call) = grep { $_->{type} eq 'call' && $_->{function} eq 'take' } @items;
ok($call, 'the call that waited is there');
ok($call && $call->{begin_ns} <= $wait->{begin_ns} && $wait->{depth} > $call->{depth}, 'the wait lies in it');

my $text = run($DWELL, 'latency', 'requests', '-i', 'm.data', '--timeline', $timeline->{id})->{out};
like($text, qr/\[waits: futex .* in hold_long\]\n.*\| \S+: hold_long/, 'the same as text');
like(run($DWELL, 'latency', 'requests', '-i', 'm.data', '--slowest', 3)->{out}, qr/\n#\s+id\s+length\n(?:\s+\d+ .*\n){3}\z/,
	'the three slowest');
my $got = run($DWELL, 'latency', 'requests', '-i', 'm.data', '--timeline', 1e9);
is($got->{status}, 1, 'a request that is not there');
like($got->{err}, qr/ids go up to/, 'is told');

done_testing;
