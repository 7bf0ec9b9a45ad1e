#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Files of programs are read by a process without privileges. If it is killed, or slow, the
# recording goes on, and says what it does not know of which file.
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

# Who reads what.
SKIP: {
	skip('strace is not installed', 5) unless grep { -x "$_/strace" } split /:/, $ENV{PATH};
	my $program = copy_of('traced');
	my $got = run({seconds => 120}, 'strace', '-f', '-y', '-s', '16', '-o', 'trace',
		'-e', 'trace=openat,openat2,read,pread64,mmap,execve,prctl', $DWELL, 'record', '--no-symbols',
		'-o', 'traced.data', '--', $program, '--seconds', '0.3');
	is($got->{status}, 0, 'recorded under strace') or diag($got->{err});
	my (%role, %calls);
	open my $trace, '<', 'trace' or die;
	while (<$trace>) {
		my ($pid, $call) = /^(\d+) +(\w+)\(/ or next;
		$role{$pid} //= %role ? 'dwell' : 'recorder';
		$role{$pid} = $1 if /PR_SET_NAME, "(dwell-\w+)"/;
		$role{$pid} = 'command' if $call eq 'execve' && /\Q"$program"\E/;
		$calls{$role{$pid}}{$call}++ if /<\Q$program\E>/ && $call ne 'execve';
	}
	close $trace;
	is(join(' ', sort keys %{$calls{recorder} // {}}), '', 'the recorder does not open the program, or read it');
	ok($calls{'dwell-opener'}{openat}, 'the opener opens it');
	is($calls{'dwell-opener'}{$_} // 0, 0, "and does not $_ it") for qw(read pread64 mmap);
	ok($calls{'dwell-parser'}{pread64} || $calls{'dwell-parser'}{mmap}, 'a parser reads it');
	is($calls{'dwell-parser'}{openat} // 0, 0, 'and opens nothing');
}

# Parsers and openers are killed again and again, while new programs are mapped.
my @programs = map { copy_of("killed$_") } 1 .. 4;
my $recorder = start({name => 'killed'}, $DWELL, 'record', '-o', 'killed.data', '--', 'sh', '-c',
	join '; ', map { "$_ --seconds 1 >/dev/null" } @programs);
my ($zygote, @all);
ok(wait_for(20, sub { ($zygote) = children($recorder, 'dwell-zygote'); $zygote }), 'there is a zygote');
my $killed = 0;
for (1 .. 30) {
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
wait_for(20, sub { ($zygote) = children($recorder, 'dwell-zygote') });
wait_for(20, sub { (@stopped = children($zygote, 'dwell-parser')) == 2 && -s 'running' });
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
