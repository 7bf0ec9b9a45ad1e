#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Limits of resources: a soft one is raised, and the command has it as it was;
# a hard one that is too low, and what a container may lack, is named with what
# to do, by every command that records.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use POSIX ();
use Test::More;

need_recording();

# Runs dwell with arguments after the shell commands, such as ulimit.
sub limited {
	my ($limit, @arguments) = @_;
	return run('sh', '-c', "$limit; exec \"\$0\" \"\$@\"", $DWELL, @arguments);
}

# By all commands that record.
my @commands = (
	['record', '-o', 'limits.data', '--', 'true'],
	['causal', 'run', '-o', 'limits.coz', '--', 'true'],
	['latency', 'run', '-o', 'limits.data', '--', 'true'],
	['path', '--', 'true'],
);

for my $command (@commands) {
	my @name = grep { /^[a-z]+$/ } @$command[0 .. 1];
	my $got = limited('ulimit -n 64', @$command);
	cmp_ok($got->{status}, '>', 0, "@name: 64 descriptors do not suffice");
	like($got->{err}, qr/^dwell: cannot [^\n]*: Too many open files\n  a process may have 64 open files here \(ulimit -n\)/,
		'which it says');
	like($got->{err}, qr/ulimit -n 4096/, 'with how to raise that');
	unlike($got->{err}, qr/5\.15|libbpf/, 'and nothing of kernels');
	is(() = $got->{err} =~ /Too many open files/g, 1, 'once');
}

# Where dwell may not raise the hard limit, too few are refused, however many are needed to begin.
for my $n (12, 30, 90, 130) {
	my $got = limited("ulimit -n $n", 'record', '-o', 'limits.data', '--', 'true');
	next if $got->{status} == 0;
	like($got->{err}, qr/a process may have $n open files here/, "$n descriptors: named");
}

# The soft limits are raised; what the command has is what the shell set.
my $got = limited('ulimit -S -n 64; ulimit -S -l 0', 'record', '-o', 'soft.data', '--',
	'sh', '-c', 'ulimit -S -n; ulimit -H -n; ulimit -S -l');
my $hard = `sh -c 'ulimit -H -n'`;
is($got->{status}, 0, 'a soft limit is raised') or diag $got->{err};
is($got->{out}, "64\n${hard}0\n", 'the command has all limits as they were');
my $causal = limited('ulimit -S -n 64', 'causal', 'run', '-o', 'soft.coz', '--', 'sh', '-c', 'ulimit -S -n >soft; sleep 0.2');
is(slurp("$DIR/soft"), "64\n", 'of a causal run, too') or diag $causal->{err};

# No memory may be locked: perf's buffers become smaller if the user has others, or is no longer root.
$got = limited('ulimit -l 0', 'record', '-o', 'locked.data', '--', 'true');
is($got->{status}, 0, 'no memory need be locked') or diag $got->{err};

# Address space.
for my $kib (25000, 42000) {
	$got = limited("ulimit -v $kib", 'record', '-o', 'memory.data', '--', 'true');
	next if $got->{status} == 0 || $got->{err} =~ /shared libraries/;
	my $mib = int($kib / 1024);
	like($got->{err}, qr/Cannot allocate memory\n  the address space is limited to $mib MiB \(ulimit -v\)/,
		"$mib MiB of address space: named");
	unlike($got->{err}, qr/5\.15|libbpf|BTF/, 'and nothing of kernels');
}

# Without /sys, or with one that is empty.
SKIP: {
	skip('no mount namespaces', 10) if run('unshare', '-m', 'true')->{status};
	mkdir "$DIR/empty";
	for my $hide ('umount -l /sys', "mount --bind $DIR/empty /sys", "mount --bind $DIR/empty /sys/kernel",
		"mount --bind $DIR/empty /sys/devices") {
		my $got = run('unshare', '-m', 'sh', '-c', "$hide; exec $DWELL record -o sys.data -- true");
		is($got->{status}, 1, "$hide: refused");
		like($got->{err}, qr{^dwell: /sys does not show the kernel\n  mount it: mount -t sysfs sysfs /sys\n},
			'with what is missing');
	}
	my $got = run('unshare', '-m', 'sh', '-c', "umount -l /sys; exec $DWELL causal run -o sys.coz -- true");
	like($got->{err}, qr{/sys does not show the kernel}, 'by causal run, too');
}

# A group with too little memory for the kernel side.
SKIP: {
	my ($group, $file) = ("/sys/fs/cgroup/memory/dwell-limits-$$", 'memory.limit_in_bytes');
	($group, $file) = ("/sys/fs/cgroup/dwell-limits-$$", 'memory.max') unless -d '/sys/fs/cgroup/memory';
	skip('no control group for memory', 2) unless mkdir $group;
	my $set = eval { spew("$group/$file", 20 << 20); 1 };
	my $got = $set && run('sh', '-c', "echo \$\$ >$group/cgroup.procs && exec $DWELL record -o group.data -- true");
	rmdir $group;
	skip('no limit of memory', 2) unless $set;
	skip('the kernel side is small enough', 2) if $got->{status} == 0;
	skip('the group ended it', 2) if $got->{signal};
	like($got->{err}, qr/Cannot allocate memory\n  the control group \S+dwell-limits-$$ may use 20 MiB/, 'which is named');
	unlike($got->{err}, qr/5\.15|libbpf/, 'and nothing of kernels');
}

done_testing;
