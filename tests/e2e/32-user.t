#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# What is written under sudo belongs to the user who called it, and --user runs the command as
# another user.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();
need_root();
need_command('setpriv');

my ($uid, $gid) = (getpwnam 'nobody')[2, 3];
chmod 0777, $DIR;
my %sudo = (SUDO_UID => $uid, SUDO_GID => $gid);
my %none = (SUDO_UID => '', SUDO_GID => '', PKEXEC_UID => '');
my @as_user = ('setpriv', "--reuid=$uid", "--regid=$gid", '--clear-groups');

sub owner { return join ':', (stat $_[0])[4, 5] }

# Recordings.
my $got = run({env => {%none, %sudo}}, $DWELL, 'record', '-o', 'sudo.data', '--', 'sleep', '0.1');
is($got->{status}, 0, 'recorded under sudo');
is(owner('sudo.data'), "$uid:$gid", 'the recording belongs to the user who called');
my $copy = "$DIR/dwell"; # what the tests were built in may be closed to others
system('cp', $DWELL, $copy) == 0 or die;
$got = run(@as_user, $copy, 'report', '-i', "$DIR/sudo.data");
is($got->{status}, 0, 'who can read it');
like($got->{out}, qr/sleep/, 'with what is in it');

run({env => {%none, PKEXEC_UID => $uid}}, $DWELL, 'record', '-o', 'pkexec.data', '--', 'true');
is(owner('pkexec.data'), "$uid:$gid", 'under pkexec, too');
run({env => \%none}, $DWELL, 'record', '-o', 'root.data', '--', 'true');
is(owner('root.data'), '0:0', 'of root itself, it is root\'s');
for my $wrong ('-1', 'nobody', '4294967295', '1x') {
	run({env => {%none, SUDO_UID => $wrong, SUDO_GID => $gid}}, $DWELL, 'record', '-o', 'wrong.data',
		'--', 'true');
	is(owner('wrong.data'), '0:0', "SUDO_UID=$wrong is no user");
}
run({env => {%none, %sudo}}, $DWELL, 'record', '-o', '/dev/null', '--', 'true');
is(owner('/dev/null'), '0:0', '/dev/null stays root\'s');

# Causal profiles: a new one is the caller's, one that is there keeps its owner.
my @causal = ($DWELL, 'causal', 'run', '-q', '--end-to-end', '--target', 'burn', '-o');
run({env => {%none, %sudo}}, @causal, 'new.causal', '--', program('naps'), '--seconds', '1');
is(owner('new.causal'), "$uid:$gid", 'a causal profile belongs to the user who called');
spew('old.causal', '');
run({env => {%none, %sudo}}, @causal, 'old.causal', '--', program('naps'), '--seconds', '1');
ok(-s 'old.causal', 'one that is there is appended to');
is(owner('old.causal'), '0:0', 'and keeps its owner');

# --user
$got = run($DWELL, 'record', '-o', 'user.data', '--user', 'nobody', '--', 'sh', '-c',
	'id -u; id -g; id -G; grep Uid: /proc/self/status');
is($got->{status}, 0, '--user runs the command');
my ($is_uid, $is_gid, $groups, $all) = split /\n/, $got->{out};
is("$is_uid:$is_gid", "$uid:$gid", 'as that user');
my ($expected) = run('id', '-G', 'nobody')->{out} =~ /(.*)/;
is(join(' ', sort split ' ', $groups), join(' ', sort split ' ', $expected), 'with its groups');
is_deeply([$all =~ /\d+/g], [($uid) x 4], 'for good: the saved id is changed, too');
my $report = report('-i', 'user.data');
ok((grep { $_->{comm} eq 'sh' || $_->{comm} eq 'id' } @{$report->{threads}}), 'and is recorded');

$got = run($DWELL, 'causal', 'run', '-q', '-o', 'user.causal', '--end-to-end', '--target', 'burn',
	'--user', 'nobody', '--', 'sh', '-c', 'id -u');
like($got->{out}, qr/^$uid$/m, 'causal run takes it, too');

$got = run($DWELL, 'record', '-o', 'none.data', '--user', 'no-such-user', '--', 'true');
isnt($got->{status}, 0, 'an unknown user');
like($got->{err}, qr/there is no user 'no-such-user'.*getent passwd/s, 'is named');
$got = run($DWELL, 'record', '-o', 'none.data', '--user', 'nobody', '-p', $$);
isnt($got->{status}, 0, '--user without a command');
like($got->{err}, qr/--user nobody needs a command/, 'says so');

done_testing;
