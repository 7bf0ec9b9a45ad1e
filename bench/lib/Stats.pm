# SPDX-License-Identifier: BSD-2-Clause
#
# Median, spread and a bootstrap confidence interval of the median.
package Stats;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT_OK = qw(median summary);

sub median {
	my @sorted = sort { $a <=> $b } @_;
	return undef unless @sorted;
	my $middle = int(@sorted / 2);
	return @sorted % 2 ? $sorted[$middle] : ($sorted[$middle - 1] + $sorted[$middle]) / 2;
}

# {n, median, min, max, low, high}: low..high is the 95 % interval of the median.
sub summary {
	my @values = grep { defined } @_;
	return undef unless @values;
	my @sorted = sort { $a <=> $b } @values;
	srand(1);
	my @medians = sort { $a <=> $b }
		map { median(map { $values[rand @values] } @values) } 1 .. 2000;
	return {
		n => scalar(@values), median => median(@values), min => $sorted[0], max => $sorted[-1],
		low => $medians[50], high => $medians[1949],
	};
}

1;
