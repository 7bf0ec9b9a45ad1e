# SPDX-License-Identifier: BSD-2-Clause
#
# The gains of the known-answer programs in tests/programs/causal/: runs them with a part of a
# target's work left out, beside runs with all of it.
#
# Machines have neighbours. So a gain compares only what was measured in one round: in one
# run of the program, which changes the scale of its work every 190 ms, or in runs that
# follow each other in random order. A run begins when the machine is quiet, and is run
# again when others took more than a little of its CPU time meanwhile.
package Causal;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename qw(dirname);
use JSON::PP ();
use List::Util qw(max min shuffle sum0);
use POSIX ();
use Time::HiRes qw(sleep time);

our @EXPORT_OK = qw(cases calibrate run_once run_settled run_measured measure
	measure_by_runs truth_of gains spread await_quiet);

my $root = abs_path(dirname(__FILE__) . '/../..');
my $build = $ENV{BUILD} ? abs_path($ENV{BUILD}) : "$root/build";
my $hertz = POSIX::sysconf(POSIX::_SC_CLK_TCK());

our $PROGRAM = "$build/tests/programs/causal";
our $DIR; # of the files for disk work; undef: the program's default

our $QUIET = 0.07;        # of one CPU, that others may use before a run and during one
our $STOLEN_QUIET = 0.1;  # likewise, that a hypervisor may take
our $DISK_QUIET = 100;    # transfers per second, likewise
our $TRIES = 5;           # when it was more, the run does not count, but for the last
our $PATIENCE = 1800;     # seconds to wait for quiet

my @SCALES = (25, 50, 75, 100);

# CPU seconds of all processes but ours, with those that have ended meanwhile: whoever
# waited for those has their time. Kernel threads work for us as well, and are left out.
# (What /proc/stat says of the machine less what we used would not do: interrupts count
# in one and not in the other.)
sub others_cpu {
	my $ticks = 0;
	for my $path (glob '/proc/[0-9]*/stat') {
		open my $fh, '<', $path or next;
		my ($pid, $rest) = (<$fh> // '') =~ /^(\d+) .*\) (.*)/s or next;
		my @field = split ' ', $rest;
		$ticks += sum0(@field[11 .. 14]) if $field[1] != 2 && $pid != $$;
	}
	return $ticks / $hertz;
}

# CPU seconds that a hypervisor has taken.
sub stolen_cpu {
	open my $fh, '<', '/proc/stat' or return 0;
	return ((split ' ', <$fh>)[8] // 0) / $hertz;
}

# Reads and writes of all disks.
sub disk_transfers {
	my ($reads, $writes) = (0, 0);
	for my $path (glob '/sys/block/*/stat') {
		open my $fh, '<', $path or next;
		my @field = split ' ', <$fh>;
		$reads += $field[0];
		$writes += $field[4];
	}
	return ($reads, $writes);
}

# Waits until others leave the machine alone. False when they do not.
sub await_quiet {
	my $until = time + $PATIENCE;
	my $quiet = 0;
	while (time < $until) {
		my ($cpu, $disk) = (others_cpu(), sum0(disk_transfers()));
		sleep 0.3;
		my $busy = others_cpu() - $cpu > 0.3 * $QUIET
			|| sum0(disk_transfers()) - $disk > 0.3 * $DISK_QUIET;
		$quiet = $busy ? 0 : $quiet + 1;
		return 1 if $quiet >= 2;
	}
	return 0;
}

sub output_of {
	my (@command) = @_;
	open my $fh, '-|', @command or die "$command[0]: $!";
	local $/;
	my $text = <$fh> // '';
	close $fh or die "@command: status $?\n";
	return $text;
}

# {case, targets: [{name, kind, dwell, line, max}], point, latency, seconds, note} of each:
# seconds is how long a curve takes to measure.
sub cases {
	return map { JSON::PP->new->decode($_) } split /\n/, output_of($PROGRAM, '--list');
}

sub directory {
	return defined $DIR ? ('--dir', $DIR) : ();
}

# The arguments that make all runs of a case do the same work.
sub calibrate {
	my ($case) = @_;
	await_quiet();
	return JSON::PP->new->decode(output_of($PROGRAM, $case, '--calibrate', directory()))->{arguments};
}

# One run: what the program says, and {others}, the CPUs that others used meanwhile,
# {stolen}, those that a hypervisor took, {others_disk}, the disk's reads per second likewise,
# {disturbed}, above 1 if that was too much.
#   arguments  of calibrate()
#   seconds
#   scale      {TARGET => percent}
#   curve      a target, of which all scales are measured: {blocks}
#   wrap       a command to run the program with
sub run_once {
	my ($case, %how) = @_;
	my @scale = map { ('--scale', "$_=$how{scale}{$_}") } sort keys %{$how{scale} // {}};
	push @scale, '--curve', $how{curve} if $how{curve};
	my ($cpu, $stolen, $reads, $began) = (others_cpu(), stolen_cpu(), (disk_transfers())[0], time);
	my $text = output_of(@{$how{wrap} // []}, $PROGRAM, $case, '--seconds', $how{seconds} // 2,
		@{$how{arguments} // []}, @scale, directory());
	my $took = time - $began;
	my ($line) = $text =~ /^(\{"case".*)$/m or die "$case: no result\n";
	my $result = JSON::PP->new->decode($line);
	$result->{others} = (others_cpu() - $cpu) / $took;
	$result->{stolen} = (stolen_cpu() - $stolen) / $took;
	# Of the writes nobody can tell: one of ours is several of the disk's, for the journal.
	$result->{others_disk} = ((disk_transfers())[0] - $reads - $result->{disk_reads}) / $took;
	$result->{disturbed} = $result->{others} / $QUIET + $result->{stolen} / $STOLEN_QUIET
		+ $result->{others_disk} / $DISK_QUIET;
	return $result;
}

# A run that counts in any case, because what watches it keeps what it saw.
sub run_measured {
	my ($case, %how) = @_;
	await_quiet();
	return run_once($case, %how);
}

# A run that others did not disturb, or else the best of several.
sub run_settled {
	my ($case, %how) = @_;
	my $best;
	for (1 .. $TRIES) {
		await_quiet();
		my $result = run_once($case, %how);
		$best = $result if !$best || $result->{disturbed} < $best->{disturbed};
		last if $best->{disturbed} <= 1;
	}
	return $best;
}

sub median {
	my @sorted = sort { $a <=> $b } @_;
	my $middle = int(@sorted / 2);
	return @sorted % 2 ? $sorted[$middle] : ($sorted[$middle - 1] + $sorted[$middle]) / 2;
}

# {n, median, low, high, min, max}: low and high are quartiles.
sub spread {
	my @sorted = sort { $a <=> $b } grep { defined } @_;
	return {n => 0} unless @sorted;
	my $at = sub {
		my $place = $_[0] * $#sorted;
		my $below = int $place;
		return $sorted[$below] + ($place - $below) * ($sorted[min($below + 1, $#sorted)] - $sorted[$below]);
	};
	return {
		n => scalar(@sorted), median => median(@sorted), min => $sorted[0], max => $sorted[-1],
		low => $at->(0.25), high => $at->(0.75),
	};
}

sub scales_of {
	my ($target) = @_;
	my $max = $target->{max} // 100;
	return grep { $_ <= $max } @SCALES, $max < 100 ? $max : ();
}

sub mean_latency {
	my $visits = sum0(map { $_->{visits} } @_);
	return undef unless $visits && !grep { !defined $_->{latency_ns} } @_;
	return sum0(map { $_->{visits} * $_->{latency_ns} } @_) / $visits;
}

# One round of one target, in one run: {SCALE => {period_ns, latency_ns, ...}}, with 0 the
# program as it is. Periods are medians of the blocks'; latencies means, because a queue
# is seldom long.
sub measure {
	my ($case, $target, %how) = @_;
	my $run = run_settled($case, %how, curve => $target->{name});
	my (%blocks, %round);
	push @{$blocks{$_->{scale}}}, $_ for grep { $_->{visits} } @{$run->{blocks}};
	for my $scale (keys %blocks) {
		$round{$scale} = {
			period_ns => median(map { $_->{period_ns} } @{$blocks{$scale}}),
			latency_ns => mean_latency(@{$blocks{$scale}}),
			map { $_ => $run->{$_} } qw(others stolen others_disk disturbed),
		};
	}
	return \%round;
}

# The same by a run for each scale.
sub measure_by_runs {
	my ($case, $target, %how) = @_;
	my %round;
	for my $scale (shuffle 0, scales_of($target)) {
		$round{$scale} = run_settled($case, %how,
			scale => $scale ? {$target->{name} => $scale} : {});
	}
	return \%round;
}

# The gain of each scale over several rounds: {SCALE => spread of 1 - period / period of base}.
# $what is "period_ns" or "latency_ns".
sub gains {
	my ($what, @rounds) = @_;
	my %values;
	for my $round (@rounds) {
		for my $scale (grep { $_ } keys %$round) {
			push @{$values{$scale}}, 1 - $round->{$scale}{$what} / $round->{0}{$what}
				if $round->{0}{$what} && defined $round->{$scale}{$what};
		}
	}
	return {map { $_ => spread(@{$values{$_}}) } keys %values};
}

# All of it: what $rounds of measure() say of a target. {period_ns, latency_ns} of the program
# as it is, {gain, latency_gain} of gains(), {rounds, disturbed}.
sub truth_of {
	my (@rounds) = @_;
	my %truth = (
		period_ns => spread(map { $_->{0}{period_ns} } @rounds)->{median},
		gain => gains('period_ns', @rounds),
		rounds => scalar(@rounds),
		disturbed => scalar(grep { ($_->{disturbed} // 0) > 1 } map { values %$_ } @rounds),
	);
	if (grep { defined $_->{0}{latency_ns} } @rounds) {
		$truth{latency_ns} = spread(map { $_->{0}{latency_ns} } @rounds)->{median};
		$truth{latency_gain} = gains('latency_ns', @rounds);
	}
	return \%truth;
}

1;
