#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A process that has the pid of an earlier one has its calls recorded, too.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_root();
need_recording();
need_command('unshare');
plan skip_all => 'dwell-cc is for x86-64' if qx(uname -m) ne "x86_64\n";

my $root = dirname(dirname($FindBin::Bin));
is(run(dirname($DWELL) . '/dwell-cc', '-O2', '-g', '-fdwell-min-size=0', '-D_GNU_SOURCE', '-o', 'reused',
	"$root/tests/calls/reused.c")->{status}, 0, 'a program is built');
my @inside = qw(unshare --pid --fork --mount-proc --mount);
if (run(@inside, './reused', 0)->{status} == 3) {
	pass('the kernel does not let a pid be chosen');
	done_testing();
	exit;
}

# How many of the calls were seen of each process. They are more until some are, of both: on a busy
# machine the scanner may learn of a process late.
my ($got, %seen);
for my $calls (500, 1000, 2000, 4000) {
	$got = run({seconds => 120}, @inside, $DWELL, 'latency', 'run', '-o', 'r.data', '--', './reused', $calls);
	my $report = decode(run($DWELL, 'latency', 'report', '--functions', 0, '--json', '-i', 'r.data')->{out});
	%seen = map { $_->{name} => $_->{calls} } @{$report->{functions} // []};
	last if $seen{in_first} && $seen{in_second};
}
is($got->{status}, 0, 'and recorded') or diag($got->{err});
cmp_ok($seen{$_} // 0, '>', 0, "$_: calls are seen") for qw(in_first in_second);

done_testing();
