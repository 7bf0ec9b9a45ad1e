#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# What comes out: valid JSON that agrees with itself, folded stacks, text.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

my $got = record(['-o', 'a.data'], program('classes'), '--scale', 'mixed', '--seconds', 3);
my $report = report('-i', 'a.data');

# Fields.
ok(defined $report->{$_}, "report has $_") for qw(period_ns duration_ns command lost threads rows);
my @of_thread = qw(pid tid comm lifetime_ns cpu_ns io_ns lock_ns sched_ns other_ns);
my @of_row = qw(comm dso symbol class kind kernel weight self_ns total_ns percent);
is((grep { my $t = $_; grep { !defined $t->{$_} } @of_thread } @{$report->{threads}}), 0,
	"every thread has @of_thread");
is((grep { my $r = $_; grep { !exists $r->{$_} } @of_row } @{$report->{rows}}), 0,
	"every row has @of_row");
is((grep { $_->{class} !~ /^(?:cpu|io|lock|sched|other|stopped)$/ } @{$report->{rows}}), 0,
	'classes are cpu, io, lock, sched, other');

# It agrees with itself.
my ($percent, $weight, $time, $last, $unsorted) = (0, 0, 0, 1e18, 0);
for my $row (@{$report->{rows}}) {
	$percent += $row->{percent};
	$weight += $row->{weight};
	$time += $row->{self_ns};
	$unsorted++ if $row->{self_ns} > $last;
	$last = $row->{self_ns};
}
near($percent, 100, 0.1, 'percentages sum to 100');
is($unsorted, 0, 'the heaviest row comes first');
is($time, $report->{total_ns}, 'self times sum to the total');
is((grep { $_->{total_ns} < $_->{self_ns} } @{$report->{rows}}), 0,
	'with callees never less than self');
for my $keys ('comm', 'tid', 'class', 'pid', 'dso', 'symbol', 'comm,class,kind') {
	my $sorted = report('-i', 'a.data', '--sort', $keys);
	is(weight_of($sorted), $weight, "--sort $keys: the same sum");
}

# Folded: frames joined by ";", a space, a weight; the same sum again.
my $folded = run($DWELL, 'script', '-i', 'a.data', '--folded', '--idle')->{out};
my ($bad, $sum, $empty, %seen) = (0, 0, 0);
for my $line (split /\n/, $folded) {
	if ($line =~ /^([^;]+(?:;[^;]+)*) (\d+)$/) {
		$sum += $2;
		$seen{$1}++;
	} else {
		$bad++;
		diag($line) if $bad < 4;
	}
}
is($bad, 0, 'folded: every line is frames joined by ; and a weight');
near($sum, $time / $report->{period_ns}, 0.5, 'folded: the weights sum to the time of the report');
is((grep { $_ > 1 } values %seen), 0, 'folded: every stack stands once');
like($folded, qr/main|start_thread|clone/, 'folded: down to the outermost function');

# One JSON object a line.
my $script = run($DWELL, 'script', '-i', 'a.data', '--json');
is($script->{status}, 0, 'script --json');
is((grep { !defined decode($_) } grep { /\S/ } split /\n/, $script->{out}), 0,
	'script --json: every line is an object');

# Text says the same.
my $text = run($DWELL, 'report', '-i', 'a.data')->{out};
like($text, qr/phase_compute/, 'text: where it computes');
like($text, qr/\[\Q$_\E\]/, "text: class $_") for qw(. I L S B);
unlike($text, qr/[\x00-\x08\x0b-\x1f]/, 'text: no control characters in a pipe');

# The same input gives the same output.
is(run($DWELL, 'report', '-i', 'a.data', '--json')->{out},
	run($DWELL, 'report', '-i', 'a.data', '--json')->{out}, 'twice the same');

# An empty result explains itself.
$got = record(['-o', 'none.data', '-c', 1000000], 'true');
my $none = run($DWELL, 'report', '-i', 'none.data');
is($none->{status}, 0, 'a recording without samples is no error');
like($none->{out} . $none->{err}, qr/sample|period/i, 'and is explained');

done_testing;
