#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Requests: servers that know when each of theirs begins and ends.
#
# Runs alone.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(sum0);
use Test::More;

need_recording();

# Runs a case of the program at @address; what it says about itself, and what dwell says.
sub requests_of {
	my ($source, $case, $address, @options) = @_;
	my $result = run({seconds => 120}, $DWELL, 'path', '--json', '--request', $source, @options, '--',
		program('requests'), $case, $address);
	diag($result->{err}) if $result->{status};
	my ($truth, $path) = map { decode($_) } $result->{out} =~ /^(\{.*?\})\n(.*)/s or return ({}, {});
	diag("of $truth->{requests} requests $path->{requests}{count} were found: $result->{err}")
		if $truth->{requests} != $path->{requests}{count};
	return ($truth, $path);
}

sub between {
	my ($low, $got, $high, $what) = @_;
	return ok($low <= $got && $got <= $high, $what) || diag("$low <= $got <= $high");
}

# All nodes of a tree.
sub nodes { return map { ($_, nodes(@{$_->{children}})) } @_ }

# What the kernel sees lies between what the two sides see.
for my $case (qw(closed queue batch split large pool reconnect greeting)) {
	for my $address ('tcp:' . free_port(), "unix:$DIR/socket") {
		my $what = "$case, " . $address =~ s/:.*//r;
		my ($truth, $path);
		# A kernel that hides some switches leaves some time unexplained, now and then.
		for (1 .. 6) {
			($truth, $path) = requests_of($address, $case, $address);
			last if accounted_for($path) >= 99;
		}
		my $requests = $path->{requests};
		my $latency = $requests->{latency};
		is($requests->{count}, $truth->{requests}, "$what: number of requests");
		between($truth->{least_ns}, $latency->{sum_ns}, $truth->{most_ns}, "$what: latency");
		between(0, $latency->{unread_ns}, $truth->{unread_most_ns}, "$what: time before they were read");
		is($path->{wall_ns}, $latency->{sum_ns}, "$what: the path is of all of it");
		between(99, accounted_for($path), 100, "$what: accounted for");
		next unless $case eq 'queue';
		# Nearly all of the time: three of four requests wait for the one before.
		between($truth->{unread_ns} / 2, $latency->{unread_ns}, $latency->{sum_ns}, "$what: they waited to be read");
	}
}

# The longest path that a socket can have.
{
	my $address = "unix:$DIR/" . 's' x (108 - length("$DIR/"));
	my ($truth, $path) = requests_of($address, 'closed', $address);
	is($path->{requests}{count}, $truth->{requests}, 'a path of 108 characters: number of requests');
}

# The same operation by its function, its marks and its probes.
for my $source ('answer', 'answering', 'usdt:requests:answer__begin,answer__end') {
	for my $case (qw(closed pool)) {
		my ($truth, $path) = requests_of($source, $case, 'tcp:' . free_port());
		my $requests = $path->{requests};
		is($requests->{count}, $truth->{requests}, "$source, $case: number");
		between($truth->{answer_least_ns}, $requests->{latency}{sum_ns}, $truth->{answer_most_ns}, "$source, $case: time");
		# Stacks reach main() or the thread's begin through the return probe, too.
		my ($outermost) = map { $_->{children}[0]{frame} } @{$path->{tree}};
		like($outermost, qr/^(?:_start|clone|__clone3?|start_thread)/, "$source, $case: stacks");
	}
}

# Beside another recorder of the same program: what is recorded because they woke each other calls the
# function, too.
{
	my $other = start($DWELL, 'path', '-i', 'other.data', '--request', 'answer', '--', program('requests'), 'pool', 'tcp:' . free_port(),
		'--requests', 2000);
	for my $round (1 .. 4) {
		my ($truth, $path) = requests_of('answer', 'pool', 'tcp:' . free_port());
		is($path->{requests}{count}, $truth->{requests}, "beside another, $round: number");
	}
	stop($other);
}

sub sleeps {
	my ($run) = @_;
	return scalar grep { ($_->{frame} // '') eq 'sleep_rarely' } nodes(@{decode($run->{out})->{tree}});
}

# One request of 20 takes longer: what it does that the others do not.
{
	my $address = 'tcp:' . free_port();
	my ($truth, $path, @rare);
	# Requests that were preempted may be among the slowest, too.
	for (1 .. 6) {
		($truth, $path) = requests_of($address, 'uneven', $address, '-i', 'uneven.data', '--slowest', 10);
		@rare = grep { ($_->{frame} // '') eq 'sleep_rarely' } nodes(@{$path->{tree}});
		last if sum0(map { $_->{total_ns} } @rare) >= $truth->{rare_ns} * 0.6;
	}
	my $shown = $path->{requests}{shown};
	is(scalar @$shown, 10, 'slowest: as many as were asked for');
	is($shown->[0]{length_ns}, $path->{requests}{latency}{max_ns}, 'slowest: the slowest first');
	is(sum0(map { $_->{length_ns} } @$shown), $path->{wall_ns}, 'slowest: the path is of these');
	is($path->{requests}{compared}{count}, 100, 'slowest: half of the requests are around the median');
	my $error = sum0(map { $_->{total_error_ns} // 0 } @rare);
	between($truth->{rare_ns} * 0.6, sum0(map { $_->{total_ns} } @rare), $truth->{rare_most_ns} + 4.9 * $error, 'slowest: they sleep');
	is(sum0(map { $_->{compared_total_ns} } @rare), 0, 'slowest: those around the median do not');
	is(sum0(map { $_->{compared_total_ns} } @{$path->{tree}}), $path->{requests}{compared}{wall_ns}, 'slowest: the other side is whole');
	my $text = run($DWELL, 'path', '-i', 'uneven.data', '--quantile', 95);
	like($text->{out}, qr/of the difference is(?: |\n# )requests[^%]* in sleep/, 'quantile: verdict');
	like($text->{out}, qr/^# +per request +slow +median +difference$/m, 'quantile: side by side');
	like($text->{out}, qr/from 127\.0\.0\.1:\d+$/m, 'quantile: the client');
	my @lines = map { decode($_) } grep { /"request"/ } split /\n/, run($DWELL, 'script', '--json', '-i', 'uneven.data')->{out};
	is(scalar @lines, 200, 'script: all requests');
	is(sum0(map { $_->{length_ns} } @lines), $path->{requests}{latency}{sum_ns}, 'script: their lengths');
	# The slowest of all may be one that other programs held up; one of those that sleep, alone.
	my @alone = map { ['path', '-i', 'uneven.data', '--slowest', 1, '--time',
		sprintf('%dns,%dns', $_->{begin_ns}, $_->{begin_ns} + $_->{length_ns})] } @$shown;
	my ($slept) = grep { sleeps(run($DWELL, @$_, '--json')) } @alone;
	ok($slept, 'slowest: one of them alone');
	like(run($DWELL, @{$slept // []}, '--chronological')->{out}, qr/^ +\S+ \S+ +\S+ \S+ +waits: sleep \[timer\]/m,
		'slowest: one in order of time');
}

# What is not there.
sub refuses {
	my ($status, $message, @options) = @_;
	my $result = run($DWELL, 'path', @options);
	is($result->{status}, $status, "@options: status");
	like($result->{err}, $message, "@options: message");
}
record(['--trace', '-o', 'none.data'], 'true');
refuses(1, qr/no request of 'tcp:80' ended while it was recorded\n.*--request tcp:80/, '-i', 'none.data', '--request', 'tcp:80');
refuses(1, qr/no requests of 'tcp:1'\n.*it has requests of: tcp:/, '-i', 'uneven.data', '--request', 'tcp:1');
refuses(1, qr/lies within that time/, '-i', 'uneven.data', '--slowest', 1, '--time', '100,200');
refuses(2, qr/a port must be between 1 and 65535\nusage: dwell path/, '--request', 'tcp:70000', '--', 'true');
refuses(2, qr/does not name two probes\n.*query__start,query__done/, '--request', 'usdt:one', '--', 'true');
refuses(2, qr/is not the path of a socket/, '--request', 'unix:', '--', 'true');
refuses(2, qr/which requests are to be recorded/, '--slowest', 3, '--', 'true');
refuses(2, qr/^dwell: --slowest: must be at least 1\nusage: dwell path/, '--slowest', 0, '-i', 'uneven.data');
refuses(2, qr/^dwell: --quantile: must be between 0 and 100/, '--quantile', 100, '-i', 'uneven.data');
refuses(2, qr/do not go with --of/, '--of', 1, '--request', 'tcp:80', '-i', 'uneven.data');
refuses(1, qr/--chronological shows one request: add --slowest 1/, '-i', 'uneven.data', '--slowest', 2, '--chronological');
like(run($DWELL, 'record', '-o', 'r.data', '--request', 'nonsense', '--', 'true')->{err},
	qr/no requests of 'nonsense': no program that was recorded has a function/, 'a name that is nowhere');
like(run($DWELL, 'record', '-o', 'r.data', '--request', 'tcp:' . free_port(), '--', 'true')->{err},
	qr/no program that was recorded answered a request there/, 'a port without requests');

done_testing();
