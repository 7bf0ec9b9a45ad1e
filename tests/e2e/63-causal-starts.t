#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Before a command is profiled, and after it has ended: unknown names, AddressSanitizer, processes that
# outlive the command, and builds that are not mixed.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();

my $refused = program('refused');

spew('marks.c', <<'EOF');
#include <fcntl.h>
int main(void) { return open("started", O_CREAT | O_WRONLY, 0600) < 0; }
EOF
is(run('cc', '-g', '-o', 'marks', 'marks.c')->{status}, 0, 'a program that leaves a mark');
for my $wrong (['--target', 'nothing'], ['--progress', 'nothing'], ['--progress', 'marks.c:99'], ['--also', 'nothing=50'],
	['--progress', 'usdt:no:thing'], ['--progress-sampled', 'nothing'], ['--target', 'main called from nothing']) {
	unlink 'started';
	my $got = causal($wrong, './marks');
	is($got->{status}, 1, "@$wrong: fails");
	like($got->{err}, qr/there is no code of .*(?:no:thing|nothing|marks.c:99)/, 'and tells why');
	ok(!-e 'started', 'before the command starts');
}
for my $right (['--target', 'main'], ['--target', 'malloc']) {
	unlink 'started';
	causal($right, './marks');
	ok(-e 'started', "@$right: is there, in the program or a library");
}
unlink 'started';
causal(['--target', 'nothing'], 'sh', '-c', './marks');
ok(-e 'started', 'a shell may run anything');

# Where libraries may be: in a folder behind one whose file the linker passes over, as it is for another machine; and
# linked with one that is preloaded.
mkdir $_ for 'other', 'right';
spew('inner.c', 'int inner(void) { return 1; }');
spew('outer.c', 'int inner(void); int outer(void) { return inner(); }');
spew('linked.c', "#include <fcntl.h>\nint inner(void);\n"
	. 'int main(void) { return open("started", O_CREAT | O_WRONLY, 0600) < 0 || inner() != 1; }');
my @library = ('cc', '-g', '-shared', '-fPIC', '-o');
is(run(@library, 'right/libinner.so', 'inner.c')->{status} + run(@library, 'right/libouter.so', 'outer.c', '-Lright', '-linner')->{status}
	+ run('cc', '-g', '-o', 'linked', 'linked.c', '-Lright', '-linner')->{status}, 0, 'libraries');
run(@library, 'other/libinner.so', 'marks.c');
my $bytes = slurp('other/libinner.so');
substr $bytes, 18, 2, pack('v', 183); # e_machine: AArch64
spew('other/libinner.so', $bytes);
for my $case ([{LD_LIBRARY_PATH => "$DIR/other:$DIR/right"}, './linked'],
	[{LD_PRELOAD => 'libouter.so', LD_LIBRARY_PATH => "$DIR/right"}, './marks']) {
	my ($environment, $command) = @$case;
	unlink 'started';
	local @ENV{keys %$environment} = values %$environment;
	my $got = causal(['--target', 'inner'], $command);
	ok(-e 'started', join(' ', %$environment) . ': the function is there') or diag($got->{err});
}

# The command only starts the process that does the work.
my $daemon = causal(['--experiment', '100ms', '--progress', 'item', '--target', 'think', '--speedup', 50], $refused, 'daemon', 3);
is($daemon->{status}, 0, 'a daemon: the status of the command');
cmp_ok($daemon->{report}{experiments}, '>', 0, 'it is profiled');
like($daemon->{err}, qr/processes that it started still run/, 'which is told');
like(problems_of($daemon), qr/processes that it started went on/, 'and in the report');
my $alone = causal(['--progress', 'item', '--target', 'think', '--speedup', 50], $refused, 'steps', 1);
unlike($alone->{err} . problems_of($alone), qr/processes that it started/, 'not without such processes');

# AddressSanitizer, and two builds.
spew('rounds.c', <<'EOF');
#include <stdint.h>
#include <stdio.h>
#include <time.h>
static uint64_t x = 1;
__attribute__((noinline)) void work(void) { for (long i = 0; i < LOOPS; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } }
__attribute__((noinline)) void done(void) { __asm__ volatile("" ::: "memory"); }
int main(void)
{
	struct timespec t;
	long end;
	clock_gettime(CLOCK_MONOTONIC, &t);
	for (end = t.tv_sec + 3; t.tv_sec < end; clock_gettime(CLOCK_MONOTONIC, &t)) { work(); done(); }
	return x == 42;
}
EOF
my @how = ('--experiment', '100ms', '--progress', 'done', '--target', 'work', '--speedup', 50);
SKIP: {
	skip 'the compiler has no AddressSanitizer', 2
		if run('cc', '-DLOOPS=300000', '-g', '-O1', '-fsanitize=address', '-o', 'rounds', 'rounds.c')->{status}
		|| run('./rounds')->{status};
	my $sanitized = causal(\@how, './rounds');
	is($sanitized->{status}, 0, 'AddressSanitizer: it runs') or diag($sanitized->{err});
	cmp_ok($sanitized->{report}{experiments}, '>', 0, 'and is profiled');
}

my %by;
unlink 'p';
for my $loops (300000, 200000) {
	is(run('cc', "-DLOOPS=$loops", '-g', '-O1', '-Wl,--build-id', '-o', 'rounds', 'rounds.c')->{status}, 0, "a build: $loops");
	my $got = causal_more(\@how, './rounds');
	$by{$loops} = $got->{report};
}
my @runs = @{$by{200000}{runs}};
is_deeply([map { $_->{left_out} ? 1 : 0 } @runs], [1, 0], 'the run of the earlier build is left out');
my ($before, $after) = map { my $run = $_; map { $_->{id} } grep { $_->{path} =~ /rounds$/ } @{$run->{builds}} } @runs;
isnt($before, $after, 'the builds differ');
like(join(' ', map { $_->{text} } @{$by{200000}{problems}}), qr/--build \Q@{[substr $before, 0, 12]}\E/, 'which is told');
my $chosen = decode(run($DWELL, 'causal', 'report', '--json', '--build', substr($before, 0, 10), 'p')->{out});
is_deeply([map { $_->{left_out} ? 1 : 0 } @{$chosen->{runs}}], [0, 1], '--build shows it');

done_testing();
