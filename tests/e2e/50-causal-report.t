#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# dwell causal report on profiles that are made up, of a program whose truth is known.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use JSON::XS ();
use Test::More;

need_dwell();

# Numbers that look random, the same every time.
my $seed = 1;

sub random {
	$seed = ($seed * 1103515245 + 12345) % 2147483648;
	return $seed / 2147483648;
}

sub normal {
	return sqrt(-2 * log(1 - random())) * cos(6.2831853 * random());
}

my $json = JSON::XS->new->canonical;

# As dwell writes it: the type and the run come first.
sub line {
	my ($type, $run, @members) = @_;
	my @pairs = ('"type":' . $json->encode([$type]) =~ s/^\[|\]$//gr);
	unshift @members, run => $run;
	splice @members, 0, 0, version => 1 if $type eq 'run';
	while (my ($key, $value) = splice @members, 0, 2) {
		push @pairs, "\"$key\":" . ($json->encode([$value]) =~ s/^\[|\]$//gr);
	}
	return '{' . join(',', @pairs) . "}\n";
}

my @targets = (
	{kind => 'function', name => 'compute_heavy', curve => sub { min(0.8 * $_[0], 0.4) }},
	{kind => 'line', name => 'env.cc:120', file => '/src/env.cc', line => 120, function => 'read_block',
		curve => sub { 0.15 * $_[0] }},
	{kind => 'function', name => 'take_lock', curve => sub { -0.2 * $_[0] }},
	{kind => 'class', name => 'io', curve => sub { 0 }},
);

sub min {
	my ($a, $b) = @_;
	return $a < $b ? $a : $b;
}

sub half {
	my ($period, $delay, $latency) = @_;
	my $speed = exp(0.03 * normal());
	my $time = 250e6 - $delay;
	my $visits = int($time / $period * $speed + random());
	my $requests = int($time / 5e6 + random());
	return {
		duration_ns => 250_000_000, delay_ns => int $delay, hit_ns => 50_000_000,
		points => [[0, $visits], [1, $requests, 0, $requests, int($requests * $latency / $speed)]],
	};
}

# A run with experiments on all targets.
sub run_lines {
	my ($id, $experiments, %how) = @_;
	my @lines = (
		line('run', $id, command => './bench --quick', start_realtime => 1700000000000000000,
			period_ns => 1000000),
		line('point', $id, id => 0, name => 'request', kind => 'throughput'),
		line('point', $id, id => 1, name => 'reply', kind => 'latency'),
	);
	push @lines, line('target', $id, id => $_, map { ref $_->[1] ? () : @$_ }
			map { my $t = $targets[$_]; map { [$_, $t->{$_}] } sort keys %$t } $_) for 0 .. $#targets;
	for my $i (1 .. $experiments) {
		my $target = $i % @targets;
		my $speedup = (1 + int(4 * random())) / 4;
		my $gain = $targets[$target]{curve}->($speedup);
		push @lines, line('experiment', $id, target => $target, speedup => $speedup,
			at_ns => 600_000_000 * $i, base => half(2e6, 0, 4e6),
			with => half(2e6 * (1 - $gain), 50e6 * $speedup, 4e6 * (1 - $gain / 2)));
	}
	push @lines, line('trouble', $id, text => $how{diagnostic}) if $how{diagnostic};
	push @lines, line('end', $id, runtime_ns => 600_000_000 * ($experiments + 1), delay_ns => 5e9,
		sampled_ns => 9e11, status => 0) unless $how{unfinished};
	return @lines;
}

sub causal {
	my @arguments = @_;
	return run($DWELL, 'causal', 'report', @arguments);
}

# The default file, text.
my @one = run_lines('first', 480, diagnostic => 'No debug information: functions only.');
spew("$DIR/dwell.causal", join '', @one);
my $text = causal();
is($text->{status}, 0, 'dwell causal report') or diag($text->{err});
is($text->{err}, '', 'without a word besides');
my $flat = $text->{out} =~ s/\s+/ /gr;
like($flat, qr/Making compute_heavy \d+% faster would make the program \d+% \(\d+\.\.\d+\) faster at request, which is x1\.\d+ the throughput; more than that does not help/,
	'the best comes first, in words');
like($flat, qr/take_lock causes contention/, 'contention is told');
like($text->{out}, qr/^ 1\. compute_heavy: no more gain past \d+%$/m, 'the plateau is named');
like($text->{out}, qr/^ 2\. env\.cc:120 \(read_block\): gain$/m, 'the second');
like($flat, qr/What does not matter \(within 2%\): waiting for I\/O/, 'what did not matter');
like($text->{out}, qr/^Latency of reply: now [34]\.\d+ ms$/m, 'latency is apart');
like($flat, qr/! No debug information: functions only\./, 'what hampered it');
ok(!(grep { length > 80 && !/^#/ } split /\n/, $text->{out}), 'within 80 columns');
unlike($text->{out}, qr/\033/, 'no colours in a file');

# JSON, by rank, and near to the truth.
my $report = decode(causal('--json')->{out});
my %by = map { ("$_->{target} $_->{point}" => $_) } @{$report->{targets}};
is($report->{targets}[0]{target}, 'compute_heavy', 'ranked first');
is(scalar @{$report->{targets}}, 8, 'each target, and each point');
is_deeply([map { "$_->{name} $_->{kind}" } @{$report->{points}}], ['request throughput', 'reply latency'], 'points');
is($report->{runs}[0]{experiments}, 480, 'runs');
is($report->{problems}[0]{kind}, 'diagnostic', 'problems');
my $off = 0;
my $held = 0;
my $n = 0;
for my $target (@targets) {
	my $curve = $by{"$target->{name} request"};
	for my $result (@{$curve->{results}}) {
		my $truth = $target->{curve}->($result->{speedup});
		$off += abs($result->{program_speedup} - $truth);
		$held += $result->{low} <= $truth && $truth <= $result->{high};
		$n++;
	}
}
is($n, 16, 'results');
cmp_ok($off / $n, '<', 0.015, 'off by ' . 100 * $off / $n . ' points in the mean');
cmp_ok($held / $n, '>', 0.8, "$held of $n intervals hold the truth");
is($by{'compute_heavy request'}{shape}, 'plateau', 'plateau');
near(100 * $by{'compute_heavy request'}{plateau_at}, 50, 8, 'where it begins, percent');
near(100 * $by{'compute_heavy reply'}{best}, 20, 3, 'latency, percent');
is($by{'take_lock request'}{shape}, 'contention', 'contention');
is($by{'io request'}{shape}, 'no-effect', 'no effect');

# Runs add up, however their lines mix; damage costs a line.
my @two = run_lines('second', 240);
my @mixed;
while (@one || @two) {
	push @mixed, shift @one if @one && (random() < 0.6 || !@two);
	push @mixed, shift @two if @two && random() < 0.4;
}
spew("$DIR/both.causal", join '', @mixed, '{"type":"experiment","run":"second","targ');
$report = decode(causal('--json', 'both.causal')->{out});
is(scalar @{$report->{runs}}, 2, 'two runs');
is($report->{experiments}, 720, 'with all their experiments');
like(join(' ', map { $_->{text} } @{$report->{problems}}), qr/1 lines of the profile could not be read/,
	'one line is cut');

# Only some of it.
$report = decode(causal('--json', '--point', 'reply', 'both.causal')->{out});
is_deeply([map { $_->{point} } @{$report->{targets}}], [('reply') x 4], '--point');
like(causal('--all', 'both.causal')->{out}, qr/waiting for I\/O: no effect/, '--all');
like(causal('--max', 1, '-i', 'both.causal')->{out}, qr/more with an effect/, '--max');
$report = decode(causal('--json', '--min-visits', 1000000, 'both.causal')->{out});
is(scalar @{$report->{targets}}, 0, '--min-visits leaves nothing');
is($report->{problems}[0]{kind}, 'few-visits', 'and that is said');

# What Coz's viewer makes of a profile (viewer/ts/profile.ts): {TARGET}{POINT}{SPEEDUP}.
sub coz_viewer {
	my ($path, $fields) = @_;
	my (%data, $experiment, @invalid);
	for my $line (split /\n/, slurp($path)) {
		next if $line eq '';
		my $entry = $fields->($line);
		my $type = $entry->{type} // '';
		next if $type =~ /^(?:startup|shutdown|samples|runtime)$/;
		if ($type eq 'experiment') {
			$experiment = $entry;
		} elsif ($type eq 'throughput-point' || $type eq 'progress-point') {
			my $sum = $data{$experiment->{selected}}{$entry->{name}}{$experiment->{speedup} + 0} //= {};
			$sum->{delta} += $entry->{delta};
			$sum->{duration} += $experiment->{duration};
		} elsif ($type eq 'latency-point') {
			my $sum = $data{$experiment->{selected}}{$entry->{name}}{$experiment->{speedup} + 0}
				//= {duration => 0, difference => 0, latency => 1};
			my $all = $sum->{duration} + $experiment->{duration};
			$sum->{difference} = ($sum->{difference} * $sum->{duration}
				+ $entry->{difference} * $experiment->{duration}) / $all;
			$sum->{arrivals} += $entry->{arrivals};
			$sum->{duration} = $all;
		} else {
			push @invalid, $line;
		}
	}
	for my $points (values %data) {
		for my $speedups (values %$points) {
			my %periods = map {
				my $sum = $speedups->{$_};
				$_ => $sum->{latency} ? $sum->{difference} / ($sum->{arrivals} / $sum->{duration})
					: $sum->{duration} / $sum->{delta};
			} keys %$speedups;
			$_ = {map { $_ => 1 - $periods{$_} / $periods{0} } keys %periods} for $speedups;
		}
	}
	return (\%data, \@invalid);
}

sub coz_fields {
	my ($line) = @_;
	my ($type, @parts) = split /\t/, $line;
	return {type => $type, map { /^([^=]*)=(.*)$/ ? ($1, $2) : () } @parts};
}

my %formats = (
	'--coz' => \&coz_fields,
	'--jsonl' => sub { decode($_[0]) },
);
for my $option (sort keys %formats) {
	my $got = causal($option, "$DIR/out.coz", 'both.causal');
	is($got->{status} . $got->{out} . $got->{err}, '0', "$option writes a file, and nothing else");
	my ($data, $invalid) = coz_viewer("$DIR/out.coz", $formats{$option});
	is_deeply($invalid, [], "$option: every line is one that the viewer knows");
	is_deeply([sort keys %$data], ['/src/env.cc:120', 'compute_heavy', 'take_lock', 'waiting for I/O'],
		"$option: targets, lines with their file");
	is_deeply([sort { $a <=> $b } keys %{$data->{compute_heavy}{request}}], [0, 0.25, 0.5, 0.75, 1],
		"$option: speedups, and a baseline");
	near(100 * $data->{compute_heavy}{request}{1}, 40, 3, "$option: throughput, percent");
	near(100 * $data->{compute_heavy}{reply}{1}, 20, 5, "$option: latency, percent");
}
like(causal('--coz', '-', 'both.causal')->{out}, qr/^startup\ttime=1700000000000000000$/m, 'to standard output');
my $same = causal('--coz', "$DIR/both.causal", 'both.causal');
is($same->{status}, 1, 'not over the profile itself');
like($same->{err}, qr/is the profile itself/, 'with a reason');

# What goes wrong is said once, with a hint.
sub fails {
	my ($status, $error, @arguments) = @_;
	my $got = run($DWELL, @arguments);
	is($got->{status}, $status, "dwell @arguments: status");
	like($got->{err}, $error, "dwell @arguments: why");
	is($got->{out}, '', "dwell @arguments: no output");
}
spew("$DIR/empty", '');
spew("$DIR/coz.coz", "startup\ttime=1\n");
spew("$DIR/new.causal", "{\"type\":\"run\",\"version\":2,\"run\":\"x\"}\n");
fails(1, qr/there is no causal profile.*\n.*dwell causal run/, 'causal', 'report', 'missing.causal');
fails(1, qr/is a directory/, 'causal', 'report', $DIR);
fails(1, qr/is empty/, 'causal', 'report', 'empty');
fails(1, qr/is a profile of Coz\n.*coz plot/, 'causal', 'report', 'coz.coz');
fails(1, qr/newer version/, 'causal', 'report', 'new.causal');
fails(1, qr/no progress point 'x'.*\n.*request, reply/, 'causal', 'report', '--point', 'x');
fails(1, qr/is not a recording.*causal profile\n.*dwell causal report/, 'report', '-i', 'dwell.causal');
fails(2, qr/one argument too many/, 'causal', 'report', 'a', 'b');
fails(2, qr/there is no option --nonsense/, 'causal', 'report', '--nonsense');
fails(2, qr/there is no command 'causal nonsense'\n.*There is:\n.*dwell causal report/s, 'causal', 'nonsense');
fails(2, qr/dwell causal report/, 'causal');
fails(2, qr/there is no command 'causa'/, 'causa', 'report');

# Help, by every way to ask for it.
for my $ask (['causal', 'report', '--help'], ['help', 'causal', 'report']) {
	my $help = run($DWELL, @$ask);
	is($help->{status}, 0, "dwell @$ask");
	like($help->{out}, qr/^usage: dwell causal report \[FILE\].*--min-visits N/s, 'explains it');
}
for my $ask (['causal', '--help'], ['help', 'causal'], ['help']) {
	my $help = run($DWELL, @$ask);
	is($help->{status}, 0, "dwell @$ask");
	like($help->{out}, qr/causal report +show what would make/, 'lists it');
}
my $words = run('bash', '-c', <<'END', $DWELL);
eval "$("$0" completion)"
try() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _dwell; echo "${COMPREPLY[*]}"; }
try dwell caus
try dwell causal rep
try dwell causal report --min
try dwell causal report --point ''
try dwell waits --js
END
is($words->{out}, "causal\nreport\n--min-visits\n\n--json\n", 'the completion knows two words') or diag($words->{err});

done_testing;
