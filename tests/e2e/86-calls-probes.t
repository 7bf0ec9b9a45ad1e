#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Functions of programs that were not built by dwell-cc, measured by probes: all calls are there, as long
# as the program found them; exceptions and longjmp() pass; what probes cost is limited.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(sum0);
use Test::More;

need_recording();
plan skip_all => 'probes are for x86-64' if qx(uname -m) ne "x86_64\n";

my $root = dirname(dirname($FindBin::Bin));
my $calls = "$root/tests/calls";

sub build {
	my ($compiler, @flags) = @_;
	is(run($compiler, '-g', "-I$root", '-D_GNU_SOURCE', @flags)->{status}, 0, "built: $compiler @flags");
}

sub measure {
	my ($options, @command) = @_;
	my $got = run({seconds => 90}, $DWELL, 'latency', 'run', '-o', 'p.data', @$options, '--', @command);
	is($got->{status}, 0, "recorded: @$options @command") or diag $got->{err};
	my $report = decode(run($DWELL, 'latency', 'report', '--functions', 0, '--json', '-i', 'p.data')->{out});
	$report->{stdout} = $got->{out};
	$report->{stderr} = $got->{err};
	return $report;
}

# Calls of a function from all its callers.
sub calls_of {
	my ($report, $name) = @_;
	my $sum = 0;
	$sum += $_->{calls} for grep { $_->{name} =~ /^\Q$name\E(\(|$)/ } @{$report->{functions}};
	return $sum;
}

sub lengths_of {
	my @lengths = sort { $a <=> $b } split /\n/, slurp(shift);
	return @lengths;
}

# Told lengths are those that the function measured, and what calling it takes: quantiles lie between
# those of the function's at near places, as the end may be interrupted outside of what it measures.
sub check_quantiles {
	my ($report, $name) = @_;
	my ($function) = grep { $_->{name} eq $name } @{$report->{functions}};
	ok($function && $function->{probed}, "$name is there") or return;
	my @own = lengths_of($name);
	is($function->{calls}, @own, "$name: all calls");
	is($function->{caller}, $name eq 'take' ? 'serve' : 'main', 'and who calls it');
	for ([p50_ns => 0.5], [p90_ns => 0.9], [p99_ns => 0.99]) {
		my ($key, $p) = @$_;
		my $low = $own[int((($p - 0.01) * @own))];
		my $high = $own[int((($p + 0.009) * @own))];
		my $told = $function->{$key} // 0; # not known, as it is as short as what a probe takes
		cmp_ok($told, '>=', 0.97 * $low - 1000, "$name: $key is not less");
		cmp_ok($told, '<=', 1.03 * $high + 3000, 'and not more');
	}
}

build('gcc', '-O2', '-o', 'measured', "$calls/measured.c", '-lpthread');
my $report;
my $contended;
for (1 .. 5) { # until somebody had to wait for the lock for some time
	$report = measure([qw(--limit 0 --function), 'steady,bimodal,heavy,take,hold_long'], './measured', 2);
	my ($take) = grep { $_->{name} eq 'take' } @{$report->{functions}};
	$contended = $take && $take->{slow}{lock_ns} > 1e6 ? $take : undef;
	last if $contended;
}
check_quantiles($report, $_) for qw(steady bimodal heavy take);
ok($contended, 'a lock was waited for') and is($contended->{slow}{holders}[0]{function}, 'hold_long', 'its holder is named');
my %probes = map { $_->{name} => $_ } @{$report->{probes}};
is($probes{steady}{calls}, scalar(my @all = lengths_of('steady')), 'calls are counted where the probes are');
cmp_ok($probes{steady}{cost_ns} / $probes{steady}{calls}, '>', 200, 'and their cost is told');
is($probes{steady}{set_share}, 1, 'they were set all the time');

# Thinned out: the estimate of all calls. It is uncertain, so it may take several recordings.
my $estimated;
for (1 .. 6) {
	$report = measure([qw(--limit 1 --function), 'steady'], './measured', 4);
	my ($steady) = grep { $_->{name} eq 'steady' } @{$report->{functions}};
	my ($probe) = @{$report->{probes}};
	my $own = () = lengths_of('steady');
	next if !$steady || $probe->{set_share} > 0.8;
	$estimated = $steady->{calls} / $own;
	diag sprintf('%.0f calls of %d told', $steady->{calls}, $own);
	last if $estimated > 0.75 && $estimated < 1.33;
}
ok($estimated, 'expensive probes are thinned out');
ok($estimated && $estimated > 0.75 && $estimated < 1.33, 'and the calls that were missed are estimated');

# Calls that take longer than the probes are set at a time: they are there, with their own lengths, not with
# the start of an earlier one, and stand for as many as there were. These are few, so that only the order of
# magnitude is certain, and there may be none.
build('gcc', '-O2', '-o', 'naps', "$calls/naps.c");
my ($nap, $longest);
for (1 .. 8) { # about three in a recording
	$report = measure([qw(--limit 20 --function), 'nap'], './naps', 10);
	(undef, $longest) = split ' ', $report->{stdout};
	($nap) = grep { $_->{name} eq 'nap' } @{$report->{functions}};
	last if $nap->{max_ns} > 140e6;
}
cmp_ok($report->{probes}[0]{set_share}, '<', 0.8, 'thinned out');
cmp_ok($nap->{max_ns}, '>', 140e6, 'a call that is longer than the probes are set');
cmp_ok($nap->{max_ns}, '<=', $longest + 1e6, 'none is longer than the longest');
cmp_ok($nap->{total_ns}, '<', 3 * 10e9, 'and they are not counted many times');

# Nothing is disturbed by probes: neither exceptions nor longjmp().
my $n = 600;
for my $flags ([qw(-O2)], [qw(-O0)], [qw(-O2 -static)], [qw(-O2 -fcf-protection)]) {
	build('g++', @$flags, '-o', 'thrown', "$calls/thrown.cc");
	$report = measure([qw(--limit 0 --function), '*thrower*,passes,*jumper*,tail,once,spin,recurse'], './thrown', $n);
	is($report->{stdout}, $n / 3 . ' caught, ' . $n / 5 . " jumped\n", 'the program does what it does without probes');
	is(calls_of($report, 'once'), $n, 'calls that return are measured');
	is(calls_of($report, $_), $n * 2 / 3, "$_: those that an exception ended are not") for qw(thrower passes spin);
	is(calls_of($report, 'tail'), $n * 2 / 3, 'a function that ends with a jump');
	is(calls_of($report, 'jumper'), $n * 4 / 5, 'those that longjmp() ended are not');
	my %entries = map { $_->{name} =~ s/\(.*//r => $_->{calls} } @{$report->{probes}};
	is($entries{thrower}, $n, 'though they are counted');
}
# As requests.
is(run({seconds => 60}, $DWELL, 'record', '--request', 'once', '-o', 'r.data', '--', './thrown', $n)->{out},
	$n / 3 . ' caught, ' . $n / 5 . " jumped\n", 'the same of functions that are requests');
is(decode(run($DWELL, 'latency', 'requests', '--json', '-i', 'r.data')->{out})->{count}, $n, 'all of them are there');

# An XRay sled at the entry is a jump, which the kernel emulates.
spew('leaf.c', '__attribute__((noinline)) int leaf(int a) { return a * 3 + 1; }
	int main(void) { volatile int sum = 0; for (int i = 0; i < 1000; i++) sum += leaf(i); return 0; }');
for my $xray (0, 1) {
	build('clang', '-O2', '-o', 'leaf', 'leaf.c', $xray ? qw(-fxray-instrument -fxray-instruction-threshold=1) : ());
	$report = measure([qw(--limit 0 --function leaf)], './leaf');
	is(calls_of($report, 'leaf'), 1000, 'all calls');
	is(!$report->{probes}[0]{single_stepped}, !!$xray, $xray ? 'the sled is used' : 'its first instruction is single-stepped');
}

# A program that runs already: its probes are there when the recording begins. As many patterns as these take
# some time to search.
my $pid = start({name => 'running'}, './measured', 600);
my $patterns = join ',', map { "no_such_$_*" } 1 .. 200;
my $attached = run({seconds => 60}, $DWELL, 'latency', 'run', '-p', $pid, '--duration', 1, '-o', 'a.data', '--limit', 0,
	'--request', 'steady', '--function', "$patterns,libc.so.6:no_such*,steady");
my $n_requests = decode(run($DWELL, 'latency', 'requests', '--json', '-i', 'a.data')->{out})->{count};
my $attached_report = decode(run($DWELL, 'latency', 'report', '--functions', 0, '--json', '-i', 'a.data')->{out});
cmp_ok($n_requests, '>', 1000, 'attached');
cmp_ok(abs(calls_of($attached_report, 'steady') - $n_requests), '<=', 2, 'all its calls are there');
ok(is_running($pid), 'the program runs on');
# CPU time of the program's threads, in ns.
sub cpu_ns {
	return sum0(map { (split ' ', slurp($_))[0] } glob "/proc/$_[0]/task/*/schedstat");
}

# Beside other programs, the thread that calls may get so little CPU time that its probes cost less than the
# limit. Only then another one is tried.
my $limited;
for my $limit (4, 4, 2, 2, 1, 1) {
	my $before = cpu_ns($pid);
	run($DWELL, 'latency', 'run', '-p', $pid, '--duration', 4, '-o', 'a.data', '--limit', $limit, '--function', 'steady');
	($limited) = @{decode(run($DWELL, 'latency', 'report', '--json', '-i', 'a.data')->{out})->{probes}};
	last if $limited->{set_share} < 0.8 || $limited->{cost_ns} > $limit / 100 * (cpu_ns($pid) - $before);
}
cmp_ok($limited->{set_share}, '<', 0.8, 'thinned out');
cmp_ok($limited->{set_ns}, '>', 300e6, 'but set again and again');

# dwell is killed: so do its probes end, and the program does not.
my $dwell = start({name => 'killed'}, $DWELL, 'latency', 'run', '-p', $pid, '-o', 'k.data', '--function', 'steady,take,hold_*');
ok(wait_for(180, sub { -s 'k.data' }), 'attached again') and sleep 1;
kill 'KILL', $dwell;
finish($dwell);
sleep 1;
ok(is_running($pid), 'the program runs on without dwell');
kill 'KILL', $pid;
finish($pid);

# What is not there.
my $got = run($DWELL, 'latency', 'run', '-o', 'n.data', '--function', 'no_such_function', '--', './thrown', 1);
like($got->{err}, qr/--function no_such_function: no program that was recorded has a function/, 'no such function');
is($got->{out}, "1 caught, 1 jumped\n", 'the program runs nevertheless');
$got = run($DWELL, 'latency', 'report', '-i', 'n.data');
is($got->{status}, 1, 'a recording without calls');
like($got->{err}, qr/has no calls of functions\n.*--function/, 'says how to record them');
run('strip', '-o', 'stripped', 'measured');
$got = run($DWELL, 'latency', 'run', '-o', 'n.data', '--function', 'steady', '--', './stripped', 0.1);
like($got->{err}, qr/no program that was recorded has a function of that name.*stripped/, 'a stripped program');
is(run($DWELL, 'latency', 'run', '--function', 'libc.so.6:', '--', 'true')->{status}, 2, 'a pattern without a function');
is(run($DWELL, 'latency', 'run', '--function', 'a', '--limit', 'x', '--', 'true')->{status}, 2, 'a limit that is no number');

done_testing;
