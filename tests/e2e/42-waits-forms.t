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

# The other forms: the same graph.
record_knot($_, "$_-trace.data", '--trace') for 'imbalance', 'pipeline';
my $spins = record_knot('spin', 'spin-trace.data', '--trace')->{truth};
record_knot('cpus', 'cpus-sampling.data');
my $text = run($DWELL, 'waits', '-i', 'imbalance-trace.data');
like($text->{out}, qr/^Bottleneck: .*left.*wait for each other/m, 'text has the verdict');
like($text->{out}, qr/waits in .*wait_barrier/, 'with the code that waits');
like($text->{out}, qr/woken by .*run_phases/, 'and the code that wakes');
my $dot = run($DWELL, 'waits', '-i', 'imbalance-trace.data', '--dot');
like($dot->{out}, qr/^digraph/, 'there is a graph for graphviz');
like($dot->{out}, qr/label="left", shape=box, style=filled, fillcolor=salmon/, 'that marks the knot');

# Parts of the recording.
my $part = waits('-i', 'imbalance-trace.data', '--time', '0.5,1.5', '--unfold');
is($part->{window_ns}, 1e9, 'a window is as long as asked for');
is(members($part->{verdict}), 'left right', 'and has the same knot');
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
