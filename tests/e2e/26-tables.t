#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Unwind tables are bounded: those of programs that have ended make room for new
# ones, whose stacks are as whole as ever; what finds no room is told.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use File::Copy;
use Test::More;

need_recording();

# Static programs: each brings a table of some 80 KiB, together more than is allowed.
my @copies = map { "$DIR/copy$_" } 1 .. 20;
for (@copies) {
	copy(program('chains-static'), $_) or die "$_: $!\n";
	chmod 0755, $_;
}

# How many stacks each program has, and how many of them are whole.
sub count_stacks {
	my (%stacks, %whole);
	for my $event (events('-i', 'tables.data')) {
		next unless $event->{stack_end} && $event->{comm} ne 'sh';
		my ($file) = grep { defined && m{/copy\d} } @{$event->{frames}} or next;
		$stacks{$file}++;
		$whole{$file} += $event->{stack_end} eq 'complete';
	}
	return (\%stacks, \%whole);
}

# On a busy machine it takes longer until a new program has its table: then a longer run is tried.
# Tables of other programs, which wake a recorded thread, may find no room.
my ($got, $most, $dropped, $refused, $stacks, $whole);
for my $seconds (0.4, 1, 2, 4, 4) {
	my $run = join '; ', map { "$_ --seconds $seconds >$_.out" } @copies;
	$got = run({seconds => 120}, $DWELL, 'record', '-v', '--wakers', 'none', '--table-memory', 1,
		'-o', 'tables.data', '--', 'sh', '-c', $run);
	($most, $dropped, $refused) =
		$got->{err} =~ /at most ([\d.]+) MiB; (\d+) dropped, \d+ did not fit, (\d+) of them/;
	($stacks, $whole) = count_stacks();
	last if $got->{status} || !$refused && !grep { $whole->{$_} < 0.995 * $stacks->{$_} } keys %$stacks;
}
is($got->{status}, 0, 'recorded with little memory for tables');
cmp_ok($most, '<=', 1, 'never more than was given');
cmp_ok($dropped, '>=', 3, 'tables of programs that ended were dropped');
is($refused, 0, 'so there was room for all');
is(keys %$stacks, @copies, 'every program is there');
for my $file (sort keys %$stacks) {
	my $percent = 100 * $whole->{$file} / $stacks->{$file};
	cmp_ok($percent, '>=', 99.5, sprintf('%s: %.1f%% of %d stacks are whole', $file =~ s{.*/}{}r,
		$percent, $stacks->{$file}));
}

# All at once there is no room for the last, until the others have ended.
my $together = join '', map { "$_ --seconds 0.5 >$_.out & others=\"\$others \$!\"; " } @copies[0 .. $#copies - 1];
$got = run({seconds => 120}, $DWELL, 'record', '--wakers', 'none', '--table-memory', 1, '-o', 'late.data', '--', 'sh', '-c',
	"$together sleep 0.2; $copies[-1] --seconds 100 >$copies[-1].out & wait \$others; sleep 3; kill \$!");
is($got->{status}, 0, 'recorded more at a time than there is room for');
my ($over, @last) = (0);
for my $event (events('-i', 'late.data')) {
	next unless $event->{stack_end};
	my ($file) = grep { defined && m{/copy\d} } @{$event->{frames}} or next;
	push @last, $event if $file =~ /copy20/;
	$over = $event->{time_ns} if $file !~ /copy20/ && $event->{time_ns} > $over;
}
my @late = grep { $_->{time_ns} > $over + 1e9 } @last;
my $late_whole = grep { $_->{stack_end} eq 'complete' } @late;
cmp_ok(scalar @late, '>', 50, 'the last runs on when the others have ended');
cmp_ok($late_whole, '>=', 0.9 * @late, "$late_whole of " . @late . ' of its stacks are whole then');

# A library that is larger than all that is allowed (LLVM's: 6 MiB).
my ($clang) = grep { -x } map { "$_/clang" } split /:/, $ENV{PATH};
SKIP: {
	skip('clang is not installed', 2) unless $clang;
	$got = record(['--wakers', 'none', '--table-memory', 1, '-o', 'large.data'], 'sh', '-c', "$clang --version >/dev/null");
	is($got->{status}, 0, 'recorded with too little memory');
	my $report = report('-i', 'large.data');
	cmp_ok($report->{lost}{'unwind tables, table memory used up'} // 0, '>=', 1,
		'what found no room is counted');
}

for my $amount (0, 1000000) {
	my $bad = run($DWELL, 'record', '--table-memory', $amount, '--', 'true');
	is($bad->{status}, 2, "$amount MiB are refused");
	like($bad->{err}, qr/--table-memory must be between 1 and 65536 MiB/, 'with a reason');
}

done_testing;
