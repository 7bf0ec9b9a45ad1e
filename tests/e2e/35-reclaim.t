#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Who runs to free memory: a program that reads a file over and over reclaims memory if its control group may have
# less than the file has, and does not if it may have all of it. report and path tell it from other running time.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Groups;
use Statistics;
use Test::More;

need_recording();
my ($top, $version) = Groups::top('memory');
plan skip_all => 'no control groups for memory' if !$top;
my $limit = $version == 1 ? 'memory.limit_in_bytes' : 'memory.max';
my $inside = 'echo $$ >"$0" && exec "$@"';
my $reader = 'open my $file, "<", shift or die; sysseek $file, 0, 0 while $rounds++ < 60 && do { 1 while sysread $file, my $data, 1 << 20; 1 }';

# Records the reader in a group of that many MiB; returns the samples of its running time by kind, and the report.
sub kinds_of {
	my ($name, $size, $file) = @_;
	my $group = Groups::make($top, $name);
	plan skip_all => 'cannot limit the memory of a control group' if !$group || !Groups::set("$group/$limit", $size << 20);
	my $got = record(['--trace', '-o', "$name.data"], 'sh', '-c', $inside, "$group/cgroup.procs", $^X, '-e', $reader, $file);
	is($got->{status}, 0, "$name: recorded");
	my $report = report('-i', "$name.data", '--comm', 'perl', '--class', 'cpu', '--sort', 'kind');
	return ({map { $_->{kind} => $_->{weight} } @{$report->{rows}}}, $report);
}

# New files are in no group's memory until they are read: their data went around the page cache.
for my $file ('large', 'small') {
	is(run('dd', 'if=/dev/urandom', "of=$file", 'bs=1M', 'count=96', 'oflag=direct')->{status}, 0, "the $file group has a file");
}
my ($hot) = kinds_of('large', 256, 'large');
is($hot->{'reclaiming memory'} // 0, 0, 'enough memory: none is reclaimed') or diag explain $hot;
my ($kinds, $report) = kinds_of('small', 32, 'small');
my $points = $kinds->{'reclaiming memory'} // 0;
cmp_ok($points, '>=', 20, 'too little memory: it is reclaimed') or diag explain $kinds;

my ($perl) = grep { $_->{comm} eq 'perl' } @{$report->{threads}};
my $ns = decode(run($DWELL, 'path', '--json', '-i', 'small.data', '--of', $perl->{tid})->{out})->{categories};
my $memory = $ns->{memory_ns} + $ns->{memory_estimated_ns};
my $running = $memory + $ns->{running_ns} + $ns->{estimated_ns};
cmp_ok($ns->{memory_ns}, '>', 0, 'path: in functions seen');
# Of the same thread's runs: the account's share has the error of the samples, and that of runs being one or the other.
my ($share, $n) = ($points / ($points + $kinds->{running}), $points + $kinds->{running});
near($memory / $running, $share, 4.9 * sqrt(2 * $share * (1 - $share) / $n), sprintf('path: its share is that of %d samples', $n)) or diag explain $ns;
like(run($DWELL, 'path', '-i', 'small.data', '--of', $perl->{tid})->{out}, qr/^#   reclaiming memory +\d/m, 'path says it');

done_testing();
