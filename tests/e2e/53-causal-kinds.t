#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Kinds of waiting as causal targets: a wait is of the kind that a report names it by, told by
# the kernel's functions on the stack, or, where those are hidden, by the descriptor.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

my %ways = ('tcp receive' => ['tcp'], 'udp receive' => ['udp'], 'unix receive' => ['unix'],
	'pipe read' => ['fifo'], network => ['tcp', 'udp', 'unix'], 'socket receive' => [],
	'disk read' => []);

# Where the names of the kernel's functions are not to be had.
my @hiding = ('unshare', '-m', 'sh', '-c',
	'mount --bind /dev/null /proc/kallsyms && exec "$@"', 'hiding');

# Runs @command beside the program that answers it.
sub answered {
	my ($run) = @_;
	unlink glob('answers.*'), 'ready';
	my $server = start({name => 'server'}, program('answers'), '--serve', '--ready', 'ready');
	wait_for(180, sub { -e 'ready' }) or die "the other program does not answer\n";
	my $got = $run->();
	stop($server);
	return $got;
}

# Time of samples in the target, and visits of the progress point, in all halves of experiments.
sub counted {
	my ($hits, $visits, $halves) = (0, 0, 0);
	open my $profile, '<', 'p' or die "p: $!\n";
	for my $experiment (grep { $_->{type} eq 'experiment' } map { decode($_) } <$profile>) {
		for my $half (@$experiment{qw(base with)}) {
			$hits += $half->{hit_ns};
			$visits += $half->{points}[0][1] // 0;
			$halves++;
		}
	}
	return ($hits, $visits, $halves);
}

# Virtual speedups of @kind: what is counted is what the program has waited for it. A run that
# saw little is made again, for longer.
sub waits_are {
	my ($kind, @before) = @_;
	my $name = @before ? "$kind, by the descriptor" : $kind;
	my ($got, $truth, $hits, $visits, $halves, $counted);
	for (my $seconds = 3; $seconds <= 48; $seconds *= 2) {
		unlink 'p';
		$got = answered(sub {
			run({seconds => 120}, @before, $DWELL, 'causal', 'run', '-o', 'p', '-q', '--class',
				$kind, '--speedup', 50, '--', program('answers'), '--seconds', $seconds);
		});
		return fail("$name: $got->{err}") if $got->{status} || $got->{out} !~ /^(\{.*\})$/m;
		$truth = decode($1);
		($hits, $visits, $halves) = counted();
		# Waits within halves that were among the shorter tenth, or across their ends.
		$counted = $visits - $truth->{rounds} / 10 - 1 - $halves;
		last if $counted > $truth->{rounds} / 4;
	}
	my ($least, $most) = (0, 0);
	for my $way (map { $truth->{ways}{$_} } @{$ways{$kind}}) {
		$least += $counted * $way->{tenth_ns};
		$most += $way->{blocked_ns};
	}
	cmp_ok($hits, '>=', 0.95 * $least, "$name: time of such waits");
	cmp_ok($hits, '<=', 1.05 * $most, "$name: and of no others");
}

waits_are($_) for 'tcp receive', 'unix receive', 'network', 'socket receive';
SKIP: {
	run(@hiding, 'true')->{status} == 0 or skip('no mount namespaces here', 10);
	waits_are($_, @hiding) for 'tcp receive', 'udp receive', 'pipe read', 'socket receive',
		'disk read';
}

# And a report names them so.
for my $hidden (0, 1) {
	my @before = $hidden ? @hiding : ();
	my $got = answered(sub {
		run({seconds => 60}, @before, $DWELL, 'record', '-o', 'kinds.data', '--', program('answers'),
			'--seconds', 2);
	});
	my $truth = decode($got->{out} =~ /^(\{.*\})$/m ? $1 : '{}');
	my $report = report('-i', 'kinds.data', '--sort', 'kind');
	for my $kind ('tcp receive', 'udp receive', 'unix receive', 'pipe read') {
		my $true = $truth->{ways}{$ways{$kind}[0]}{blocked_ns};
		my $points = $true / $report->{period_ns};
		# A wait holds a point for each of its periods, and by chance one more or less: a
		# variance of 1/2 at most.
		near(weight_of($report, kind => $kind), $points,
			5 * sqrt($truth->{rounds} / 2) + 0.02 * $points,
			"$kind in a report" . ($hidden ? ', by the descriptor' : ''));
	}
	is(weight_of($report, kind => 'socket receive'), 0, 'and no socket of an unknown kind');
}

done_testing;
