#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# The program does not notice that its threads are paused: no EINTR, no early return, no
# signal lost, whatever it does with signals and descriptors.
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

sub undisturbed {
	my ($got, $name) = @_;
	my $truth = $got->{truth} // {};
	my %want = (eintr => 0, early => 0, alarms => 100, cancelled => 20, child => 7);
	is_deeply({map { $_ => $truth->{$_} } keys %want}, \%want,
		"$name: no EINTR, no early return, no signal or thread lost") or diag($got->{out}, $got->{err});
}

my $got = causal(['--target', 'burn', '--speedup', '50,100'], program('undisturbed'));
is($got->{status}, 0, 'all but one thread are paused');
undisturbed($got, 'everybody else is paused');

$got = causal(['--target', 'sleeper', '--speedup', '100', '--exit'], program('undisturbed'));
is($got->{status}, 2, 'an unknown option');
$got = causal(['--target', 'sleeper', '--speedup', '50'], program('undisturbed'), '--exit', 5);
is($got->{status}, 5, 'the exit status is the program\'s');
undisturbed($got, 'the burner is paused');

$got = causal(['--target', 'burn', '--speedup', '50'], program('undisturbed'), '--block');
undisturbed($got, 'a program that blocks all signals');
unlike(problems_of($got), qr/blocks the signal/, 'can be paused');
$got = causal(['--target', 'burn', '--speedup', '50', '--signal', 12], program('undisturbed'), '--block');
like(problems_of($got), qr/blocks the signal/, 'but not by a signal that it blocks');

# A signal that is ignored by default is not blocked in a pause, unless the program handles it.
# While burn() waits for a CPU, it cannot gain: what other programs take is measured again.
my @urged = (['--experiment', '100ms', '--target', 'burn', '--speedup', '100'], program('urged'), '--seconds', 3);
$got = causal(@urged);
for (1 .. 8) {
	last if (effect($got, 'burn', 1, 'round') // 0) > 0.5 * $got->{truth}{ran};
	$got = causal_more(@urged);
}
cmp_ok(effect($got, 'burn', 1, 'round') // 0, '>', 0.5 * $got->{truth}{ran}, 'a thread that handles such a signal is paused');
cmp_ok($got->{truth}{handled}, '>', 100, 'its handler runs');
# A few between the start of our handler and its look at the program's.
cmp_ok($got->{truth}{nested}, '<', 0.02 * $got->{truth}{handled} + 5, 'but not in a pause')
	or diag($got->{out});

# The signal is the C library's at the first cancellation of each process, then ours again.
$got = causal(['--target', 'burn', '--speedup', '50'], program('cancels'), '--processes', 300);
is_deeply($got->{truth}, {cancelled => 300, lost => 0}, 'every thread is cancelled');

# Who starts the program closes what he did not open, one by one (as Java does) or all at
# once (as Python does).
for my $closing (['perl', '-MPOSIX', '-e', 'POSIX::close($_) for 3 .. 65535; exec @ARGV',
		program('undisturbed')], [program('undisturbed'), '--closed']) {
	$got = causal_until(0.2, [['burn', 0.5]], ['--target', 'burn', '--speedup', '50'], @$closing);
	undisturbed($got, 'without descriptors');
	about($got, 'burn', 0.5, 'round', 'burn', 0.2, 'it is paused all the same');
}

# It ends when it knows, and the program runs on.
$got = causal(['--until-sure=20', '--experiment', '100ms', '--target', 'burn', '--speedup', '50'], program('undisturbed'),
	'--seconds', 3);
undisturbed($got, 'behind the last experiment it runs on');

done_testing();
