#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A server that was not recorded is a vertex for who waits for it: threads that ask it form a knot with it,
# by the times that they measured themselves. A server's clients are no bottleneck. What was recorded stays
# threads.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Claims;
use Dwell;
use List::Util qw(sum0);
use Test::More;
use Waits qw(waits);

need_recording();

my $asks = program('asks');

# Starts a server outside of the recording, @options before the program.
sub serve {
	my ($name, $at, @options) = @_;
	unlink "$name.ready";
	my $pid = start({name => $name}, @options, $asks, '--serve', $at, '--takes', 20000, '--ready', "$name.ready");
	return wait_for(60, sub { slurp("$name.ready") =~ /\n/ }) ? $pid : undef;
}

sub peers { my ($waits) = @_; return grep { $_->{inferred} } @{$waits->{threads}} }

# What the threads that asked waited for each vertex, and these for them.
sub sum_of {
	my ($waits, $from, $to, $what) = @_;
	return sum0(map { $_->{$what} } grep { $_->{from} =~ $from && $_->{to} =~ $to } @{$waits->{edges}});
}

# The threads' own time is running, runnable, and what they waited for: so what they measured between
# question and answer is at least the wait, and exceeds it by no more than what they ran or were runnable.
sub as_measured {
	my ($name, $waits, $truth, $peer) = @_;
	my ($asker) = grep { $_->{name} =~ /^asker/ && $_->{type} eq 'thread' } @{$waits->{threads}};
	my $waited = sum_of($waits, qr/^asker/, qr/^\Q$peer->{name}\E$/, 'plain_ns');
	my $others = sum_of($waits, qr/^asker/, qr/./, 'plain_ns') - $waited; # wakeups that were not seen
	my $busy = $asker->{running_ns} + $asker->{runnable_ns};
	my $error = 6 * sum_of($waits, qr/^asker/, qr/^\Q$peer->{name}\E$/, 'error_ns') + 1e7;
	cmp_ok($waited, '<=', $truth->{asked_ns} + $error, "$name: they wait for no longer than they asked");
	cmp_ok($waited, '>=', $truth->{asked_ns} - $busy - $others - $error, "$name: and for as long");
	my $idle = sum_of($waits, qr/^\Q$peer->{name}\E$/, qr/^asker/, 'plain_ns');
	cmp_ok($idle, '<=', $truth->{life_ns} - $waited + $error, "$name: it waits for no longer than they did not");
	cmp_ok($peer->{running_ns} + $peer->{blocked_ns}, '==', $peer->{lifetime_ns}, "$name: its times are its life");
	return $busy < $waited;
}

sub sentences_hold {
	my ($name) = @_;
	my %wrong = wrong_sentences("$name.data");
	is($wrong{$_}, '', "$name: the sentences of dwell $_ hold") for sort keys %wrong;
}

# The verdict is looked at only if the threads got so much of the CPUs that they waited for longer than they worked.
sub ask {
	my ($name, $options, $at, $peer_name) = @_;
	my $truth = record([@$options, '-o', "$name.data"], $asks, '--ask', $at, '--threads', 4)->{truth};
	my $waits = waits('-i', "$name.data", '--percent-limit', 0);
	my @peers = peers($waits);
	is(scalar(@peers), 1, "$name: there is one peer") or return;
	my $peer = $peers[0];
	like($peer->{name}, $peer_name, "$name: it is named");
	is($peer->{type}, 'peer', "$name: it is a peer");
	ok(!$peer->{recorded}, "$name: which was not recorded");
	my $is_limit = as_measured($name, $waits, $truth, $peer);
	sentences_hold($name);
	SKIP: {
		skip("$name: the threads had no CPU", 3) unless $is_limit;
		is($waits->{verdict}{type}, 'knot', "$name: it is in a knot");
		is(join(' ', map { s{[/\d ].*}{}r } grep { $_ ne $peer->{name} } @{$waits->{verdict}{members}}), 'asker',
			"$name: with the threads that ask") or diag(explain($waits->{verdict}{members}));
		like($waits->{verdict}{text}, qr/What \Q$peer->{name}\E does was not recorded/, "$name: and that is said") or diag("$waits->{verdict}{text} for $peer->{name}");
	}
	return;
}

my $port = free_port();
my $server = serve('server', "127.0.0.1:$port");
ok($server, 'the server is ready');
my $by_process = qr/^answers \(pid $server\)|^127\.0\.0\.1:$port/;
ask('traced', ['--trace'], "127.0.0.1:$port", $by_process);
ask('sampled', [], "127.0.0.1:$port", $by_process);
stop($server);

# Recorded, too.
$port = free_port();
record(['--trace', '-o', 'both.data'], 'sh', '-c', "$asks --serve 127.0.0.1:$port --ready both.ready & " .
	"while ! [ -s both.ready ]; do sleep 0.1; done; $asks --ask 127.0.0.1:$port --threads 2; kill \$!");
my $both = waits('-i', 'both.data', '--percent-limit', 0);
is(join(' ', map { $_->{name} } peers($both)), '', 'a server that was recorded is no peer');
cmp_ok(sum_of($both, qr/^asker/, qr/^answers/, 'plain_ns'), '>', 0, 'but threads that are waited for');

# Only the server.
$port = free_port();
my $recorder = start({name => 'alone'}, $DWELL, 'record', '--trace', '-o', 'alone.data', '--', $asks, '--serve',
	"127.0.0.1:$port", '--takes', 200, '--ready', 'alone.ready');
ok(wait_for(120, sub { slurp('alone.ready') =~ /(\d+)\n/ }), 'the recorded server is ready');
my ($alone) = slurp('alone.ready') =~ /(\d+)/;
run({seconds => 120}, $asks, '--ask', "127.0.0.1:$port", '--threads', 2, '--thinks', 4000);
kill 'TERM', $alone;
finish($recorder);
my $served = waits('-i', 'alone.data', '--percent-limit', 0);
is(join(' ', map { $_->{name} } peers($served)), '', 'clients that were not recorded are no such peers');
is(join(' ', grep { /asker|127\.0\.0\.1/ } map { @{$_->{members}} } @{$served->{knots}}), '', 'and in no knot');
sentences_hold('alone');

done_testing();
