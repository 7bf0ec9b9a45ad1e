#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# The forms of dwell waits: text, graph, parts of a recording; and what script shows of waits.
#
# Runs alone.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Waits;

need_recording();

# The other forms: the same graph. Where other programs have the CPUs for longer than left and right together, these
# wait for a CPU, not for each other.
my $had_cpus;
for (1 .. 10) {
	record_knot('imbalance', 'imbalance-trace.data', '--trace');
	my $waits = waits('-i', 'imbalance-trace.data');
	my ($runs, $queues) = (0, 0);
	for my $member (grep { $_ } map { vertex($waits, $_) } 'left', 'right') {
		$runs += $member->{running_ns};
		$queues += $member->{runnable_ns};
	}
	last if $had_cpus = $queues < $runs;
}
record_knot('pipeline', 'pipeline-trace.data', '--trace');
my $spins = record_knot('spin', 'spin-trace.data', '--trace')->{truth};
record_knot('cpus', 'cpus-sampling.data');
my $text = run($DWELL, 'waits', '-i', 'imbalance-trace.data');
my $dot = run($DWELL, 'waits', '-i', 'imbalance-trace.data', '--dot');
my $part = waits('-i', 'imbalance-trace.data', '--time', '0.5,1.5', '--unfold');
like($text->{out}, qr/waits in .*wait_barrier/, 'text has the code that waits');
like($text->{out}, qr/woken by .*run_phases/, 'and the code that wakes');
like($dot->{out}, qr/^digraph/, 'there is a graph for graphviz');
is($part->{window_ns}, 1e9, 'a window is as long as asked for');
SKIP: {
	skip 'other programs have the CPUs', 3 if !$had_cpus;
	# Full CPUs come first: then, and only then, this is the second bottleneck.
	my $label = $text->{out} =~ /^Bottleneck: The CPUs are full: \d+% busy/m ? 'With more CPUs' : 'Bottleneck';
	like($text->{out}, qr/^$label: .*left.*wait for each other/m, 'the text has the verdict');
	like($dot->{out}, qr/label="left", shape=box, style=filled, fillcolor=salmon/, 'the graph marks the knot');
	is(members($part->{verdict}), 'left right', 'a part of the recording has the same knot');
}

# Parts of the recording.
my $tid = vertex($part, 'left')->{tid};
my $one = waits('-i', 'imbalance-trace.data', '--tid', $tid, '--unfold');
my $pid = vertex($part, 'left')->{pid};
my @waiters = grep { (vertex($one, $_)->{pid} // 0) == $pid } keys %{{map { $_->{from} => 1 } @{$one->{edges}}}};
is("@waiters", 'left', 'one thread: its waits alone');

# What was recorded besides waits can be read, too.
my @events = events('-i', 'pipeline-trace.data', '--no-stacks');
my ($idle) = grep { $_->{event} eq 'idle' && $_->{comm} eq 'B' } @events;
ok($idle && $idle->{device} && $idle->{t_in_ns} > $idle->{time_ns}, 'script: idle times of the disk');
# As often as the program counted. On a busy machine, a thread may find the lock free each time.
my $lost = report('-i', 'spin-trace.data')->{lost}{'annotations, overwritten before they were read'} // 0;
my %annotated;
$annotated{$_->{comm}}{$_->{type}}++ for grep { $_->{event} eq 'annotation' } events('-i', 'spin-trace.data', '--no-stacks');
for my $name ('spin0', 'spin1') {
	my $spun = grep { $_->{from} eq $name } @{$spins->{edges}};
	my $types = $annotated{$name};
	cmp_ok(abs($spins->{threads}{$name}{work} - $types->{'spin-release'}), '<=', $lost,
		"script: $name: every release of the lock");
	is(join(' ', sort keys %$types), $spun ? 'spin-begin spin-end spin-release' : 'spin-release', "script: $name: annotations");
	cmp_ok(abs(($types->{'spin-begin'} // 0) - ($types->{'spin-end'} // 0)), '<=', $lost,
		"script: $name: every spin has its end");
}
my $busy = waits('-i', 'cpus-sampling.data');
cmp_ok($busy->{machine_busy_ns}, '>', 5 * $busy->{machine_idle_ns}, 'the CPUs were busy, and that is known');

# A program that crashes has a verdict, too.
record(['-o', 'crash.data'], 'sh', '-c', 'i=0; while [ $((i += 1)) -lt 200000 ]; do :; done; kill -SEGV $$');
my $crashed = waits('-i', 'crash.data');
my ($shell) = grep { $_->{recorded} } @{$crashed->{threads}};
is($crashed->{verdict}{type}, $shell->{runnable_ns} > $shell->{running_ns} ? 'cpus' : 'work',
	'a program that crashes has done some work, or waited for a CPU to do it');

done_testing();
