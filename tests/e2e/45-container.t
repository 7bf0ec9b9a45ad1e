#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# dwell in a container with the privileges of contrib/daemonset.yaml, as far as namespaces, a read-only root and
# sets of capabilities make one: it records a program of another user in another container, with its functions.
# Without any of the capabilities, that is not possible.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();
need_root();

my $yaml = slurp("$FindBin::Bin/../../contrib/daemonset.yaml");
my ($added) = $yaml =~ /^ +add: \[(.*)\]$/m or BAIL_OUT('no capabilities in daemonset.yaml');
my @capabilities = map { lc } split /, /, $added;
my %has = map { $_ => scalar($yaml =~ /^ +$_: true$/m) } qw(hostPID readOnlyRootFilesystem);
is_deeply(\%has, {hostPID => 1, readOnlyRootFilesystem => 1}, 'as this test has it: pids of the host, root is read-only');
like(slurp("$FindBin::Bin/../../contrib/Dockerfile"), qr/--cap-add=\U$_\E/, "the Dockerfile has $_, too") for @capabilities;

# A root of its own, read-only but for /data and /tmp; /sys without tracefs, bpffs and cgroups; /proc of all processes.
my $container = <<'END';
set -e
root=$1 data=$2 capabilities=$3
shift 3
mount --bind / "$root"
mount -o remount,bind,ro "$root"
mount -t sysfs -o ro sysfs "$root/sys"
mount --rbind /proc "$root/proc"
mount -t tmpfs tmpfs "$root/mnt"
mkdir "$root/mnt/dwell" "$root/mnt/data"
mount --bind "$(dirname "$1")" "$root/mnt/dwell"
mount --bind "$data" "$root/mnt/data"
mount -t tmpfs tmpfs "$root/tmp"
name=$(basename "$1")
shift
exec setpriv --no-new-privs --inh-caps=-all --bounding-set="-all$capabilities" \
	chroot_none "$@"
END
# chroot(2) needs a capability that the container has not: it comes before setpriv, from the container's own root.
$container =~ s/exec setpriv(.*)\n\tchroot_none "\$\@"\n/exec chroot "\$root" setpriv$1\n\t"\/mnt\/dwell\/\$name" "\$@"\n/s;
spew("$DIR/container", $container);
mkdir "$DIR/$_" for qw(root data other);

sub in_container {
	my ($capabilities, @arguments) = @_;
	return run({seconds => 120}, 'unshare', '--mount', '--uts', '--ipc', '--net', '--propagation', 'private', 'sh', "$DIR/container",
		"$DIR/root", "$DIR/data", join('', map { ",+$_" } @$capabilities), $DWELL, @arguments);
}

# A program of another user, in a file system that the container has not: it is gone where that user's mounts are not.
my $other = 'mount -t tmpfs tmpfs "$1"; cp "$2" "$1/elsewhere"; chmod 777 "$1"; chmod 755 "$1/elsewhere"; cd "$1"
	exec setpriv --reuid=65534 --regid=65534 --clear-groups "$1/elsewhere" --seconds 300';
chmod 0755, $DIR;
my $pid = start('unshare', '--mount', '--propagation', 'private', 'sh', '-c', $other, 'sh', "$DIR/other", program('naps'));
ok(wait_for(180, sub { slurp("/proc/$pid/comm") =~ /^elsewhere$/ }), 'the other program runs')
	or diag(slurp("$DIR/run0.err"));

# In how many samples its function is named, and the result of recording; undef if there is no recording.
sub is_named {
	my ($capabilities) = @_;
	unlink "$DIR/data/dwell.data";
	my $got = in_container($capabilities, 'record', '-a', '--duration', '500ms', '-o', '/mnt/data/dwell.data');
	return (undef, $got) if $got->{status};
	my @stacks = map { {@{$_->{frames}}} } grep { @{$_->{frames} // []} } events('-i', 'data/dwell.data', '--pid', $pid);
	cmp_ok(scalar @stacks, '>', 0, "with @$capabilities the other program is recorded");
	return (scalar(grep { $_->{burn} } @stacks), $got);
}

my ($named, $got) = is_named(\@capabilities);
is($got->{status}, 0, "with @capabilities: recorded") or diag($got->{err});
ok($named, 'with the names of its functions');
for my $without (@capabilities) {
	($named, $got) = is_named([grep { $_ ne $without } @capabilities]);
	ok(!$named, "not without $without");
	like($got->{err}, qr/CAP_BPF and CAP_PERFMON/, "the message says what is missing") if $without ne 'sys_ptrace';
}
done_testing;
