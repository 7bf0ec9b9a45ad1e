#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Kernels that differ from this one, as their types say: without a field that every kernel was known to
# have, each command that records names it and does nothing. With what 5.15 has, dwell records by
# frame pointers, and says so; causal profiling says what it needs.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use OtherKernel;
use Test::More;

need_recording();
need_root();
need_command('unshare', 'bpftool');

my @commands = (
	['record', '-o', 'other.data'],
	['causal', 'run', '-o', 'other.coz'],
	['latency', 'run', '-o', 'other.data'],
	['path'],
);

for my $field (qw(task_struct.on_rq sched_entity.sum_exec_runtime)) {
	my ($struct, $member) = split /\./, $field;
	my @as = in_types(make_types('types', "$field=removed"));
	for my $command (@commands) {
		my @name = grep { /^[a-z]+$/ } @$command;
		my $got = run(@as, $DWELL, @$command, '--', 'touch', 'was-run');
		cmp_ok($got->{status}, '>', 0, "@name without $field fails");
		like($got->{err}, qr/\Adwell: this kernel's struct \w+ has no '(?:\w+\.)*\Q$member\E' as dwell knows it\n  dwell knows Linux 5\.15 to \d+\.\d+;/,
			'and names it');
		is(() = $got->{err} =~ /^\S/mg, 1, 'in one sentence');
		unlike($got->{err}, qr/libbpf|verifier|CO-RE|relocation/, 'without a line of a log');
	}
}
ok(!-e 'was-run', 'the command was not run');
ok(!-e 'other.data', 'there is no recording');

my @as = in_types(make_types('types', @AS_5_15));
my $got = run({seconds => 60}, @as, $DWELL, 'record', '-o', '5.15.data', '--', program('figure1'), '--iterations', 60);
is($got->{status}, 0, 'as Linux 5.15: recorded') or diag $got->{err};
my $truncated = report('-i', '5.15.data')->{truncated};
cmp_ok($truncated->{frame_pointer}, '>', 20, 'which says that stacks end where there are no frame pointers')
	or diag explain $truncated;
my %waits;
for my $event (grep { $_->{event} eq 'interval' && $_->{comm} =~ /^T[12]$/ } events('-i', '5.15.data')) {
	next if $event->{class} eq 'sched' || $event->{flags} =~ /first|unfinished/;
	$waits{$event->{class}}++;
	my %frames = @{$event->{frames}};
	$waits{libc}++ if grep { /futex|pthread/ } keys %frames;
}
cmp_ok($waits{lock} // 0, '>', 20, 'the waits at the barrier are waits for locks');
cmp_ok($waits{libc} // 0, '>', 20, 'their first function is known');

$got = run(@as, $DWELL, 'causal', 'run', '-o', '5.15.coz', '--', 'touch', 'was-run');
cmp_ok($got->{status}, '>', 0, 'as Linux 5.15: no causal profile');
like($got->{err}, qr/\Adwell: causal profiling needs Linux 5\.17 or later\n/, 'and why not');
ok(!-e 'was-run', 'the command was not run');

# The helpers that Linux 5.15 does not have, by their numbers.
sub later_helpers {
	my ($n, %later) = (0);
	for (grep { /^\s+FN\(/ } split /\n/, slurp('/usr/include/linux/bpf.h')) {
		my ($name, $number) = /FN\((\w+)(?:, (\d+))?/ or next;
		$n = $number // $n;
		$later{"bpf_$name"} = $n if $n > 175; # task_pt_regs
		$n++;
	}
	return \%later;
}

# The programs of process $pid.
sub programs_of {
	my ($pid) = @_;
	my %programs;
	for my $file (glob "/proc/$pid/fdinfo/*") {
		$programs{$1} = 1 if -r $file && slurp($file) =~ /^prog_id:\s+(\d+)$/m;
	}
	return sort keys %programs;
}

# What the verifier has left of the programs: calls of none of these. (This kernel has them, and would not refuse.)
SKIP: {
	my $later = later_helpers();
	skip 'bpf.h has not the names of helpers', 2 unless $later->{bpf_loop};
	# Without names: those of the kernel's functions have a program of their own, without which it goes on.
	my $pid = start(@as, $DWELL, 'record', '--no-symbols', '-o', 'helpers.data', '--', 'sh', '-c', 'touch runs; exec sleep 300');
	wait_for(180, sub { -e 'runs' });
	my $code = join '', map { run('bpftool', 'prog', 'dump', 'xlated', 'id', $_)->{out} } programs_of($pid);
	my %called = map { $_ => 1 } $code =~ /\bcall (bpf_\w+)#/g;
	stop($pid, 'INT');
	ok($called{bpf_ringbuf_output} && $called{bpf_task_pt_regs}, 'the programs call helpers') or diag explain \%called;
	is(join(' ', grep { $later->{$_} } sort keys %called), '', 'and none that came after 5.15');
}
done_testing();
