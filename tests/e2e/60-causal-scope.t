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

# That a function is out of scope is found out when it is drawn as a target, at random: until then
# it counts for itself. It is drawn with a probability of a half and more each half second, so that a
# tenth of the time is exceeded now and then, but not again and again. On a busy machine it may wait for
# a CPU instead of sleeping.
my %ran;
for (1 .. 12) {
	causal(['--source-exclude', '*/common/program.[ch]', '--source-exclude', '*/causal/run.[ch]'],
		program('causal'), 'usleep-barrier', '--seconds', 5);
	%ran = (nap => 0, doze => 0);
	for my $place (grep { $_->{type} eq 'place' } map { decode($_) } split /\n/, slurp('p')) {
		$ran{$place->{function}} += $place->{ns};
	}
	last if $ran{nap} < 0.1 * $ran{doze} && $ran{doze} + $ran{nap} > 3e9;
}
cmp_ok($ran{doze} + $ran{nap}, '>', 3e9, 'a function that sleeps');
cmp_ok($ran{nap}, '<', 0.1 * $ran{doze}, 'out of scope, it counts for its caller and not for itself');

done_testing();
