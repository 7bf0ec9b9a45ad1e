#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Tagged requests: a program says which thread works at which request, and which queues it goes through.
# It also notes the times before and after each tag, between which dwell's have to lie.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(max min sum0);
use Test::More;

need_recording();
plan skip_all => 'dwell-cc is for x86-64' if qx(uname -m) ne "x86_64\n";

my $root = dirname(dirname($FindBin::Bin));
is(run(dirname($DWELL) . '/dwell-cc', '-O2', '-g', '-fdwell-min-size=0', "-I$root", '-D_GNU_SOURCE', '-o', 'tagged',
	"$root/tests/calls/tagged.c", '-lpthread')->{status}, 0, 'a program is built');

my $SLEEP = 30e6; # what one request of a hundred sleeps, ns

sub requests {
	return decode(run($DWELL, 'latency', 'requests', '--json', '-i', 't.data', @_)->{out});
}

# The requests by id: {begin}, {end} and {parts} {begin, end, tid or queue}. Times are [before, after].
sub truth {
	my (%requests, %has);
	my @tags = map {
		my ($before, $after, $tid, $id, $what, $queue) = split ' ';
		{at => [$before, $after], tid => $tid, id => $id, what => $what, queue => $queue};
	} split /\n/, slurp('tags');
	for my $tag (sort { $a->{at}[0] <=> $b->{at}[0] } @tags) {
		my ($at, $tid, $what) = @$tag{qw(at tid what)};
		for my $id ($what eq 'end_all' ? keys %{$has{$tid}} : $tag->{id}) {
			my $request = $requests{$id} //= {id => $id, begin => $at, parts => []};
			my @parts = @{$request->{parts}};
			my ($open) = grep { !$_->{end} && ($_->{tid} // 0) == ($what eq 'begin' ? 0 : $tid) } @parts;
			$open->{end} = $at if $open;
			# Two threads may end it at the same time: the later one does.
			my $end = $request->{end} // $at;
			$request->{end} = [map { max($at->[$_], $end->[$_]) } 0, 1] if $what =~ /^end/;
			push @{$request->{parts}}, {begin => $at, tid => $tid} if $what eq 'begin';
			push @{$request->{parts}}, {begin => $at, queue => $tag->{queue}} if $what eq 'block';
			delete $has{$tid}{$id};
			$has{$tid}{$id} = 1 if $what eq 'begin';
		}
	}
	return \%requests;
}

# Whether @got, ns, can be the time from @$from to @$to.
sub can_be {
	my ($got, $from, $to) = @_;
	return $to->[0] - $from->[1] <= $got && $got <= $to->[1] - $from->[0];
}

# What is wrong with the parts that @timeline has of @request, or ''.
sub wrong_parts {
	my ($timeline, $request) = @_;
	my @got = grep { $_->{type} eq 'thread' || $_->{type} eq 'queue' } @{$timeline->{items}};
	my @parts = @{$request->{parts}};
	return @got . ' parts, not ' . @parts if @got != @parts;
	for my $i (0 .. $#got) {
		my ($item, $part) = ($got[$i], $parts[$i]);
		my ($of, $want) = map { $_->{tid} // $_->{queue} } $item, $part;
		return "part $i is of $of, not $want" if $of ne $want;
		return "part $i begins at $item->{begin_ns}" unless can_be($item->{begin_ns}, $request->{begin}, $part->{begin});
		return "part $i takes $item->{length_ns}" unless can_be($item->{length_ns}, $part->{begin}, $part->{end});
	}
	return '';
}

# What is wrong with the rest: nothing is outside the part of its thread.
sub wrong_items {
	my ($timeline) = @_;
	my $part;
	for my $item (@{$timeline->{items}}) {
		my $end = $item->{begin_ns} + $item->{length_ns};
		return "it ends after $end" if $end > $timeline->{length_ns};
		$part = $item if $item->{type} eq 'thread' || $item->{type} eq 'queue';
		next if $item == $part;
		return "$item->{type} after a queue" if $part->{type} eq 'queue';
		return "$item->{type} of another thread" if $item->{type} ne "holder's call" && $item->{tid} != $part->{tid};
		return "$item->{type} before or after its thread had it"
			if $item->{begin_ns} < $part->{begin_ns} || $end > $part->{begin_ns} + $part->{length_ns};
		return "$item->{type} is as deep as its thread" if $item->{depth} <= $part->{depth};
	}
	return '';
}

# Requests of each kind: those that only go to a worker, and those that sleep, have two threads at
# once, or are finished in a batch.
my %numbers = (plain => [100, 221, 420], sleep => [map { 100 * $_ + 50 } 0 .. 5], pair => [map { 40 * $_ + 7 } 3 .. 14],
	batch => [103, 183, 343, 543]);
my %kinds = map { my $kind = $_; map { ($_ % 2 ? $_ : ~0 - $_) => $kind } @{$numbers{$kind}} } keys %numbers;

# Whether one of the timelines of the kind has a call or wait that is at least so long.
sub has {
	my ($timelines, $kind, $least, %want) = @_;
	return scalar grep {
		my $item = $_;
		$item->{length_ns} >= $least && !grep { ($item->{$_} // '') ne $want{$_} } keys %want;
	} map { @{$_->{items}} } grep { $kinds{$_->{id}} eq $kind } values %$timelines;
}

# What was seen depends on when the scanner, and on some kernels the tracer, had a CPU.
sub is_seen {
	my ($timelines) = @_;
	return has($timelines, 'sleep', 0.9 * $SLEEP, type => 'wait', kind => 'sleep')
		&& has($timelines, 'sleep', 0.9 * $SLEEP, type => 'call', function => 'sleep_rarely')
		&& has($timelines, 'pair', 0, type => 'call', function => 'help')
		&& !grep { $_->{type} eq 'call' && ($_->{function} // '') =~ /_loop$/ } map { @{$_->{items}} } values %$timelines;
}

my ($got, %timelines);
for (1 .. 5) {
	$got = run({seconds => 60}, $DWELL, 'latency', 'run', '--request', 'dwell:requests', '-o', 't.data', '--', './tagged', 'tags');
	is($got->{status}, 0, 'it is recorded');
	%timelines = map { $_ => requests('--timeline', $_)->{timeline} } keys %kinds;
	last if is_seen(\%timelines);
}
ok(is_seen(\%timelines), 'that and where requests sleep, and what the second thread does; but not the loops that have them');
my $truth = truth();
my $all = requests();
is($all->{count}, 600, 'all requests are there');
is_deeply([sort map { $_->{id} } @{$all->{requests}}], [sort keys %$truth], 'with the ids of the program');
my ($wrong) = grep { !can_be($_->{length_ns}, @{$truth->{$_->{id}}}{qw(begin end)}) } @{$all->{requests}};
ok(!$wrong, 'their lengths') or diag("$wrong->{id}: $wrong->{length_ns}");
# The recording began at the same time for all of them.
my @starts = map { [map { $_ - $a->{begin_ns} } @{$truth->{$a->{id}}{begin}}] } map { $a = $_ } @{$all->{requests}};
cmp_ok(max(map { $_->[0] } @starts), '<=', min(map { $_->[1] } @starts), 'their begins');
my @lengths = map { $_->{length_ns} } @{$all->{requests}};
is_deeply(\@lengths, [sort { $b <=> $a } @lengths], 'the slowest first');
is((grep { $_->{source} ne 'dwell:requests' } @{$all->{requests}}), 0, 'their source');
my ($diagnostic) = grep { $_->{label} eq 'unbalanced' } @{$all->{diagnostics}};
like($diagnostic->{text}, qr/^1 tagged requests did not end .* beside 600 that did; 1 tags /, 'tags that do not fit are told');

# Who had these requests, and what they did.
my %threads;
for my $id (sort keys %kinds) {
	my $timeline = $timelines{$id};
	is($timeline->{id}, $id, "$kinds{$id} $id: the request that was asked for");
	is(wrong_parts($timeline, $truth->{$id}), '', "$kinds{$id} $id: who had it when");
	is(wrong_items($timeline), '', "$kinds{$id} $id: what they did");
	cmp_ok($timeline->{length_ns}, '>=', $SLEEP, "$kinds{$id} $id: it took long") if $kinds{$id} eq 'sleep';
	$threads{$kinds{$id}}{scalar grep { $_->{type} eq 'thread' } @{$timeline->{items}}} = 1;
}
is_deeply(\%threads, {plain => {2 => 1}, sleep => {2 => 1}, pair => {3 => 1}, batch => {3 => 1}}, 'so many threads each');

# As text, by an id in either base.
my ($id, $hex) = (~0 - 50, sprintf('%#x', ~0 - 50));
my $text = run($DWELL, 'latency', 'requests', '-i', 't.data', '--timeline', $hex)->{out};
like($text, qr/^ *$id .* 2 threads, ended by tagged\/\d+$/m, 'text: the id');
my ($tid) = map { $_->{tid} } grep { $_->{tid} } reverse @{$truth->{$id}{parts}};
my ($queue) = map { $_->{queue} } grep { $_->{queue} } @{$truth->{$id}{parts}};
like($text, qr/ \[in a queue: $queue\]\n.* tagged\/$tid:\n/, 'text: the queue and who takes it from there');
for my $other (600, 'x', '') {
	$got = run($DWELL, 'latency', 'requests', '-i', 't.data', '--timeline', $other);
	is($got->{status}, $other eq 600 ? 1 : 2, "'$other' is no request");
	like($got->{err}, $other eq 600 ? qr/there is no request 600$/m : qr/number/, 'which is told');
}

# The path is that of each thread while it had the request.
my $path = decode(run($DWELL, 'path', '--json', '-i', 't.data', '--request', 'dwell:requests')->{out});
my @had = map { [$_->{begin}, $_->{end}] } grep { $_->{tid} } map { @{$_->{parts}} } values %$truth;
is($path->{requests}{count}, 600, 'path: all requests');
cmp_ok($path->{wall_ns}, '>=', sum0(map { max(0, $_->[1][0] - $_->[0][1]) } @had), 'path: not less than the time of the threads');
cmp_ok($path->{wall_ns}, '<=', sum0(map { $_->[1][1] - $_->[0][0] } @had), 'path: not more');
$path = decode(run($DWELL, 'path', '--json', '-i', 't.data', '--slowest', 3)->{out});
is(scalar @{$path->{requests}{shown}}, 3, 'path: the slowest');
like(run($DWELL, 'path', '-i', 't.data', '--slowest', 1, '--chronological')->{err}, qr/the request had several/,
	'path: only one thread in order of time');

# The events.
my @lines = map { decode($_) } grep { /"event":"request"/ } split /\n/, run($DWELL, 'script', '--json', '-i', 't.data')->{out};
is_deeply([sort map { $_->{id} } @lines], [sort keys %$truth], 'script: the requests');

# Without being asked for, tags are not recorded; with them and none in the program, that is told.
run({seconds => 60}, $DWELL, 'record', '-o', 'u.data', '--', './tagged', 'tags');
is((grep { /"annotation"/ } split /\n/, run($DWELL, 'script', '--json', '-i', 'u.data')->{out}), 0, 'not asked for');
like(run($DWELL, 'record', '-o', 'u.data', '--request', 'dwell:requests', '--', 'true')->{err},
	qr/no requests of 'dwell:requests': .*DWELL_REQUEST_END/, 'no tags');

done_testing;
