#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Inside a PID namespace, as in a container, dwell records by the pids that its user
# sees there; from outside, by those of the initial namespace.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();
need_command('unshare');

my @inside = qw(unshare --pid --fork --mount-proc --mount);

sub threads_named {
	my ($report, $name) = @_;
	return grep { $_->{comm} eq $name } @{$report->{threads}};
}

# Which of the samples' user stacks reach the function that the program is in.
sub share_below_main {
	my ($file) = @_;
	my @stacks = grep { $_->{frames} && "@{$_->{frames}}" =~ /figure1/ } events('-i', $file);
	my @whole = grep { "@{$_->{frames}}" =~ /\bmain\b|start_thread/ } @stacks;
	return @stacks ? @whole / @stacks : 0;
}

# A command.
my $got = run({seconds => 60}, @inside, $DWELL, 'record', '-o', 'command.data', '--',
	program('figure1'), '--case', '1', '--seconds', '1');
is($got->{status}, 0, 'a command is recorded');
my $truth = decode($got->{out});
cmp_ok($truth->{pid}, '<', 100, 'in a namespace of its own');
my $report = report('-i', 'command.data');
my @threads = threads_named($report, 'T1');
is($threads[0]{pid}, $truth->{pid}, 'by the pid that it has there');
is($threads[0]{tid}, $truth->{threads}[0]{tid}, 'and the tid');
cmp_ok(weight_of($report), '>', 0, 'there are samples');
cmp_ok(share_below_main('command.data'), '>', 0.9, 'and their stacks are whole');

# A process that runs there already, with its threads.
my $begin = program('figure1') . ' --case 1 --seconds 50 >truth & pid=$!;'
	. ' until grep -qs T1 /proc/$pid/task/*/comm; do sleep 0.1; done;';
my $script = "$begin $DWELL record -o process.data --duration 1.5 " . '-p $pid; kill $pid; echo $pid';
$got = run({seconds => 60}, @inside, 'sh', '-c', $script);
$report = report('-i', 'process.data');
my ($pid) = $got->{out} =~ /(\d+)/;
is_deeply([map { $_->{pid} } @{$report->{threads}}], [($pid) x @{$report->{threads}}],
	'-p takes the pid that the user sees');
is(scalar(threads_named($report, 'T1')), 1, 'its threads are there');
cmp_ok(share_below_main('process.data'), '>', 0.9, 'with whole stacks');

# All of the namespace: nothing of the machine outside but what woke something in it.
$script = "$begin $DWELL record -o all.data --duration 2 -a; " . 'kill $pid';
run({seconds => 60}, @inside, 'sh', '-c', $script);
$report = report('-i', 'all.data');
is(scalar(threads_named($report, 'T1')), 1, '-a records what runs there');

# From outside, by the pid that the process has there.
my $namespace = start(@inside, program('figure1'), '--case', '1', '--seconds', '6', '--ready', "$DIR/started");
my $outer;
wait_for(180, sub { -s 'started' }) or BAIL_OUT('the program does not start');
wait_for(180, sub {
	my ($child) = split ' ', slurp("/proc/$namespace/task/$namespace/children");
	$outer = $child if $child && slurp("/proc/$child/comm") =~ /^figure1/;
}) or BAIL_OUT('the program does not start');
is(record(['-o', 'outside.data', '-p', $outer, '--duration', '1.5'])->{status}, 0,
	'recorded from outside');
finish($namespace);
$report = report('-i', 'outside.data');
@threads = threads_named($report, 'T1');
is($threads[0]{pid}, $outer, 'by the pid outside');
cmp_ok(share_below_main('outside.data'), '>', 0.9, 'with whole stacks');

# A namespace whose /proc shows another one.
$got = run({seconds => 30}, 'unshare', '--pid', '--fork', $DWELL, 'record', '-o', 'none.data', '--',
	'true');
isnt($got->{status}, 0, 'without a /proc of its own');
like($got->{err}, qr{/proc does not show .* mount -t proc}s, 'the message says how to get one');

done_testing;
