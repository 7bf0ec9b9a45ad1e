#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# dwell record: where the recording goes, what exit status comes back, and that
# it can be ended at any time and still be read.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

my $signals = program('signals');

# The exit status is the command's own.
for my $status (0, 1, 3, 99) {
	my $got = record(['-o', "status$status.data"], $signals, '--exit', $status);
	is($got->{status}, $status, "exit status $status is passed on");
	my $said = $status ? qr/^# duration +: \S+ \S+, exit status $status$/m : qr/^# duration +: \S+ \S+$/m;
	like(run($DWELL, 'report', '-i', "status$status.data")->{out}, $said, 'and is in the report');
}
for my $number (9, 15) {
	my $got = run($DWELL, 'record', '-o', "killed$number.data", '--', $signals, '--kill', $number);
	is($got->{status}, 128 + $number, "a command ended by signal $number: 128 + $number");
	like(run($DWELL, 'report', '-i', "killed$number.data")->{out}, qr/, exit status @{[128 + $number]}$/m,
		'in the report, too');
}

# A command that cannot be started.
my $got = run($DWELL, 'record', '-o', 'none.data', '--', './no-such-command');
is($got->{status}, 127, 'a command that does not exist: 127');
like($got->{err}, qr/no-such-command/, 'the message names it');
spew('plain', "text\n");
$got = run($DWELL, 'record', '-o', 'none.data', '--', './plain');
is($got->{status}, 126, 'a file that is not executable: 126');
like($got->{err}, qr/plain/, 'the message names it');
ok(!-e 'none.data', 'and there is no recording');

# Where the recording goes.
my @computes = ($^X, '-e', 'my $end = times + 0.3; 1 while times < $end');
$got = record([], @computes);
is($got->{status}, 0, 'recording without -o');
ok(-s 'dwell.data', 'goes to dwell.data');
ok(!-e 'dwell.data.old', 'nothing is there to be kept');
my $first = slurp('dwell.data');
record([], @computes);
ok(-s 'dwell.data.old', 'the next one keeps it as dwell.data.old');
is(slurp('dwell.data.old'), $first, 'unchanged');
my ($second, @names) = (slurp('dwell.data'), sort glob '.* *');

# What has no sample does not replace a recording that may have some.
sub unchanged { return slurp('dwell.data') eq $second && slurp('dwell.data.old') eq $first }

# Runs it until no sampling point lies in its time: one in a second lies anywhere.
sub run_without_sample {
	for (1 .. 50) {
		my $result = run(@_);
		return $result if $result->{err} =~ /nothing was sampled/;
		spew('dwell.data', $second);
		spew('dwell.data.old', $first);
	}
	return {status => 'sampled', err => ''};
}

for my $round (1, 2) {
	is(run($DWELL, 'record', './typo')->{status}, 127, "a mistake, time $round");
	ok(unchanged(), 'both recordings are as they were');
}
my $nowhere = run($DWELL, 'record', '-o', '/dev/null', '--', 'sleep', '0.1');
is("$nowhere->{status} $nowhere->{err}", '0 ', 'a device swallows a recording, with its names');
my $nothing = run_without_sample($DWELL, 'record', '-c', 1000000, '--', 'true');
is($nothing->{status}, 0, 'a command that is too short for a sample');
like($nothing->{err}, qr/nothing was sampled: dwell\.data is left as it was.*\n  .*-c/, 'is said to be');
ok(unchanged(), 'both recordings are as they were');
$nothing = run_without_sample($DWELL, 'record', '-c', 1000000, '--duration', '0.01', '-p', $$);
is($nothing->{status}, 1, 'of a process that was attached to: it fails');
ok(unchanged(), 'both recordings are as they were');
is_deeply([sort glob '.* *'], \@names, 'and nothing else is left there');
is(run($DWELL, 'report', '-i', $_)->{status}, 0, "$_ can be read")
	for 'dwell.data', 'dwell.data.old';
is($got->{out}, '', 'nothing is printed on standard output');

# Period and frequency say the same.
my %period = ('-c 250' => 250000, '-F 4000' => 250000, '-c 2000' => 2000000, '' => 1000000);
for my $options (sort keys %period) {
	record(['-o', 'period.data', split ' ', $options], $signals, '--seconds', 1);
	my $report = report('-i', 'period.data');
	is($report->{period_ns}, $period{$options}, "period with '$options'");
	like(ref $report->{command} ? "@{$report->{command}}" : $report->{command}, qr/signals/,
		'the command is in the report');
}

# The recorder itself is not recorded.
my $report = report('-i', 'period.data');
ok(scalar(@{$report->{threads}}) > 0, 'there are threads');
is(scalar(grep { $_->{comm} eq 'dwell' && $_->{cpu_ns} > 5e6 } @{$report->{threads}}), 0,
	'dwell itself is none of them');

# --duration ends the recording, not the command.
$got = record(['-o', 'brief.data', '--duration', '0.5'], $signals, '--seconds', 3);
is($got->{status}, 0, '--duration');
ok($got->{truth}{rounds}, 'the command runs to its end');
$report = report('-i', 'brief.data');
cmp_ok($report->{duration_ns}, '<', 1.5e9, 'the recording is shorter than the run of 3 s');

# SIGINT and SIGTERM to the recorder reach the command, and the recording is whole.
for my $case (['INT', 130, 'pause'], ['TERM', 0, 'pipe']) {
	my ($signal, $status, $where) = @$case;
	my $pid = start({name => "end$signal"}, $DWELL, 'record', '-o', "$signal.data", '--',
		program('hang'), '--in', $where, '--ready', "ready.$signal");
	ok(wait_for(180, sub { -s "ready.$signal" }), "the command runs, then SIG$signal comes");
	sleep 0.5;
	my $end = stop($pid, $signal);
	is($end->{status}, $status, "SIG$signal ends command and recorder");
	my $report = report('-i', "$signal.data");
	ok(weight_of($report, comm => 'hang', class => 'other') > 100,
		'the recording has the waiting up to then');
}

done_testing;
