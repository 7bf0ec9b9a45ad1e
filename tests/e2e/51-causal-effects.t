#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Virtual speedups: what they predict where that is known by construction.
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

# What counting visits takes of a CPU, in the halves without a speedup.
sub probe_share {
	my ($time, $ns) = (0, 0);
	my %cost;
	for my $line (map { decode($_) } split /\n/, slurp('p')) {
		$cost{$line->{run}}{$line->{point}} = $line->{ns} if $line->{type} eq 'probe';
		next unless $line->{type} eq 'experiment';
		$time += $line->{base}{duration_ns} - $line->{base}{delay_ns};
		$ns += ($_->[1] // 0) * ($cost{$line->{run}}{$_->[0]} // 0) for @{$line->{base}{points}};
	}
	return $time ? $ns / $time : 0;
}

# All of a round is burn(); only the time that it waits for a CPU may be no gain.
my $all = causal_until(0.2, [['burn', 0.5], ['burn', 1]], ['--target', 'burn', '--speedup', '50,100'],
	program('undisturbed'), '--calm', '--seconds', 2);
is($all->{status}, 0, 'burn: ran');
about($all, 'burn', 0.5, 'round', 'burn', 0.2, 'half of it: the program is as much faster');
about($all, 'burn', 1, 'round', 'burn', 0.2, 'all of it: nothing is left');

# Nobody waits for the sleeper.
my $none = causal_until(0.15, [['sleeper', 0.5]], ['--target', 'sleeper', '--speedup', '50'],
	program('undisturbed'), '--calm', '--seconds', 2);
no_effect($none, 'sleeper', 0.5, 'round', 0.15, 'sleeper: no effect');

# Nor does it matter to one who sleeps how fast others are: what his pauses cost him is part
# of them, though each is as brief as a nap.
# What other programs do meanwhile can look like an effect, as long as there is little data: the
# profile grows before it says that there is one.
my @naps = (['--experiment', '100ms', '--target', 'burn', '--speedup', '50'], program('naps'), '--seconds', 6);
my ($nap, $slack);
for my $run (0 .. 7) {
	my $naps = $run ? causal_more(@naps) : causal(@naps);
	$naps->{truths} = [$naps->{truth}];
	($nap, $slack) = (result_of($naps, 'burn', 0.5, 'nap'), slack_of($naps));
	note(sprintf 'naps: %.3f to %.3f, %.3f by waits for a CPU', $nap->{low} // 9, $nap->{high} // -9, $slack);
	last if ($nap->{high} // -9) > -0.04 - $slack && ($nap->{low} // 9) < 0.04 + $slack;
}
cmp_ok($nap->{high} // -9, '>', -0.04 - $slack, 'naps: no loss, however often they are paused');
cmp_ok($nap->{low} // 9, '<', 0.04 + $slack, 'and no gain');

# Unmodified programs: progress at a function, by name.
my $named = causal_until(0.2, [['burn', 0.5, 'burn']],
	['--progress', 'burn', '--target', 'burn', '--speedup', '50'], program('undisturbed'), '--calm', '--seconds', 2);
ok((grep { $_->{name} eq 'burn' && $_->{kind} eq 'throughput' } @{$named->{report}{points}}),
	'visits of a function are a progress point');
# Where a visit takes long, because the machine is slow, there is a reason not to predict anything.
if (my ($refused) = grep { $_->{target} eq 'burn' && $_->{point} eq 'burn' } @{$named->{report}{refused}}) {
	is($refused->{reason}, 'probe', 'with the same effect, but for what visits cost') or diag(explain($refused));
	cmp_ok(probe_share(), '>', 0.05, 'which is more than 5% of a CPU');
} else {
	about($named, 'burn', 0.5, 'burn', 'burn', 0.2, 'with the same effect');
}
is($named->{truth}{watched}, 0, 'nobody watches the probe');

done_testing();
