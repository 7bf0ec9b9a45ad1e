# SPDX-License-Identifier: BSD-2-Clause
#
# Reads the data of a report page, docs/page.md. Independent of what writes and reads it elsewhere.
package Page;

use strict;
use warnings;

use Compress::Zlib qw(compress uncompress);
use Dwell ();
use JSON::XS ();
use MIME::Base64 qw(decode_base64 encode_base64);

# Columns of the tables, in their order.
my %columns = (
	frames    => [qw(name file line dso flags)],
	nodes     => [qw(up frame)],
	stacks    => [qw(node)],
	wakers    => [qw(thread context running about)],
	intervals => [qw(gap blocked runq stack wait object waker waker_stack blocked_points runq_points stolen)],
	samples   => [qw(gap points stack)],
	levels    => [qw(thread depth from length up relation)],
	steps     => [qw(level length category stack about)],
	bins      => [qw(gap cause count plain weight)],
	calls     => [qw(function bin bucket calls observed short_ns)],
	slow      => [qw(function thread begin length runqueue lock disk network other stolen)],
	times     => [qw(begin length thread)],
);
my %signed = ('intervals.gap' => 1, 'samples.gap' => 1, 'levels.from' => 1, 'steps.level' => 1, 'slow.begin' => 1);

# Records as Dwell::record() does, to the file after -o, until its page has exact times: on a busy machine a
# program's wakers may have too many intervals for that. Returns whether it succeeded.
sub record_exactly {
	my ($options, @command) = @_;
	my ($file) = map { $options->[$_] } grep { $options->[$_ - 1] eq '-o' } 1 .. $#$options;
	for (1 .. 5) {
		return 0 if Dwell::record($options, @command)->{status};
		my $page = Dwell::run($Dwell::DWELL, 'html', '-i', $file, '-o', '-');
		return 1 if !$page->{status} && Page->read($page->{out})->{index}{recordings}[0]{unit_ns} == 1;
	}
	return 0;
}

# @text is the page; dies where a block is not as it should be.
sub read {
	my ($class, $text) = @_;
	my $self = bless {text => $text, blocks => {}}, $class;
	while ($text =~ m{<script type="text/x-dwell" id="([\w.]+)">([A-Za-z0-9+/=]*)</script>\n}g) {
		die "two blocks $1" if exists $self->{blocks}{$1};
		$self->{blocks}{$1} = $2;
	}
	$self->{index} = $self->json('index');
	return $self;
}

sub has { my ($self, $name) = @_; return exists $self->{blocks}{$name} }

sub bytes {
	my ($self, $name) = @_;
	my $block = $self->{blocks}{$name} // die "no block $name";
	return uncompress(decode_base64($block)) // die "$name is not compressed";
}

sub json {
	my ($self, $name) = @_;
	return JSON::XS->new->utf8->decode($self->bytes($name));
}

# The text of the page with another index.
sub with_index {
	my ($self, $index) = @_;
	my $block = encode_base64(compress(JSON::XS->new->utf8->encode($index)), '');
	return $self->{text} =~ s{(id="index">)[^<]*}{$1$block}r;
}

sub strings {
	my ($self, $name) = @_;
	return split /\0/, $self->bytes($name), -1;
}

sub varint {
	my ($bytes, $at) = @_;
	my ($value, $shift) = (0, 0);
	for (;; $shift += 7) {
		my $byte = ord substr $$bytes, $$at++, 1;
		$value |= ($byte & 127) << $shift;
		return $value if $byte < 128;
	}
}

# The table as a hash of columns.
sub table {
	my ($self, $name) = @_;
	my ($type) = grep { $columns{$_} } split /\./, $name =~ s/path\.//r;
	my @names = @{$columns{$type}};
	my ($bytes, $at) = ($self->bytes($name), 0);
	my ($count, $rows) = map { varint(\$bytes, \$at) } 1 .. 2;
	die "$name has $count columns" if $count != @names;
	my @widths = unpack "x$at C$count", $bytes;
	$at += $count;
	my %table;
	for my $column (@names) {
		my @numbers = (0) x $rows;
		for my $i (0 .. shift(@widths) - 1) {
			my $row = 0;
			$numbers[$row++] |= $_ << 8 * $i for unpack "x$at C$rows", $bytes;
			$at += $rows;
		}
		@numbers = map { $_ & 1 ? -(($_ + 1) >> 1) : $_ >> 1 } @numbers if $signed{"$type.$column"};
		$table{$column} = \@numbers;
	}
	die "$name is of another length" if $at != length $bytes;
	return \%table;
}

# What @code stands for, by @key, where @memory has the last two.
sub recent {
	my ($memory, $key, $code) = @_;
	my $pair = $memory->{$key} //= [];
	@$pair = ($code - 2, $pair->[0]) if $code > 1;
	@$pair = reverse @$pair if $code == 1;
	return $pair->[0];
}

# Calls @each with {thread, ...} for every row of the recording's chunks of a type, with times.
sub rows {
	my ($self, $recording, $type, $each) = @_;
	my (%next, %wakers);
	for my $chunk (grep { $_->{type} eq $type } @{$recording->{chunks}}) {
		my $table = $self->table($chunk->{block});
		my $row = 0;
		for my $run (@{$chunk->{runs}}) {
			my ($thread, $count) = @$run;
			my ($time, $stack) = (0, 0);
			for (1 .. $count) {
				my %row = (thread => $thread, map { $_ => $table->{$_}[$row] } keys %$table);
				$row{time} = $time += $row{gap};
				if ($type eq 'intervals') {
					$row{stack} = $stack = recent(\%next, $stack, $row{stack});
					$row{waker_stack} = recent(\%wakers, $stack, $row{waker_stack});
				}
				$time += $row{blocked} + $row{runq} if $type eq 'intervals';
				$each->(\%row);
				$row++;
			}
		}
		die "$chunk->{block} has other rows" if $row != @{$table->{stack}};
	}
}

# Nanoseconds by tid and class, as rows stand for them.
sub times {
	my ($self, $recording) = @_;
	my %ns;
	my $add = sub {
		my ($row, $class, $ns) = @_;
		$ns{"$recording->{threads}[$row->{thread}]{tid} $class"} += $ns;
	};
	my $points = sub {
		my ($row, $class, $points) = @_;
		my $factor = $recording->{threads}[$row->{thread}]{factor}[$class];
		return int($points * $recording->{period_ns} * $factor + 0.5);
	};
	my $trace = $recording->{mode} eq 'trace';
	$self->rows($recording, 'samples', sub { $add->($_[0], 0, $points->($_[0], 0, $_[0]{points})) });
	$self->rows($recording, 'intervals', sub {
		my ($row) = @_;
		my $class = $recording->{waits}[$row->{wait}]{class};
		$add->($row, $class, $trace ? $row->{blocked} : $points->($row, $class, $row->{blocked_points}));
		$add->($row, 3, $trace ? $row->{runq} : $points->($row, 3, $row->{runq_points}));
	});
	delete $ns{$_} for grep { !$ns{$_} } keys %ns;
	return \%ns;
}

1;
