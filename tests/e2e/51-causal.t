#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Virtual speedups: that the program does not notice, what they predict where that is
# known by construction, and what is said when something is in the way.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use File::Copy;
use Test::More;

need_recording();

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

# Nor does it matter to one who sleeps how fast others are: what his pauses cost him is part
# of them, though each is as brief as a nap.
my $naps = result_of(causal(['--target', 'burn', '--speedup', '50'], program('naps'), '--seconds', 16),
	'burn', 0.5, 'nap');
cmp_ok($naps->{high} // -9, '>', -0.04, 'naps: no loss, however often they are paused');
cmp_ok($naps->{low} // 9, '<', 0.04, 'and no gain');

my $blocked = causal(['--target', 'burn', '--speedup', '50'], program('undisturbed'), '--block');
undisturbed($blocked, 'a program that blocks all signals');
unlike(join(' ', map { $_->{text} } @{$blocked->{report}{problems}}), qr/blocks the signal/,
	'can be paused');

# The signal is the C library's at the first cancellation of each process, then ours again.
my $cancels = causal(['--target', 'burn', '--speedup', '50'], program('cancels'), '--processes', 300);
is_deeply($cancels->{truth}, {cancelled => 300, lost => 0}, 'every thread is cancelled');

my $other = causal(['--target', 'burn', '--speedup', '50', '--signal', 12], program('undisturbed'),
	'--block');
like(join(' ', map { $_->{text} } @{$other->{report}{problems}}), qr/blocks the signal/,
	'but not by a signal that it blocks');

# What was finished stays.
my $crash = causal(['--target', 'burn', '--speedup', '50'], program('undisturbed'), '--seconds', 3,
	'--crash');
is($crash->{status}, 128 + 6, 'a crash');
like(join(' ', map { $_->{text} } @{$crash->{report}{problems}}), qr/ended by signal 6/, 'is told');
cmp_ok($crash->{report}{targets}[0]{results}[0]{experiments} // 0, '>=', 2, 'keeps experiments');

# Nor is a part of a run taken for the whole.
for my $part ([['--duration', '1s']], [[], '--crash']) {
	my ($options, @more) = @$part;
	my $got = causal(['--end-to-end', '--target', 'burn', '--speedup', 50, @$options],
		program('undisturbed'), '--seconds', 2, @more);
	is($got->{report}{experiments}, 0, "@$options@more: no whole run");
}

# Unmodified programs: progress at a function, by name.
my $named = causal(['--progress', 'burn', '--target', 'burn', '--speedup', '50'],
	program('undisturbed'), '--seconds', 6);
ok((grep { $_->{name} eq 'burn' && $_->{kind} eq 'throughput' } @{$named->{report}{points}}),
	'visits of a function are a progress point');
my ($curve) = grep { $_->{point} eq 'burn' } @{$named->{report}{targets}};
cmp_ok(abs(($curve->{results}[0]{program_speedup} // 9) - 0.5), '<', 0.2, 'with the same effect');

# Who starts the program closes what he did not open, one by one (as Java does) or all at
# once (as Python does).
for my $closing (['perl', '-MPOSIX', '-e', 'POSIX::close($_) for 3 .. 65535; exec @ARGV',
		program('undisturbed')], [program('undisturbed'), '--closed']) {
	my $closed = causal(['--target', 'burn', '--speedup', '50'], @$closing, '--seconds', 6);
	undisturbed($closed, 'without descriptors');
	cmp_ok(effect($closed, 'burn', 0.5) // 0, '>', 0.3, 'it is paused all the same');
}

# Threads that sleep for long are seldom tried: a sleep counts for 10 ms at most, so that four
# that sleep 0.3 s at a time are an eighth of what is drawn from, beside one that computes (a
# quarter is allowed for), instead of four fifths. (That the shell is stripped, too, is not
# reported.)
sub binomial_bound { # the least number of @_[0] draws that is reached in less than one run of a million
	my ($n, $p) = @_;
	my ($term, $above) = ($p**$n, 0);
	for (my $k = $n; $k > 0; $k--) { # from all of them down
		return $k + 1 if ($above += $term) > 1e-6;
		$term *= $k / ($n - $k + 1) * (1 - $p) / $p;
	}
	return 1;
}
my $idle = causal(['--functions', '--experiment', '50ms', '--fixed-length'], 'sh', '-c',
	'for i in 1 2 3 4; do perl -e "select undef, undef, undef, 0.3 for 1 .. 40" & done; ' .
	'"$0" --seconds 12; wait', program('undisturbed'));
my %tried = map { $_->{target} => 0 } @{$idle->{report}{targets}};
$tried{$_->{target}} += $_->{experiments} for map {
	my $target = $_->{target};
	map { {target => $target, experiments => $_->{experiments}} } @{$_->{results}};
} @{$idle->{report}{targets}};
my $tries = 0;
$tries += $_ for values %tried;
cmp_ok($tries, '>', 24, 'functions of programs, some of them asleep: tried');
cmp_ok($tried{Perl_pp_sselect} // 0, '<', binomial_bound($tries, 0.25),
	"those that sleep seldom, of $tries");
unlike(run($DWELL, 'causal', 'report', 'p')->{out}, qr/dash|bin\/sh/, 'nothing is told of the shell');

# More threads than CPUs, all of them in the target in turn: what they wait for a CPU that
# others of them have is not the target's, nor is the time of a pause in it.
sub period_of_pool {
	my $got = run(program('causal'), 'pool', '--seconds', 1, '--ns-per-loop', 1.6, @_);
	return decode($got->{out})->{period_ns};
}
my $pool = causal(['--target', 'look_around', '--speedup', 75], program('causal'), 'pool',
	'--seconds', 8, '--ns-per-loop', 1.6);
my ($faster, $whole) = (0, 0);
for (1 .. 3) {
	$faster += period_of_pool('--scale', 'look_around=75');
	$whole += period_of_pool();
}
my $truth = 1 - $faster / $whole;
my $gain = effect($pool, 'look_around', 0.75) // 9;
$pool = causal(['--class', 'other', '--speedup', 100], program('causal'), 'pool', '--seconds', 8,
	'--ns-per-loop', 1.6);
cmp_ok(effect($pool, 'other', 1) // 9, '<', 0.1, 'its CPUs are full: shorter waits gain little');
cmp_ok(abs($gain - $truth), '<', 0.15, sprintf 'a pool: %.2f predicted, %.2f real', $gain,
	$truth);

my $errands = causal(['--class', 'other', '--speedup', 50], program('causal'), 'errands', '--seconds', 6,
	'--ns-per-loop', 1.6);
cmp_ok(effect($errands, 'other', 0.5) // 0, '>', 0.25, 'but who runs briefly beside others gains');

# Functions of files that are not in scope belong to those that call them.
my $scoped = causal(['--source-exclude', '*/known.h', '--source-exclude', '*/causal_run.h'],
	program('causal'), 'usleep-barrier', '--seconds', 5);
open my $profile, '<', 'p' or die "p: $!\n";
my %ran;
for my $place (grep { $_->{type} eq 'place' } map { decode($_) } <$profile>) {
	$ran{$place->{function}} += $place->{ns};
}
cmp_ok($ran{doze} // 0, '>', 3e9, 'a function out of scope counts for its caller');
cmp_ok($ran{nap} // 0, '<', 3e8, 'and not for itself');

# By breakpoints, which change no code; and by a probe, which stands behind a semaphore.
my $broken = causal(['--breakpoints', '--progress', 'burn', '--target', 'burn', '--speedup', '50'],
	program('undisturbed'), '--seconds', 6);
($curve) = grep { $_->{point} eq 'burn' } @{$broken->{report}{targets}};
cmp_ok($curve->{visits} // 0, '>', 100, 'visits are counted by breakpoints');
cmp_ok(abs(($curve->{results}[0]{program_speedup} // 9) - 0.5), '<', 0.25, 'with the same effect');
# In processes that come later too, once each: the shell's child has them set, and its children
# have them from it.
my $born = causal(['--breakpoints', '--progress', 'child_task', '--target', 'prepare', '--speedup', '50'],
	'sh', '-c', '"$0" forks --seconds 6 --ns-per-loop 1.6; exit $?', program('causal'));
my %visits = map { $_->{point} => $_->{visits} } @{$born->{report}{targets}};
cmp_ok($visits{task} // 0, '>', 100, 'a process for each task');
near(100 * ($visits{child_task} // 0) / ($visits{task} || 1), 100, 5, 'each of them visits a breakpoint once');
# Where functions begin with endbr64, the uprobe (int3, cc) stands behind it.
my ($entry) = `nm @{[program('causal-cet')]}` =~ /^([0-9a-f]+) t run_a$/m;
my $look = 'my $at = hex shift; my $pid = fork // die; exec @ARGV if !$pid; sleep 2;
	open my $maps, "<", "/proc/$pid/maps"; my ($base) = <$maps> =~ /^(\w+)/;
	open my $memory, "<:raw", "/proc/$pid/mem"; sysseek $memory, $at + hex $base, 0;
	sysread $memory, my $code, 5; print "code ", unpack("H*", $code), "\n"; waitpid $pid, 0';
my $behind = causal(['--progress', 'run_a', '--target', 'loop_a', '--speedup', '50'], 'perl', '-e', $look,
	$entry, program('causal-cet'), 'coz-figure1', '--seconds', 4, '--ns-per-loop', 1.6);
like($behind->{out}, qr/^code f30f1efacc$/m, 'the uprobe stands behind endbr64');
%visits = map { $_->{point} => $_->{visits} } @{$behind->{report}{targets}};
cmp_ok($visits{round} // 0, '>', 100, 'a program with endbr64');
near(100 * ($visits{run_a} // 0) / ($visits{round} || 1), 100, 1, 'each call is counted once');
my $five = causal(['--breakpoints', map { ('--progress', $_) } qw(burn sleeper poller listener talker)],
	program('undisturbed'), '--seconds', 2);
is($five->{status}, 1, 'five breakpoints');
like($five->{err}, qr/cannot count visits of '\w+': the processor has no breakpoint left.*fewer points/s, 'are too many');
is($named->{truth}{watched}, 0, 'nobody watches the probe');
my $probed = causal(['--progress', 'usdt:undisturbed:round', '--target', 'burn', '--speedup', '50'],
	program('undisturbed'), '--seconds', 6);
cmp_ok($probed->{truth}{watched} // 0, '>', 100, 'the probe is switched on');
($curve) = grep { $_->{point} eq 'usdt:undisturbed:round' } @{$probed->{report}{targets}};
cmp_ok(abs(($curve->{results}[0]{program_speedup} // 9) - 0.5), '<', 0.2, 'with the same effect');

# It ends when it knows, and the program runs on.
my $sure = causal(['--until-sure=6', '--target', 'burn', '--speedup', '50,100'],
	program('undisturbed'), '--seconds', 40);
my ($best) = @{$sure->{report}{targets}};
cmp_ok($best->{best_high} - $best->{best_low}, '<=', 0.14, 'until sure: the best is known');
cmp_ok($best->{experiments}, '<', 50, 'and then no more experiments are made');
undisturbed($sure, 'it runs on');

# What is in the way.
my $missing = causal(['--target', 'burm'], program('undisturbed'), '--seconds', 1);
isnt($missing->{status}, 0, 'a target that does not exist');
like($missing->{err}, qr/there is no code of 'burm'.*burn/s, 'the nearest name is told');
my ($own) = `nm $DWELL` =~ / [tT] (causal__run)$/m;
$missing = causal(['--target', $own], program('undisturbed'), '--seconds', 1);
like($missing->{err}, qr{there is no code of '$own'}, 'dwell itself is not what it ran');
$missing = causal(['--progress', 'usdt:undisturbed:nothing'], program('undisturbed'), '--seconds', 1);
like($missing->{err}, qr/undisturbed:round/, 'a probe that does not exist, and the one that does');
$missing = causal(['--target', 'usdt:a:b'], program('undisturbed'));
like($missing->{err}, qr/no code that could be faster/, 'a probe is no target');
$missing = causal(['--also', 'usdt:a:b=50'], program('undisturbed'));
is($missing->{status}, 1, 'nor sped up besides');
like($missing->{err}, qr/no code that could be faster/, 'which is told');
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

# Who becomes somebody else takes no library along.
copy(program('undisturbed'), "$DIR/becomes") or die "becomes: $!\n";
chown 65534, -1, "$DIR/becomes";
chmod 04755, "$DIR/becomes";
my $becomes = causal(['--progress', 'burn', '--target', 'burn', '--speedup', '50'], "$DIR/becomes", '--seconds', 3);
like(join(' ', map { $_->{text} } @{$becomes->{report}{problems}}), qr/set-user-id/,
	'a set-user-id program cannot be paused');

# Without names.
is(run('strip', '-o', "$DIR/stripped", program('undisturbed'))->{status}, 0, 'stripped');
$missing = causal(['--target', 'burn'], "$DIR/stripped", '--seconds', 1);
like($missing->{err}, qr/there is no code of 'burn'/, 'stripped: there is no such function');
my $nameless = causal([], "$DIR/stripped", '--seconds', 3);
is($nameless->{status}, 0, 'stripped, any target: it runs');
like(run($DWELL, 'causal', 'report', 'p')->{out}, qr/debug|stripped|lines/, 'why there are no lines');

my $nobody = run('setpriv', '--reuid=65534', '--clear-groups', $DWELL, 'causal', 'run', '-o', '/dev/null',
	'--', 'true');
isnt($nobody->{status}, 0, 'without permission');
like($nobody->{err}, qr/root|capabilit|permi/i, 'what it takes is told');

my $nowhere = run({seconds => 20}, $DWELL, 'causal', 'run', '-o', 'no/such/directory', '--', 'echo', 'ran');
is($nowhere->{status}, 1, 'a profile that cannot be written');
like($nowhere->{err}, qr{no/such/directory}, 'is told');
is($nowhere->{out}, '', 'and the command does not run');
my $gone = causal([], '/nonexistent');
is($gone->{status}, 127, 'a command that is not there');

done_testing();
