#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Threads that sleep for long are seldom tried: a sleep counts for 10 ms at most, so that four
# that sleep 0.3 s at a time are an eighth of what is drawn from, beside one that computes (a
# quarter is allowed for), instead of four fifths. That the shell is stripped is not reported,
# although a function of it may be drawn while it starts the others.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Statistics;
use Test::More;

need_recording();

my ($idle, $tries, %tried) = (undef, 0);
for (1 .. 4) { # until there are enough experiments, which a busy machine has few of
	$idle = causal(['--functions', '--experiment', '50ms', '--fixed-length'], 'sh', '-c',
		'for i in 1 2 3 4; do perl -e "select undef, undef, undef, 0.3 for 1 .. 27" & done; ' .
		'"$0" --seconds 8; wait', program('undisturbed'));
	for my $target (@{$idle->{report}{targets}}) {
		for my $result (@{$target->{results}}) {
			$tried{$target->{target}} += $result->{experiments};
			$tries += $result->{experiments};
		}
	}
	last if $tries > 24;
}
cmp_ok($tries, '>', 24, 'functions of programs, some of them asleep: tried');
cmp_ok($tried{Perl_pp_sselect} // 0, '<', binomial_bound($tries, 0.25),
	"those that sleep seldom, of $tries");
# A function of it may be the most promising by chance.
my @about = grep { $_->{text} =~ /dash|bin\/sh/ && $_->{kind} ne 'few-experiments' } @{$idle->{report}{problems}};
is_deeply(\@about, [], 'no diagnostic about the shell, which did nothing');

done_testing();
