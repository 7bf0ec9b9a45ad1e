# SPDX-License-Identifier: BSD-2-Clause
#
# Bounds that chance exceeds in less than one run of a million.
package Statistics;

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT = qw(share_bound binomial_bound);

# Standard errors that a normal variable is off by once in a million.
use constant SURELY => 4.9;

# How far a share of @share percent is off when it is estimated from @n samples, in points.
# Near 0 and 100 the share may have been estimated too near: then as for one sample more.
sub share_bound {
	my ($share, $n) = @_;
	return 100 unless $n > 0;
	my $p = $share / 100;
	$p = 1 / $n if $p < 1 / $n;
	$p = 1 - 1 / $n if $p > 1 - 1 / $n;
	return 100 * SURELY * sqrt($p * (1 - $p) / $n);
}

# The least number of @n draws that is reached in less than one run of a million, when each is one
# with probability @p.
sub binomial_bound {
	my ($n, $p) = @_;
	my ($log, $below) = ($n * log(1 - $p), 0);
	for my $k (0 .. $n) {
		return $k if 1 - $below < 1e-6;
		$below += exp $log; # of exactly $k; too small for a number where $n is large
		$log += log(($n - $k) / ($k + 1) * $p / (1 - $p)) if $k < $n;
	}
	return $n + 1;
}

1;
