#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# dwell path -- COMMAND: servers that were there before are recorded from the first request on, also
# in threads that they create for it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();

my ($server, $truth, $path);
# A kernel that hides some switches leaves some time unexplained, now and then.
for my $round (1 .. 6) {
	$server = start({name => "server$round"}, program('paths'), 'listen', '--rounds', 2);
	wait_for(180, sub { slurp("$DIR/server$round.out") =~ /^\d+\n/ }) or die "no server\n";
	my ($port) = slurp("$DIR/server$round.out") =~ /^(\d+)/;
	my $run = run($DWELL, 'path', '--json', '-i', 'linked.data', '--', program('paths'), 'ask', '--rounds', 2, '--port', $port);
	is($run->{status}, 0, 'records and shows');
	($truth, $path) = map { decode($_) } $run->{out} =~ /^(\{"on_path.*?\})\n(.*)\z/s;
	is(finish($server)->{status}, 0, 'the server has served all');
	last if accounted_for($path) >= 99 && !@{$path->{gaps} // []};
}

# The server's side of the first wait is recorded from the wakeup on.
cmp_ok(accounted_for($path), '>=', 99, 'accounted for');

# Below the base, which waits for nobody else.
my %found;
sub look {
	my ($under, @nodes) = @_;
	for my $node (@nodes) {
		my $within = $under || ($node->{pid} // 0) == $server;
		$found{$node->{frame}} += $node->{total_ns} if $under && ($node->{frame} // '') eq 'work_b';
		look($within, @{$node->{children}});
	}
}
look(0, map { @{$_->{children}} } @{$path->{tree}});
cmp_ok($found{work_b} // 0, '>=', 20 * 9.5e6, 'what a thread of the server did for it');
cmp_ok($found{work_b} // 0, '<=', $truth->{asked}, 'no more than it was waited for');
is($path->{gaps} && @{$path->{gaps}}, 0, 'without gaps');

done_testing();
