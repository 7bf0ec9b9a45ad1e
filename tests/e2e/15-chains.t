#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Stacks of programs without frame pointers are the chains of functions that
# these programs are built to have, every function in order, in 99.5% of each
# program's samples: below libc's calls, callbacks, handlers, exceptions, plugins, in
# recursion, however the program was compiled and linked.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(min sum0);
use Statistics;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

my $seconds = full(10, 1);
# In the first moments with a new file, so many stacks of a place may end because it has no table yet.
use constant EARLY => 20;

# All chains a thread can be seen in: of "a b c", also "a" and "a b"; of a handler that
# interrupts any of these, each of them with the handler's functions below.
sub allowed {
	my ($place, $recursion) = @_;
	my %allowed = ('run_place' => 1);
	for my $chain (split /\|/, $place->{chain}) {
		my @functions = ('run_place', map { s/\*$// ? ($_) x $recursion : $_ } split ' ', $chain);
		$allowed{join ' ', @functions[0 .. $_]} = 1 for 0 .. $#functions;
		next unless $place->{name} eq 'signal';
		my @handler = splice @functions, -2; # interrupts all that is left
		for my $handled ([$handler[0]], \@handler) {
			$allowed{join ' ', @functions[0 .. $_], @$handled} = 1 for 0 .. $#functions;
		}
	}
	return \%allowed;
}

# Frames that are no part of a chain: helpers and templates, which are inlined, and stubs.
my $helper = qr/^(?:sleep_ns|sleep_2_ms|draw|disk_buffer|set_name|thread_id|start_thread|operator.*|.*\@plt|.*[<:].*)$/;

# The functions of the program and its plugin that are on a stack, outermost first. Of a
# static program, whose file has libc's too, those in @$names.
sub chain_of {
	my ($event, $names) = @_;
	my @frames = @{$event->{frames}};
	my @chain;
	while (my ($symbol, $dso) = splice @frames, 0, 2) {
		$symbol =~ s/\.(?:cold|part\.\d+)$//;
		next if $dso !~ m{/(?:chains[^/]*|plugin\.so)$} || $symbol =~ $helper;
		unshift @chain, $symbol if !$names || $names->{$symbol};
	}
	return join ' ', @chain;
}

# Counts, by place, of a recording: {samples}, {right}, {in_place}; {wrong} and {end} by stack.
sub count_chains {
	my ($program, $truth) = @_;
	my %place = map { $_->{tid} => $_ } @{$truth->{places}};
	my %names = map { s/\*$//r => 1 } map { split /[ |]/, $_->{chain} } values %place;
	$names{run_place} = 1;
	my %allowed = map { $_ => allowed($place{$_}, $truth->{recursion} // 0) } keys %place;
	my (%count, %early, %leaving);
	$count{samples}{$_->{name}} = 0 for values %place;
	for my $event (events('-i', "$program.data")) {
		my $place = $place{$event->{tid} // 0};
		next unless $place && $event->{event} =~ /^(?:sample|interval)$/ && $event->{comm} eq $place->{name};
		next if ($event->{flags} // '') =~ /first/;
		$count{bare}++, next unless @{$event->{frames}}; # behind a hidden task
		my $chain = chain_of($event, $program =~ /static/ ? \%names : undef);
		$count{end}{$event->{stack_end}}++;
		next if $event->{stack_end} eq 'no_table' && ++$early{$place->{name}} <= EARLY;
		# Back in libc, which ends the thread: unless it is seen in its place later.
		$leaving{$event->{tid}}++, next if $chain eq '' && $event->{stack_end} eq 'complete';
		my $out = delete $leaving{$event->{tid}} // 0;
		$count{wrong}{"$place->{name}: not below run_place"} += $out if $out;
		$count{samples}{$place->{name}} += 1 + $out;
		$count{in_place}{$place->{name}}++ if $event->{class} eq $place->{class};
		if ($allowed{$event->{tid}}{$chain} && $event->{stack_end} eq 'complete') {
			$count{right}{$place->{name}}++;
		} else {
			$count{wrong}{"$place->{name} ($event->{class}, $event->{stack_end}): "
				. substr($chain, 0, 200)}++;
		}
	}
	$count{late} = grep { $_ > EARLY } values %early;
	return \%count;
}

# Beside other programs a thread may be seen too seldom, or dwell gets no CPU for long when a file is mapped:
# then it is recorded again, for longer.
sub check {
	my ($program, @arguments) = @_;
	my $count;
	for (my $run = $seconds; $run <= 4 * $seconds; $run *= 2) {
		my $got = record(['-o', "$program.data", '-c', 500], program($program), '--seconds', $run, @arguments);
		return fail("$program is recorded") if $got->{status};
		$count = count_chains($program, $got->{truth});
		last if min(map { $count->{in_place}{$_} // 0 } keys %{$count->{samples}}) > 20 * $seconds
			&& !$count->{late};
	}
	my ($samples, $right) = (0, 0);
	for my $name (sort keys %{$count->{samples}}) {
		my ($of, $good) = ($count->{samples}{$name}, $count->{right}{$name} // 0);
		$samples += $of;
		$right += $good;
		cmp_ok($count->{in_place}{$name} // 0, '>', 20 * $seconds, "$program: there are samples of $name");
		cmp_ok($of - $good, '<', binomial_bound($of, 0.005), "$program: $name, $good of $of chains are right");
	}
	cmp_ok($right, '>=', 0.995 * $samples, "$program: $right of $samples in all");
	my $hidden = report('-i', "$program.data")->{lost};
	cmp_ok($count->{bare} // 0, '<=', $hidden->{'switches, hidden from tracing by the kernel'} // 0,
		"$program: every sample has a stack");
	diag("$count->{wrong}{$_} times $_") for grep { $count->{wrong}{$_} > 1 } sort keys %{$count->{wrong}};
	note("$program: ", join ', ', map { "$count->{end}{$_} $_" } sort keys %{$count->{end}});
}

my $plugin = program('plugin.so');
check('chains', '--plugin', $plugin);
check("chains-$_", '--plugin', $plugin) for qw(O0 O1 O3 Os no-pie no-plt);
check("chains-$_") for qw(static static-pie);
check('chains_cc');

# Programs that live for a few milliseconds: user space cannot have told the kernel side
# of what they map when their first stacks are taken. On a busy machine, perl's table may be late: it runs again then,
# until it was right more often than not.
my ($whole, $cut, $gone, $got);
my $right = 0;
for (1 .. 7) {
	$got = record(['-o', 'brief.data'], 'sh', '-c',
		'i=0; while [ $i -lt 300 ]; do perl -e 1; i=$((i+1)); done');
	($whole, $cut, $gone) = (0, 0, 0);
	for my $event (grep { $_->{event} =~ /^(?:sample|interval)$/ } events('-i', 'brief.data')) {
		my %user = reverse @{$event->{frames}};
		delete $user{'[kernel]'};
		$event->{stack_end} eq 'complete' ? $whole++ : $cut++;
		$gone++ if join(' ', keys %user) eq '[unknown]'; # of the program before an exec
	}
	my $few = $cut <= 0.03 * ($whole + $cut) && $gone <= 0.005 * ($whole + $cut);
	$right += $few ? 1 : -1;
	last if $right > 0;
	note("$cut of " . ($whole + $cut) . " stacks are cut, $gone are of programs that are gone");
}
cmp_ok($right, '>', 0, 'stacks of brief programs are whole more often than not');
is($got->{status}, 0, 'brief programs are recorded');
cmp_ok($cut, '<=', 0.03 * ($whole + $cut), "$cut of " . ($whole + $cut) . ' of their stacks are cut');
cmp_ok($gone, '<=', 0.005 * ($whole + $cut), "$gone are of programs that are gone");

# The way back from a handler is a system call at the very end of what is described. (While
# the kernel puts the registers back, those are of neither frame.)
$got = record(['-o', 'returns.data'], 'perl', '-e', '$SIG{USR1} = sub {}; kill USR1 => $$ for 1 .. 1e6');
is($got->{status}, 0, 'a program that returns from handlers all the time is recorded');
my %returns;
for my $event (events('-i', 'returns.data')) {
	my %symbols = @{$event->{frames}};
	$returns{$event->{stack_end}}++ if grep { /sys_rt_sigreturn/ } keys %symbols;
}
my $returns = sum0(values %returns);
cmp_ok($returns, '>', 100, 'there are samples of the way back');
cmp_ok($returns{complete} // 0, '>=', 0.95 * $returns, "$returns{complete} of $returns of their stacks are whole");

done_testing;
