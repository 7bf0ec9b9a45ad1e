#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A recording begins when threads are observed, not before: shares "of the time" are of a time of
# which all is known, however long it takes to begin with a process (tests/programs/late.c). It ends
# with its last thread, however late dwell notices that.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use File::Find ();
use Test::More;

need_recording();

my $seconds = 2;

# Large files of code: dwell reads their unwind tables before it begins.
my %sizes;
File::Find::find(
	{
		no_chdir => 1,
		wanted => sub { $sizes{$_} = -s _ if /\.so[.\d]*$/ && !-l $_ && -f _ && -s _ > 100_000 },
	},
	grep { -d } qw(/usr/lib /lib)
);
my @files = (sort { $sizes{$b} <=> $sizes{$a} || $a cmp $b } keys %sizes)[0 .. 29];
@files = grep { defined && -r } @files;

sub start_late {
	unlink 'ready';
	my $pid = start(program('late'), '--seconds', 600, '--ready', "$DIR/ready", @files);
	wait_for(180, sub { -s "$DIR/ready" }) or die "late does not start\n";
	my $reader;
	wait_for(180, sub {
		($reader) = grep { slurp("/proc/$pid/task/$_/comm") eq "reader\n" }
			map { m{(\d+)$} } glob "/proc/$pid/task/*";
	}) or die "late has no reader\n";
	return ($pid, $reader);
}

# What of the recording thread @tid does not make up. @wait: it was blocked in this all the time.
sub missing {
	my ($tid, $wait) = @_;
	my $report = report('-i', 'late.data');
	my ($thread) = grep { $_->{tid} == $tid } @{$report->{threads}} or return 'the thread';
	my $duration = $report->{duration_ns};
	my %part = (times => 0);
	$part{times} += $thread->{"${_}_ns"} // 0 for qw(cpu io lock sched other stopped stolen not_seen);
	if ($wait) {
		my ($row) = grep { $_->{comm} eq 'reader' && $_->{kind} eq $wait } @{$report->{rows}};
		my $waits = decode(run($DWELL, 'waits', '--json', '--unfold', '--percent-limit', 0, '-i', 'late.data')->{out});
		my ($vertex) = grep { ($_->{tid} // 0) == $tid } @{$waits->{threads}};
		$part{blocked} = $thread->{other_ns};
		$part{$wait} = $row ? $row->{total_ns} : 0;
		$part{'in dwell waits'} = $vertex ? $vertex->{blocked_ns} : 0;
	}
	# All but the times are of one thread only if no other one has its name: they may be longer.
	return map { sprintf '%s: %.1f of %.1f ms', $_, $part{$_} / 1e6, $duration / 1e6 }
		grep { $part{$_} < 0.99 * $duration || ($_ eq 'times' && $part{$_} > $duration + 1e6) } sort keys %part;
}

# Recorded up to three times: dwell itself may not get a CPU just when it begins.
sub compare {
	my ($what, $tid, $wait, @options) = @_;
	my ($got, @missing);
	for (1 .. 3) {
		$got = record(['-o', 'late.data', @{$options[0]}], @options[1 .. $#options]);
		last if $got->{status};
		$tid = slurp('ready') if !$wait;
		@missing = missing($tid, $wait);
		last unless @missing;
		note("$what: @missing");
	}
	is($got->{status}, 0, "$what: is recorded");
	is("@missing", '', "$what: what the thread did makes up the recording");
}

my ($pid, $reader) = start_late();
for my $target (['-p', $pid], ['-t', $reader], ['-p', $pid, '--trace'], ['-a']) {
	compare("@$target", $reader, 'pipe read', ['--duration', $seconds, @$target]);
}
stop($pid);

# A command is recorded from its exec on.
compare('a command', 0, undef, [], program('late'), '--seconds', $seconds, '--ready', "$DIR/ready", @files);

# dwell is stopped before the program $pid ends, until a second after that.
sub check_end {
	my ($what, $threads, $dwell, $pid, $end) = @_;
	kill 'STOP', $dwell;
	$end->();
	wait_for(180, sub { !is_running($pid) }) or die "$what goes on\n";
	sleep 1;
	kill 'CONT', $dwell;
	is(finish($dwell)->{status}, 0, "$what: is recorded to its end");
	my @exits = sort { $a <=> $b } map { $_->{time_ns} } grep { $_->{event} eq 'exit' && $_->{exited} } events('-i', 'end.data');
	is(scalar @exits, $threads, "$what: all threads exit");
	is(report('-i', 'end.data')->{duration_ns}, $exits[-1], "$what: the recording ends with the last one");
}

my @record = ($DWELL, 'record', '-o', 'end.data');
unlink 'ready';
my $dwell = start(@record, program('late'), '--seconds', $seconds, '--ready', "$DIR/ready");
wait_for(180, sub { -s 'ready' }) or die "late does not start\n";
check_end('a command', 2, $dwell, slurp('ready') =~ s/\n//r, sub { });

unlink 'end.data';
$pid = start('perl', '-e', 'select undef, undef, undef, 0.01 while 1');
$dwell = start(@record, '-p', $pid);
wait_for(180, sub { -s 'end.data' && grep { $_->{event} eq 'interval' && $_->{tid} == $pid } events('-i', 'end.data') })
	or die "dwell does not begin\n";
check_end('a process', 1, $dwell, $pid, sub { kill 'TERM', $pid });
finish($pid);

done_testing();
