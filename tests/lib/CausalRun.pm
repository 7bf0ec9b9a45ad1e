# SPDX-License-Identifier: BSD-2-Clause
# dwell causal run and what it says, for end-to-end tests.
package CausalRun;

use strict;
use warnings;

use Dwell;
use Exporter qw(import);

our @EXPORT = qw(causal causal_more effect result_of);

# One run of @command, in a profile of its own: what run() tells, its report, and the truth
# that a known-answer program prints.
sub causal {
	my ($options, @command) = @_;
	unlink 'p';
	return causal_more($options, @command);
}

# Likewise, added to the profile that is there.
sub causal_more {
	my ($options, @command) = @_;
	my $got = run({seconds => 120}, $DWELL, 'causal', 'run', '-o', 'p', '-q', @$options, '--', @command);
	$got->{truth} = decode($1) if $got->{out} =~ /^(\{.*\})$/m;
	$got->{report} = decode(run($DWELL, 'causal', 'report', '--json', 'p')->{out}) if -e 'p';
	return $got;
}

# What is reported of a target at a virtual speedup (0 to 1); at $point, or any.
sub result_of {
	my ($got, $target, $speedup, $point) = @_;
	my ($found) = grep { $_->{target} eq $target && (!$point || $_->{point} eq $point) }
		@{$got->{report}{targets}};
	my ($result) = grep { abs($_->{speedup} - $speedup) < 0.001 } @{$found->{results} // []};
	return $result // {};
}

# Its program speedup; undefined: there is no result.
sub effect {
	return result_of(@_)->{program_speedup};
}

1;
