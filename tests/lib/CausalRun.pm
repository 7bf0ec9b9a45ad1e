# SPDX-License-Identifier: BSD-2-Clause
# dwell causal run and what it says, for end-to-end tests.
package CausalRun;

use strict;
use warnings;

use Dwell;
use Exporter qw(import);
use Test::More;

our @EXPORT = qw(causal causal_more causal_until problems_of effect result_of chance_of mean_truth is_predicted about no_effect
	slack_of);

# One run of @command, in a profile of its own: what run() tells, its report, and the truth
# that a known-answer program prints.
sub causal {
	my ($options, @command) = @_;
	unlink 'p';
	return causal_more($options, @command);
}

# Likewise, added to the profile that is there.
sub causal_more {
	my ($options, @command) = @_;
	my $got = run({seconds => 120}, $DWELL, 'causal', 'run', '-o', 'p', '-q', @$options, '--', @command);
	$got->{truth} = decode($1) if $got->{out} =~ /^(\{.*\})$/m;
	$got->{report} = decode(run($DWELL, 'causal', 'report', '--json', 'p')->{out}) if -e 'p';
	return $got;
}

# A prediction may be biased by so much, besides what chance does to it.
use constant BIAS => 0.05;

# How far off a result is by chance in less than one run of a million: the interval that is
# reported is that of 95 %.
sub chance_of {
	my ($result) = @_;
	return defined $result->{high} ? ($result->{high} - $result->{low}) / 2 * 2.5 : 9;
}

# Rounds of these programs take a few ms: many short experiments give narrower intervals than a few
# long ones in the same time.
use constant EXPERIMENT => '100ms';

# Runs @command until the effects of all @$wanted ([target, speedup, point]) are within @$bound
# of what is true, but for chance and BIAS; at most 24 times. The profile has all runs;
# {truths} is what each of them printed.
sub causal_until {
	my ($bound, $wanted, $options, @command) = @_;
	$options = ['--experiment', EXPERIMENT, @$options];
	my $got = causal($options, @command);
	my @truths = ($got->{truth});
	for (2 .. 24) {
		last unless grep { chance_of(result_of($got, @$_)) > $bound - BIAS } @$wanted;
		$got = causal_more($options, @command);
		push @truths, $got->{truth};
	}
	note(scalar @truths, ' runs');
	$got->{truths} = \@truths;
	$got->{more} = sub { causal_more($options, @command) };
	return $got;
}

# Adds a run to the profile of a causal_until().
sub grow {
	my ($got) = @_;
	my $more = $got->{more}->();
	my @truths = (@{$got->{truths}}, $more->{truth});
	%$got = (%$more, truths => \@truths, more => $got->{more});
}

# What the runs printed as @name, on average: [without, with] what was waited for a CPU.
sub mean_truth {
	my ($got, $name) = @_;
	my @sum = (0, 0);
	for my $truth (@{$got->{truths}}) {
		$sum[$_] += $truth->{$name}[$_] / @{$got->{truths}} for 0, 1;
	}
	return \@sum;
}

# Whether what is predicted satisfies @is_near. A profile that says otherwise grows first: what other
# programs did meanwhile is in it, too. Also returns the prediction.
sub is_predicted {
	my ($got, $target, $speedup, $point, $is_near) = @_;
	my $effect;
	for my $run (0 .. ($got->{more} ? 16 : 0)) {
		grow($got) if $run;
		$effect = result_of($got, $target, $speedup, $point)->{program_speedup} // 9;
		return (1, $effect) if $is_near->($effect);
	}
	return (0, $effect);
}

# @target, at a virtual speedup of @speedup (0 to 1), is predicted to gain that part of the time
# that it takes, within @bound. The truth is what the program printed as @truth.
sub about {
	my ($got, $target, $speedup, $point, $truth, $bound, $name) = @_;
	my @gain;
	my ($is_near, $effect) = is_predicted($got, $target, $speedup, $point, sub {
		@gain = map { $speedup * $_ } @{mean_truth($got, $truth)};
		return $_[0] > $gain[0] - $bound && $_[0] < $gain[1] + $bound;
	});
	ok($is_near,
		sprintf '%s: %.2f predicted, true %.2f to %.2f (within %g)', $name, $effect, @gain, $bound);
}

# What waits for a CPU make uncertain. Where the thread that makes progress waits for its CPU, the
# pauses of others change how much: at most, all of that wait comes or goes.
sub slack_of {
	my ($got) = @_;
	my $waited = 0;
	for my $value (grep { ref $got->{truth}{$_} eq 'ARRAY' } keys %{$got->{truth}}) {
		my $share = mean_truth($got, $value);
		$waited += $share->[1] - $share->[0];
	}
	return $waited / (1 - $waited);
}

# @target has no effect, within @bound.
sub no_effect {
	my ($got, $target, $speedup, $point, $bound, $name) = @_;
	my $slack;
	my ($is_near, $effect) = is_predicted($got, $target, $speedup, $point, sub {
		$slack = slack_of($got);
		return abs($_[0]) <= $bound + $slack;
	});
	ok($is_near, sprintf '%s: %.2f predicted, none true (within %.2f)', $name, $effect, $bound + $slack);
}

# All that the report says is in the way.
sub problems_of {
	my ($got) = @_;
	return join ' ', map { $_->{text} } @{$got->{report}{problems}};
}

# What is reported of a target at a virtual speedup (0 to 1); at $point, or any.
sub result_of {
	my ($got, $target, $speedup, $point) = @_;
	my ($found) = grep { $_->{target} eq $target && (!$point || $_->{point} eq $point) }
		@{$got->{report}{targets}};
	my ($result) = grep { abs($_->{speedup} - $speedup) < 0.001 } @{$found->{results} // []};
	return $result // {};
}

# Its program speedup; undefined: there is no result.
sub effect {
	return result_of(@_)->{program_speedup};
}

1;
