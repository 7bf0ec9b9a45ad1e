#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# The times of a disk end with the recording, however late the recorder notices that its command
# has ended.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_root();
need_recording();
need_command('losetup');

# A disk of its own, which nobody else uses.
my $image = "$DIR/image";
spew($image, "\0" x (1 << 20));
chomp(my $disk = `losetup -f --show $image 2>/dev/null`);
plan(skip_all => 'there are no loop devices') unless $disk;
END { local $?; system('losetup', '-d', $disk) if $disk }

# The command stops the recorder, then ends.
my $recorder = start({name => 'late'}, $DWELL, 'record', '--no-symbols', '--trace', '-o', 'late.data', '--', 'sh',
	'-c', "dd if=$disk of=/dev/null iflag=direct bs=4k count=50 2>/dev/null; kill -STOP \$PPID");
ok(wait_for(180, sub { slurp("/proc/$recorder/status") =~ /^State:\s+T/m }), 'the recorder is stopped');
sleep 0.5;
kill 'CONT', $recorder;
is(finish($recorder)->{status}, 0, 'the disk is recorded');

my $waits = decode(run($DWELL, 'waits', '-i', 'late.data', '--json')->{out});
my ($name) = $disk =~ m{([^/]+)$};
my ($found) = grep { $_->{name} eq $name && $_->{type} eq 'device' } @{$waits->{threads}};
cmp_ok($found->{running_ns}, '>', 0, 'the disk was busy for a time');
cmp_ok($found->{running_ns} + $found->{blocked_ns}, '<=', $found->{lifetime_ns}, 'and idle for the rest');

done_testing();
