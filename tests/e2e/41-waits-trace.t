#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Who waits for whom, from a trace, as 40-waits-sampling.t; and what would be estimated from its
# samples alone.
#
# Runs alone.
use strict;
use warnings;

use FindBin;
use List::Util qw(max);
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Waits;

need_recording();

# The points of a trace cost nothing: four times as many for the comparison.
my @options = ('--trace', '-c', 250);

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
}

# Whether the estimate finds the same knot. Both may stand at the edge of another verdict in one
# recording; not in three.
sub same_knot {
	my ($name, $file) = @_;
	my @verdicts;
	for my $recording (1 .. 3) {
		record_knot($name, $file, @options) if $recording > 1;
		@verdicts = map { waits('-i', $file, @$_)->{verdict} } [], ['--sampled'];
		last if members($verdicts[0]) eq members($verdicts[1]);
		diag("exact: $verdicts[0]{text}\nestimated: $verdicts[1]{text}");
	}
	is(members($verdicts[1]), members($verdicts[0]), 'and the knot is the same');
}

for my $name (knots()) {
	my $got = record_knot($name, "$name.data", @options);
	hold_against_truth($name, "$name.data", $got->{truth});
	estimate_fits("$name.data");
	same_knot($name, "$name.data");
}

done_testing();
