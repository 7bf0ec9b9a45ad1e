#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# dwell path: programs whose paths are known.
use strict;
use warnings;
no warnings 'recursion';

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(max sum0);
use Test::More;

need_recording();

sub path {
	my (@options) = @_;
	my $result = run({seconds => 120}, $DWELL, 'path', '--json', @options);
	diag($result->{err}) if $result->{status};
	return decode($result->{out});
}

# The time of the outermost nodes that a function has in the tree. What threads do that have the CPU
# for which another one of the path waits is not done while it waits for them.
sub time_in {
	my ($function, @nodes) = @_;
	return sum0(map {
		($_->{frame} // '') eq $function ? $_->{total_ns} : time_in($function, @{$_->{children}})
	} grep { ($_->{category} // '') !~ /^(?:run_queue|preempted)$/ } @nodes);
}

# The same, of what is in one of these categories in that function.
sub time_of_category {
	my ($categories, $function, @nodes) = @_;
	my $inside = !defined $function;
	return sum0(map {
		my $found = $inside || ($_->{frame} // '') eq $function;
		my $of_others = sum0(map { $_->{had_cpu} ? $_->{total_ns} : 0 } @{$_->{children}});
		($found && ($_->{category} // '') =~ $categories ? $_->{self_ns} + $of_others : 0)
			+ time_of_category($categories, $found ? undef : $function, @{$_->{children}});
	} @nodes);
}

# Whether what is below each node, and its own time, are all of its time.
sub is_conserved {
	my (@nodes) = @_;
	for my $node (@nodes) {
		return 0 if $node->{total_ns} != $node->{self_ns} + sum0(map { $_->{total_ns} } @{$node->{children}});
		return 0 unless is_conserved(@{$node->{children}});
	}
	return 1;
}

# A round's waits begin and end with wakeups, whose cost is in no log: 50 us of each. Where a
# function begins or ends within a run is known to within the distance of two ticks, longer than the
# period where they cost too much: by chance, less than once in a million runs, that is five
# standard deviations off.
use constant PERIOD => 250e3;

sub bound_of {
	my ($path, $true, $parts) = @_;
	my $distance = $path->{slowest_clock_ns} || $path->{period_ns};
	return max($true / 100, 50e3 * $parts) + 5 * $distance * sqrt(2 * $parts / 12);
}

# The differences from the truth that are too great, as text.
sub differences {
	my ($path, $truth) = @_;
	my @found;
	push @found, sprintf('%.2f%% accounted for', accounted_for($path)) if accounted_for($path) < 99.5;
	for my $function (sort keys %{$truth->{on_path}}) {
		my ($got, $true) = (time_in($function, @{$path->{tree}}), $truth->{on_path}{$function});
		push @found, sprintf('%s: %.3f ms for %.3f', $function, $got / 1e6, $true / 1e6)
			if abs($got - $true) > bound_of($path, $true, $truth->{rounds});
	}
	return @found;
}

# Runs a case until what is found is true, up to six times: a caller that is preempted just before it
# sleeps is not waiting yet, which the program cannot know. @more compares what else is known.
sub check {
	my ($case, $more) = @_;
	my (@found, $path, $run);
	for (1 .. 6) {
		my $file = "$case.data";
		$run = record(['--trace', '--wakers', 'linked', '-c', PERIOD / 1e3, '-o', $file],
			program('paths'), $case, '--dir', $DIR);
		$path = path('-i', $file, '--background');
		last if $run->{status} || !$path;
		@found = (differences($path, $run->{truth}), $more ? $more->($path, $run->{truth}) : ());
		last unless @found;
		note("$case: $_") for @found;
	}
	is($run->{status}, 0, "$case: ran");
	is(sum0(values %{$path->{categories}}), $path->{wall_ns}, "$case: the categories add up to the wall time");
	ok(is_conserved(@{$path->{tree}}) && sum0(map { $_->{total_ns} } @{$path->{tree}}) == $path->{wall_ns},
		"$case: time is conserved at every level");
	is("@found", '', "$case: as it was");
	return ($path, $run->{truth});
}

# A difference of one number.
sub differs {
	my ($path, $name, $got, $true, $parts) = @_;
	return abs($got - $true) > bound_of($path, $true, $parts)
		? sprintf('%s: %.3f ms for %.3f', $name, $got / 1e6, $true / 1e6) : ();
}

check($_) for qw(pass chain triangle signals eventfd uring pool tree);

# The disk works within the calls of the server that read and write, and not in its computing.
check('server', sub {
	my ($path, $truth) = @_;
	my %disk = map { $_ => time_of_category(qr/^disk_/, $_, @{$path->{tree}}) } qw(serve_read serve_sync work_b);
	return ($disk{work_b} ? 'a disk in work_b' : ()), map {
		$disk{$_} > 0 && $disk{$_} <= $truth->{on_path}{$_} ? ()
			: sprintf('disk in %s: %.3f of %.3f ms', $_, $disk{$_} / 1e6, $truth->{on_path}{$_} / 1e6)
	} qw(serve_read serve_sync);
});

# The timer's interrupt, and what dwell does in it, are part of the program's measurement.
check('polls', sub {
	my ($path, $truth) = @_;
	return differs($path, 'timed out', $path->{categories}{timeout_ns}, $truth->{timeouts}, 3 * $truth->{polls});
});

my ($path) = check('background', sub {
	my ($path, $truth) = @_;
	return differs($path, 'background', time_in('work_b', @{$path->{background}}), $truth->{off_path}{work_b}, $truth->{rounds});
});
ok((grep { $_->{comm} eq 'paths' && $_->{started_by} =~ /^paths/ } @{$path->{not_waited_for}}),
	'background: who started it');

# dwell's own time in the kernel, at each switch, is not in what the scheduler measures.
($path) = check('crowd', sub {
	my ($path, $truth) = @_;
	my ($most) = grep { $_->{recorded} } @{$path->{ran_instead}};
	return ($most->{comm} // '') eq 'spinner' ? () : ($most->{comm} // 'nobody') . ' ran instead', differs($path, 'waits for a CPU', time_of_category(qr/^(?:run_queue|preempted|cpu_idle)$/, 'work_a', @{$path->{tree}}), $truth->{queued}, $truth->{switches} / 4);
});
is(sum0(map { $_->{ns} } @{$path->{ran_instead}}),
	$path->{categories}{run_queue_ns} + $path->{categories}{preempted_ns}, 'crowd: all of that time');

SKIP: {
	skip 'needs root and ip', 1 unless $> == 0 && grep { -x "$_/ip" } qw(/sbin /usr/sbin /bin /usr/bin);
	check('hosts');
}

# Packets are delivered by a soft interrupt on the other CPU, and the process that waited first at the
# other end of the connection is not the one that sends: who sends is known all the same.
SKIP: {
	my @apart = ('unshare', '-nm', 'sh', '-c', 'mount -t sysfs none /sys && ip link set lo up && '
		. 'echo 2 >/sys/class/net/lo/queues/rx-0/rps_cpus && exec "$@"', 'sh');
	skip 'needs root, ip, two CPUs and receive packet steering', 1 if run(@apart, 'true')->{status};
	my @found;
	for (1 .. 6) {
		my $run = run({seconds => 120}, @apart, $DWELL, 'record', '--trace', '--wakers', 'linked', '-c', PERIOD / 1e3,
			'-o', 'handoff.data', '--', 'taskset', '-c', 0, program('paths'), 'handoff');
		@found = differences(path('-i', 'handoff.data'), decode($run->{out}));
		last unless @found;
		note("handoff: $_") for @found;
	}
	is("@found", '', 'handoff: as it was');
}

# The command itself: records and shows.
my $shown = run($DWELL, 'path', '-i', 'direct.data', '--', program('paths'), 'pass', '--rounds', 3);
is($shown->{status}, 0, 'records and shows');
like($shown->{out}, qr/^# target +: paths\/\d+$/m, 'the target is the command');
like($shown->{out}, qr/^# +accounted for .* (?:99|100)\.\d%$/m, 'the account');
like($shown->{out}, qr/waits: pipe read/, 'a wait');
like($shown->{out}, qr/^# \d+% of it is paths\b/m, 'the verdict');

done_testing();
