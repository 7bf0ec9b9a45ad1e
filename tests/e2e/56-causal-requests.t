#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Requests to a server, and system calls, as progress points: they show the same as a progress point
# in the client.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();

# All points count the same requests, in the same experiments: but for those that begin in one half
# and end in the other, their numbers are the same. These are many when other programs leave little of
# the CPUs: then more requests are needed.
for my $address ('tcp:' . free_port(), "unix:$DIR/socket") {
	my @points = ('client', $address, 'syscall:epoll_wait');
	my ($got, %effect);
	for my $run (1 .. 12) {
		$got = ($run == 1 ? \&causal : \&causal_more)->([(map { ('--progress', $_) } @points[1, 2]),
			'--target', 'work_on_request', '--speedup', '50'],
			program('requests'), 'closed', $address, '--requests', 8000);
		last if $got->{status};
		%effect = map { $_ => effect($got, 'work_on_request', 0.5, $_) } @points;
		last unless grep { !defined || abs($_ - ($effect{client} // 9)) >= 0.02 } values %effect;
	}
	is($got->{status}, 0, "$address: runs");
	ok(defined $effect{client}, "$address: the client's own point") or next;
	for my $point (@points[1, 2]) {
		ok(defined $effect{$point} && abs($effect{$point} - $effect{client}) < 0.02, "$point: the same effect")
			|| diag("client: $effect{client}, $point: ", $effect{$point} // 'none');
	}
}

my $wrong = run($DWELL, 'causal', 'run', '-q', '-o', 'p', '--progress', 'syscall:nothing', '--', 'true');
like($wrong->{err}, qr/there is no system call 'nothing'/, 'a system call that does not exist');
my $sampled = run($DWELL, 'causal', 'run', '-q', '-o', 'p', '--progress-sampled', 'tcp:80', '--', 'true');
like($sampled->{err}, qr/'tcp:80' cannot be sampled: name it with --progress/, 'requests cannot be sampled');
my $port = run($DWELL, 'causal', 'run', '-q', '-o', 'p', '--progress', 'tcp:http', '--', 'true');
like($port->{err}, qr/a port must be between 1 and 65535/, 'no port');

done_testing();
