#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Virtual speedups: that the program does not notice, what they predict where that is
# known by construction, and what is said when something is in the way.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

sub causal {
	my ($options, @command) = @_;
	unlink 'p';
	my $got = run({seconds => 120}, $DWELL, 'causal', 'run', '-o', 'p', '-q', @$options, '--', @command);
	$got->{truth} = decode($1) if $got->{out} =~ /^(\{.*\})$/m;
	$got->{report} = decode(run($DWELL, 'causal', 'report', '--json', 'p')->{out}) if -e 'p';
	return $got;
}

# The program speedup of a target at a virtual speedup (0 to 1).
sub effect {
	my ($got, $target, $speedup) = @_;
	my ($found) = grep { $_->{target} eq $target } @{$got->{report}{targets}};
	my ($result) = grep { abs($_->{speedup} - $speedup) < 0.001 } @{$found->{results} // []};
	return $result ? $result->{program_speedup} : undef;
}

sub undisturbed {
	my ($got, $name) = @_;
	my $truth = $got->{truth} // {};
	my %want = (eintr => 0, early => 0, alarms => 20, cancelled => 20, child => 7);
	is_deeply({map { $_ => $truth->{$_} } keys %want}, \%want,
		"$name: no EINTR, no early return, no signal or thread lost");
}

# All of a round is burn().
my $all = causal(['--target', 'burn', '--speedup', '50,100'], program('undisturbed'), '--seconds', 8);
is($all->{status}, 0, 'burn: ran');
undisturbed($all, 'everybody else is paused');
cmp_ok(effect($all, 'burn', 0.5) // 0, '>', 0.3, 'half of it: the program is as much faster');
cmp_ok(effect($all, 'burn', 0.5) // 9, '<', 0.7, 'and not more');
cmp_ok(effect($all, 'burn', 1) // 0, '>', 0.8, 'all of it: nothing is left');

# Nobody waits for the sleeper.
my $none = causal(['--target', 'sleeper', '--speedup', '100', '--exit'], program('undisturbed'));
is($none->{status}, 2, 'an unknown option');
$none = causal(['--target', 'sleeper', '--speedup', '50'], program('undisturbed'), '--seconds', 6,
	'--exit', 5);
is($none->{status}, 5, 'the exit status is the program\'s');
undisturbed($none, 'the burner is paused');
cmp_ok(abs(effect($none, 'sleeper', 0.5) // 9), '<', 0.15, 'sleeper: no effect');

my $blocked = causal(['--target', 'burn', '--speedup', '50'], program('undisturbed'), '--block');
undisturbed($blocked, 'a program that blocks all signals');
unlike(join(' ', map { $_->{text} } @{$blocked->{report}{problems}}), qr/blocks the signal/,
	'can be paused');

my $other = causal(['--target', 'burn', '--speedup', '50', '--signal', 12], program('undisturbed'),
	'--block');
like(join(' ', map { $_->{text} } @{$other->{report}{problems}}), qr/blocks the signal/,
	'but not by a signal that it blocks');

# What was finished stays.
my $crash = causal(['--target', 'burn', '--speedup', '50'], program('undisturbed'), '--seconds', 3,
	'--crash');
is($crash->{status}, 128 + 6, 'a crash');
cmp_ok($crash->{report}{targets}[0]{results}[0]{experiments} // 0, '>=', 2, 'keeps experiments');

# Unmodified programs: progress at a function, by name.
my $named = causal(['--progress', 'burn', '--target', 'burn', '--speedup', '50'],
	program('undisturbed'), '--seconds', 6);
ok((grep { $_->{name} eq 'burn' && $_->{kind} eq 'throughput' } @{$named->{report}{points}}),
	'visits of a function are a progress point');
my ($curve) = grep { $_->{point} eq 'burn' } @{$named->{report}{targets}};
cmp_ok(abs(($curve->{results}[0]{program_speedup} // 9) - 0.5), '<', 0.2, 'with the same effect');

# What is in the way.
my $missing = causal(['--target', 'burm'], program('undisturbed'), '--seconds', 1);
isnt($missing->{status}, 0, 'a target that does not exist');
like($missing->{err}, qr/there is no code of 'burm'.*burn/s, 'the nearest name is told');
$missing = causal(['--class', 'lock'], program('undisturbed'));
is($missing->{status}, 1, 'lock is no class to speed up');
like($missing->{err}, qr/critical section/, 'what is, is told');
$missing = causal(['--progress', 'nowhere.c:1', '--target', 'burn'], program('undisturbed'),
	'--seconds', 1);
isnt($missing->{status}, 0, 'a progress point that does not exist');
like($missing->{err}, qr/progress point 'nowhere.c:1'/, 'it is told');

my $silent = causal([], program('switches'), '--pairs', 1, '--rounds', 20000);
is($silent->{status}, 0, 'no progress point: the program ran');
like(run($DWELL, 'causal', 'report', 'p')->{out}, qr/progress point/, 'the report says so');

my $static = causal(['--target', 'burn', '--speedup', '50'], program('undisturbed-static'),
	'--seconds', 3);
like(join(' ', map { $_->{text} } @{$static->{report}{problems}}), qr/linked statically/,
	'a static program cannot be paused');

my $gone = causal([], '/nonexistent');
is($gone->{status}, 127, 'a command that is not there');

done_testing();
