#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# dwell path of a client whose requests two other processes work on, in runs that are shorter than the
# distance of two samples: each function's time is that of its own CPU clock, whoever has the CPUs.
use strict;
use warnings;
no warnings 'recursion';

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(max sum0);
use Test::More;

need_recording();

# What is in @$functions, and waits for nothing there: time on the CPU, and the errors that are given.
sub add_times {
	my ($functions, $within, @nodes) = @_;
	for my $node (@nodes) {
		next if $node->{had_cpu};
		my $function = $within;
		if (defined $node->{frame} && $functions->{$node->{frame}}) {
			$function = $functions->{$node->{frame}};
			$function->{error} += $node->{total_error_ns} // 0;
			$function->{nodes}++;
		}
		my $waits = defined $node->{category} || defined $node->{kind};
		$function->{ns} += $node->{self_ns} if $function && !$waits;
		add_times($functions, $waits ? undef : $function, @{$node->{children}});
	}
}

# What of the path is not as it was.
sub differences {
	my ($path, $truth) = @_;
	my %functions = map { $_ => {ns => 0, error => 0} } grep { /_/ && !/_path$/ } keys %$truth;
	my @found;
	add_times(\%functions, undef, @{$path->{tree}});
	for my $name (sort keys %functions) {
		my ($got, $true) = ($functions{$name}{ns}, $truth->{$name});
		push @found, sprintf('%s: %.2f ms for %.2f, error %.2f', $name, $got / 1e6, $true / 1e6, $functions{$name}{error} / 1e6)
			if abs($got - $true) > max(0.03 * $true, 4.9 * $functions{$name}{error});
	}
	my $all = sum0(@{$truth}{keys %functions});
	push @found, 'an error says nothing' if grep { $_->{error} > $all / 10 } values %functions;
	return @found;
}

sub check {
	my ($name, @options) = @_;
	my $run = record(['--trace', '--wakers', 'linked', '-o', "$name.data"], program('paths'), 'relay', '--rounds', 150);
	is($run->{status}, 0, "$name: recorded");
	my $shown = run({seconds => 120}, $DWELL, 'path', '--json', '-i', "$name.data");
	my $path = decode($shown->{out});
	my $categories = $path->{categories};
	is(sum0(values %$categories), $path->{wall_ns}, "$name: the categories add up to the wall time");
	is(sum0(map { $_->{ns} } @{$path->{ran_instead}}), $categories->{run_queue_ns} + $categories->{preempted_ns},
		"$name: who had the CPUs, for all of that time");
	my ($unknown) = grep { !defined $_->{comm} } @{$path->{ran_instead}};
	cmp_ok($unknown ? $unknown->{ns} : 0, '<=', ($categories->{run_queue_ns} + $categories->{preempted_ns}) / 50,
		"$name: it is known who");
	cmp_ok($categories->{estimated_ns}, '>', 0, "$name: runs that were not sampled are estimated");
	cmp_ok($categories->{not_sampled_ns}, '<', $path->{wall_ns} / 20, "$name: nearly all of them");
	is(join('; ', differences($path, $run->{truth})), '', "$name: each function has its time");
	return $path;
}

check('alone');

# Others want the CPUs, too, and are not recorded.
my @others = map { start({name => "other$_"}, $^X, '-e', 'my $end = time + 60; 1 while time < $end') } 1 .. 2;
my $path = check('crowded');
stop($_) for @others;
ok((grep { ($_->{comm} // '') eq 'perl' && !$_->{recorded} } @{$path->{ran_instead}}), 'crowded: who is not recorded has a name');

my $text = run($DWELL, 'path', '-i', 'crowded.data')->{out};
like($text, qr/^ *[\d.]+% .*had the CPU: perl\b/m, 'in the tree, too');
like($text, qr/^# +in functions, estimated /m, 'what is estimated has a row');
like($text, qr/^ *[\d.]+% +~[\d.]+ /m, 'and a mark');

done_testing();
