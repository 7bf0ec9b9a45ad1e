#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Files of programs are read by processes without privileges, while it is recorded, at the end, and
# by views. If one is killed, or slow, the recording goes on, and says what it does not know of which
# file.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use File::Copy;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

sub copy_of {
	my ($name) = @_;
	copy(program('chains'), $name) or die "$name: $!\n";
	chmod 0755, $name;
	return "$DIR/$name";
}

# What was done by whom, as strace saw it in file @trace, with @program, debug files, JIT maps and the recording:
# {role}{"CALL program"}. The first process is the recorder.
sub calls {
	my ($trace, $program) = @_;
	my (%role, %calls);
	open my $lines, '<', $trace or die;
	while (<$lines>) {
		my ($pid, $call) = /^(\d+) +(\w+)\(/ or next;
		$role{$pid} //= %role ? 'dwell' : 'recorder';
		$role{$pid} = $1 if /PR_SET_NAME, "(dwell-\w+)"/;
		$role{$pid} = 'command' if $call eq 'execve';
		$role{$pid} = 'recorder' if $call eq 'execve' && keys %role == 1;
		my $what = /<\Q$program\E>/ ? 'program' : m{</usr/lib/debug/} ? 'debug' : m{</tmp/perf-\d+\.map>} ? 'map'
			: m{<\Q$DIR\E/(?:#\d+|traced\.data)\b} ? 'recording' : next;
		$calls{$role{$pid}}{"$call $what"}++ if $call ne 'execve';
	}
	close $lines;
	return %calls;
}

# The children of process @pid that run under @name.
sub children {
	my ($pid, $name) = @_;
	my @found;
	for my $stat (glob '/proc/[0-9]*/stat') {
		my ($child, $comm, $parent) = slurp($stat) =~ /^(\d+) \((.*)\) \S (\d+)/ or next;
		push @found, $child if $parent == $pid && $comm eq $name;
	}
	return @found;
}

# The stacks with code of @file, and how many of them are complete, from @after ns behind the first on.
sub complete {
	my ($data, $file, $after) = @_;
	my ($all, $complete) = (0, 0);
	my $first;
	for my $event (events('-i', $data)) {
		next unless $event->{stack_end} && grep { defined && $_ eq $file } @{$event->{frames}};
		$first //= $event->{time_ns};
		next if $after && $event->{time_ns} < $first + $after;
		$all++;
		$complete += $event->{stack_end} eq 'complete';
	}
	return ($all, $complete);
}

# Who reads what, with names and source lines: a program with debug information, and generated code.
SKIP: {
	skip('strace is not installed', 21) unless grep { -x "$_/strace" } split /:/, $ENV{PATH};
	my $program = copy_of('traced');
	my $jit = program('jit');
	for my $command (['record', '-o', 'traced.data', '--', 'sh', '-c', "$program --seconds 0.3; $jit --seconds 1; :"],
			['record', '--no-symbols', '--function', 'main', '--request', 'main',
				'-o', 'unnamed.data', '--', $program, '--seconds', '0.3'],
			['report', '-i', 'unnamed.data']) {
		my $name = join ' ', @$command[0, 1];
		my $reader = $name eq 'record --no-symbols' ? 'dwell-parser' : 'dwell-namer';
		my $got = run({seconds => 120}, 'strace', '-f', '-y', '-s', '16', '-o', 'trace',
			'-e', 'trace=openat,openat2,read,pread64,mmap,execve,prctl', $DWELL, @$command);
		is($got->{status}, 0, "$name under strace") or diag($got->{err});
		my %calls = calls('trace', $program);
		for my $who ('recorder', 'dwell-opener') {
			is(join(' ', grep { !/^open/ } keys %{$calls{$who}}), '', "$name: the $who, which has privileges, reads no such file");
		}
		is(join(' ', grep { /recording/ && !/^open/ } map { keys %$_ } values %calls), '', "$name: nobody reads the recording back")
			if $command->[0] eq 'record';
		ok((grep { $calls{$_}{"openat program"} } 'recorder', 'dwell-opener'), 'one of them opens the program');
		ok($calls{$reader}{"mmap program"} || $calls{$reader}{"pread64 program"}, "a $reader reads it");
		is(join(' ', grep { /^open/ } map { keys %{$calls{$_} // {}} } 'dwell-parser', 'dwell-namer'), '',
			'and opens nothing');
		next if $name ne 'record -o';
		my ($generated) = grep { $_->{dso} =~ /^\[jit/ } @{report('-i', 'traced.data')->{rows}};
		ok(!$generated || ($calls{$reader}{"read map"} && $generated->{symbol} eq 'jit_loop'),
			'and the map of generated code, if that was sampled');
	}
}

# Namers are killed while they find the names of two programs: those at the end of the recording, which are
# not at idle priority (policy 5) as those before.
sub is_idle {
	my ($pid) = @_;
	return ((split ' ', (slurp("/proc/$pid/stat") // '') =~ s/.*\) //sr)[38] // 5) == 5;
}

my ($missing, $hits) = ('', 0);
my @named = map { copy_of("named$_") } 1, 2;
for (1 .. 20) {
	my $recorder = start({name => 'named'}, $DWELL, 'record', '-o', 'named.data', '--', 'sh', '-c',
		join '; ', map { "$_ --seconds 0.2 >/dev/null" } @named);
	my ($zygote, $namer);
	wait_for(180, sub { ($zygote) = children($recorder, 'dwell-zygote'); $zygote });
	while (!$namer && is_running($recorder)) {
		my @children = split ' ', slurp("/proc/$zygote/task/$zygote/children") // '';
		($namer) = grep { (slurp("/proc/$_/comm") // '') eq "dwell-namer\n" && !is_idle($_) } @children;
	}
	$hits += kill 'KILL', $namer if $namer;
	my $got = finish($recorder, 120);
	is($got->{status}, 0, 'recorded while the namer was killed') or diag($got->{err});
	($missing) = grep { /: no names, / } keys %{report('-i', 'named.data')->{lost}};
	last if $missing;
}
cmp_ok($hits, '>', 0, 'the namer was killed');
like($missing // '', qr{^/.*: no names, the process that read it was killed$}, 'a file is named, and why it was not read');
ok((grep { $_->{dso} !~ /^\[/ && $_->{symbol} =~ /^[a-z_]/ } @{report('-i', 'named.data')->{rows}}), 'other files have names');

# Parsers and openers are killed again and again, while new programs are mapped.
my @programs = map { copy_of("killed$_") } 1 .. 4;
my $recorder = start({name => 'killed'}, $DWELL, 'record', '-o', 'killed.data', '--', 'sh', '-c',
	join '; ', map { "$_ --seconds 1 >/dev/null" } @programs);
my ($zygote, @all);
ok(wait_for(180, sub { ($zygote) = children($recorder, 'dwell-zygote'); $zygote }), 'there is a zygote');
my $killed = 0;
for (1 .. 60) {
	for my $pid (children($zygote, 'dwell-parser'), children($zygote, 'dwell-opener')) {
		push @all, $pid;
		$killed += kill 'KILL', $pid;
	}
	sleep 0.1;
	last if $killed >= 8;
}
my $got = finish($recorder, 120);
cmp_ok($killed, '>=', 8, "$killed processes were killed");
is($got->{status}, 0, 'the recording went on') or diag($got->{err});
my ($stacks, $whole) = complete('killed.data', $programs[-1]);
cmp_ok($stacks, '>', 100, 'the last program was recorded');
cmp_ok($whole, '>=', 0.9 * $stacks, "$whole of its $stacks stacks are whole");
is(join(' ', grep { is_running($_) } $zygote, @all), '', 'no process is left');

# One that does not answer is replaced, and the file is named.
@programs = map { copy_of("stopped$_") } 1, 2;
my $seconds = full(10, 0.5);
$recorder = start({name => 'stopped'}, $DWELL, 'record', '--wakers', 'none', '-o', 'stopped.data', '--', 'sh', '-c',
	"while ! [ -e go ]; do sleep 0.1; echo >>running; done; $programs[0] --seconds 0.3; $programs[1] --seconds $seconds");
my @stopped;
wait_for(180, sub { ($zygote) = children($recorder, 'dwell-zygote') });
wait_for(180, sub { (@stopped = children($zygote, 'dwell-parser')) == 2 && -s 'running' });
sleep 0.5; # so that what is mapped so far is known
kill 'STOP', @stopped;
spew('go', '');
$got = finish($recorder, 120);
is($got->{status}, 0, 'recorded while parsers were stopped') or diag($got->{err});
my $report = report('-i', 'stopped.data');
# Another program, which woke a thread of these, may have come first.
my ($lost) = grep { /took too long/ } keys %{$report->{lost}};
like($lost // '', qr{^/.*: reading it took too long$}, 'a file is named, and why it was not read')
	or diag(join "\n", "stopped: @stopped", %{$report->{lost}}, $got->{err});
SKIP: {
	skip('DWELL_TEST_FULL=1 waits until the other one is replaced', 2) if $seconds < 10;
	($stacks, $whole) = complete('stopped.data', $programs[1], 7e9);
	cmp_ok($stacks, '>', 100, 'the next program was recorded');
	cmp_ok($whole, '>=', 0.9 * $stacks, "$whole of its $stacks stacks are whole");
}
is(join(' ', grep { is_running($_) } $zygote, @stopped), '', 'no process is left');

done_testing;
