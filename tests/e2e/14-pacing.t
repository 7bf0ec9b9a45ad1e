#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Two hundred threads that wait all the time: with a limit few of their waits are
# recorded, and still every class has its true share.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

my $LIMIT = 4;

sub shares {
	my ($file, $rounds, @options) = @_;
	my $got = record(['-o', $file, @options], program('switches'), '--pairs', 25, '--rounds', $rounds);
	is($got->{status}, 0, "@options: recorded");
	return report('-i', $file);
}

# Recorded again where dwell got no CPU for so long that its buffer was full.
my $limited;
for (1 .. 5) {
	$limited = shares('limited.data', full(50000, 20000), '--wait-limit', $LIMIT);
	last if !$limited->{lost}{'events, ring buffer full'};
	note("$limited->{lost}{'events, ring buffer full'} events were lost");
}
my $seconds = $limited->{duration_ns} / 1e9;
my $cpus = `getconf _NPROCESSORS_ONLN`;
my ($exact, $sampled) = ($limited->{exact}, $limited->{sampled});

# Up to the first look, a tenth of a second or so, there is no limit.
cmp_ok($limited->{intervals}, '<', $LIMIT * 1000 * $cpus * $seconds + 30000,
	"about $LIMIT waits per CPU and period");
cmp_ok($limited->{widest_spacing_ns}, '>=', 8 * $limited->{period_ns}, 'points were moved apart');
for my $class (qw(cpu lock sched other)) {
	near(100 * $sampled->{"${class}_ns"} / $sampled->{total_ns},
		100 * $exact->{"${class}_ns"} / $exact->{lifetime_ns}, 3, "share of $class");
}
# Where points were moved apart or together, and at both ends, as much as lies between two of them may
# be missing or counted twice.
near($sampled->{total_ns} / $exact->{lifetime_ns}, 1,
	0.05 + 2 * $limited->{widest_spacing_ns} / $limited->{duration_ns}, 'sampled time to lifetimes')
	or diag(explain($limited->{lost}), "points $limited->{widest_spacing_ns} ns apart");
like(run($DWELL, 'report', '-i', 'limited.data')->{out}, qr/^# mode .*up to one every .*--wait-limit/m,
	'the header says so');

my @script = grep { $_->{event} eq 'interval' } events('-i', 'limited.data', '--no-stacks');
my @thinned = grep { $_->{spacing} > 1 } @script;
cmp_ok(scalar(@thinned), '>', 500, 'script: intervals tell their spacing');
# Points of a thread's own count for all of their cell but one period, for which a common point counts.
ok(!(grep { ($_->{blocked_points} + $_->{runq_points}) % ($_->{spacing} - 1)
	> 2 + ($_->{t_in_ns} - $_->{t_out_ns}) / $_->{spacing} / $limited->{period_ns} } grep { $_->{spacing} > 2 } @thinned),
	'script: points are multiples of it, less one, and some ones');

my $all;
my $others = others_share(sub { $all = shares('all.data', full(50000, 5000), '--wait-limit', 0) });
is($all->{widest_spacing_ns}, $all->{period_ns}, 'without a limit: points stay where they are');
# How many more depends on how long waits are: on a busy machine they last several periods, and each
# is recorded once. But that there are more than the limit is why points were moved apart before.
cmp_ok($all->{intervals} / $all->{duration_ns} * $all->{period_ns}, '>', $LIMIT * $cpus,
	'and there are more waits at a time than the limit');
SKIP: {
	skip sprintf('other programs have %.0f%% of the machine', 100 * $others), 1 if $others > 0.1;
	cmp_ok($all->{intervals} / $all->{duration_ns}, '>', 5 * $limited->{intervals} / $limited->{duration_ns},
		'many more');
}

done_testing();
