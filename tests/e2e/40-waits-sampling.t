#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Who waits for whom, from a sampling: programs whose knot and bottleneck are known by construction
# (tests/programs/knots/). What dwell waits says is held against what the program measured of its
# own waits.
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

for my $name (knots()) {
	my $got = record_knot($name, "$name.data");
	hold_against_truth($name, "$name.data", $got->{truth});
}

done_testing();
