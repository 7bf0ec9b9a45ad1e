#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Servers that wait for each other are not idle, though they wait in epoll_wait(), as for requests:
# who ended a wait, and how, tells them apart (tests/programs/latch.c).
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Statistics;
use Test::More;

need_recording();

my ($seconds, $period_ns) = (full(10, 1), 500_000);
my @servers = map { "server$_" } 0 .. 2;

# Per server: blocked time in epoll_wait() that is idle, and that is not by who ended it.
sub found {
	my ($file, $trace) = @_;
	my %found;
	for my $event (events('-i', $file, '--no-stacks')) {
		next unless $event->{event} eq 'interval' && $event->{kind} eq 'epoll' && $event->{comm} =~ /^server\d$/;
		my $ns = $trace ? $event->{t_wake_ns} - $event->{t_out_ns} : $event->{blocked_points} * $period_ns;
		my $of = $found{$event->{comm}} //= {};
		$of->{idle} += $ns if $event->{idle} ne 'no';
		$of->{waits} += $ns if $event->{idle} eq 'no';
		$of->{$event->{waker_comm}} += $ns
			if $event->{idle} eq 'no' && $event->{waker_context} eq 'task' && $event->{waker_tid} != $event->{tid};
	}
	return \%found;
}

# Where the times are not those that the servers measured. @whole: attribute each wait to one server.
sub differences {
	my ($found, $truth, $trace, $whole) = @_;
	my @off;
	my $check = sub {
		my ($what, $ns, $true) = @_;
		my ($share, $true_share) = map { 100 * ($_ // 0) / ($seconds * 1e9) } $ns, $true;
		my $bound = 2 + ($trace ? 0 : share_bound($true_share, $seconds * 1e9 / $period_ns));
		push @off, sprintf('%s %.1f%% for %.1f%%', $what, $share, $true_share) if abs($share - $true_share) > $bound;
	};
	for my $server (@servers) {
		my $of = $truth->{servers}{$server};
		my $waits = 0;
		$waits += $_ for values %{$of->{latch_ns}};
		$check->("$server idle", $found->{$server}{idle}, $of->{idle_ns});
		$check->("$server for others", $found->{$server}{waits}, $waits);
		next unless $whole;
		$check->("$server for $_", $found->{$server}{$_}, $of->{latch_ns}{$_}) for @servers;
	}
	return @off;
}

# Only the servers are recorded: who waits for a reply would need them. Recorded up to six times, as
# in 19-idle.t.
sub compare {
	my ($name, @options) = @_;
	my $trace = grep { $_ eq '--trace' } @options;
	my ($got, @off);
	for (1 .. 6) {
		unlink 'ports';
		my $clients = start(program('latch'), 'clients', "$DIR/ports");
		$got = record(['-o', "$name.data", '-c', $period_ns / 1000, @options], program('latch'), $name, '--seconds', $seconds, '--ports',
			"$DIR/ports");
		$got->{status} ? stop($clients) : finish($clients);
		last if $got->{status};
		@off = differences(found("$name.data", $trace), $got->{truth}, $trace, $name ne 'checked');
		last unless @off;
		note("@options $name: @off");
	}
	is($got->{status}, 0, "@options $name is recorded") or return;
	is("@off", '', "@options $name: idle times are right, and who was waited for");
}

compare($_, '--trace') for qw(signalfd eventfd selfpipe checked mixed);
compare('signalfd');
# As calls are recorded: without the stacks of those who wake others, unless they release a lock.
compare($_, '--trace', '--lock-wakers') for qw(signalfd eventfd selfpipe mixed);

done_testing();
