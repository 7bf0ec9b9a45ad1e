#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# dwell path: input of which there is no path, or not all of it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

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
refuses(1, qr/2 threads are called 'paths'/, qr/choose one by its id, with --of: paths \(\d+\), paths \(\d+\)/,
	'-i', 'traced.data', '--of', 'paths');
refuses(1, qr/thread \d+ was not there in that time/, qr/it was recorded from .* to .* after the begin/,
	'-i', 'traced.data', '--time', '100,200');
refuses(1, qr/none\.data/, qr/./, '-i', 'none.data');
refuses(2, qr/choose one of --json/, qr/./, '-i', 'traced.data', '--json', '--folded');
refuses(2, qr/--duration needs a COMMAND/, qr/./, '-i', 'traced.data', '--duration', 1);

# A command that cannot be started has no path, and its own status.
is(run($DWELL, 'path', '--', '/nonexistent/program')->{status}, 127, 'a command that is not there');
is(run($DWELL, 'path', '-i', 'failed.data', '--', 'sh', '-c', 'exit 3')->{status}, 3, 'the status of the command');

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
	my $sum = 0;
	$sum += $_ for values %{$path->{categories}};
	is($sum, $path->{wall_ns}, 'cut short: what is left adds up');
} else {
	like($cut->{err}, qr/no process|whose path|was not there/, 'cut short: nothing is left');
}

done_testing();
