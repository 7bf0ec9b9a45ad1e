# SPDX-License-Identifier: BSD-2-Clause
#
# Control groups of a test, which are removed at its end.
package Groups;
use strict;
use warnings;

use Dwell;

# Where the groups of a subsystem are, and their version: mounted as version 1, or version 2.
sub top {
	my ($subsystem) = @_;
	my $unified;
	for (split /\n/, slurp('/proc/self/mounts')) {
		my (undef, $where, $type, $options) = split / /;
		return ($where, 1) if $type eq 'cgroup' && $options =~ /(^|,)\Q$subsystem\E(,|$)/;
		$unified = $where if $type eq 'cgroup2';
	}
	return $unified ? ($unified, 2) : ();
}

my @made;
# A new group, or undef.
sub make {
	my ($top, $name) = @_;
	my $group = "$top/dwell-test-$$-$name";
	return undef if !mkdir $group;
	unshift @made, $group;
	return $group;
}

# Whether $text could be written to $path.
sub set {
	my ($path, $text) = @_;
	open(my $to, '>', $path) or return 0;
	return print({$to} $text) && close($to);
}

END { rmdir for @made }

1;
