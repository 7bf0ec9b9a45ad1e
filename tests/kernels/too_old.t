#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# In a guest with a kernel that is too old for dwell (see ladder.t): it says so, and what it needs.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

for my $command (['record', '--', 'true'], ['causal', 'run', '--', 'true'], ['path', '--', 'true']) {
	my $got = run({seconds => 60}, $DWELL, @$command);
	isnt($got->{status}, 0, "@$command fails");
	like($got->{err}, qr/^dwell: this kernel is too old: Linux 5\.10\.\S+\n  dwell needs 5\.15 or later$/m,
		'and says why');
	unlike($got->{err}, qr/verifier|libbpf|CO-RE/, 'without a line of a log');
}
done_testing();
