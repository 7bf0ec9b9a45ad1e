#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Shares by thread and class equal the exact totals in every view, whatever the threads'
# rhythm does to the sampling clock.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

my $got = record(['-o', 'bursts.data'], program('bursts'), '--seconds', full(10, 4));
is($got->{status}, 0, 'seven threads with bursts of many lengths: recorded');

my @names = qw(brief long reader mutex-1 mutex-2 spin-1 spin-2);
my @classes = qw(cpu io lock sched other);
my $report = report('-i', 'bursts.data', '--sort', 'comm,tid,class', '--percent-limit', 0);
my %exact = map { $_->{comm} => $_ } @{$report->{threads}};
my %name_of = map { $_->{tid} => $_->{comm} } @{$report->{threads}};

# Compares what a view says, {thread}{class} => ns, with the exact totals.
sub as_exact {
	my ($view, $ns) = @_;
	for my $name (@names) {
		my $whole = $exact{$name}{lifetime_ns};
		my @off = grep { abs(($ns->{$name}{$_} // 0) - $exact{$name}{"${_}_ns"}) > 0.01 * $whole } @classes;
		is("@off", '', "$view, $name: every class within a point");
	}
}

# Where the CPUs are taken, a thread waits for one before it can name itself.
my (%rows, %unnamed);
for my $row (grep { $name_of{$_->{tid}} } @{$report->{rows}}) {
	my $name = $name_of{$row->{tid}};
	$rows{$name}{$row->{class}} += $row->{self_ns};
	$unnamed{$name}{$row->{class}} += $row->{self_ns} if $row->{comm} ne $name;
}
as_exact('report', \%rows);

my %letters = (I => 'io', L => 'lock', S => 'sched', B => 'other');
my %folded;
for (split /\n/, run($DWELL, 'script', '--folded', '--idle', '-i', 'bursts.data')->{out}) {
	my ($comm, $leaf, $points) = /^([^;]+);.*?([^;]*) (\d+)$/ or die $_;
	my $class = $leaf =~ /_\[([ILSB])\]$/ ? $letters{$1} : 'cpu';
	$folded{$comm}{$class} += $points * $report->{period_ns};
}
for my $name (keys %unnamed) {
	$folded{$name}{$_} += $unnamed{$name}{$_} for keys %{$unnamed{$name}};
}
as_exact('script --folded', \%folded);

# The wait-for graph has no classes, but the whole of what each thread waited.
my $waits = decode(run($DWELL, 'waits', '--json', '--unfold', '--percent-limit', 0, '-i', 'bursts.data')->{out});
for my $name (@names) {
	my ($vertex) = grep { $_->{name} =~ /^\Q$name\E\b/ } @{$waits->{threads}};
	my $waited = 0;
	$waited += $_->{plain_ns} for grep { $_->{from} eq $vertex->{name} } @{$waits->{edges}};
	my $blocked = 0;
	$blocked += $exact{$name}{"${_}_ns"} for qw(io lock other);
	near($waited, $blocked, 0.01 * $exact{$name}{lifetime_ns}, "waits, $name: all edges together");
	near($vertex->{running_ns}, $exact{$name}{cpu_ns}, 0.01 * $exact{$name}{lifetime_ns}, 'and running');
}

# Where samples were far off, every view tells by how much.
for my $entry (@{$report->{calibrated}}) {
	ok(!$entry->{sampled_ns} || abs($entry->{factor} - $entry->{exact_ns} / $entry->{sampled_ns}) <= 1e-6, "factor of $entry->{tid}, $entry->{class}");
	my ($thread) = grep { $_->{tid} == $entry->{tid} } @{$report->{threads}};
	is($entry->{exact_ns}, $thread->{"$entry->{class}_ns"}, 'to the exact total');
}
my $told = @{$report->{calibrated}} ? qr/^# calibrated +: \w+ of \S+(?: by \d+\.\d\d)?: /m : qr/^(?!.*^# calibrated)/ms;
like(run($DWELL, $_, '-i', 'bursts.data')->{out}, $told, "$_ says so") for qw(report waits);

done_testing();
