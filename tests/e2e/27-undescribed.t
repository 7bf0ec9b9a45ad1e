#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Code that says nothing of its frames: where its frame pointer leads to the
# outermost frame all the same, the stack is told apart from whole ones; where it
# leads nowhere, the stack is cut.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(sum0);
use Test::More;

need_recording();

my (%ends, %chains, $lonely);
for (1 .. 5) { # a machine that is busy elsewhere takes fewer samples
	my $got = record(['-o', 'bare.data', '--wakers', 'none'], program('undescribed'));
	is($got->{status}, 0, 'recorded');
	(%ends, %chains) = ();
	$lonely = 0; # samples, and waits for a CPU
	for my $event (events('-i', 'bare.data')) {
		my @frames = @{$event->{frames}};
		my @symbols = map { $frames[2 * $_] } 0 .. $#frames / 2;
		my ($in) = grep { defined && /^(?:innermost|lonely)$/ } @symbols;
		next unless $in;
		$lonely++ if $in eq 'lonely';
		next if $event->{event} ne 'sample';
		$ends{$in}{$event->{stack_end}}++;
		$chains{join ' ', grep { /^(?:innermost|bare|outer|main)$/ } @symbols}++ if $in eq 'innermost';
	}
	last if 2 == grep { sum0(values %{$ends{$_} // {}}) > 100 } qw(innermost lonely);
}
cmp_ok($ends{$_}{all} = sum0(values %{$ends{$_}}), '>', 100,
	"there are samples in $_") for qw(innermost lonely);
cmp_ok($ends{innermost}{guessed} // 0, '>=', 0.99 * $ends{innermost}{all},
	'past code with a frame pointer the outermost frame is reached, and it is said how');
cmp_ok($chains{'innermost bare outer main'} // 0, '>=', 0.99 * $ends{innermost}{all},
	'the chain is whole');
cmp_ok($ends{lonely}{unsupported} // 0, '>=', 0.99 * $ends{lonely}{all},
	'code without one ends the walk, as a rule that is not handled');

my $report = report('-i', 'bare.data');
cmp_ok($report->{guessed}, '>=', $ends{innermost}{guessed} // 0, 'guessed stacks are counted');
cmp_ok($report->{truncated}{unsupported}, '>=', $ends{lonely}{unsupported} // 0, 'cut ones too');
cmp_ok($report->{truncated}{unsupported}, '<=', 1.1 * $lonely, 'and not with the others');
like(run($DWELL, 'report', '-i', 'bare.data')->{out},
	qr/^# truncated  : \d+ of \d+ stacks .*unwind rule not handled; \d+ go on by frame pointer/m,
	'the header tells both');

done_testing;
