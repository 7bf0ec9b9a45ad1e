#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# --redact: no output has a secret that was planted in a command line, a name of a file, thread, host or
# socket, an address or a source file; without it they have them. Sums and names of functions stay.
use strict;
use warnings;

use FindBin;
BEGIN {
	# A host name of its own.
	exec 'unshare', '--uts', $^X, $0 if !$> && !$ENV{DWELL_TEST_UNSHARED}++;
}
use lib "$FindBin::Bin/../lib";
use Compress::Zlib qw(memGunzip);
use Dwell;
use Page;
use Test::More;

need_recording();
need_root();
need_command('cc');
system('hostname', 'secrethost') == 0 or plan skip_all => 'cannot set a host name here';

my @formats = qw(folded firefox perfetto sqlite otlp pprof speedscope);
my $address = '127.13.37.99';
my $root = "$FindBin::Bin/../..";
mkdir 'secretfolder';
spew('secretfolder/secretsource.c', <<'END');
#include <fcntl.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "include/dwell.h"

static int ends[2][2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void visible_computing(void)
{
	for (volatile int i = 0; i < 20000000; i++)
		;
}

/* A loop at an address that only the perf map names. */
__attribute__((noinline)) static void visible_jit(void)
{
	static const unsigned char loop[] = {0xb9, 0, 0, 0, 4, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map;

	memcpy(code, loop, sizeof(loop));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	fprintf(map, "%lx 1000 py::visible_script:/home/secretuser/secretscript.py\n", (unsigned long)code);
	fclose(map);
	for (int i = 0; i < 4; i++)
		((void (*)(void))code)();
}

static void *answer(void *arg)
{
	char byte;

	prctl(PR_SET_NAME, "secretthread-7");
	for (int i = 0; i < 2; i++) {
		usleep(30000);
		for (int k = 0; k < 10; k++)
			if (read(ends[i][1], &byte, 1) == 1) {
				usleep(3000);
				(void)!write(ends[i][1], "", 1);
			}
	}
	pthread_mutex_lock(&lock);
	return arg;
}

static void connect_ends(int pair[2], struct sockaddr *at, socklen_t size)
{
	int listener = socket(at->sa_family, SOCK_STREAM, 0);

	if (bind(listener, at, size) || listen(listener, 1) || getsockname(listener, at, &size))
		exit(3);
	pair[0] = socket(at->sa_family, SOCK_STREAM, 0);
	if (connect(pair[0], at, size))
		exit(4);
	pair[1] = accept(listener, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "secretfolder/secretsocket"};
	int file = open("secretfolder/secretfile", O_CREAT | O_RDWR, 0600);
	pthread_t thread;
	char byte;

	inet_pton(AF_INET, argv[1], &in.sin_addr);
	connect_ends(ends[0], (struct sockaddr *)&in, sizeof(in));
	connect_ends(ends[1], (struct sockaddr *)&un, sizeof(un));
	pthread_mutex_lock(&lock);
	pthread_create(&thread, NULL, answer, NULL);
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 10; k++) {
			DWELL_REQUEST_BEGIN(k + 1);
			(void)!write(ends[i][0], "", 1);
			(void)!read(ends[i][0], &byte, 1);
			DWELL_REQUEST_END(k + 1);
			DWELL_PROGRESS;
		}
	usleep(50000);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	for (int i = 0; i < 200; i++) {
		(void)!pwrite(file, "x", 1, i);
		fsync(file);
	}
	visible_computing();
	visible_jit();
	return 0;
}
END
my $code = run('cc', '-g', '-O1', '-pthread', "-I$root", '-o', 'secretfolder/secretprog', "$DIR/secretfolder/secretsource.c");
is($code->{status}, 0, 'a program is built') or diag($code->{err});
# Its functions are called by its file.
is(run('strip', '-o', 'secretfolder/secretbare', 'secretfolder/secretprog')->{status}, 0, 'and one without names');
my $got = run({env => {SECRET_ENVIRONMENT => 'secretvalue'}}, $DWELL, 'record', '-c', 200, '--trace', '--wakers', 'linked',
	'--request', 'dwell:requests', '--request', "unix:secretfolder/secretsocket", '-o', 'secret.data', '--',
	'sh', '-c', 'for i in prog bare; do secretfolder/secret$i "$@"; rm secretfolder/secretsocket; done', '-', $address,
	'--password=secretpassword');
is($got->{status}, 0, 'it is recorded') or diag($got->{err});
spew('secret.causal', <<'END');
{"type":"run","version":1,"run":"1","command":"./secretprog --password=secret","start_realtime":1,"period_ns":1000000}
{"type":"point","run":"1","id":0,"name":"secretsource.c:12","kind":"throughput"}
{"type":"point","run":"1","id":1,"name":"unix:/run/secretsocket","kind":"throughput"}
{"type":"target","run":"1","id":0,"kind":"line","name":"secretsource.c:7","file":"/home/secretuser/secretsource.c","line":7,"function":"visible_function"}
{"type":"experiment","run":"1","target":0,"speedup":0.5,"also":"secretsource.c:9=50%","at_ns":1,"base":{"duration_ns":250000000,"delay_ns":0,"hit_ns":1,"points":[[0,100,250000000],[1,100,250000000]]},"with":{"duration_ns":250000000,"delay_ns":0,"hit_ns":1,"points":[[0,150,250000000],[1,150,250000000]]}}
{"type":"seen","run":"1","target":0,"ns":900000000}
{"type":"place","run":"1","file":"/home/secretuser/other.c","line":3,"function":"visible_place","ns":900000000}
{"type":"trouble","run":"1","text":"libsecret.so has no debug information."}
{"type":"end","run":"1","runtime_ns":9200000000,"delay_ns":0,"sampled_ns":8000000000,"status":0}
END

# All that a file says, uncompressed.
sub contents {
	my ($file, $format) = @_;
	my $bytes = slurp($file);
	return memGunzip($bytes) if $format eq 'pprof';
	$bytes =~ s{'/usr/lib/libc\.so\.6'}{} if $format eq 'sqlite'; # an example in the schema
	return $bytes unless $format eq 'html';
	my $page = Page->read($bytes);
	return join "\n", map { $page->bytes($_) } sort keys %{$page->{blocks}};
}

my ($folder) = $DIR =~ m{([^/]+)$};
my %secrets = (
	'a secret' => qr/([\w\/.-]*secret[\w\/.-]*)/i,
	'an address' => qr/(\Q$address\E)/,
	'the folder' => qr/(\Q$folder\E)/,
	'a path' => qr{(/(?:usr|lib|home|proc|etc|root)/[\w/.-]+)},
	'a system library' => qr/(libc\.so\S*|ld-linux\S*)/,
);

sub secrets_of {
	my ($text) = @_;
	my @found;
	for my $name (sort keys %secrets) {
		my %of = map { $_ => 1 } $text =~ /$secrets{$name}/g;
		push @found, map { "$name: $_" } sort keys %of;
	}
	return @found;
}

# What is the same with and without: the sum of all weights.
sub total {
	my ($file, $format) = @_;
	if ($format eq 'folded') {
		my $sum = 0;
		$sum += $_ for slurp($file) =~ / (\d+)$/mg;
		return $sum;
	}
	return run('sqlite3', $file, 'SELECT sum(ns) FROM activity')->{out} if $format eq 'sqlite';
	return '';
}

for my $format ('html', @formats) {
	my @command = $format eq 'html' ? ($DWELL, 'html', '-i', 'secret.data', '-i', 'secret.causal')
		: ($DWELL, 'export', '-f', $format, '-i', 'secret.data', '--idle');
	is(run(@command, '-o', "open.$format")->{status}, 0, "$format");
	is(run(@command, '--redact', '-o', "redacted.$format")->{status}, 0, "$format: redacted");
	my $redacted = contents("redacted.$format", $format);
	cmp_ok(scalar(secrets_of(contents("open.$format", $format))), '>', 3, "$format: has secrets without --redact");
	my @found = secrets_of($redacted);
	is_deeply(\@found, [], "$format: has none with it");
	like($redacted, qr/$_/, "$format: $_ is there") for qw(visible_computing fsync);
	like($redacted, qr/visible_script/, "$format: visible_script is there") if -s "redacted.$format" && contents("open.$format", $format) =~ /visible_script/;
	is(total("redacted.$format", $format), total("open.$format", $format), "$format: the same sum");
}
like(contents('redacted.html', 'html'), qr/visible_function.*visible_place|visible_place.*visible_function/s, 'html: functions of the causal profile are there');

# Equal things stay equal within a file, and differ from run to run.
my %threads = map { $_ => 1 } slurp('redacted.folded') =~ /^(thread-[\w-]+);/mg;
is((grep { /-7$/ } keys %threads), 1, 'the number at the end of a thread\'s name stays');
is(run($DWELL, 'export', '-f', 'folded', '--redact', '-i', 'secret.data', '-o', 'again.folded')->{status}, 0, 'once more');
my %again = map { $_ => 1 } slurp('again.folded') =~ /^(thread-[\w-]+);/mg;
is(scalar(keys %again), scalar(grep { slurp('redacted.folded') =~ /^\Q$_\E;/m } keys %threads), 'as many threads');
is(scalar(grep { $threads{$_} } keys %again), 0, 'with other names: the key is new');

# Threads are selected by the names that they have.
is(run($DWELL, 'export', '-f', 'folded', '--redact', '--idle', '--comm', 'secretthread-7', '-i', 'secret.data', '-o', 'one.folded')->{status},
	0, '--comm');
my %one = map { $_ => 1 } slurp('one.folded') =~ /^([^;]+);/mg;
is(scalar(keys %one), 1, 'selects one thread');

done_testing;
