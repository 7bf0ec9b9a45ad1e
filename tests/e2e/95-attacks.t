#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Root writes in a directory of an ordinary user, who puts links, pipes and devices there at any time:
# nothing outside of it is opened or changed, and dwell does not hang.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep time lstat);

need_recording();
need_root();
need_command('setpriv');

my ($uid, $gid) = (getpwnam 'nobody')[2, 3];
my @as_user = ('setpriv', "--reuid=$uid", "--regid=$gid", '--clear-groups', '--pdeathsig', 'KILL');
my @formats = qw(folded firefox perfetto sqlite otlp pprof speedscope);
my @computes = ($^X, '-e', 'my $end = times + 0.05; 1 while times < $end');

chmod 0755, $DIR;
umask 0022;
my $attacker = "$DIR/attacker";
system('cp', program('attacker'), $attacker) == 0 or die;
is(record(['-o', "$DIR/in.data", '--trace'], @computes)->{status}, 0, 'there is a recording');
spew('in.causal', <<'END');
{"type":"run","version":1,"run":"1","command":"./program","start_realtime":1,"period_ns":1000000}
{"type":"point","run":"1","id":0,"name":"step","kind":"throughput"}
{"type":"target","run":"1","id":0,"kind":"function","name":"f"}
{"type":"experiment","run":"1","target":0,"speedup":0.5,"at_ns":1,"base":{"duration_ns":250000000,"delay_ns":0,"hit_ns":1,"points":[[0,100,250000000]]},"with":{"duration_ns":250000000,"delay_ns":0,"hit_ns":1,"points":[[0,150,250000000]]}}
{"type":"end","run":"1","runtime_ns":9200000000,"delay_ns":0,"sampled_ns":8000000000,"status":0}
END

# What must not be touched: the file can be written to by anybody, so that hard links to it are allowed.
mkdir "$DIR/victims";
mkdir "$DIR/victims/folder";
spew("$DIR/victims/$_", "precious\n") for 'file', 'folder/out';
chmod 0666, "$DIR/victims/file";
system('mkfifo', '-m', '666', "$DIR/victims/pipe") == 0 or die;
my $has_device = system("mknod -m 666 $DIR/victims/device c 1 3 2>/dev/null") == 0;
my @victims = map { "$DIR/victims/$_" } 'file', 'folder/out', 'pipe', $has_device ? 'device' : ();

sub state_of_victims {
	return join "\n", map {
		my @st = lstat;
		join ' ', $_, @st[0 .. 2, 4, 5, 7, 9];
	} @victims;
}

my $before = state_of_victims();
my $watch = start({name => 'watch'}, $attacker, 'watch', @victims, "$DIR/victims/folder");
ok(wait_for(180, sub { slurp("$DIR/watch.out") =~ /^watching$/m }), 'their accesses are watched');
my $seen = slurp("$DIR/watch.out");

sub directory_of_user {
	my ($name) = @_;
	mkdir "$DIR/$name" or die "$name: $!";
	chown $uid, $gid, "$DIR/$name";
	return "$DIR/$name";
}

sub untouched {
	my ($what) = @_;
	# inotify: events are there when the access has returned.
	my $new = substr slurp("$DIR/watch.out"), length $seen;
	$seen .= $new;
	is($new, '', "$what: nothing outside was opened");
	my $after = state_of_victims();
	is($after, $before, "$what: nothing outside was changed");
	$before = $after;
}

# Commands that write a file: what share of the rounds, and the command. Without @all, one of each kind.
sub commands {
	my ($out, $all) = @_;
	return (
		['html', 1, $DWELL, 'html', '-i', "$DIR/in.data", '-o', $out],
		map({ ["export $_", 1, $DWELL, 'export', '-f', $_, '-i', "$DIR/in.data", '-o', $out] }
			$all ? @formats : qw(pprof sqlite)),
		['causal report', 1, $DWELL, 'causal', 'report', '-i', "$DIR/in.causal", '--coz', $out],
		['record', full(1, $all ? 0.67 : 0.34), $DWELL, 'record', '-o', $out, '--', @computes],
		['causal run', full(1, 0.34), $DWELL, 'causal', 'run', '-q', '--end-to-end', '--target', 'burn', '-o', $out, '--',
			program('naps'), '--seconds', '0.02'],
		$all ? ['latency run', full(1, 0.34), $DWELL, 'latency', 'run', '-o', $out, '--', @computes] : (),
	);
}

# Runs all commands while the user does something, as root and under sudo, with and without O_TMPFILE.
sub attack {
	my ($name, $rounds, $in, @attack) = @_;
	my $pid = start({name => $name}, @as_user, $attacker, @attack);
	ok(wait_for(180, sub { slurp("/proc/$pid/comm") eq "attacker\n" }), "$name begins");
	for my $command (commands("$DIR/$name/$in", full(1, $name eq 'links'))) {
		my ($what, $share, @command) = @$command;
		next if $what eq 'causal run' && !full(1, $name eq 'links');
		my %ended;
		for my $round (0 .. $rounds * $share - 1) {
			my %env = $round & 1 ? (SUDO_UID => '', SUDO_GID => '') : (SUDO_UID => $uid, SUDO_GID => $gid);
			my $named = $round & 2 ? [] : [$attacker, 'named'];
			my $got = run({seconds => 60, env => \%env}, @$named, @command);
			$ended{$got->{signal} ? 'by a signal' : $got->{status} ? 'refused' : 'written'}++;
			diag("$what: $got->{err}") if $got->{signal} || $got->{status} && $got->{err} !~ /\A(?:warning: )?dwell: /;
		}
		ok(!$ended{'by a signal'}, "$name: $what: " . join ', ', map { "$ended{$_} $_" } sort keys %ended);
		untouched("$name: $what");
	}
	ok(is_running($pid), "$name goes on all the time") or diag(slurp("$DIR/$name.err"));
	stop($pid, 'KILL');
}

attack('links', full(1000, 3), 'out', 'links', directory_of_user('links'), 'out', @victims);
attack('pipes', full(100, 3), 'out', 'pipes', directory_of_user('pipes'), 'out');
attack('swap', full(100, 3), 'sub/out', 'swap', directory_of_user('swap'), 'sub', "$DIR/victims/folder");

# Without races: what is there from the start.
my $place = directory_of_user('place');
my $out = "$place/out";
my %there = (
	'a link' => sub { symlink "$DIR/victims/file", $out },
	'a link to a pipe' => sub { symlink "$DIR/victims/pipe", $out },
	'a hard link' => sub { link "$DIR/victims/file", $out },
	'a pipe' => sub { system('mkfifo', '-m', '666', $out) == 0 and chown $uid, $gid, $out },
	'a pipe of root' => sub { system('mkfifo', '-m', '666', $out) == 0 },
	$has_device ? ('a device' => sub { link "$DIR/victims/device", $out }) : (),
);
for my $kind (sort keys %there) {
	for my $command (commands($out)) {
		my ($what, undef, @command) = @$command;
		next if $what eq 'causal run' && $kind !~ /^a (?:(?:hard )?link|pipe)$/;
		unlink $out;
		$there{$kind}->() or die "$kind: $!";
		my $got = run({seconds => 30}, @command);
		is($got->{signal}, 0, "$kind: $what ends");
		my $replaces = $kind =~ /link/ && $what !~ /run|record/ || $kind eq 'a hard link' && $what !~ /causal run/;
		is($got->{status} ? 'refuses' : 'writes', $replaces ? 'writes' : 'refuses', "$kind: $what");
		like($got->{err}, qr/^dwell: cannot \w+(?: to)? '?\Q$out\E'?: .*\n  \S/m, "$kind: $what says why") unless $replaces;
	}
	untouched($kind);
}
unlink $out;
my @left = glob "$place/.dwell-*";
is("@left", '', 'no file under another name is left');

# A link of root, and one of the user to a directory of theirs, are followed.
mkdir "$place/own";
chown $uid, $gid, "$place/own";
system(@as_user, 'ln', '-s', 'own', "$place/link") == 0 or die;
symlink $place, "$DIR/place-link";
my @html = ($DWELL, 'html', '-i', "$DIR/in.data", '-o');
is(run(@html, "$_/out")->{status}, 0, "$_ is followed") for "$place/link", "$DIR/place-link";
ok(-s "$_/out", 'and the file is where it leads') for "$place/own", $place;
my $got = run({env => {SUDO_UID => $uid, SUDO_GID => $gid}}, @html, "$place/sudo");
is(join(':', (stat "$place/sudo")[4, 5], sprintf '%o', (stat _)[2] & 07777), "$uid:$gid:600", 'under sudo, the file is the user\'s');

# Pipes that the caller made, and standard output by its names.
system('mkfifo', "$DIR/own.pipe") == 0 or die;
$got = run(@html, "$DIR/own.pipe");
is($got->{status}, 1, 'a pipe that nobody reads');
like($got->{err}, qr/no process reads from this pipe\n  Start the reader/, 'does not hang it');
my $reader = start({name => 'reader'}, 'cat', "$DIR/own.pipe");
wait_for(180, sub { $got = run(@html, "$DIR/own.pipe"); return !$got->{status} });
finish($reader);
is(slurp("$DIR/reader.out"), slurp("$place/out"), 'a pipe with a reader gets all');
for my $name ('-', '/dev/stdout', '/dev/fd/1', '/proc/self/fd/1') {
	$got = run(@html, $name);
	ok($got->{out} eq slurp("$place/out"), "$name is standard output");
}
my $links = readlink '/dev/stdout';
is($links, '/proc/self/fd/1', 'and /dev/stdout is as it was');
ok(-c '/dev/null' && run(@html, '/dev/null')->{status} == 0 && -c '/dev/null', 'a device of root is written to');

untouched('the end');
is(slurp("$DIR/victims/$_"), "precious\n", "$_ has what it had") for 'file', 'folder/out';
stop($watch, 'KILL');
done_testing;
