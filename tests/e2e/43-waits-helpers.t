#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Threads outside of what is recorded: those that wake it are recorded as well, if asked for. What a
# recording cannot tell of the others, and of what was lost, the verdict says.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Waits;

need_recording();

# Threads that wake a recorded one are recorded as well: those asked for, and no others.
sub helpers {
	my ($which) = @_;
	my $file = "helpers-$which.data";
	my $other = start({name => "other-$which"}, program('knots'), 'io', '--seconds', 60);
	my $pair = start({name => "pair-$which"}, program('knots'), 'pipe', '--seconds', 60);
	my $reader;
	wait_for(180, sub {
		($reader) = grep { slurp("/proc/$_/comm") eq "reader\n" }
			split ' ', slurp("/proc/$pair/task/$pair/children");
		return $reader;
	}) or return {};
	sleep 1; # by now the other one reads
	run($DWELL, 'record', '--wakers', $which, '-o', $file, '--duration', 2, '-p', $reader);
	my $waits = waits('-i', $file);
	stop($_) for $pair, $other;
	my %of = map { $_->{name} => $_ } grep { $_->{type} eq 'thread' && ($_->{pid} // 0) != 0 }
		@{$waits->{threads}};
	my ($reading) = grep { $_->{pid} == $other } values %of;
	my $shown = report('-i', $file);
	return {
		writer => $of{writer}{recorded} ? 1 : 0,
		other => $reading && $reading->{recorded} ? 1 : 0,
		verdict => join(' ', @{$waits->{verdict}{members} // []}),
		profile => join(' ', sort keys %{{map { $_->{comm} => 1 } @{$shown->{threads}}}}),
		all => scalar(grep { $_->{comm} eq 'writer' }
			@{report('-i', $file, '--wakers')->{threads}}),
	};
}
my $all = helpers('all');
is($all->{writer}, 1, '--wakers all: who writes to the pipe is recorded');
is($all->{other}, 0, '--wakers all: who reads a disk beside it is not');
is($all->{verdict}, 'writer', 'and the verdict is about the writer');
is($all->{profile}, 'reader', 'a profile shows what was asked for');
is($all->{all}, 1, 'and the waker with --wakers');
my $none = helpers('none');
is($none->{writer}, 0, '--wakers none: nobody else is recorded');

# What a recording cannot tell, the verdict says.
sub unknown {
	my ($waits) = @_;
	return join ' ', @{$waits->{verdict}{unknown} // []};
}
record_knot('imbalance', 'imbalance-trace.data', '--trace');
my $whole = slurp('imbalance-trace.data');
spew('cut.data', substr($whole, 0, int(0.7 * length $whole)));
like(unknown(waits('-i', 'cut.data')), qr/is incomplete: cut short/, 'the file was cut short');
my $lossy = record(['--trace', '-m', 64, '-o', 'lossy.data'], program('switches'), '--rounds', 50000);
is($lossy->{status}, 0, 'a recording with too small a buffer');
like(unknown(waits('-i', 'lossy.data')), qr/Events were lost \(\d+\)/, 'events were lost');
my $server = start({name => 'outside'}, program('knots'), 'pipe', '--seconds', 14);
ok(wait_for(180, sub { slurp("/proc/$server/task/$server/children") =~ /\d/ }), 'two processes run');
my ($child) = split ' ', slurp("/proc/$server/task/$server/children");
my %pids = map { (split ' ', slurp("/proc/$_/comm"))[0] => $_ } $server, $child;
SKIP: {
	skip 'the reader has no name yet', 1 unless $pids{reader};
	# On a busy machine the reader may wait for a CPU most of the time, and hardly for the writer.
	my $unknown;
	for (1 .. 5) {
		run($DWELL, 'record', '-o', 'outside.data', '--duration', '1.5', '-p', $pids{reader});
		$unknown = unknown(waits('-i', 'outside.data'));
		last if $unknown =~ /not recorded/;
	}
	like($unknown, qr/not recorded/, 'half of it was not recorded');
}
stop($server);

done_testing();
