#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A recorder of processes that come and go keeps few files open, and does not
# grow; what it has closed has names all the same. DWELL_TEST_FULL: for longer,
# and with memory, which the least things need some time to fill.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

my $thousands = full(40, 2);
my $pid = start({name => 'churn'}, $DWELL, 'record', '--wakers', 'none', '--table-memory', 1,
	'-o', 'churn.data', '--', program('churn'), '--processes', $thousands * 1000, '--folder', $DIR);

# Descriptors and private memory (KiB) of the recorder, after each thousand.
my (%fds, %memory);
wait_for(60 * $thousands, sub {
	my @done = slurp("$DIR/churn.out") =~ /^(\d+)$/mg;
	if (@done && !$fds{$done[-1]}) {
		my @open = glob("/proc/$pid/fd/*");
		my ($kib) = slurp("/proc/$pid/status") =~ /^RssAnon:\s+(\d+)/m;
		($fds{$done[-1]}, $memory{$done[-1]}) = (scalar(@open), $kib) if @open;
	}
	return !is_running($pid);
});
my $got = finish($pid);
is($got->{status}, 0, 'recorded processes that come and go') or diag $got->{err};
my $truth = decode((split /\n/, $got->{out})[-1]);
is($truth->{processes}, $thousands * 1000, 'all of them ended well');

# The first thousand fills what is kept of those that have ended.
my @at = sort { $a <=> $b } keys %fds;
diag join ', ', map { "$_: $fds{$_} descriptors, $memory{$_} KiB" } @at;
cmp_ok(scalar @at, '>=', 2, 'looked at the recorder while it ran');
cmp_ok($fds{$at[-1]}, '<=', $fds{$at[0]} + 80, 'descriptors do not grow');
cmp_ok($fds{$at[-1]}, '<=', 400, 'and are not many');
if (full(1, 0)) {
	my ($middle) = grep { $_ >= $at[-1] / 2 } @at;
	cmp_ok($memory{$at[-1]}, '<=', $memory{$middle} + 2048, 'nor does memory');
}

# Each copy of the program was removed when it had ended, and the most of them are closed.
my (%symbols, %copies);
for my $event (events('-i', 'churn.data')) {
	next unless $event->{event} eq 'sample' && ($event->{comm} // '') =~ /^churn-/;
	my @frames = @{$event->{frames}}; # pairs of symbol and file
	for my $i (grep { ($frames[2 * $_ + 1] // '') =~ /(churn-\d+)$/ } 0 .. $#frames / 2) {
		$copies{$frames[2 * $i + 1]} = 1;
		$symbols{$frames[2 * $i] // 'none'}++;
	}
}
cmp_ok(scalar keys %copies, '>', 50, 'samples of many copies');
cmp_ok($symbols{compute}, '>', 50, 'which compute');
ok(!$symbols{none}, 'all of their code has names') or diag explain \%symbols;
my $report = report('-i', 'churn.data');
ok(!grep({ /without names/ } keys %{$report->{lost}}), 'no file was lost: they are all the same');

done_testing;
