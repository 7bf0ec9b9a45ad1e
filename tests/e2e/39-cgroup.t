#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# All that a control group has, whichever way it comes in, and no other.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

my ($mount) = slurp('/proc/mounts') =~ /^\S+ (\S+) cgroup2 /m;
my $group = ($mount // '') . "/dwell-test-$$";
plan(skip_all => 'no cgroup of version 2 can be made here') unless $mount && mkdir $group;

my @pids;

END {
	my $status = $?;
	stop($_, 'KILL') for @pids;
	rmdir $group;
	$? = $status;
}

sub begin {
	push @pids, start(@_);
	return $pids[-1];
}

sub threads_of {
	my ($pid) = @_;
	return sort { $a <=> $b } map { m{(\d+)$} } glob "/proc/$pid/task/*";
}

# Whether the recording, which goes on, has something of process $pid.
sub has {
	my ($data, $pid) = @_;
	return -s $data && grep { $_->{event} eq 'thread' && $_->{pid} == $pid } events('-i', $data);
}

my @nap = ($^X, '-e', 'select undef, undef, undef, 0.01 while 1');
my $inside = begin(@nap);
my $outside = begin(program('classes'), '--seconds', 600, '--ready', 'outside');
my $entering = begin(program('classes'), '--seconds', 600, '--ready', 'entering');
ok(wait_for(180, sub { -s 'outside' && -s 'entering' }), 'programs with several threads run');
spew("$group/cgroup.procs", $inside);

my $recorder = start({name => 'recorder'}, $DWELL, 'record', '-o', 'group.data', '--cgroup', $group);
ok(wait_for(180, sub { has('group.data', $inside) }), 'the group is recorded');
spew("$group/cgroup.procs", $entering);
ok(wait_for(180, sub { has('group.data', $entering) }), 'a process enters');
begin(program('born_inside'), $group, '--ready', 'born');
ok(wait_for(180, sub { -s 'born' }), 'and another one is created there');
my $born = slurp('born') =~ s/\n//r;
ok(wait_for(180, sub { has('group.data', $born) }), 'which is recorded, too');
is(stop($recorder, 'INT')->{status}, 0, 'record --cgroup');

my @threads = @{report('-i', 'group.data')->{threads}};
my @entered = sort { $a <=> $b } map { $_->{tid} } grep { $_->{pid} == $entering } @threads;
my @has = threads_of($entering);
cmp_ok(scalar(@has), '>=', 4, 'it has several threads');
is_deeply(\@entered, \@has, 'which are recorded');
is(scalar(grep { $_->{pid} == $outside } @threads), 0, 'a process outside is not');

done_testing;
