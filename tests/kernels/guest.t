#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# In a guest with another kernel (see ladder.t): every rung of the ladder it has takes
# the same stacks, nothing is lost, every waker is known. Here no kernel hides
# tasks from tracing: what is only bounded elsewhere must be none.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

# Where sleepers' stacks can be taken, by the kernel's version.
my ($major, $minor) = `uname -r` =~ /^(\d+)\.(\d+)/;
my @rungs = $major * 1000 + $minor >= 6015 ? qw(sched_exit_tp fexit kprobe switch-out)
	: qw(fexit kprobe switch-out);

# The functions of a stack that lie in @$names, outermost first.
sub known_frames {
	my ($event, $names) = @_;
	my %known = map { $_ => 1 } @$names;
	return join ' ', reverse grep { $known{$_} } map { $_->{symbol} // '' } @{$event->{stack}};
}

sub check_switches {
	my ($rung) = @_;
	my $got = record(['-v', '--trace', '--stack-at', $rung, '-o', 'switches.data'], program('switches'),
		'--rounds', 200, '--pairs', 1);
	is($got->{status}, 0, "$rung: switches recorded") or diag($got->{err});
	like($got->{err}, qr/\b\Q$rung\E\b/, "$rung: is what record -v names");
	my $report = report('-i', 'switches.data');
	is(join(', ', map { "$report->{lost}{$_} $_" } grep { $report->{lost}{$_} } keys %{$report->{lost}}), '',
		"$rung: nothing lost, nothing hidden");

	my (%intervals, %by_nobody);
	for my $event (script('-i', 'switches.data', '--no-stacks')) {
		next unless $event->{event} eq 'interval' && $event->{flags} !~ /first|unfinished/;
		$intervals{$event->{tid}}++;
		$by_nobody{$event->{comm}}++ if $event->{class} ne 'sched' && $event->{waker_context} eq 'unknown';
	}
	my @off = grep {
		my $difference = $_->{voluntary} + $_->{involuntary} - ($intervals{$_->{tid}} // 0);
		$difference < 0 || $difference > 1;
	} @{$report->{threads}};
	is(scalar(@off), 0, "$rung: each thread has as many intervals as switches");
	is_deeply(\%by_nobody, {}, "$rung: every wait names its waker, or an interrupt");
}

# Waits at known places, each with the functions that lead there.
my @places = (
	[pread => qw(do_reads)], [pwrite => qw(do_write)],
	[pthread_cond_wait => qw(wait_barrier)],
);

sub check_stacks {
	my ($rung) = @_;
	my $got = record(['--stack-at', $rung, '-o', 'figure1.data'], program('figure1'), '--iterations', 60);
	is($got->{status}, 0, "$rung: figure1 recorded") or diag($got->{err});
	my $report = report('-i', 'figure1.data');
	my ($whole, $all) = (0, 0);
	for my $end (keys %{$report->{truncated}}) {
		$all += $report->{truncated}{$end};
		$whole += $report->{truncated}{$end} if $end eq 'complete';
	}
	note(explain($report->{truncated}));
	my %seen;
	my ($right, $waits) = (0, 0);
	for my $event (grep { $_->{event} eq 'interval' } script('-i', 'figure1.data')) {
		next if $event->{class} eq 'sched' || !@{$event->{stack} // []};
		my @symbols = map { $_->{symbol} // '' } @{$event->{stack}};
		for my $place (@places) {
			my ($call, $caller) = @$place;
			next unless grep { /^(?:__)?(?:libc_)?\Q$call\E/ } @symbols;
			$waits++;
			my $good = grep { $_ eq $caller } @symbols;
			$right++ if $good;
			$seen{$call}++ if $good;
		}
	}
	cmp_ok($waits, '>', 20, "$rung: there are waits at known places");
	cmp_ok($right, '>=', 0.995 * $waits, "$rung: $right of $waits have their caller");
	ok($seen{$_}, "$rung: $_ is seen") for qw(pread pwrite);
	is($report->{exact}{lifetime_ns} > 0, 1, "$rung: there are exact times");
}

for my $rung (@rungs) {
	check_switches($rung);
	check_stacks($rung);
}

# What a user does first: the best rung by itself, on a command and by pid.
my $got = record(['-v', '-o', 'best.data'], program('figure1'), '--iterations', 20);
is($got->{status}, 0, 'no rung asked for: recorded');
like($got->{err}, qr/\b\Q$rungs[0]\E\b/, "and $rungs[0] was chosen");

my $pid = start(program('hang'), '--ready', 'ready');
wait_for(60, sub { -s 'ready' });
$got = record(['-p', $pid, '--duration', '2s', '-o', 'pid.data']);
is($got->{status}, 0, 'a running program: recorded');
stop($pid, 'KILL');
ok(@{report('-i', 'pid.data')->{threads}} > 0, 'its threads are there');

done_testing();
