#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Stacks of Go programs reach the outermost frame, stripped or not, and have the names that
# gdb shows: by the table that the runtime keeps for its own tracebacks.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();
need_command('go', 'gdb');

my %flags = ('busy-whole' => [], 'busy-stripped' => ['-ldflags=-s -w'], 'busy-pie' => ['-buildmode=pie']);
$ENV{GOCACHE} = "$DIR/cache";
$ENV{GOPATH} = "$DIR/go";
my $got;
for my $name (sort keys %flags) {
	$got = run({seconds => 300}, 'go', 'build', @{$flags{$name}}, '-o', $name, "$FindBin::Bin/../data/go/busy.go");
	is($got->{status}, 0, "$name is built") or BAIL_OUT($got->{err});
}

# Where stacks of goroutines and of the runtime's own threads begin.
my $outermost = qr/^(?:runtime\.(?:goexit|mcall|rt0_go|clone|mstart)(?:\.abi0)?|_rt0_amd64_linux)$/;
my %leaves;
for my $name (sort keys %flags) {
	is(record(['-o', "$name.data"], "./$name")->{status}, 0, "$name is recorded");
	my ($stacks, %ends, %first, %names) = (0);
	my @events = grep { $_->{stack_end} && $_->{comm} eq substr($name, 0, 15) } events('-i', "$name.data");
	# On a machine that is busy, unwind tables come when the program runs already.
	my ($last) = grep { $events[$_]{stack_end} =~ /^no_(?:table|mapping)$/ } reverse 0 .. $#events;
	for my $event (@events[($last // -1) + 1 .. $#events]) {
		# Pairs of symbol and file; before exec it is another program.
		my @frames = @{$event->{frames}};
		my @go = grep { $frames[$_ + 1] =~ /\/\Q$name\E$/ } grep { $_ % 2 == 0 } 0 .. $#frames;
		next unless @go;
		$stacks++;
		$ends{$event->{stack_end}}++;
		$first{$frames[-2]}++;
		$names{$frames[$_] =~ s/\.abi0$//r}++ for @go;
	}
	cmp_ok($stacks, '>', 500, "$name: $stacks stacks");
	# The moments in which a function has switched stacks and not said so yet; and what is too deep.
	my $whole = $ends{complete} // 0;
	cmp_ok($whole, '>=', 0.995 * $stacks, "$name: $whole are complete") or diag(explain(\%ends));
	my @wrong = grep { $_ !~ $outermost } sort keys %first;
	my $wrong = 0;
	$wrong += $first{$_} for @wrong;
	cmp_ok($wrong, '<=', 0.005 * $stacks, "$name: they begin where Go's stacks begin") or diag("@wrong");
	ok($names{"main.$_"}, "$name: main.$_ is there") for qw(hashing worker allocating growing);
	ok($names{'runtime.systemstack'}, "$name: and the runtime on its own stack");
}

# What gdb shows of a goroutine in a system call.
for my $name (sort keys %flags) {
	pipe(my $reader, my $writer) or die;
	my $pid = fork // die;
	if (!$pid) {
		close $writer;
		open STDIN, '<&', $reader;
		exec "./$name", 'wait';
	}
	close $reader;
	wait_for(180, sub { grep { slurp("$_/syscall") =~ /^0 0x0 / } glob "/proc/$pid/task/*" });
	run($DWELL, 'record', '-o', "$name-wait.data", '--duration', 1, '-p', $pid);
	my $gdb = run({seconds => 120}, 'gdb', '-p', $pid, '-batch', '-iex', 'set auto-load no', '-ex', 'set backtrace past-main on', '-ex', 'thread apply all bt');
	close $writer;
	waitpid $pid, 0;
	my ($ours) = grep { /main\.waitInner/ } split /\n/, run($DWELL, 'script', '--folded', '--idle', '-i', "$name-wait.data")->{out};
	my @ours = map { s/\.abi0$//r } grep { !/_\[/ } split /;/, $ours // '';
	shift @ours; # the thread's name
	is(join(' ', grep { /^main\.|^runtime\.(?:main|goexit)$/ } @ours), 'runtime.goexit runtime.main main.main main.waitOuter main.waitInner',
		"$name: the whole goroutine is there");
	next if $name eq 'busy-stripped'; # gdb has no names there
	my ($thread) = grep { /main\.waitInner/ } split /^Thread /m, $gdb->{out};
	my @gdb = reverse map { /^#\d+\s+(?:0x[0-9a-f]+ in )?(\S+)/ ? $1 =~ s/\.abi0$//r : () } split /\n/, $thread // '';
	shift @gdb if @gdb && $gdb[0] eq '??'; # nothing called goexit
	is("@ours", "@gdb", "$name: as gdb has it");
}

# Through C and back: its threads begin in the C library.
$ENV{CGO_ENABLED} = 1;
$got = run({seconds => 300}, 'go', 'build', '-o', 'cgo', "$FindBin::Bin/../data/go/cgo.go");
is($got->{status}, 0, 'a program with C is built') or diag($got->{err});
is(record(['-o', 'cgo.data'], './cgo')->{status}, 0, 'and recorded');
my ($all, $cut, $through) = (0, 0, 0);
for my $event (grep { $_->{stack_end} } events('-i', 'cgo.data')) {
	my $names = join ';', reverse map { $event->{frames}[2 * $_] } 0 .. @{$event->{frames}} / 2 - 1;
	$all++;
	$cut++ if $event->{stack_end} ne 'complete';
	$through++ if $names =~ /^runtime\.goexit\S*;runtime\.main;main\.main;main\.callC;.*;sort_in_c;.*;compare\b/;
}
cmp_ok($cut, '<=', 0.005 * $all, "$cut of $all stacks are cut short");
cmp_ok($through, '>', 50, "$through go from Go through C");

done_testing();
