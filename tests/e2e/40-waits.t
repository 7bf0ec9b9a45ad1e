#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Who waits for whom: programs whose knot and bottleneck are known by construction
# (tests/programs/knots.c), recorded by sampling and by tracing. What dwell waits
# says is held against what the program measured of its own waits.
use strict;
use warnings;

use FindBin;
use List::Util qw(max);
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

my $seconds = full() ? 10 : 3;

sub waits {
	my @arguments = @_;
	my $got = run($DWELL, 'waits', '--json', @arguments);
	is($got->{status}, 0, "dwell waits @arguments") or diag($got->{err});
	return decode($got->{out}) // {};
}

sub vertex {
	my ($waits, $name) = @_;
	my ($found) = grep { $_->{name} eq $name } @{$waits->{threads}};
	return $found;
}

sub edge {
	my ($waits, $from, $to) = @_;
	my ($found) = grep { $_->{from} eq $from && $_->{to} eq $to } @{$waits->{edges}};
	return $found // {share => 0, plain_share => 0};
}

# The block device that a disk is: the one with an edge from a thread.
sub disk_of {
	my ($waits, $from) = @_;
	my %devices = map { $_->{name} => 1 } grep { $_->{type} eq 'device' } @{$waits->{threads}};
	my ($edge) = grep { $_->{from} eq $from && $devices{$_->{to}} } @{$waits->{edges}};
	return $edge ? $edge->{to} : 'no device';
}

# The share of its time that @from measured to have waited for @to.
sub measured {
	my ($truth, $from, $to) = @_;
	my ($edge) = grep { $_->{from} eq $from && $_->{to} eq $to } @{$truth->{edges}};
	return $edge ? $edge->{wait_ns} / (1e9 * $truth->{seconds}) : 0;
}

# A wait as the program saw it also holds the way to the CPU behind the wakeup.
sub as_measured {
	my ($waits, $truth, $from, $to, $vertex) = @_;
	my $whole = 1e9 * $truth->{seconds};
	my $share = 100 * edge($waits, $from, $vertex // $to)->{plain_share};
	my $of = vertex($waits, $from);
	my $true = 100 * measured($truth, $from, $to);
	my $runnable = 100 * $of->{runnable_ns} / $whole;
	# The recording is longer than the program's own measurement by its begin and end.
	$share *= $waits->{window_ns} / $whole;
	ok($share < $true + 4 && $share > $true - $runnable - 4,
		sprintf('%s waits for %s %.1f%% of the time, %.1f%% (of it %.1f%% runnable) as measured',
			$from, $vertex // $to, $share, $true, $runnable));
}

# Kernel workers that issue a program's requests may be part of the circle.
sub members {
	my ($knot) = @_;
	return join ' ', sort grep { !/^kworker/ } @{$knot->{members} // []};
}

sub background {
	my ($waits) = @_;
	return join '; ', sort grep { /./ } map { members($_) } grep { $_->{background} } @{$waits->{knots}};
}

# By case: what the verdict has to be, and which edges were measured.
my %cases = (
	pipeline => {
		type => 'knot',
		members => sub { join ' ', sort 'B', disk_of($_[0], 'B') },
		edges => sub { (['A', 'B'], ['B', 'disk', disk_of($_[0], 'B')]) },
		more => sub {
			my ($waits) = @_;
			my $disk = disk_of($waits, 'B');
			cmp_ok(edge($waits, 'A', 'B')->{plain_share}, '>',
				edge($waits, 'B', $disk)->{plain_share}, 'the longest wait is outside');
			cmp_ok(edge($waits, 'B', $disk)->{share}, '>',
				1.5 * edge($waits, 'B', $disk)->{plain_share},
				'A, who waits for B meanwhile, counts there');
			my ($code) = map { $_->{symbol} } grep { $_->{symbol} =~ /flush_record/ }
				@{edge($waits, 'B', $disk)->{stacks}[0]{waiter}};
			is($code, 'flush_record', 'and the code that waits is named');
			my ($idle) = grep { $_->{from} eq $disk } @{$waits->{verdict}{edges}};
			ok($idle->{for_work}, 'the disk waits for work only');
		},
	},
	io => {
		type => 'knot',
		members => sub { join ' ', sort 'reader', disk_of($_[0], 'reader') },
		edges => sub { (['reader', 'disk', disk_of($_[0], 'reader')]) },
		more => sub {
			my ($waits, $truth) = @_;
			my $disk = vertex($waits, disk_of($waits, 'reader'));
			my ($reader) = grep { $_->{from} eq 'reader' } @{$truth->{edges}};
			cmp_ok($disk->{requests}, '>=', $truth->{threads}{reader}{work},
				'no request of the disk is missing');
			cmp_ok($disk->{service_ns}, '>', 0.7 * $reader->{wait_ns}, 'it was served so long');
		},
	},
	lock => {
		type => 'knot',
		folded => 1,
		members => sub { 'lock*' },
		more => sub {
			my ($waits) = @_;
			my ($kind) = sort { $b->{plain_ns} <=> $a->{plain_ns} }
				map { @{$_->{stacks}} } grep { $_->{from} eq 'lock*' } @{$waits->{edges}};
			is($kind->{kind}, 'futex', 'for a futex');
		},
	},
	imbalance => {
		type => 'knot',
		members => sub { 'left right' },
		edges => sub { (['left', 'right'], ['right', 'left']) },
	},
	full => {
		type => qr{^(?:work|cpus)$},
		members => sub { 'consumer' },
		edges => sub { (['producer', 'consumer']) },
	},
	empty => {
		type => qr{^(?:work|cpus)$},
		members => sub { 'producer' },
		edges => sub { (['consumer', 'producer']) },
	},
	heartbeat => {
		type => qr{^(?:work|cpus)$},
		members => sub { 'worker' },
		edges => sub { (['beat1', 'beat2'], ['beat2', 'beat1'], ['beat1', 'timer']) },
		more => sub {
			my ($waits) = @_;
			my $beat = vertex($waits, 'beat1');
			SKIP: {
				skip 'the machine is too busy for a heartbeat', 1
					if $beat->{runnable_ns} > 0.3 * $beat->{lifetime_ns};
				is(background($waits), 'beat1 beat2', 'the beats are set aside');
			}
		},
	},
	'per-request' => {
		folded => 1,
		members => sub { 'req' },
		more => sub {
			my ($waits, $truth) = @_;
			my $req = vertex($waits, 'req');
			is($req->{merged}, 'short-lived', 'they stand as one');
			is($req->{threads}, $truth->{threads}{req}{work}, 'all of them');
			cmp_ok(edge($waits, 'main', 'req')->{plain_share}, '>', 0.5, 'main waits for them');
		},
	},
	pipe => {type => qr{^(?:work|cpus)$}, members => sub { 'writer' }, edges => sub { (['reader', 'writer']) }},
	rpc => {
		type => 'knot',
		members => sub { 'client server' },
		edges => sub { (['client', 'server'], ['server', 'client']) },
	},
	cpus => {
		type => 'cpus',
		folded => 1,
		members => sub { 'cpu*' },
		more => sub { like($_[0]{verdict}{note}, qr{more CPUs}, 'more CPUs would help') },
	},
	broadcast => {
		type => qr{^(?:work|cpus)$},
		members => sub { 'seller' },
		edges => sub { (map { ["buyer$_", 'seller'] } 0 .. 2) },
		more => sub { cmp_ok($_[0]{false_wakeups}, '>', 10, 'false wakeups are taken out') },
	},
	spin => {
		type => 'knot',
		members => sub { 'spin0 spin1' },
		edges => sub { (['spin0', 'spin1'], ['spin1', 'spin0']) },
		more => sub {
			is(edge($_[0], 'spin0', 'spin1')->{stacks}[0]{origin}, 'spin', 'by busy waiting');
		},
	},
);

# Every edge over 5% is estimated within 3 points, or within what the estimate itself says of
# its standard error: six of them are exceeded once in 500 million edges.
sub error_share { # the standard error of an edge's share
	my ($edge) = @_;
	return $edge->{weight_ns} ? $edge->{share} * $edge->{error_ns} / $edge->{weight_ns} : 0;
}

sub estimate_fits {
	my ($file) = @_;
	my ($exact, $estimated) = map { waits('-i', $file, '--unfold', @$_) } [], ['--sampled'];
	my @off;
	ok(!$estimated->{exact} && $exact->{exact}, 'one is an estimate, the other is not');
	for my $edge (grep { $_->{share} > 0.05 } @{$exact->{edges}}) {
		my $other = edge($estimated, $edge->{from}, $edge->{to});
		push @off, sprintf('%s -> %s: %.1f%% is %.1f%%', $edge->{from}, $edge->{to},
			100 * $edge->{share}, 100 * $other->{share})
			if abs($edge->{share} - $other->{share}) > max(0.03, 6 * error_share($other));
	}
	is("@off", '', 'every edge over 5% is estimated within 3 points');
	($exact, $estimated) = map { waits('-i', $file, @$_) } [], ['--sampled'];
	is(members($estimated->{verdict}), members($exact->{verdict}), 'and the knot is the same');
}

for my $name (sort keys %cases) {
	my $case = $cases{$name};
	my @unfold = $case->{folded} ? () : '--unfold';
	for my $mode ('sampling', 'trace') {
		# The points of a trace cost nothing: four times as many for the comparison.
		my @how = $mode eq 'trace' ? ('--trace', '-c', 250) : ();
		my $file = "$name-$mode.data";
		note("$name, by $mode");
		my $got = record([@how, '-o', $file], program('knots'), $name, '--seconds', $seconds);
		is($got->{status}, 0, "$name is recorded by $mode");
		my $waits = waits('-i', $file, @unfold);
		my $verdict = $waits->{verdict};
		# On a busy machine, work is waiting for a CPU.
		like($verdict->{type}, qr{^$case->{type}$}, 'the verdict is of this type') if $case->{type};
		is(members($verdict), $case->{members}->($waits), 'and names those') or diag($verdict->{text});
		as_measured($waits, $got->{truth}, @$_) for $case->{edges} ? $case->{edges}->($waits) : ();
		$case->{more}->($waits, $got->{truth}) if $case->{more};
		estimate_fits($file) if $mode eq 'trace';
	}
}

# The other forms: the same graph.
my $text = run($DWELL, 'waits', '-i', 'imbalance-trace.data');
like($text->{out}, qr/^Bottleneck: .*left.*wait for each other/m, 'text has the verdict');
like($text->{out}, qr/waits in .*wait_barrier/, 'with the code that waits');
like($text->{out}, qr/woken by .*run_phases/, 'and the code that wakes');
my $dot = run($DWELL, 'waits', '-i', 'imbalance-trace.data', '--dot');
like($dot->{out}, qr/^digraph/, 'there is a graph for graphviz');
like($dot->{out}, qr/label="left", shape=box, style=filled, fillcolor=salmon/, 'that marks the knot');

# Parts of the recording.
my $part = waits('-i', 'imbalance-trace.data', '--time', '1,2', '--unfold');
is($part->{window_ns}, 1e9, 'a window is as long as asked for');
is(members($part->{verdict}), 'left right', 'and has the same knot');
my $tid = vertex($part, 'left')->{tid};
my $one = waits('-i', 'imbalance-trace.data', '--tid', $tid, '--unfold');
my $pid = vertex($part, 'left')->{pid};
my @waiters = grep { (vertex($one, $_)->{pid} // 0) == $pid } keys %{{map { $_->{from} => 1 } @{$one->{edges}}}};
is("@waiters", 'left', 'one thread: its waits alone');

# What was recorded besides waits can be read, too.
my @events = script('-i', 'pipeline-trace.data', '--no-stacks');
my ($idle) = grep { $_->{event} eq 'idle' && $_->{comm} eq 'B' } @events;
ok($idle && $idle->{device} && $idle->{t_in_ns} > $idle->{time_ns}, 'script: idle times of the disk');
my %annotated;
$annotated{$_->{type}}++ for grep { $_->{event} eq 'annotation' && $_->{comm} eq 'spin0' }
	script('-i', 'spin-trace.data', '--no-stacks');
is(join(' ', sort keys %annotated), 'spin-begin spin-end spin-release', 'script: annotations');
is($annotated{'spin-begin'}, $annotated{'spin-end'}, 'every spin has its end');
my $busy = waits('-i', 'cpus-sampling.data');
cmp_ok($busy->{machine_busy_ns}, '>', 5 * $busy->{machine_idle_ns}, 'the CPUs were busy, and that is known');

# A program that crashes has a verdict, too.
record(['-o', 'crash.data'], 'sh', '-c', 'i=0; while [ $((i += 1)) -lt 200000 ]; do :; done; kill -SEGV $$');
is(waits('-i', 'crash.data')->{verdict}{type}, 'work', 'a program that crashes has done some work');

# Threads that wake a recorded one are recorded as well: those asked for, and no others.
sub helpers {
	my ($which) = @_;
	my $file = "helpers-$which.data";
	my $other = start({name => "other-$which"}, program('knots'), 'io', '--seconds', 8);
	my $pair = start({name => "pair-$which"}, program('knots'), 'pipe', '--seconds', 6);
	my $reader;
	wait_for(10, sub {
		($reader) = grep { slurp("/proc/$_/comm") eq "reader\n" }
			split ' ', slurp("/proc/$pair/task/$pair/children");
		return $reader;
	}) or return {};
	sleep 1; # by now the other one reads
	run($DWELL, 'record', '--wakers', $which, '-o', $file, '--duration', 2, '-p', $reader);
	my $waits = waits('-i', $file);
	finish($_, 30) for $pair, $other;
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
my $whole = slurp('imbalance-trace.data');
spew('cut.data', substr($whole, 0, int(0.7 * length $whole)));
like(unknown(waits('-i', 'cut.data')), qr/not whole/, 'the file was cut short');
my $lossy = record(['--trace', '-m', 64, '-o', 'lossy.data'], program('switches'), '--rounds', 200000);
is($lossy->{status}, 0, 'a recording with too small a buffer');
like(unknown(waits('-i', 'lossy.data')), qr/Events were lost \(\d+\)/, 'events were lost');
my $server = start({name => 'outside'}, program('knots'), 'pipe', '--seconds', 4);
ok(wait_for(10, sub { slurp("/proc/$server/task/$server/children") =~ /\d/ }), 'two processes run');
my ($child) = split ' ', slurp("/proc/$server/task/$server/children");
my %pids = map { (split ' ', slurp("/proc/$_/comm"))[0] => $_ } $server, $child;
SKIP: {
	skip 'the reader has no name yet', 1 unless $pids{reader};
	run($DWELL, 'record', '-o', 'outside.data', '--duration', '1.5', '-p', $pids{reader});
	like(unknown(waits('-i', 'outside.data')), qr/not recorded/, 'half of it was not recorded');
}
finish($server, 20);

done_testing();
