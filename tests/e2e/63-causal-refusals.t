#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Predictions that would rest on nothing are refused, with the reason: what goes on during pauses, and
# dwell's own probes. What is the same but closed, or without probes, is not refused.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();

my $refused = program('refused');

sub reasons_of {
	my ($got, $target) = @_;
	return map { $_->{reason} } grep { $_->{target} eq $target } @{$got->{report}{refused} // []};
}

# Runs are added until @target is refused for @reason: it takes some tests of pauses.
sub is_refused {
	my ($run, $target, $reason, $name) = @_;
	my ($got, @shown);
	for my $more (0 .. 7) {
		$got = $run->($more ? \&causal_more : \&causal);
		push @shown, $more if grep { $_->{target} eq $target } @{$got->{report}{targets} // []};
		last if $got->{status} || grep { $_ eq $reason } reasons_of($got, $target);
	}
	# Before it is known to be one, an open load is not taken for a closed one.
	is("@shown", '', "$name: no number in any of the runs") if $reason eq 'open-load';
	my ($refusal) = grep { $_->{target} eq $target } @{$got->{report}{refused} // []};
	# What pauses of a twentieth of the time do to a prediction is no reason to refuse it.
	SKIP: {
		skip "$name: the target had hardly any CPU", 4 if !$refusal && paused_share() < 0.1;
		check_refusal($got, $target, $refusal, $reason, $name);
	}
	note("truth: with $got->{truth}{with}, without $got->{truth}{without}") if $got->{truth};
	return $got;
}

# Share of pauses in the time with a speedup.
sub paused_share {
	my ($time, $paused) = (1, 0);
	for my $line (map { decode($_) } split /\n/, slurp('p')) {
		next if $line->{type} ne 'experiment';
		$time += $line->{with}{duration_ns};
		$paused += $line->{with}{delay_ns};
	}
	return $paused / $time;
}

sub check_refusal {
	my ($got, $target, $refusal, $reason, $name) = @_;
	is($refusal->{reason}, $reason, "$name: refused");
	my @numbers = grep { $_->{target} eq $target } @{$got->{report}{targets}};
	is(scalar @numbers, 0, "$name: there is no number");
	unlike(join(' ', @{$got->{report}{verdict}}), qr/\bMaking $target\b/, "$name: nor in the verdict");
	like(run($DWELL, 'causal', 'report', 'p')->{out} =~ s/\s+/ /gr, qr/Refused: .*$target/, "$name: the report says so");
}

# Clients outside of the command, which think for 8 ms.
my $port = free_port();
is_refused(sub {
	my ($causal) = @_;
	my $clients = start($refused, 'clients', $port);
	my $got = $causal->(['--experiment', '100ms', '--progress', 'serve', '--target', 'housekeeping', '--speedup', 100],
		$refused, 'server', $port, 6);
	stop($clients);
	return $got;
}, 'housekeeping', 'open-load', 'an open load');

# Before pauses were tested twice, nothing is predicted.
my ($lines, $tests, @types) = ('', 0);
for my $line (split /^/, slurp('p')) {
	my ($type) = $line =~ /^\{"type":"([a-z-]+)"/;
	$lines .= $line;
	push @types, $type if $type eq 'experiment' || $type eq 'pause-test';
	$tests += $type eq 'pause-test';
	last if $tests == 2;
	next unless $type eq 'experiment';
	spew('begin', $lines);
	my $report = decode(run($DWELL, 'causal', 'report', '--json', 'begin')->{out});
	is_deeply([map { $_->{target} } @{$report->{targets}}], [], "with $tests tests of pauses, nothing is predicted");
}
is($types[0], 'pause-test', 'a test comes first') or diag("@types");
is($tests, 2, 'and another one later');

# Runs are added until @target has an effect at @speedup, or is refused for another reason than that it is not known yet.
sub is_predicted_at {
	my ($run, $target, $speedup, $name) = @_;
	my $got;
	for my $more (0 .. 7) {
		$got = $run->($more ? \&causal_more : \&causal);
		last if $got->{status} || defined effect($got, $target, $speedup)
			|| grep { $_ ne 'untested' && $_ ne 'fluctuation' } reasons_of($got, $target);
	}
	is_deeply([reasons_of($got, $target)], [], "$name: not refused") or diag(explain($got->{report}{refused}));
	ok(defined effect($got, $target, $speedup), "$name: there is a number");
	return $got;
}

# The same clients in the command.
is_predicted_at(sub {
	$_[0]->(['--experiment', '100ms', '--progress', 'serve', '--target', 'housekeeping', '--speedup', 100],
		'sh', '-c', '"$0" clients $1 & "$0" server $1 6; wait', $refused, $port);
}, 'housekeeping', 1, 'clients in the command');

# Reads that are in flight, and the same where nothing is: it is over when the call that begins it returns.
my $rings = run($refused, 'ring-waits', "$DIR/blocks", 0)->{status} == 0;
my $direct = run('stat', '-f', '-c', '%T', $DIR)->{out} !~ /tmpfs|ramfs/;
for my $case (['overlap', 'io_submit', $direct], ['ring', 'io_uring', $direct && $rings]) {
	my ($mode, $name, $possible) = @$case;
	SKIP: {
		skip "no asynchronous reads by $name here", 4 unless $possible;
		is_refused(sub {
			$_[0]->(['--experiment', '100ms', '--progress', 'batch_done', '--target', 'crunch', '--speedup', 100],
				$refused, $mode, "$DIR/blocks", 3);
		}, 'crunch', 'io-in-flight', "asynchronous reads by $name");
	}
}
for my $case (['buffered', 'buffered reads by io_submit', 1], ['ring-waits', 'reads by io_uring that are waited for', $rings]) {
	my ($mode, $name, $possible) = @$case;
	SKIP: {
		skip "no $name here", 2 unless $possible;
		is_predicted_at(sub {
			$_[0]->(['--experiment', '100ms', '--progress', 'batch_done', '--target', 'crunch', '--speedup', 100],
				$refused, $mode, "$DIR/blocks", 4);
		}, 'crunch', 1, $name);
	}
}

# Of two equal threads, one cannot be paused. What is tried again at each system call is one pause.
causal(['--experiment', '100ms', '--progress', 'batch_done', '--target', 'crunch', '--speedup', 100], $refused, 'deaf', 3);
my %line = map { ($_->{type} => $_) } map { decode($_) } split /\n/, slurp('p');
is($line{unpaused}{reason}, 'blocked', 'a thread that blocks the signal');
cmp_ok($line{unpaused}{times}, '<', 5 * $line{end}{pauses} + 20, 'its failed pauses are no more than those of the other')
	or diag("$line{unpaused}{times} failed");
is_refused(sub {
	$_[0]->(['--experiment', '100ms', '--progress', 'batch_done', '--target', 'crunch', '--speedup', 100], $refused, 'deaf', 3);
}, 'crunch', 'unpausable', 'a thread that blocks the signal');

# A probe that takes most of the time, in one target and beside the other.
my $probe = is_refused(sub {
	$_[0]->(['--experiment', '100ms', '--progress', 'step', map({ ('--target', $_) } 'step', 'think'), '--speedup', 100],
		$refused, 'steps', 3);
}, 'step', 'probe', 'a probe in the target');
is_deeply([reasons_of($probe, 'think')], ['probe'], 'and beside it');
is_predicted_at(sub {
	$_[0]->(['--progress-sampled', 'item', '--target', 'think', '--speedup', 50], $refused, 'steps', 4);
}, 'think', 0.5, 'sampled, it costs nothing');
# think() takes nearly all of the time: even on a busy machine there are five samples in a half, at least once.
my @halves;
for (0 .. 7) {
	causal(['--progress-sampled', 'think', '--target', 'think', '--speedup', 100], $refused, 'steps', 4);
	@halves = slurp('p') =~ /"duration_ns":(\d+)/g;
	last if @halves >= 4 && !grep { $_ > 1e9 } @halves;
}
cmp_ok(scalar @halves, '>=', 4, 'samples alone as progress: there are halves');
is(scalar(grep { $_ > 1e9 } @halves), 0, 'which do not double for ever');

# What is not run, and what there was no time for.
my @speedups = map { 5 * $_ } 1 .. 20;
my $few;
for my $more (0 .. 3) {
	$few = ($more ? \&causal_more : \&causal)->([map({ ('--target', $_) } 'never', 'think'), '--progress', 'item',
		'--speedup', join(',', @speedups)], $refused, 'steps', 4);
	last if reasons_of($few, 'never') && !reasons_of($few, 'think');
}
is_deeply([reasons_of($few, 'never')], ['not-hit'], 'a target that is not run has that reason');
is_deeply([grep { $_->{target} eq 'never' } @{$few->{report}{targets}}], [], 'and no number');
my %result = map { sprintf('%.0f', 100 * $_->{speedup}) => 1 }
	map { @{$_->{results}} } grep { $_->{target} eq 'think' } @{$few->{report}{targets}};
my %empty = map { sprintf('%.0f', 100 * $_->{speedup}) => 1 } grep { $_->{target} eq 'think' } @{$few->{report}{empty}};
is_deeply([reasons_of($few, 'think')], [], 'one that is run has none');
is_deeply([sort { $a <=> $b } keys %result, keys %empty], \@speedups, 'each speedup has a result, or is listed');
cmp_ok(scalar keys %empty, '>', 0, 'there was no time for some');
like(problems_of($few), qr/Requested, but without a result: .*think at \d+%/, 'in the text as well');

done_testing();
