# SPDX-License-Identifier: BSD-2-Clause
#
# Reads protobuf without a description of it.
package Protobuf;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(message packed);

sub varint {
	my ($bytes, $at) = @_;
	my ($value, $shift) = (0, 0);
	while (1) {
		die "cut short\n" if $$at >= length $$bytes;
		my $byte = ord substr($$bytes, $$at++, 1);
		$value |= ($byte & 0x7f) << $shift;
		return $value if $byte < 0x80;
		$shift += 7;
		die "too long a varint\n" if $shift > 63;
	}
}

sub bytes {
	my ($bytes, $at, $n) = @_;
	die "cut short\n" if $$at + $n > length $$bytes;
	$$at += $n;
	return substr($$bytes, $$at - $n, $n);
}

# The fields of a message by number, each as a list: numbers, or bytes, which may be another message.
sub message {
	my ($bytes) = @_;
	my ($at, %fields) = (0);
	while ($at < length $bytes) {
		my $tag = varint(\$bytes, \$at);
		my ($field, $type) = ($tag >> 3, $tag & 7);
		die "a field 0\n" unless $field;
		my $value = $type == 0 ? varint(\$bytes, \$at)
			: $type == 1 ? unpack('Q<', bytes(\$bytes, \$at, 8))
			: $type == 2 ? bytes(\$bytes, \$at, varint(\$bytes, \$at))
			: $type == 5 ? unpack('L<', bytes(\$bytes, \$at, 4))
			: die "type $type of field $field\n";
		push @{$fields{$field}}, $value;
	}
	return \%fields;
}

# The numbers of a packed field.
sub packed {
	my ($bytes) = @_;
	my ($at, @numbers) = (0);
	return () unless defined $bytes;
	push @numbers, varint(\$bytes, \$at) while $at < length $bytes;
	return @numbers;
}

1;
