#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Wrong input: one clear message, a status that is not 0, no crash, no empty
# report that looks like a result.
use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_dwell();

spew('empty', '');
spew('random', join '', map { chr(int rand 256) } 1 .. 5000);
spew('text', "a text file\n" x 100);
spew('perf.data', 'PERFILE2' . "\0" x 200);
spew('zeros', "\0" x 5000);
spew('gzip', "\x1f\x8b\x08\0" . "\0" x 100);
mkdir 'directory';

# Runs it and judges the manners of its failure.
sub fails {
	my ($name, $expected, @command) = @_;
	my $got = run({seconds => 30}, @command);
	is($got->{signal}, 0, "$name: no crash");
	isnt($got->{status}, 0, "$name: fails");
	like($got->{err}, $expected, "$name: says why");
	cmp_ok(scalar(split /\n/, $got->{err}), '<=', 4, "$name: in a few lines");
	is($got->{out}, '', "$name: prints no result");
}

for my $command ('report', 'script') {
	fails("$command of a missing file", qr/missing\.data/, $DWELL, $command, '-i', 'missing.data');
	fails("$command of a directory", qr/directory/, $DWELL, $command, '-i', 'directory');
	fails("$command of an empty file", qr/empty/, $DWELL, $command, '-i', 'empty');
	fails("$command of $_", qr/\Q$_\E/, $DWELL, $command, '-i', $_)
		for qw(random text zeros gzip);
	fails("$command of perf.data", qr/perf/, $DWELL, $command, '-i', 'perf.data');
	fails("$command without a recording", qr/dwell\.data/, $DWELL, $command);
	fails("$command with an unknown option", qr/--no-such-option/, $DWELL, $command,
		'--no-such-option');
}
fails('script with reasons', qr/option of dwell report/, $DWELL, 'script', '--idle=why');
fails('report with an unknown way of idle', qr/neither show, hide nor why/, $DWELL, 'report', '--idle=nonsense');
fails('report with an unknown sort key', qr/nonsense/, $DWELL, 'report', '--sort', 'nonsense');

fails('record of nothing', qr/nothing|command/i, $DWELL, 'record');
fails('record of an unknown process', qr/4194303/, $DWELL, 'record', '-p', 4194303);
fails('record of an unknown thread', qr/4194303/, $DWELL, 'record', '-t', 4194303);
fails('record of no number', qr/12x/, $DWELL, 'record', '-p', '12x');
fails('record of process 0', qr/0/, $DWELL, 'record', '-p', 0);
fails('record of an unknown cgroup', qr/no-such-group/, $DWELL, 'record', '--cgroup', '/no-such-group');
fails('record with two targets', qr/-a/, $DWELL, 'record', '-a', '-p', 1);
fails('record of a process of two that is unknown', qr/4194303/, $DWELL, 'record', '-p', $$, '-p', 4194303);
fails('a second file', qr/--output: was given before, as 'a.data'/, $DWELL, 'record', '-o', 'a.data', '-o', 'b.data', 'true');
fails('a second process of a path', qr/--pid: was given before/, $DWELL, 'path', '-p', $$, '-p', getppid());
fails('record with an unknown option', qr/--no-such-option/, $DWELL, 'record', '--no-such-option',
	'--', 'true');
fails("record with period $_", qr/period|frequency|-c|-F/, $DWELL, 'record', '-c', $_, '--', 'true')
	for '0', '-5', '9999999999', 'fast', '1';
fails("record with a wait limit of $_", qr/wait-limit/, $DWELL, 'record', '--wait-limit', $_, '--',
	'true') for '-1', '1000001', '18446744073709551615', 'few';
fails("record for $_", qr/\Q$_\E/, $DWELL, 'record', '--duration', $_, '--', 'true')
	for 'soon', '-1', '1y';
fails('record into a missing directory', qr{no/such}, $DWELL, 'record', '-o', 'no/such/file', '--',
	'true');
my $bare = run($DWELL);
isnt($bare->{status}, 0, 'no command: fails');
like($bare->{err}, qr/usage.*record.*report/s, 'no command: says which there are');
fails('an unknown command', qr/no-such-command/, $DWELL, 'no-such-command');

# Help is no failure, and goes to standard output.
for my $command ([], ['record'], ['report'], ['script']) {
	my $got = run($DWELL, @$command, '--help');
	is($got->{status}, 0, "@$command --help");
	like($got->{out}, qr/usage/i, "@$command --help prints it");
}
like(run($DWELL, '--version')->{out}, qr/\d+\.\d+/, '--version');

# A closed pipe ends the output, without a message.
SKIP: {
	skip 'no recording', 1 unless run($DWELL, 'record', '-o', 'ok.data', '--', 'sleep', '0.1')->{status} == 0;
	my $got = run('sh', '-c', "$DWELL script -i ok.data | head -n 1 > first; :");
	unlike($got->{err}, qr/pipe|cannot/i, 'a closed pipe is no error');
}

# Without privileges: which ones are missing, and how to get them.
SKIP: {
	skip 'needs root, to give it up', 6 if $>;
	skip 'setpriv is not installed', 6 unless run('setpriv', '--version')->{status} == 0;
	mkdir 'open' and chmod 0777, 'open', '.';
	my @nobody = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups');
	my $readable = run(@nobody, $DWELL, '--version');
	skip 'dwell is not readable for others here', 6 if $readable->{status};
	my $self = abs_path($DWELL);
	fails('record without privileges', qr/needs CAP_BPF .* sudo setcap \S+ \Q$self\E$/ms, @nobody, $DWELL,
		'record', '-o', 'open/x.data', '--', 'true');
	is(-e 'open/x.data' ? 1 : 0, 0, 'no recording is left behind');
}

done_testing;
