#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Who sends more than a network device takes waits for its queue, by the time that it measured in send().
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(sum0);
use Test::More;
use Waits qw(waits);

need_root(); # for a network namespace and a pair of devices
need_recording();
need_command('ip', 'tc');

my ($space, $device, $other) = ("dwell$$", "dwq$$", "dwp$$");
my $subnet = '10.' . (100 + $$ % 100) . '.' . ($$ / 100 % 250);

# A device that sends 4 Mbit/s, to another network namespace.
sub make_network {
	for my $command ("ip netns add $space", "ip link add $device type veth peer name $other netns $space",
		"ip addr add $subnet.1/24 dev $device", "ip link set $device up", "ip -n $space addr add $subnet.2/24 dev $other",
		"ip -n $space link set $other up", "tc qdisc add dev $device root tbf rate 4mbit burst 8k limit 2m") {
		my $got = run({seconds => 60}, split / /, $command);
		return "$command: $got->{err}" if $got->{status};
	}
	return;
}

END {
	local $?;
	system("ip link del $device 2>/dev/null; ip netns del $space 2>/dev/null") if $space;
}

my $why = make_network();
plan(skip_all => "no such network here: $why") if $why;

sub sum_of {
	my ($waits, $to) = @_;
	return sum0(map { $_->{plain_ns} } grep { $_->{from} =~ /^asker/ && $_->{to} =~ $to } @{$waits->{edges}});
}

for my $case (['udp', '--trace'], ['udp'], ['tcp', '--trace'], ['tcp']) {
	my ($protocol, @options) = @$case;
	my $name = join('', $protocol, @options);
	my @protocol = $protocol eq 'udp' ? '--udp' : ();
	unlink 'ready';
	my $server = start({name => "server-$name"}, 'ip', 'netns', 'exec', $space, program('asks'), '--serve', "$subnet.2:5000",
		'--flood', '--ready', 'ready', @protocol);
	ok(wait_for(60, sub { slurp('ready') =~ /\n/ }), "$name: the server is ready");
	my $truth = record([@options, '-o', "$name.data"], program('asks'), '--ask', "$subnet.2:5000", '--threads', 1, '--flood',
		@protocol)->{truth};
	stop($server);
	my $waits = waits('-i', "$name.data", '--percent-limit', 0);
	my ($asker) = grep { $_->{name} =~ /^asker/ } @{$waits->{threads}};
	my ($queue) = grep { $_->{name} eq "queue of $device" } @{$waits->{threads}};
	is($queue ? $queue->{type} : 'none', 'queue', "$name: the queue is a vertex");
	my $waited = sum_of($waits, qr/^queue of $device$/);
	my $sends = $truth->{asked_ns} - $asker->{running_ns} - $asker->{runnable_ns}; # at least this is waiting
	my $error = 6 * sum0(map { $_->{error_ns} } grep { $_->{from} =~ /^asker/ } @{$waits->{edges}}) + 1e7;
	cmp_ok($waited, '<=', $truth->{asked_ns} + $error, "$name: it is waited for no longer than in send()");
	# TCP itself waits, too, before it gives more to the queue: for its pacing and its congestion window.
	my $held = sum_of($waits, qr/^unknown$/); # the wakeup was not seen
	$held += sum_of($waits, qr/^tcp held back$/) if $protocol eq 'tcp';
	cmp_ok($waited + $held, '>=', 0.9 * $sends - $error, "$name: and for as long") or diag(explain([$truth, $waits->{edges}]));
	cmp_ok($waited, '>', 0, "$name: for a part of it");
	my @named = grep { grep { $_ eq "queue of $device" } @{$_->{members}} } @{$waits->{knots}};
	like(join(' ', map { $_->{type} } @named), qr/^(?:knot|work)$/, "$name: it is a bottleneck") if $waited > 0.5 * $sends;
}

done_testing();
