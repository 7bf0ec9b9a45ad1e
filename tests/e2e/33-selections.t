#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A selection that has nothing in the recording fails in every view, and says what there is. One that
# has threads whose samples are of other classes is an answer.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

my @views = (['report'], ['report', '--json'], ['waits'], ['waits', '--json'], ['waits', '--dot'], ['script'],
	['script', '--json'], ['script', '--folded'],
	map { ['export', '-f', $_, '-o', "$DIR/none.$_"] } qw(folded firefox perfetto sqlite otlp pprof speedscope));

# A thread of the command from its start, and one later: named by its argument.
is(record(['-o', 'two.data'], 'sh', '-c', 'sleep 0.4; exec sleep 0.6')->{status}, 0, 'recorded');
my $report = report('-i', 'two.data');
my ($shell) = map { $_->{pid} } grep { $_->{comm} eq 'sleep' && $_->{tid} == $_->{pid} } @{$report->{threads}};

sub refuses {
	my ($what, $message, $hint, @selection) = @_;
	for my $view (@views) {
		my $got = run($DWELL, @$view, '-i', 'two.data', @selection);
		is($got->{status}, 1, "$what: @$view fails");
		like($got->{err}, $message, "$what: @$view says so");
		like($got->{err}, $hint, "$what: @$view says what there is");
		is($got->{out}, '', "$what: @$view prints nothing");
		ok(!-e "$DIR/none.$view->[2]", "$what: @$view writes nothing") if $view->[0] eq 'export';
	}
}

my $processes = qr/^  it has these processes: .*sleep \(\d+\)/m;
my $times = qr/^  they were recorded from [\d.]+ \w?s to [\d.]+ m?s after its start/m;
refuses('a name', qr/^dwell: the recording has no thread for --comm nosuch,other$/m, $processes, '--comm', 'nosuch,other');
refuses('a process', qr/^dwell: the recording has no thread for --pid 999999999$/m, $processes, '--pid', 999999999);
refuses('a thread of another name', qr/^dwell: the recording has no thread for --comm nosuch --tid $shell$/m, $processes,
	'--comm', 'nosuch', '--tid', $shell);
refuses('behind the end', qr/^dwell: --time begins after the end of the recording, which took [\d.]+ m?s$/m, $times,
	'--time', '100,');
refuses('before the name', qr/^dwell: the selected threads were not there in that time$/m, $times,
	'--comm', 'sleep', '--time', '0,0.0001');

# One of several names is enough; so are threads without samples of a class.
for my $selection (['--comm', 'nosuch,sleep'], ['--comm', 'sleep', '--time', '0.7,100'], ['--class', 'io', '--comm', 'sleep']) {
	for my $view (@views) {
		next if $view->[0] eq 'waits' && $selection->[0] eq '--class';
		is(run($DWELL, @$view, '-i', 'two.data', @$selection)->{status}, 0, "@$view @$selection");
	}
}

done_testing;
