#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# What is in the way of a causal profile is told, with what to do about it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use File::Copy;
use Test::More;

need_recording();

my $missing = causal(['--target', 'burm'], program('undisturbed'), '--seconds', 1);
isnt($missing->{status}, 0, 'a target that does not exist');
like($missing->{err}, qr/there is no code of 'burm'.*burn/s, 'the nearest name is told');
my ($own) = `nm $DWELL` =~ / [tT] (causal__run)$/m;
$missing = causal(['--target', $own], program('undisturbed'), '--seconds', 1);
like($missing->{err}, qr{there is no code of '$own'}, 'dwell itself is not what it ran');
$missing = causal(['--progress', 'usdt:undisturbed:nothing'], program('undisturbed'), '--seconds', 1);
like($missing->{err}, qr/undisturbed:round/, 'a probe that does not exist, and the one that does');
$missing = causal(['--target', 'usdt:a:b'], program('undisturbed'));
like($missing->{err}, qr/a probe, which cannot be made faster/, 'a probe is no target');
$missing = causal(['--also', 'usdt:a:b=50'], program('undisturbed'));
is($missing->{status}, 1, 'nor sped up besides');
like($missing->{err}, qr/a probe, which cannot be made faster/, 'which is told');
$missing = causal(['--class', 'lock'], program('undisturbed'));
is($missing->{status}, 1, 'lock is no class to speed up');
like($missing->{err}, qr/critical section/, 'what is, is told');
$missing = causal(['--progress', 'nowhere.c:1', '--target', 'burn'], program('undisturbed'),
	'--seconds', 1);
isnt($missing->{status}, 0, 'a progress point that does not exist');
like($missing->{err}, qr/progress point 'nowhere.c:1'/, 'it is told');

# Code at more places than can be sped up at once: a function that was inlined 9,000 times.
spew('wide.c', <<'EOF');
#include <unistd.h>
static inline __attribute__((always_inline)) void spot(void) { __asm__ volatile("xchg %eax, %ebx"); }
#define TEN(x) x x x x x x x x x x
int main(void)
{
	for (int i = 0; i < 10; i++, usleep(100000)) {
		TEN(TEN(TEN(spot(); __asm__ volatile("nop"); spot(); __asm__ volatile("nop"); spot(); __asm__ volatile("nop");
			spot(); __asm__ volatile("nop"); spot(); __asm__ volatile("nop"); spot(); __asm__ volatile("nop");
			spot(); __asm__ volatile("nop"); spot(); __asm__ volatile("nop"); spot(); __asm__ volatile("nop");)))
	}
	return 0;
}
EOF
is(run('cc', '-O1', '-g', '-o', 'wide', 'wide.c')->{status}, 0, 'a function that is inlined 9,000 times');
for my $how (['--also', 'spot=50'], ['--progress-sampled', 'spot']) {
	my $wide = causal($how, './wide');
	isnt($wide->{status}, 0, "@$how: is code at too many places");
	like($wide->{err}, qr/'spot(?:=50)?' is code at more than 8192 places/, 'which is told');
}

my $silent = causal([], program('switches'), '--pairs', 1, '--rounds', 20000);
is($silent->{status}, 0, 'no progress point: the program ran');
like(run($DWELL, 'causal', 'report', 'p')->{out}, qr/progress point/, 'the report says so');

my $static = causal(['--target', 'burn', '--speedup', '50'], program('undisturbed-static'),
	'--seconds', 1);
like(problems_of($static), qr/linked statically/, 'a static program cannot be paused');

# Who becomes somebody else takes no library along.
copy(program('undisturbed'), "$DIR/becomes") or die "becomes: $!\n";
chown 65534, -1, "$DIR/becomes";
chmod 04755, "$DIR/becomes";
my $becomes = causal(['--progress', 'burn', '--target', 'burn', '--speedup', '50'], "$DIR/becomes", '--seconds', 1);
like(problems_of($becomes), qr/set-user-id/, 'a set-user-id program cannot be paused');

# Without names.
is(run('strip', '-o', "$DIR/stripped", program('undisturbed'))->{status}, 0, 'stripped');
$missing = causal(['--target', 'burn'], "$DIR/stripped", '--seconds', 1);
like($missing->{err}, qr/there is no code of 'burn'/, 'stripped: there is no such function');
my $nameless = causal([], "$DIR/stripped", '--seconds', 1);
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
