#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A recorded command must not notice: standard streams, descriptors, signal
# mask and dispositions, signals, interrupted calls.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

my $signals = program('signals');

# The same with and without.
my $plain = decode(run($signals, '--seconds', 1)->{out});
for my $mode ([], ['--trace']) {
	my $truth = record(['-o', 'a.data', @$mode], $signals, '--seconds', 2)->{truth};
	is($truth->{interrupted}, 0, "no call is interrupted (@$mode)");
	is($truth->{$_}, $plain->{$_}, "same number of $_ as without (@$mode)")
		for qw(descriptors blocked ignored);
}

# What was ignored stays ignored: what nohup and a shell's background jobs are given.
{
	local @SIG{qw(INT QUIT HUP)} = ('IGNORE') x 3;
	my $without = decode(run($signals, '--seconds', 1)->{out});
	my $with = record(['-o', 'a.data'], $signals, '--seconds', 1)->{truth};
	is($without->{ignored} - $plain->{ignored}, 3, 'three signals are ignored');
	is($with->{ignored}, $without->{ignored}, 'and still are when it is recorded');
}

# A program's own signals come as ever.
my $truth = record(['-o', 'a.data'], $signals, '--seconds', 2, '--alarm')->{truth};
cmp_ok($truth->{alarms}, '>=', 10, 'its own timer goes on');
cmp_ok($truth->{interrupted}, '<=', $truth->{alarms}, 'and interrupts no more than it fires');

# Signals sent to the recorder reach the command.
for my $name (qw(USR1 USR2 HUP)) {
	my $pid = start({name => $name}, $DWELL, 'record', '-o', 'b.data', '--', $signals, '--wait',
		'--ready', "ready.$name");
	ok(wait_for(180, sub { -s "ready.$name" }), 'the command waits');
	kill $name, $pid;
	my $end = finish($pid);
	is((decode($end->{out}) // {})->{name}, $name, "SIG$name reaches it");
	is($end->{status}, 0, 'and its exit status comes back');
}

# Several at a time do, and those that come when the recording is over.
my $both = q{$SIG{$_} = sub { $got{$_[0]} = 1 } for qw(USR1 USR2); open F, '>', $ARGV[0]; print F 1; close F;}
	. q{select undef, undef, undef, 0.1 until $got{USR1} && $got{USR2}; print 'both'};
for my $duration (0.2, 60) {
	my $pid = start({name => "both$duration"}, $DWELL, 'record', '-o', 'b.data', '--duration', $duration, '--',
		'perl', '-e', $both, "ready$duration");
	ok(wait_for(180, sub { -s "ready$duration" }), 'the command runs');
	sleep 1;
	kill $_, $pid for qw(STOP USR1 USR2 CONT);
	is(finish($pid)->{out}, 'both', "--duration $duration: SIGUSR1 and SIGUSR2 reach it");
}

# Streams, environment, directory.
spew('input', "line\n" x 1000);
my $end = run({env => {DWELL_TEST_VALUE => 'kept'}}, 'sh', '-c',
	qq{cd /tmp && "$DWELL" record -o "$DIR/c.data" -- }
	. q{sh -c 'cat; echo "$DWELL_TEST_VALUE"; pwd; echo err >&2' < } . "$DIR/input");
is($end->{out}, "line\n" x 1000 . "kept\n/tmp\n", 'input, environment, directory and output');
like($end->{err}, qr/^err$/m, 'standard error');

done_testing;
