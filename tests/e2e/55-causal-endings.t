#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs that crash, or are watched for a while only: what was finished stays, and a part of a
# run is not taken for the whole.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();

# On a busy machine, experiments take longer.
my $crash;
for my $seconds (3, 10, 30, 60) {
	$crash = causal(['--target', 'burn', '--speedup', '50'], program('undisturbed'), '--seconds', $seconds, '--crash');
	last if ($crash->{report}{targets}[0]{results}[0]{experiments} // 0) >= 2;
}
is($crash->{status}, 128 + 6, 'a crash');
like(problems_of($crash), qr/ended by signal 6/, 'is told');
cmp_ok($crash->{report}{targets}[0]{results}[0]{experiments} // 0, '>=', 2, 'keeps experiments');

for my $part ([['--duration', '1s']], [[], '--crash']) {
	my ($options, @more) = @$part;
	my $got = causal(['--end-to-end', '--target', 'burn', '--speedup', 50, @$options],
		program('undisturbed'), '--seconds', 2, @more);
	is($got->{report}{experiments}, 0, "@$options@more: no whole run");
}

my $got = run($DWELL, 'causal', 'run', '-q', '-o', 'typo.causal', '--', './typo');
is($got->{status}, 127, 'a command that cannot be started');
is(slurp('typo.causal'), '', 'leaves no run in the profile');

done_testing();
