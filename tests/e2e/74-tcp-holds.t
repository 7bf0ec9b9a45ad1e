#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# What TCP holds back is the cause of waits: by the clocks of both ends, and the kernel's counters.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Page;
use List::Util qw(max min sum0);
use Test::More;

need_root(); # for a network namespace
need_recording();

use constant TRIES => 6;

# Records the program, up to six times until nothing is wrong with it: a process that is preempted
# between a look at the clock and the system call waits less, or later, than it knows. @check returns
# what is wrong.
sub check {
	my ($mode, $options, $check) = @_;
	my @wrong;
	for (1 .. TRIES) {
		my $result = record([@$options, '-o', "$mode.data"], program('tcp_holds'), $mode);
		my $truth = $result->{truth};
		@wrong = $check->($truth, grep { ($_->{tid} // 0) == $truth->{waiter} } events('-i', "$mode.data"));
		last unless @wrong;
	}
	is(join('; ', @wrong), '', join(' ', 'what TCP held back:', $mode, @$options));
}

sub segments_of {
	my ($reason, @events) = @_;
	return grep { $_->{event} eq 'segment' && $_->{reasons} =~ /^(?:$reason)(?:,(?:$reason))*$/ } @events;
}

sub is_number {
	my ($what, $got, $want) = @_;
	return $got == $want ? () : "$what: $got for $want";
}

sub is_close {
	my ($what, $got, $want) = @_;
	return () if abs($got - $want) <= max(1e6, $want / 100);
	return sprintf('%s: %.3f for %.3f ms', $what, $got / 1e6, $want / 1e6);
}

# The waiter's clock stops later than the wakeup, by what passes until it has the CPU and reads it: so
# of each time it is known that it is not greater, and of most, that they are hardly less.
sub wrong_times {
	my ($truth, @segments) = @_;
	my @got = sort { $a <=> $b } map { $_->{written_before_ns} } @segments;
	my @true = sort { $a <=> $b } map { $_->[0] } @{$truth->{held}};
	@true = @true[@true - @got .. $#true] if @got < @true;
	my @above = grep { $got[$_] > $true[$_] } 0 .. $#got;
	my @close = grep { !is_close('', $got[$_], $true[$_]) } 0 .. $#got;
	return () if @got <= @true && !@above && 2 * @close >= @got;
	return join(', ', map { sprintf('%.3f of %.3f ms', $got[$_] / 1e6, ($true[$_] // 0) / 1e6) } 0 .. $#got);
}

# Of what was held back, that for which the waiter waited.
sub waited_ns {
	my ($segments, @events) = @_;
	my %begun = map { $_->{t_wake_ns} => $_->{t_out_ns} } grep { $_->{event} eq 'interval' } @events;
	return sum0(map {
		my $waited = $_->{time_ns} - ($begun{$_->{time_ns}} // $_->{time_ns});
		max(0, min($waited, $_->{written_before_ns}) - $_->{left_before_ns});
	} @$segments);
}

# What is wrong with the views.
sub wrong_views {
	my ($mode, $truth, $kind, $why, $ns) = @_;
	my @file = ('-i', "$mode.data");
	my $path = decode(run($DWELL, 'path', @file, '--of', $truth->{waiter}, '--json')->{out});
	my @wrong = is_close('path', $path->{categories}{tcp_ns}, $ns);
	my $text = run($DWELL, 'path', @file, '--of', $truth->{waiter}, '--percent-limit', 0)->{out};
	push @wrong, 'path does not say why' unless $text =~ /waits: $kind \S+ \($why\)/;
	push @wrong, 'the report has no such kind'
		unless grep { ($_->{kind} // '') eq $kind && ($_->{object} // '') =~ /\($why\)/ }
			@{report(@file, '--sort', 'thread,kind,object')->{rows}};
	my $waits = decode(run($DWELL, 'waits', @file, '--percent-limit', 0, '--json')->{out});
	push @wrong, 'it is no vertex' unless grep { $_->{type} eq 'tcp' && $_->{name} eq $kind } @{$waits->{threads}};
	my $page = Page->read(run($DWELL, 'html', @file, '-o', '-')->{out});
	my @strings = $page->strings('r0.strings');
	push @wrong, 'the page does not name it' unless grep { $strings[$_] eq $kind } @{$page->table('r0.wakers')->{about}};
	return @wrong;
}

for my $options (['--trace'], []) {
	check('nagle', $options, sub {
		my ($truth, @events) = @_;
		my @held = segments_of('nagle_delayed_ack', @events);
		return (is_number('delayed acknowledgements', scalar(@held), $truth->{counters}{DelayedACKs}),
			is_number('of the other process', scalar(grep { $_->{writer_tid} == $truth->{other} } @held), scalar(@held)),
			wrong_times($truth, @held),
			@$options ? wrong_views('nagle', $truth, 'tcp held back',
				'Nagle until a delayed acknowledgement, no TCP_NODELAY', waited_ns(\@held, @events)) : ());
	});
}

check('cork', ['--trace'], sub {
	my ($truth, @events) = @_;
	my @held = segments_of('cork', @events);
	return (is_number('corked', scalar(@held), scalar(@{$truth->{held}})), wrong_times($truth, @held),
		wrong_views('cork', $truth, 'tcp held back', 'TCP_CORK', waited_ns(\@held, @events)));
});

check('more', ['--trace'], sub {
	my ($truth, @events) = @_;
	my @held = segments_of('msg_more', @events);
	return (is_number('with MSG_MORE', scalar(@held), scalar(@{$truth->{held}})), wrong_times($truth, @held),
		wrong_views('more', $truth, 'tcp held back', 'MSG_MORE', waited_ns(\@held, @events)));
});

check('lost', ['--trace'], sub {
	my ($truth, @events) = @_;
	my @held = segments_of('timeout|loss_probe', @events);
	my $timeouts = () = join(',', map { $_->{reasons} } @held) =~ /timeout/g;
	return (is_number('sent again', scalar(@held), 1), wrong_times($truth, @held),
		is_number('after a timeout', $timeouts > 0 ? 1 : 0, $truth->{counters}{TCPTimeouts} > 0 ? 1 : 0),
		wrong_views('lost', $truth, 'tcp retransmission', 'not acknowledged: .*?', waited_ns(\@held, @events)));
});

check('listen', ['--trace'], sub {
	my ($truth, @events) = @_;
	my @held = segments_of('listen_queue', @events);
	return (is_number('SYNs sent again', scalar(@held), $truth->{counters}{TCPSynRetrans}), wrong_times($truth, @held),
		wrong_views('listen', $truth, 'tcp connect',
			"SYN sent again: the listen queue of \\w+/$truth->{other} was full", waited_ns(\@held, @events)));
});

check('window', ['--trace'], sub {
	my ($truth, @events) = @_;
	my @waits = grep { $_->{event} eq 'interval' && $_->{kind} eq 'tcp window closed' } @events;
	my $ns = sum0(map { $_->{t_wake_ns} - $_->{t_out_ns} } @waits);
	my @unnamed = grep { $_->{object} !~ m{\(other/$truth->{other} does not read\)} } @waits;
	return ($ns > $truth->{held}[0][0] || $ns < 0.9 * 300e6 ? sprintf('%.3f ms', $ns / 1e6) : (),
		is_number('without who does not read', scalar(@unnamed), 0));
});

# Others that wake up in the same softirqs wait for something else.
{
	my $truth = record(['--trace', '--wakers', 'linked', '-o', 'beside.data'], program('tcp_holds'), 'beside')->{truth};
	my @segments = grep { $_->{event} eq 'segment' } events('-i', 'beside.data', '--wakers');
	my ($own, $others) = (0, 0);
	$_->{tid} == $truth->{waiter} || $_->{tid} == $truth->{other} ? $own++ : $others++ for @segments;
	ok($own, 'what a bulk sender waits for is known');
	is($others, 0, 'bystanders of a connection wait for nothing that it held back');
}

check('unanswered', ['--trace'], sub {
	my ($truth, @events) = @_;
	my @waits = grep { $_->{event} eq 'interval' && $_->{kind} eq 'udp unanswered' } @events;
	my $ns = sum0(map { $_->{t_wake_ns} - $_->{t_out_ns} } @waits);
	return (is_number('waits for no answer', scalar(@waits), 1), $ns > $truth->{held}[0][0] ? 'too long' : (),
		is_close('its time', $ns, $truth->{held}[0][0]),
		grep({ $_->{object} !~ /\(no answer: sent again\)/ } @waits) ? 'no reason' : ());
});

done_testing();
