#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# dwell path: input of which there is no path, or not all of it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(sum0);
use Test::More;

need_recording();

sub path_of {
	my ($file) = @_;
	return decode(run($DWELL, 'path', '--json', '-i', $file)->{out});
}

# Fails with a message that matches, and a hint.
sub refuses {
	my ($status, $message, $hint, @options) = @_;
	my $result = run($DWELL, 'path', @options);
	is($result->{status}, $status, "@options: status");
	like($result->{err}, $message, "@options: message");
	like($result->{err}, $hint, "@options: hint");
	is($result->{out}, '', "@options: no output");
}

record(['-o', 'sampled.data'], program('paths'), 'pass', '--rounds', 2);
record(['--trace', '--wakers', 'linked', '-o', 'traced.data'], program('paths'), 'pass', '--rounds', 20);

refuses(1, qr/paths need every wait/, qr/--trace --wakers linked/, '-i', 'sampled.data');
refuses(1, qr/process or thread 999999999 is not in the recording/, qr/it has these processes: .*paths/,
	'-i', 'traced.data', '--of', 999999999);
refuses(1, qr/no thread in the recording is called 'nobody'/, qr/it has these processes: .*paths/,
	'-i', 'traced.data', '--of', 'nobody');
# Programs of a test beside this one may be recorded, too: they wake the same kernel threads.
refuses(1, qr/^dwell: [2-9]\d* threads are called 'paths'$/m, qr/choose one by its id, with --of: paths \(\d+\), paths \(\d+\)/,
	'-i', 'traced.data', '--of', 'paths');
refuses(1, qr/thread \d+ was not there in that time/, qr/it was recorded from .* to .* after the start/,
	'-i', 'traced.data', '--time', '100,200');
refuses(1, qr/none\.data/, qr/./, '-i', 'none.data');
refuses(2, qr/choose one of --json/, qr/./, '-i', 'traced.data', '--json', '--folded');
refuses(2, qr/--duration needs a COMMAND/, qr/./, '-i', 'traced.data', '--duration', 1);

# A command that cannot be started has no path, and its own status.
is(run($DWELL, 'path', '--', '/nonexistent/program')->{status}, 127, 'a command that is not there');
for my $status (0, 1, 2, 3, 126, 127) {
	my $result = run($DWELL, 'path', '-i', 'status.data', '--', 'sh', '-c', "exit $status");
	is($result->{status}, $status, "a command that exits with $status: its status");
	like($result->{out}, qr/^# +accounted for/m, "a command that exits with $status: its path");
}

# If nothing could be recorded, an earlier recording is not shown instead.
my $refused = run($DWELL, 'path', '-i', "$DIR/traced.data", '-p', 999999999);
is($refused->{status}, 1, 'nothing recorded: status');
is($refused->{out}, '', 'nothing recorded: nothing shown');

# A command that is killed has a path; so has one that is interrupted, whose sleep is a sleep.
my $killed = run($DWELL, 'path', '-i', 'killed.data', '--', 'sh', '-c', 'kill -SEGV $$');
is($killed->{status}, 139, 'a command that crashes: its status');
like($killed->{out}, qr/^# +accounted for/m, 'a command that crashes: its path');
my $pid = start($DWELL, 'path', '--json', '-i', 'stopped.data', '--', 'sleep', 60);
ok(wait_for(180, sub { grep { (slurp("/proc/$_/comm") // '') eq "sleep\n" } split ' ', slurp("/proc/$pid/task/$pid/children") }), 'a command runs');
select undef, undef, undef, 0.5;
my $stopped = decode(stop($pid, 'INT')->{out});
cmp_ok($stopped->{categories}{sleep_ns}, '>', 0, 'interrupted: the sleep is told');
cmp_ok(accounted_for($stopped), '>=', 99, 'interrupted: accounted for');

# Without room for all events, intervals are lost: gaps, and no time that is told twice.
record(['--trace', '-m', 64, '-o', 'lost.data'], program('switches'), '--rounds', 20000);
my $report = report('-i', 'lost.data', '--sort', 'comm');
my $lost = path_of('lost.data');
SKIP: {
	skip 'nothing was lost', 2 unless grep { $_ } values %{$report->{lost}};
	cmp_ok(scalar(@{$lost->{gaps}}), '>', 0, 'lost events: gaps are told');
	is(sum0(values %{$lost->{categories}}), $lost->{wall_ns}, 'lost events: time is conserved');
}

# One that never waits.
my $shown = run($DWELL, 'path', '-i', 'true.data', '--', 'true');
like($shown->{out}, qr/in functions seen|running, not sampled/, 'a command that never waits has a path');

# A recording that was cut short has the path of what is left.
my $whole = slurp('traced.data');
spew('cut.data', substr($whole, 0, int(0.8 * length $whole)));
my $cut = run($DWELL, 'path', '--json', '-i', 'cut.data');
like($cut->{err}, qr/warning: cut\.data: /, 'cut short: a warning');
my $path = $cut->{status} ? undef : decode($cut->{out});
if ($path) {
	is(sum0(values %{$path->{categories}}), $path->{wall_ns}, 'cut short: what is left adds up');
} else {
	like($cut->{err}, qr/no samples in the readable part|no process|whose path|was not there/, 'cut short: nothing is left');
}

done_testing();
