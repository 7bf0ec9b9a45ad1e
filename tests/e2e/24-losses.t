#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# When things go wrong while recording: what was recorded up to then can be
# read, and what is missing is said.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

my $signals = program('signals');

# The recorder is killed: whole chunks remain, with a warning.
my $pid = start({name => 'killed', group => 1}, $DWELL, 'record', '-o', 'killed.data', '--trace', '--',
	program('switches'), '--rounds', 1000000);
ok(wait_for(180, sub { -s 'killed.data' && -s 'killed.data' > 200_000 }), 'a recording grows');
my @children = split ' ', slurp("/proc/$pid/task/$pid/children");
stop($pid, 'KILL');
my $got = run($DWELL, 'report', '-i', 'killed.data');
is($got->{status}, 0, 'the recorder is killed: the report works');
like($got->{err}, qr/cut|incomplete|truncated|killed/i, 'and warns');
ok(weight_of(report('-i', 'killed.data')) > 0, 'it has what was written before');
# The command is not the recorder's to take along; here it has done its duty.
kill 'KILL', $_ for @children;

# Cut off at any byte: a clear answer, never a crash.
my $whole = slurp('killed.data');
for my $size (1, 7, 16, 100, 4096, int(length($whole) / 3), length($whole) - 1) {
	spew('cut.data', substr($whole, 0, $size));
	for my $view ('report', 'waits') {
		$got = run($DWELL, $view, '-i', 'cut.data');
		is($got->{signal}, 0, "cut to $size bytes: no crash of $view");
		ok($got->{err} ne '', "cut to $size bytes: $view says something");
	}
}

# Where nothing is left to show, it is an error; script shows what else there is.
spew('cut.data', substr($whole, 0, 100));
for my $view (['report'], ['waits'], ['path'], ['latency', 'report'], ['latency', 'locks'], ['html', '-o', 'cut.html'], ['script', '--folded'],
	['export', '--format', 'pprof', '-o', 'cut.pb']) {
	$got = run($DWELL, @$view, '-i', 'cut.data');
	is($got->{status}, 1, "nothing is left: exit status of @$view");
	like($got->{err}, qr/no samples in the readable part of cut\.data\n.*record again/s, "nothing is left: @$view says so");
}
$got = run($DWELL, 'script', '-i', 'cut.data');
is($got->{status}, 0, 'nothing is left: but script');
is(scalar(() = $got->{err} =~ /cut short/g), 1, 'which warns once');

# A flipped byte somewhere.
srand(1);
for (1 .. full(200, 10)) {
	my $at = int rand length $whole;
	my $broken = $whole;
	substr($broken, $at, 1) = chr(ord(substr($whole, $at, 1)) ^ (1 << int rand 8));
	spew('broken.data', $broken);
	$got = run($DWELL, $_ % 2 ? 'report' : 'waits', '-i', 'broken.data');
	next if !$got->{signal} && !$got->{timeout};
	fail("byte $at of " . length($whole) . " flipped: signal $got->{signal}");
}
pass('flipped bytes: no crash');

# The target is killed.
$pid = start({name => 'target'}, $DWELL, 'record', '-o', 'target.data', '--', program('hang'),
	'--ready', 'ready.target');
ok(wait_for(180, sub { -s 'ready.target' }), 'a command runs');
sleep 0.5;
kill 'KILL', slurp('ready.target');
my $end = finish($pid);
is($end->{status}, 137, 'it is killed: 128 + 9');
ok(weight_of(report('-i', 'target.data'), comm => 'hang') > 100, 'its time up to then is there');

# The disk is full.
SKIP: {
	skip 'needs root to mount a tmpfs', 5 if $>;
	mkdir 'small';
	skip 'cannot mount a tmpfs', 5 if run(qw(mount -t tmpfs -o size=256k none small))->{status};
	$got = run({seconds => 90}, $DWELL, 'record', '--trace', '-o', 'small/full.data', '--',
		program('switches'), '--rounds', 20000);
	isnt($got->{status}, 0, 'the disk is full: the exit status says so');
	like($got->{err}, qr/space/i, 'and the message');
	unlike($got->{err}, qr/(space.*\n.*){3}/is, 'not again and again');
	like($got->{out}, qr/"program": "switches"/, 'the command ran to its end');
	ok(weight_of(report('-i', 'small/full.data')) > 0, 'what fitted can be read');
	run('umount', 'small');
}

# A limit on the size of files: the same.
$got = run({seconds => 120}, 'sh', '-c', "ulimit -f 500; exec $DWELL record --trace -o limit.data -- "
	. program("switches") . " --rounds 20000");
isnt($got->{status}, 0, 'a size limit: the exit status says so');
is($got->{signal}, 0, 'no SIGXFSZ');
ok(weight_of(report('-i', 'limit.data')) > 0, 'what fitted can be read');

# A buffer that is far too small: losses are counted and shown, totals stay exact.
$got = record(['-o', 'lossy.data', '--trace', '-m', 64], program('switches'), '--rounds', 20000);
my $report = report('-i', 'lossy.data');
my $lost = 0;
$lost += $_ for values %{$report->{lost}};
SKIP: {
	skip 'nothing was lost even so', 1 unless $lost;
	like(run($DWELL, 'report', '-i', 'lossy.data')->{out}
		. run($DWELL, 'report', '-i', 'lossy.data')->{err}, qr/lost/, 'losses are shown');
}

# The program truncates the file through which it sends annotations.
$got = record(['-o', 'truncated.data'], 'sh', '-c', ': >"$DWELL_ANNOTATIONS"');
is($got->{status}, 0, 'annotations are truncated: recorded');
is(report('-i', 'truncated.data')->{lost}{'annotation files, truncated by the program'}, 1,
	'annotations are truncated: that is told');

# dwell stands still while eight programs start and end: the copies of their stacks, for which it
# has no tables yet, are more than the buffers hold, but leave room for all events.
$got = record(['-o', 'copies.data', '--trace', '-m', 4096], 'sh', '-c', <<'END');
kill -STOP $PPID
for i in 1 2 3 4 5 6 7 8; do
	perl -e 'select undef, undef, undef, 0.0005 for 1 .. 200' &
done
wait
kill -CONT $PPID
END
is($got->{status}, 0, 'dwell stands still: recorded');
my %without = %{report('-i', 'copies.data')->{lost}};
my $copies = delete $without{'stacks of new programs, ring buffer full'};
cmp_ok($copies, '>', 0, 'dwell stands still: not all stacks could be copied');
is_deeply([grep { !/hidden/ } keys %without], [], 'dwell stands still: but no event is lost')
	or diag(explain(\%without));

done_testing;
