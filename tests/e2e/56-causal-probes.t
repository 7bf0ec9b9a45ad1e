#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Visits of progress points: by uprobes, which stand behind endbr64; and by a probe of the
# program, which stands behind a semaphore.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();

sub visits_of {
	my ($got) = @_;
	return map { $_->{point} => $_->{visits} } @{$got->{report}{targets}};
}

my ($entry) = `nm @{[program('causal-cet')]}` =~ /^([0-9a-f]+) t run_a$/m;
my $look = 'my $at = hex shift; my $pid = fork // die; exec @ARGV if !$pid; my $code = "";
	for (1 .. 30) {
		select undef, undef, undef, 0.1;
		open my $maps, "<", "/proc/$pid/maps" or next; my ($base) = <$maps> =~ /^(\w+)/ or next;
		open my $memory, "<:raw", "/proc/$pid/mem" or next; sysseek $memory, $at + hex $base, 0;
		sysread $memory, $code, 5; last if $code =~ /\xcc$/;
	}
	print "code ", unpack("H*", $code), "\n"; waitpid $pid, 0';
my ($behind, %visits);

# Calls of each round, %. The one in which an experiment begins or ends is counted in one of them.
sub calls {
	return 100 * ($visits{run_a} // 0) / ($visits{round} || 1);
}

for (my $seconds = 4; (($visits{round} // 0) <= 200 || abs(calls() - 100) > 1) && $seconds <= 32; $seconds *= 2) {
	$behind = causal(['--progress', 'run_a', '--target', 'loop_a', '--speedup', '50'], 'perl', '-e', $look,
		$entry, program('causal-cet'), 'coz-figure1', '--seconds', $seconds, '--ns-per-loop', 1.6);
	%visits = visits_of($behind);
}
like($behind->{out}, qr/^code f30f1efacc$/m, 'the uprobe stands behind endbr64');
cmp_ok($visits{round} // 0, '>', 200, 'a program with endbr64');
near(calls(), 100, 1, 'each call is counted once');

my $point = 'usdt:undisturbed:round';
my $probed = causal_until(0.2, [['burn', 0.5, $point]], ['--progress', $point, '--target', 'burn', '--speedup', '50'],
	program('undisturbed'), '--calm', '--seconds', 3);
cmp_ok($probed->{truth}{watched} // 0, '>', 100, 'the probe is switched on');
about($probed, 'burn', 0.5, $point, 'burn', 0.2, 'with the same effect');

done_testing();
