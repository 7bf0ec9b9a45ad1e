#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# What a server sends to a client because another client sent something, or after idleness, is no answer
# to what the client sent last: it is a push, listed apart. Answers that come late because a server of the
# server's own, or a child, answered late are slow requests.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

my $script = dirname(dirname($FindBin::Bin)) . '/tests/calls/pushes.pl';
my $n = full(200, 30);

sub sum { my $sum = 0; $sum += $_ for @_; return $sum }

# Records a server with these clients. What they measured, and by client its requests and pushes. What the
# kernel hides from tracing is missing, and counted.
sub record_clients {
	my ($what, @names) = @_;
	my ($port, $backend) = (free_port(), free_port());
	my $behind = start({name => 'backend'}, 'perl', $script, 'backend', $backend);
	my $clients = start({name => 'clients'}, 'perl', $script, 'clients', $port, $n, @names);
	is(record(['--trace', '--request', "tcp:$port", '-o', 'pushes.data'], 'perl', $script, 'server', $port, $backend)->{status},
		0, "$what: a server is recorded");
	my $truth = decode(finish($clients, 60)->{out});
	kill 'KILL', $behind;
	my $document = decode(run($DWELL, qw(latency requests --json -i pushes.data))->{out});
	my %name = map { $truth->{$_}{port} => $_ } keys %$truth;
	my %by;
	for my $list (qw(requests pushes)) {
		for my $one (@{$document->{$list}}) {
			my ($from) = $one->{peer} =~ /:(\d+)$/;
			push @{$by{$list}{$name{$from} // 'other'}}, $one;
		}
	}
	$_ //= [] for map { my $list = $_; map { $by{$list}{$_} } @names } qw(requests pushes);
	return ($truth, $by{requests}, $by{pushes}, sum(values %{$document->{lost}}));
}

sub about {
	my ($got, $wanted, $hidden, $what) = @_;
	cmp_ok($got, '<=', $wanted, "$what: at most $wanted");
	cmp_ok($got, '>=', $wanted - $hidden, "$what: all of them");
}

sub length_of { return sum(map { $_->{length_ns} } @_) }

# All requests of a client are there, and no longer than it waited.
sub check_requests {
	my ($what, $truth, $requests, $hidden) = @_;
	about(scalar @$requests, scalar @{$truth->{values}}, $hidden, "requests of $what");
	cmp_ok(length_of(@$requests), '<=', sum(@{$truth->{values}}), "$what: not longer than the client waited");
}

my ($truth, $requests, $pushes, $hidden) = record_clients('pushes', qw(sub pub tick));
check_requests('pub', $truth->{pub}, $requests->{pub}, $hidden);
ok(!@{$pushes->{pub} // []}, 'pub: no push');
# An acknowledgement may be read together with what is pushed next: that counts as its answer.
my ($first, @others) = sort { $a->{begin_ns} <=> $b->{begin_ns} } @{$requests->{sub}};
my @pushed = @{$pushes->{sub}};
ok($first, 'a subscriber has a request');
about(@others + @pushed, $n, $hidden, 'pushes to it');
cmp_ok(scalar @pushed, '>', 0, 'pushes are told from answers');
is((grep { $_->{why} ne 'push' } @pushed), 0, 'they are for the data of others');
# From the publisher's data until it was sent: within the publisher's request.
cmp_ok(length_of(@others, @pushed), '<=', sum(@{$truth->{pub}{values}}), 'nothing takes longer than the publisher waited');
my ($tick, @acknowledged) = @{$requests->{tick}};
ok($tick && !@acknowledged, 'one to which a child sends at intervals has one request');
about(scalar @{$pushes->{tick}}, 20, $hidden, 'what the child sends');
is((grep { $_->{why} ne 'late' } @{$pushes->{tick}}), 0, 'comes after idleness');

my $text = run($DWELL, qw(latency requests -i pushes.data))->{out};
like($text, qr/^# pushes +: \d+, p50 .*from other connections' data until it was sent/m, 'text: pushes');
like($text, qr/^# late +: \d+, p50 .*after idleness/m, 'text: late ones');
like($text, qr/^# +pushes +length\n +(?:push|late) .*, to 127\.0\.0\.1:\d+$/m, 'text: the longest');

# The answers of others come meanwhile, and so does what other clients send.
($truth, $requests, $pushes, $hidden) = record_clients('answers', qw(sub pub ask work));
for my $name (qw(pub ask work)) {
	check_requests($name, $truth->{$name}, $requests->{$name}, $hidden);
	ok(!@{$pushes->{$name} // []}, "$name: no push");
	next if $name eq 'pub';
	is((grep { $_->{length_ns} < 30e6 } @{$requests->{$name}}), 0, "$name: as long as whoever was asked took");
}
cmp_ok(@{$pushes->{sub}} + @{$requests->{sub}}, '<=', $n + 1, 'a subscriber has no more than was sent to it');

done_testing;
