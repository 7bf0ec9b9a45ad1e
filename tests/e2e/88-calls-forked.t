#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A child that another thread than the first has forked has its calls recorded.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();
plan skip_all => 'dwell-cc is for x86-64' if qx(uname -m) ne "x86_64\n";

my $root = dirname(dirname($FindBin::Bin));
is(run(dirname($DWELL) . '/dwell-cc', '-O2', '-g', '-fdwell-min-size=0', '-D_GNU_SOURCE', '-o', 'forked',
	"$root/tests/calls/forked.c", '-lpthread')->{status}, 0, 'a program is built');
my $calls = 500;
my $got = run({seconds => 120}, $DWELL, 'latency', 'run', '-o', 'f.data', '--', './forked', $calls);
is($got->{status}, 0, 'and recorded') or diag($got->{err});
my $report = decode(run($DWELL, 'latency', 'report', '--functions', 0, '--json', '-i', 'f.data')->{out});
my ($function) = grep { $_->{name} eq 'in_child' } @{$report->{functions}};
# The scanner may find the child late, or lose its CPU: then there may be as many.
cmp_ok($function->{calls_high} // 0, '>', $calls / 2, 'calls of the child are seen');
my $width = ($function->{calls_high} // 0) - ($function->{calls_low} // 0);
cmp_ok(($function->{calls_low} // 0) - 0.75 * $width, '<=', $calls, 'and not more than there were');

done_testing();
