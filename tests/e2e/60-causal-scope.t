#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Functions of files that are not in scope belong to those that call them.
#
# Runs alone.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();

causal(['--source-exclude', '*/common/program.[ch]', '--source-exclude', '*/causal/run.[ch]'],
	program('causal'), 'usleep-barrier', '--seconds', 5);
my ($all, %ran) = (0);
for my $place (grep { $_->{type} eq 'place' } map { decode($_) } split /\n/, slurp('p')) {
	$ran{$place->{function}} += $place->{ns};
	$all += $place->{ns};
}
cmp_ok($ran{doze} // 0, '>', 3e9, 'a function out of scope counts for its caller');
cmp_ok($ran{nap} // 0, '<', 3e8, 'and not for itself');

done_testing();
