#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Functions of a stripped program are called FILE+0xADDRESS, after where their unwind
# information says that they begin: the same in every view, and as a causal target. The
# truth is the symbol table that was taken away.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();
need_command('nm', 'strip');

# Strips a copy of a program; its functions' names as they have to be, by the old ones.
sub strip {
	my ($name) = @_;
	my %made_up;
	for (split /\n/, run('nm', program($name))->{out}) {
		my ($address, $symbol) = /^([0-9a-f]+) [tT] (\S+)$/ or next;
		$made_up{$symbol} = sprintf 'bare-%s+0x%x', $name, hex $address;
	}
	is(run('strip', '-o', "bare-$name", program($name))->{status}, 0, "$name is stripped");
	return \%made_up;
}

# Blocked, in functions that call each other.
my $of = strip('hang');
my $pid = start({name => 'hang'}, './bare-hang', '--ready', 'ready');
ok(wait_for(180, sub { -s 'ready' }), 'it runs');
is(run($DWELL, 'record', '-o', 'hang.data', '--duration', 1, '-p', $pid)->{status}, 0, 'recorded');
stop($pid);
my $stack = quotemeta join ';', map { $of->{$_} } qw(main stuck_outer stuck_inner);
like(run($DWELL, 'script', '--folded', '--idle', '-i', 'hang.data')->{out}, qr/;$stack;/, 'folded: every function of the stack');
my $waits = decode(run($DWELL, 'waits', '--json', '-i', 'hang.data')->{out});
like(join(';', reverse map { $_->{symbol} } @{$waits->{edges}[0]{stacks}[0]{waiter}}), qr/;$stack;/, 'waits: the same');
my $report = report('-i', 'hang.data', '--children');
ok((grep { $_->{symbol} eq $of->{stuck_outer} } @{$report->{rows}}), 'report: the same');

# Running: one row a function, not one an address.
$of = strip('undisturbed');
my $got = record(['-o', 'burn.data'], './bare-undisturbed', '--seconds', 1);
is($got->{status}, 0, 'recorded');
my @rows = grep { $_->{class} eq 'cpu' && $_->{dso} eq 'bare-undisturbed' } @{report('-i', 'burn.data')->{rows}};
is($rows[0]{symbol}, $of->{burn}, 'what computes is on top');
my %known = map { $_ => 1 } values %$of;
is(join(' ', grep { !$known{$_} && !/\@plt$|^\.plt$/ } map { $_->{symbol} } @rows), '', 'every row is a function');

# The symbols come back: names made up when it was recorded give way.
is(run('cp', program('undisturbed'), 'bare-undisturbed')->{status}, 0, 'the symbols are back');
@rows = grep { $_->{class} eq 'cpu' && $_->{dso} eq 'bare-undisturbed' } @{report('-i', 'burn.data')->{rows}};
is($rows[0]{symbol}, 'burn', 'and so is the name');

# As a target, and as a place that a causal profile tells of.
strip('undisturbed');
$got = causal(['--target', $of->{burn}, '--speedup', 50], './bare-undisturbed', '--seconds', 2);
is($got->{status}, 0, 'a causal target') or diag($got->{err});
# However little a slow machine measures in that time.
my ($target) = map { $_->{target} } map { @{$got->{report}{$_} // []} } qw(targets refused empty);
is($target, $of->{burn}, 'by that name');
$got = causal([], './bare-undisturbed', '--seconds', 2);
my ($place) = grep { $_->{function} eq $of->{burn} } @{$got->{report}{runs}[0]{places} // $got->{report}{places}};
ok($place, 'and a place where samples fell');

done_testing();
