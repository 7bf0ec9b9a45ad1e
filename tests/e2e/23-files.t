#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs whose file is gone, or is another one in the recorder's view.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

use File::Copy qw(copy);

sub copy_program {
	my ($name, $to) = @_;
	copy(program($name), $to) or die "$to: $!";
	chmod 0755, $to;
}

sub stuck_functions {
	my ($file) = @_;
	return run($DWELL, 'script', '-i', $file, '--folded', '--idle')->{out};
}

# Removed while it runs, before anybody attaches.
copy_program('hang', './doomed');
my $pid = start({name => 'doomed'}, './doomed', '--ready', 'ready.doomed');
ok(wait_for(180, sub { -s 'ready.doomed' }), 'a program runs');
unlink 'doomed' or die "doomed: $!";
my $got = run($DWELL, 'record', '-o', 'doomed.data', '--duration', '1', '-p', $pid);
is($got->{status}, 0, 'its file is removed, then it is recorded');
like(stuck_functions('doomed.data'), qr/main;stuck_outer;stuck_inner;/, 'its functions are named');
stop($pid);

# Replaced by another program of the same name.
copy_program('hang', './replaced');
$pid = start({name => 'replaced'}, './replaced', '--ready', 'ready.replaced');
ok(wait_for(180, sub { -s 'ready.replaced' }), 'a program runs');
unlink 'replaced';
copy_program('figure1', './replaced');
run($DWELL, 'record', '-o', 'replaced.data', '--duration', '1', '-p', $pid);
my $folded = stuck_functions('replaced.data');
like($folded, qr/main;stuck_outer;stuck_inner;/, 'its file is replaced: still its own functions');
unlike($folded, qr/compute_heavy|do_reads/, 'and not those of the new file');
stop($pid);

# Removed after the recording: the recording has its symbols.
copy_program('signals', './gone');
record(['-o', 'gone.data'], './gone', '--seconds', 1);
unlink 'gone';
like(stuck_functions('gone.data'), qr/main;.*one_round;/, 'a file that is gone at the report');

# Seen under this path only in a mount namespace of its own.
SKIP: {
	need_command('unshare');
	my $made = run('unshare', '-m', 'true');
	skip 'cannot make a mount namespace', 2 if $made->{status};
	my $hang = program('hang');
	mkdir 'inside';
	my $script = "mount -t tmpfs none inside && cp $hang inside/hidden && "
		. 'exec inside/hidden --ready ready.hidden';
	$pid = start({name => 'hidden'}, 'unshare', '-m', 'sh', '-c', $script);
	ok(wait_for(180, sub { -s 'ready.hidden' }), 'a program runs in a mount namespace of its own')
		or skip 'it does not', 1;
	ok(!-e 'inside/hidden', 'its path does not exist here');
	run($DWELL, 'record', '-o', 'hidden.data', '--duration', '1', '-p', $pid);
	like(stuck_functions('hidden.data'), qr/main;stuck_outer;stuck_inner;/,
		'its functions are named');
	stop($pid);
}

# Without a build id, and gone before the recorder looks: at its path is another file by then, which
# is told apart by its inode.
SKIP: {
	need_command('unshare', 'cc');
	skip 'cannot make a mount namespace', 3 if run('unshare', '-m', 'true')->{status};
	spew('spin.c', <<'END');
#include <time.h>

__attribute__((noinline)) int NAME(void)
{
	int rounds = 0;

	while (clock() < CLOCKS_PER_SEC / 2)
		rounds++;
	return rounds;
}

int main(void)
{
	return NAME() == 0;
}
END
	for my $name ('that_ran', 'another') {
		is(run('cc', '-O1', '-g', '-Wl,--build-id=none', "-DNAME=in_$name", '-o', $name, 'spin.c')->{status}, 0,
			"$name is built");
	}
	$got = record(['-o', 'masked.data'], 'sh', '-c', <<'END');
kill -STOP $PPID
unshare -m sh -c 'mount --bind that_ran another && ./another'
kill -CONT $PPID
END
	is($got->{status}, 0, 'a program behind another one is recorded');
	cmp_ok(weight_of(report('-i', 'masked.data'), comm => 'another'), '>', 0, 'it ran');
	unlike(stuck_functions('masked.data'), qr/in_another/, 'and has no names of the other one');
}

# Stripped: no names of its own, but an unbroken stack and the library's names.
SKIP: {
	copy_program('hang', './bare');
	skip 'strip is not installed', 1 if run('strip', './bare')->{status};
	$pid = start({name => 'bare'}, './bare', '--ready', 'ready.bare');
	ok(wait_for(180, sub { -s 'ready.bare' }), 'a stripped program runs');
	run($DWELL, 'record', '-o', 'bare.data', '--duration', '1', '-p', $pid);
	like(stuck_functions('bare.data'), qr/__libc_start|_start/, 'the stack reaches its start');
	stop($pid);
	# What hampers a view is in every view.
	my $why = qr{: no names for code in \d+% of the samples: \S*/bare is stripped};
	like(run($DWELL, $_, '-i', 'bare.data')->{out}, qr/^# symbols +$why/m, "$_ says why") for qw(report waits);
	like(run($DWELL, 'script', '-i', 'bare.data')->{err}, qr/^dwell: symbols$why/m, 'script, too');
	like(decode(run($DWELL, $_, '--json', '-i', 'bare.data')->{out})->{diagnostics}[-1]{text}, qr/is stripped/,
		"$_ --json") for qw(report waits);
}

done_testing;
