#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Waits for work are told from others: for each thread of programs whose threads measure it
# themselves (tests/programs/idle/), whatever its functions are called.
#
# Runs alone.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Statistics;
use Test::More;

need_recording();

my $seconds = full(10, 1);

# The threads of which the report has another idle time than they measured.
sub differences {
	my ($report, $measured) = @_;
	my %idle = map { $_->{tid} => $_->{idle_ns} } @{$report->{threads}};
	my $points = $report->{trace} ? 1e9 : $seconds * 1e9 / $report->{period_ns};
	my @off;
	for my $thread (sort keys %{$measured->{threads}}) {
		my $truth = $measured->{threads}{$thread};
		my ($share, $true) = map { 100 * $_ / ($seconds * 1e9) } $idle{$truth->{tid}}, $truth->{idle_ns};
		my $bound = 2 + share_bound($true, $points);
		# What is idle of a class by the class's exact total has no sampling error.
		$bound = 2 if $truth->{idle_ns} == 0 || $truth->{idle_ns} == $truth->{blocked_ns};
		push @off, sprintf('%s %.1f%% for %.1f%%', $thread, $share, $true) if abs($share - $true) > $bound;
	}
	return @off;
}

# Records case @name; the idle time of each of its threads is that which the thread measured, within
# 2 % of the time and what sampling does to a share. Recorded up to six times: a thread that does
# not get a CPU to begin its measurement waits all the same.
sub compare {
	my ($name, @options) = @_;
	my ($got, $report, @off);
	for (1 .. 6) {
		$got = record(['-o', "$name.data", '-c', 500, @options], program('idle'), $name, '--seconds', $seconds);
		last if $got->{status};
		$report = report('-i', "$name.data");
		@off = differences($report, $got->{truth});
		last unless @off;
		note("@options $name: @off");
	}
	is($got->{status}, 0, "@options $name is recorded") or return;
	is("@off", '', "@options $name: idle times are right");
	return $report;
}

my @queues = qw(cond sem futex eventfd pipe epoll);
compare("pool-$_") for @queues;
compare("pool-$_-still") for @queues;
compare($_) for qw(pool-batch full convoy convoy-sem barrier sleep half background network loop reply-epoll reply-poll
	join join-reversed join-late);
compare($_, '--trace') for qw(pool-futex pool-epoll-still convoy barrier half full join-reversed);
compare($_, '--trace', '--lock-wakers') for qw(pool-epoll loop);

# The ends of a Unix connection: the accepted one waits for requests, the other one for replies. If they
# were not known, it would be the other way: one is the main thread, the other was created by it.
my $pair = 'use IO::Socket::UNIX; use Time::HiRes qw(sleep);
	my $path = shift;
	my $listening = IO::Socket::UNIX->new(Local => $path, Listen => 1) or die;
	if (!fork) {
		$0 = "client";
		my $client = IO::Socket::UNIX->new(Peer => $path) or die;
		for (1 .. 20) { syswrite $client, "q"; sysread $client, my $byte, 1; sleep 0.02 }
		exit;
	}
	$0 = "server";
	my $server = $listening->accept or die;
	while (sysread $server, my $byte, 1) { sleep 0.02; syswrite $server, "r" }
	wait';
is(record(['-o', 'unix.data'], 'perl', '-e', $pair, "$DIR/socket")->{status}, 0, 'a Unix connection is recorded');
my %ends; # by thread: what its waits to receive are
for my $event (events('-i', 'unix.data', '--no-stacks')) {
	next unless $event->{event} eq 'interval' && $event->{kind} eq 'unix receive' && $event->{blocked_points};
	$ends{$event->{comm}}{$event->{idle}}++;
}
is_deeply({map { $_ => [keys %{$ends{$_}}] } keys %ends}, {client => ['no'], server => ['requests']},
	'its ends are told apart');

done_testing();
