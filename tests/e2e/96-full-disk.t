#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A disk that is full, or becomes full at any write: the file that was there is as it was, dwell says what
# is wrong and fails, and nothing is left behind. What was recorded before is there.
use strict;
use warnings;

use FindBin;
BEGIN {
	# Mounts are this process's own, and gone with it.
	exec 'unshare', '--mount', $^X, $0 if !$> && !$ENV{DWELL_TEST_UNSHARED}++;
}
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();
need_root();
my $disk = "$DIR/disk";
mkdir $disk;
plan skip_all => 'cannot mount a tmpfs here' if system('mount', '-t', 'tmpfs', '-o', 'size=2m', 'dwell', $disk);

my @formats = qw(folded firefox perfetto sqlite otlp pprof speedscope);
is(record(['-o', 'in.data', '--trace'], program('naps'), '--seconds', 0.5)->{status}, 0, 'there is a recording');
spew('in.causal', <<'END');
{"type":"run","version":1,"run":"1","command":"./program","start_realtime":1,"period_ns":1000000}
{"type":"point","run":"1","id":0,"name":"step","kind":"throughput"}
{"type":"target","run":"1","id":0,"kind":"function","name":"f"}
{"type":"experiment","run":"1","target":0,"speedup":0.5,"at_ns":1,"base":{"duration_ns":250000000,"delay_ns":0,"hit_ns":1,"points":[[0,100,250000000]]},"with":{"duration_ns":250000000,"delay_ns":0,"hit_ns":1,"points":[[0,150,250000000]]}}
{"type":"end","run":"1","runtime_ns":9200000000,"delay_ns":0,"sampled_ns":8000000000,"status":0}
END
my $profile = slurp('in.causal');

# Leaves room for so many KiB beside the old file with that content.
sub prepare {
	my ($room, $old) = @_;
	unlink glob "$disk/* $disk/.dwell-*";
	spew("$disk/out", $old);
	open my $filler, '>', "$disk/filler" or die;
	my $free = (split ' ', (split /\n/, qx(df -k --output=avail $disk))[1])[0];
	system('fallocate', '-l', 1024 * ($free - $room), "$disk/filler") == 0 or die if $free > $room;
}

sub files { return join ' ', map { s{.*/}{}r } sort glob "$disk/* $disk/.dwell-*" }

sub written_whole_or_not {
	my ($what, $room, @command) = @_;
	prepare($room, "old\n");
	my $got = run(@command, "$disk/out");
	if (!$got->{status}) {
		isnt(slurp("$disk/out"), "old\n", "$what: written, $room KiB are enough");
		return 1;
	}
	is($got->{status}, 1, "$what: fails with $room KiB");
	like($got->{err}, qr/^dwell: cannot \w+ '?\Q$disk\E\/out'?: No space left on device$/m, "$what: says why");
	is(slurp("$disk/out"), "old\n", "$what: the old file is there");
	is(files(), 'filler out', "$what: nothing else is there");
	return 0;
}

for my $command (['html', 'html', '-i', 'in.data'], map { ["export $_", 'export', '-i', 'in.data', '-f', $_] } @formats) {
	my ($what, @options) = @$command;
	my @sizes = (0, 4, 64, 256, 2000);
	my $enough = grep { written_whole_or_not($what, $_, $DWELL, @options, '-o') } @sizes;
	cmp_ok($enough, '>', 0, "$what: with enough room it is written");
}
written_whole_or_not('causal report', 0, $DWELL, 'causal', 'report', '-i', 'in.causal', '--coz');

# A recording: without room for a sample the old one stays, and afterwards it is out.old.
for my $room (0, 8, 20) {
	prepare($room, "old\n");
	my $got = run($DWELL, 'record', '--trace', '-o', "$disk/out", '--', program('naps'), '--seconds', 1);
	# The symbols come last: without them, the recording is complete.
	is($got->{status}, $got->{err} =~ /recording is complete, but has no symbols/ ? 0 : 1, "record: fails with $room KiB");
	like($got->{err}, qr/^dwell: cannot write \Q$disk\E\/out: No space left on device\n(?:  .*\n)*  .*-o FILE/m, 'record: says why');
	my $kept = -e "$disk/out.old" ? 'out.old' : 'out';
	is(slurp("$disk/$kept"), "old\n", "record: the old file is there, as $kept");
	is(files(), $kept eq 'out' ? 'filler out' : 'filler out out.old', 'record: nothing else is there');
	next if $kept eq 'out';
	like($got->{err}, qr/What was recorded before is readable/, 'record: and that something was recorded');
	ok(scalar(events('-i', "$disk/out")), 'record: which can be read');
}

# With room for the recording, but not for all of its names.
my $unnamed = 0;
my @many = ($^X, '-MJSON::PP', '-MPOSIX', '-e', 'my $end = times + 0.3; decode_json(encode_json([1 .. 99, {map { $_ => "x" } 1 .. 99}])) while times < $end');
for (my $room = 4; $room < 400; $room += 4) {
	prepare($room, '');
	my $got = run($DWELL, 'record', '-c', 200, '-o', "$disk/out", '--', @many);
	last if !$got->{status} && $got->{err} eq '';
	next if -z "$disk/out" || run($DWELL, 'report', '-i', "$disk/out")->{err} =~ /cut short/;
	$unnamed++;
	is($got->{status}, 0, "record: is complete with $room KiB");
	like($got->{err}, qr/\Adwell: the recording is complete, but has no symbols:\ndwell: cannot write (?:.*\n){3}\z/, 'and says once what is missing, and why');
}
cmp_ok($unnamed, '>', 0, 'there was one without names');

# A profile: experiments that were there can be read. It fills its last page.
$profile .= "\n" x (-length($profile) % 4096);
prepare(0, $profile);
my $got = run($DWELL, 'causal', 'run', '-q', '--end-to-end', '--target', 'burn', '-o', "$disk/out", '--',
	program('naps'), '--seconds', '0.1');
is($got->{status}, 1, 'causal run: fails');
like($got->{err}, qr/^dwell: cannot write to \Q$disk\E\/out: No space left on device\n  Make room/m, 'causal run: says why');
is(substr(slurp("$disk/out"), 0, length $profile), $profile, 'causal run: the experiments are there');
is(run($DWELL, 'causal', 'report', '-i', "$disk/out")->{status}, run($DWELL, 'causal', 'report', '-i', 'in.causal')->{status},
	'causal run: and can be read');

chdir '/';
system('umount', $disk) == 0 or die;
done_testing;
