#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A recorder that is killed leaves all but the last second, on a busy machine too.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use File::Copy qw(copy);
use POSIX ();
use Test::More;
use Time::HiRes qw(time sleep);

need_recording();

# Keeps every CPU busy, for that long at most.
sub busy {
	my ($seconds) = @_;
	my @pids;
	chomp(my $cpus = `nproc`);
	for (1 .. $cpus) {
		my $pid = fork() // die "fork: $!";
		if (!$pid) {
			my $end = time + $seconds;
			1 while time < $end;
			POSIX::_exit(0);
		}
		push @pids, $pid;
	}
	return @pids;
}

# Seconds that a process of one thread, as the recorder is, has waited for a CPU.
sub waited {
	my ($pid) = @_;
	return (split ' ', slurp("/proc/$pid/schedstat"))[1] / 1e9;
}

sub is_whole_to_the_last_second {
	my ($name, $slack) = @_;
	my $naps = program('naps');
	# So few samples that it is time, not their number, that writes a chunk. The time of day of
	# an event in the recording: the second exec.
	my $recorder = start({name => $name}, $DWELL, 'record', '--no-symbols', '-o', "$name.data",
		'--duration', '30', '-c', '20000', '--', 'sh', '-c', "date +%s.%N; exec $naps --seconds 30");
	# Recording has begun when the file has grown beyond its header.
	wait_for(180, sub { -s "$name.data" && -s "$name.data" > 200 })
		or BAIL_OUT("$name: nothing is recorded");
	sleep 2;
	# What the recorder waits for a CPU makes its chunk late. A wait is counted when it ends, so it stops first.
	my $before = waited($recorder);
	sleep 1.5;
	my $killed = time;
	kill 'STOP', $recorder;
	wait_for(180, sub { slurp("/proc/$recorder/status") =~ /^State:\s+T/m })
		or BAIL_OUT("$name: the recorder does not stop");
	my $late = waited($recorder) - $before;
	stop($recorder, 'KILL');
	my @events = events('-i', "$name.data");
	my ($exec) = grep { $_->{event} eq 'exec' && $_->{comm} eq 'naps' } @events;
	my ($last) = sort { $b <=> $a } map { $_->{time_ns} } @events;
	my ($date) = slurp("$name.out") =~ /^([\d.]+)$/m;
	kill 'KILL', $exec->{pid}; # it went on
	my $lost = $killed - ($date + ($last - $exec->{time_ns}) / 1e9);
	cmp_ok($lost, '<', 1 + $slack + $late,
		sprintf('%s: %.2f s before it was killed are lost (the recorder waited %.2f s for a CPU)', $name, $lost, $late));
	cmp_ok($last / 1e9, '>', 1.5, "$name: and what was before is there");
}

is_whole_to_the_last_second('quiet', 0);
my @busy = busy(12);
is_whole_to_the_last_second('busy', 0.2);
kill 'KILL', @busy;
waitpid $_, 0 for @busy;

# Names of functions are in the file while it is recorded: that of the program is gone.
sub has_names {
	my $rows = (report('-i', 'named.data', '--sort', 'symbol') // {})->{rows};
	return scalar grep { $_->{symbol} eq 'compute_heavy' } @{$rows // []};
}

my $copy = "$DIR/copied";
copy(program('figure1'), $copy) && chmod(0755, $copy) or die "$copy: $!";
my $recorder = start({name => 'named'}, $DWELL, 'record', '-o', 'named.data', '--', $copy, '--iterations', 1_000_000);
ok(wait_for(180, sub { (slurp("/proc/$recorder/task/$recorder/children") // '') =~ /(\d+)\s*$/ && readlink("/proc/$1/exe") eq $copy }),
	'names: the program runs');
my ($program) = grep { (readlink("/proc/$_/exe") // '') eq $copy } split ' ', slurp("/proc/$recorder/task/$recorder/children");
wait_for(180, sub { slurp("/proc/$program/maps") =~ /libc/ });
unlink $copy;
ok(wait_for(180, sub { -s 'named.data' && has_names() }), 'names: they are in the file while it is recorded');
stop($recorder, 'KILL');
kill 'KILL', $program;
ok(has_names(), 'names: the recorder that was killed has left them');

done_testing;
