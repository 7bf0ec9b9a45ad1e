#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Progress points of every kind, and targets in C++ and Rust, in what is loaded while the program
# runs, and by kind of waiting. The truth is each function's share of a round, in the same
# runs: the thread that goes round is never paused, for only itself runs a target. On a busy machine
# the time that a function waits for a CPU may be gained with it or not.
#
# Runs alone.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();

my @shop = (program('shop'), '--plugin', program('shelf.so'));
my $count = 'shop::Till<long>::count';

# As many runs as predictions within 15 points need.
sub until_known {
	my ($wanted, $options, @command) = @_;
	return causal_until(0.15, $wanted, $options, @command);
}

my @points = ('round', 'coz-round', 'customer');
my $got = until_known([map { my $point = $_; map { [$_, 1, $point] } $count, 'shelve', 'sleep' } @points],
	['--target', $count, '--target', 'shelve', '--class', 'sleep', '--speedup', 100,
	'--binary-scope', 'sh*'], @shop, '--seconds', 3);
is($got->{status}, 0, 'a program in C++, with a plugin');
for my $point (@points) {
	about($got, $count, 1, $point, 'count', 0.15, "a method of a class template, at $point");
	about($got, 'shelve', 1, $point, 'shelve', 0.15, "a function of a plugin, at $point");
	about($got, 'sleep', 1, $point, 'doze', 0.15, "sleeping, at $point");
}

# What is no point in the source: a function of which samples are counted.
my @sampled = ('--progress-sampled', 'shelve');
$got = until_known([[$count, 1, 'shelve']], [@sampled, '--target', $count, '--speedup', 100], @shop, '--seconds', 3);
about($got, $count, 1, 'shelve', 'count', 0.15, 'samples as progress');
# If pauses were sampled as progress, it would be a half.
$got = until_known([['shop::idle', 0.5, 'shelve']], [@sampled, '--target', 'shop::idle', '--speedup', 50], @shop,
	'--seconds', 3);
no_effect($got, 'shop::idle', 0.5, 'shelve', 0.15, 'what runs beside: pauses are not sampled');

# Rust, with methods, those of traits and generic functions, on and off the CPU.
$got = until_known([map { [$_, 1, 'printed'] } 'Type::set', 'press::Ink::dry', 'print::<u32>'],
	['--progress', 'printed', '--target', 'Type::set', '--target', 'press::Ink::dry', '--target',
	'print::<u32>', '--speedup', 100], program('press'), '--seconds', 3);
is($got->{status}, 0, 'a program in Rust');
about($got, 'Type::set', 1, 'printed', 'set', 0.15, 'a method');
about($got, 'press::Ink::dry', 1, 'printed', 'dry', 0.15, 'a method of a trait, which sleeps');
about($got, 'print::<u32>', 1, 'printed', 'print', 0.15, 'a generic function');
$got = until_known([['Paper::dry', 0.5, 'printed']],
	['--progress', 'printed', '--target', 'Paper::dry', '--speedup', 50], program('press'), '--seconds', 3);
no_effect($got, 'Paper::dry', 0.5, 'printed', 0.15, 'what runs beside does not matter');
for my $ambiguous (['--target', 'dry', '--progress', 'printed'], ['--progress', 'dry']) {
	# On a busy machine the program may be over before its code has been searched.
	for my $seconds (2, 8, 32) {
		$got = causal($ambiguous, 'sh', '-c', '"$0" --seconds $1 2>&1; echo after >&2', program('press'), $seconds);
		last if $got->{err} !~ /^after/;
	}
	isnt($got->{status}, 0, "@$ambiguous: a name of two methods");
	like($got->{err}, qr/'dry' means several: (?=.*Ink).*Paper.*\n.*Give more.*\nafter$/,
		'which are told while the command runs, once');
}

# Whole runs, some with the speedup and some without.
unlink 'p';
my $seed = 0;
my $more = sub {
	return causal_more(['--end-to-end', '--seed', ++$seed, '--target', $count, '--speedup', 100],
		program('shop'), '--rounds', 350);
};
my @truths;
while ($seed < 8 || ($seed < 32 && chance_of(result_of($got, $count, 1, 'end-to-end')) > 0.15)) {
	$got = $more->();
	push @truths, $got->{truth};
}
$got->{truths} = \@truths;
$got->{more} = $more;
about($got, $count, 1, 'end-to-end', 'count', 0.15, 'whole runs');

done_testing;
