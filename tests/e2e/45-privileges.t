#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Each command works for an ordinary user with the capabilities that docs/security.md lists for it,
# and no others; without one of them it says which it needs. Reading a recording needs none.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use File::Basename qw(dirname);
use Test::More;

need_recording();
need_root();
need_command('setpriv', 'unshare');

my ($uid, $gid) = (getpwnam 'nobody')[2, 3];
chmod 0777, $DIR;
# What the tests were built in may be closed to others.
system('cp', $DWELL, dirname($DWELL) . '/libdwell.so', program('naps'), $DIR) == 0 or die;
my $dwell = "$DIR/dwell";

sub as_user {
	my ($capabilities, @command) = @_;
	my $set = join ',', '-all', map { "+$_" } @$capabilities;
	return run({seconds => 120}, 'setpriv', "--reuid=$uid", "--regid=$gid", '--clear-groups', "--inh-caps=$set",
		"--ambient-caps=$set", "--bounding-set=$set", '--no-new-privs', @command);
}

my @naps = ("$DIR/naps", '--seconds', '1');
my @recording = qw(bpf perfmon);
my $other = start(program('naps'), '--seconds', '60');
my @commands = (
	[\@recording, 'record', '-o', 'command.data', '--', @naps],
	[\@recording, 'record', '--trace', '-o', 'trace.data', '--', @naps],
	[\@recording, 'record', '-p', $other, '--duration', '0.3', '-o', 'process.data'],
	[\@recording, 'record', '-a', '--duration', '0.3', '-o', 'machine.data'],
	[\@recording, 'record', '--request', 'burn', '-o', 'spans.data', '--', @naps],
	[\@recording, 'causal', 'run', '-q', '--end-to-end', '--target', 'burn', '-o', 'own.causal', '--',
		"$DIR/naps", '--seconds', '1'],
	[\@recording, 'latency', 'run', '--function', 'burn', '-o', 'calls.data', '--', @naps],
	[\@recording, 'path', '--', @naps],
	[[], 'report', '-i', 'command.data'],
	[[], 'waits', '-i', 'trace.data'],
	[[], 'script', '-i', 'trace.data'],
	[[], 'html', '-i', 'trace.data', '-o', 'page.html'],
	[[], 'export', '-i', 'trace.data', '--format', 'folded', '-o', 'folded'],
	[[], 'latency', 'report', '-i', 'calls.data'],
	[[], 'causal', 'report', '-i', 'own.causal'],
);
for (@commands) {
	my ($needed, @arguments) = @$_;
	my $name = join ' ', grep { !m{/} } @arguments;
	my $got = as_user($needed, $dwell, @arguments);
	is($got->{status}, 0, "$name: works with " . (@$needed ? "@$needed" : 'no capability')) or diag $got->{err};
	for my $missing (@$needed) {
		$got = as_user([grep { $_ ne $missing } @$needed], $dwell, @arguments);
		isnt($got->{status}, 0, "$name: fails without $missing");
		like($got->{err}, qr/\U$missing/, 'and says that it needs it');
	}
}
my @burn = grep { $_->{symbol} eq 'burn' } @{report('-i', "$DIR/process.data")->{rows}};
ok(@burn, 'functions of another user\'s program have names');
stop($other);

# A process in a mount namespace of its own, of a program that is only there.
my $hidden = start('unshare', '--mount', 'sh', '-c', "mount -t tmpfs none /mnt && cp $DIR/naps /mnt/inside && " .
		'chmod 755 /mnt && exec /mnt/inside --seconds 60');
wait_for(180, sub { readlink("/proc/$hidden/exe") eq '/mnt/inside' }) or die;
for my $capabilities ([@recording], [@recording, 'sys_ptrace']) {
	my $got = as_user($capabilities, $dwell, 'record', '-p', $hidden, '--duration', '1', '-o', 'inside.data');
	is($got->{status}, 0, "a process in another mount namespace is recorded with @$capabilities");
	my $report = report('-i', "$DIR/inside.data");
	my $named = grep { $_->{symbol} eq 'burn' } @{$report->{rows}};
	is($named > 0, @$capabilities > 2, @$capabilities > 2 ? 'and its functions have names' : 'without names');
	like(as_user([], $dwell, 'report', '-i', 'inside.data')->{out}, qr{symbols .*/mnt/inside}, 'and it says so')
		if @$capabilities == 2;
}
stop($hidden);

done_testing;
