#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Visits of progress points counted by the processor's breakpoints, which change no code. Some
# hypervisors never deliver one: that is said before the command starts.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();

sub visits_of {
	my ($got) = @_;
	return map { $_->{point} => $_->{visits} } @{$got->{report}{targets}};
}

if (!decode(run(program('breakpoints'))->{out})->{fired}) {
	my $got = causal(['--breakpoints', '--progress', 'burn'], 'sh', '-c', 'touch started');
	is($got->{status}, 1, 'breakpoints do not fire on this machine');
	like($got->{err}, qr/cannot count visits by breakpoints: .*do not fire.*\n.*Leave out --breakpoints/,
		'which is said');
	ok(!-e 'started', 'before the command starts');
	done_testing();
	exit;
}

my $broken = causal_until(0.25, [['burn', 0.5, 'burn']],
	['--breakpoints', '--progress', 'burn', '--target', 'burn', '--speedup', '50'],
	program('undisturbed'), '--calm', '--seconds', 2);
my %visits = visits_of($broken);
cmp_ok($visits{burn} // 0, '>', 100, 'visits are counted by breakpoints');
about($broken, 'burn', 0.5, 'burn', 'burn', 0.25, 'with the same effect');

# In processes that come later too, once each: the shell's child has them set, and its children
# have them from it.
my $born = causal(['--breakpoints', '--progress', 'child_task', '--target', 'prepare', '--speedup', '50'],
	'sh', '-c', '"$0" forks --seconds 6 --ns-per-loop 1.6; exit $?', program('causal'));
%visits = visits_of($born);
cmp_ok($visits{task} // 0, '>', 100, 'a process for each task');
near(100 * ($visits{child_task} // 0) / ($visits{task} || 1), 100, 5, 'each of them visits a breakpoint once');

my $five = causal(['--breakpoints', map { ('--progress', $_) } qw(burn sleeper poller listener talker)],
	program('undisturbed'), '--seconds', 2);
is($five->{status}, 1, 'five breakpoints');
like($five->{err}, qr/cannot count visits of '\w+': the processor has no breakpoint left.*fewer points/s, 'are too many');

# Where functions begin with endbr64, the uprobe (int3, cc) stands behind it.
done_testing();
