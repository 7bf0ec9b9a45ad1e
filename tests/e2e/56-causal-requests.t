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
# and end in the other, their numbers are the same.
for my $address ('tcp:' . free_port(), "unix:$DIR/socket") {
	my $got = causal(['--progress', $address, '--progress', 'syscall:epoll_wait', '--target', 'work_on_request', '--speedup', '50'],
		program('requests'), 'closed', $address, '--requests', 8000);
	is($got->{status}, 0, "$address: runs");
	my $client = effect($got, 'work_on_request', 0.5, 'client');
	ok(defined $client, "$address: the client's own point") or next;
	for my $point ($address, 'syscall:epoll_wait') {
		my $effect = effect($got, 'work_on_request', 0.5, $point);
		ok(defined $effect && abs($effect - $client) < 0.02, "$point: the same effect")
			|| diag('client: ', $client, ", $point: ", $effect // 'none');
	}
}

my $wrong = run($DWELL, 'causal', 'run', '-q', '-o', 'p', '--progress', 'syscall:nothing', '--', 'true');
like($wrong->{err}, qr/there is no system call 'nothing'/, 'a system call that does not exist');
my $sampled = run($DWELL, 'causal', 'run', '-q', '-o', 'p', '--progress-sampled', 'tcp:80', '--', 'true');
like($sampled->{err}, qr/'tcp:80' cannot be sampled: name it with --progress/, 'requests cannot be sampled');
my $port = run($DWELL, 'causal', 'run', '-q', '-o', 'p', '--progress', 'tcp:http', '--', 'true');
like($port->{err}, qr/a port must be between 1 and 65535/, 'no port');

done_testing();
