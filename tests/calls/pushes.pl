# SPDX-License-Identifier: BSD-2-Clause
#
# A server that pushes to subscribers, and its clients, each of which measures what it waits for.
#
#	perl pushes.pl backend PORT             answers each line after 30 ms
#	perl pushes.pl server PORT BACKEND      one loop for all clients
#	perl pushes.pl clients PORT N NAME...   prints what they measured as JSON; then the server ends
#
# What a client sends: "sub" subscribes; "ack" is not answered; "pub" is sent to all subscribers,
# and answered; "ask" is forwarded to the backend, "work" to a child, and their answers come back
# 30 ms later; "tick" is answered, and from then on a child sends something to this client every
# 20 ms, which it acknowledges.
use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use Socket qw(AF_UNIX SOCK_STREAM PF_UNSPEC IPPROTO_TCP TCP_NODELAY);
use Time::HiRes qw(sleep clock_gettime CLOCK_MONOTONIC);

my ($mode, $port, $argument, @names) = @ARGV;

sub connect_to {
	my ($port) = @_;
	for (1 .. 600) {
		my $socket = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port", Proto => 'tcp');
		if ($socket && $socket->sockport != $port) { # not connected to itself
			setsockopt($socket, IPPROTO_TCP, TCP_NODELAY, 1);
			return $socket;
		}
		sleep 0.1;
	}
	die "nobody listens at $port";
}

sub listen_at {
	my ($port) = @_;
	for (1 .. 100) { # the port may be that of a connection, for a moment
		my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$port", Listen => 10, ReuseAddr => 1, Proto => 'tcp');
		return $listener if $listener;
		sleep 0.1;
	}
	die "$port: $!";
}

sub put { my ($socket, $text) = @_; syswrite $socket, $text }
sub get { my ($socket) = @_; my $n = sysread $socket, my $text, 4096; return $n ? $text : '' }

# Answers each line that comes from $socket after 30 ms.
sub answer_slowly {
	my ($socket) = @_;
	while ((my $text = get($socket)) ne '') { sleep 0.03; put($socket, $text) }
}

sub backend {
	my $listener = listen_at($port);
	while (my $socket = $listener->accept) { answer_slowly($socket) }
}

sub start_child {
	my ($run) = @_;
	my $pid = fork;
	if (!$pid) { $run->(); exit 0 }
	return $pid;
}

sub server {
	my $listener = listen_at($port);
	my $backend = connect_to($argument);
	socketpair my $child, my $parent, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die;
	my @children = start_child(sub { close $parent; answer_slowly($child) });
	close $child;
	my $all = IO::Select->new($listener, $backend, $parent);
	my (@subscribers, @asked, @worked);
	my %do = (
		sub => sub { push @subscribers, $_[0]; put($_[0], 'ok') },
		ack => sub { },
		pub => sub { put($_, 'news') for @subscribers; put($_[0], 'ok') },
		ask => sub { push @asked, $_[0]; put($backend, 'question') },
		work => sub { push @worked, $_[0]; put($parent, 'job') },
		tick => sub {
			my $socket = $_[0];
			put($socket, 'ok');
			push @children, start_child(sub { for (1 .. 20) { sleep 0.02; put($socket, 'tick') } });
		},
	);
	while (1) {
		for my $ready ($all->can_read) {
			if ($ready == $listener) {
				my $socket = $listener->accept;
				setsockopt($socket, IPPROTO_TCP, TCP_NODELAY, 1);
				$all->add($socket);
			} elsif ($ready == $backend) {
				get($backend);
				put(shift @asked, 'answer');
			} elsif ($ready == $parent) {
				get($parent);
				put(shift @worked, 'done');
			} else {
				my $text = get($ready);
				if ($text eq '') { $all->remove($ready) }
				elsif ($text eq 'end') { close $parent; kill 'KILL', @children; waitpid $_, 0 for @children; exit 0 }
				else { $do{$text}->($ready) }
			}
		}
	}
}

# Sends $text $n times, $pause seconds apart, and waits for each answer. What that took, ns.
sub ask {
	my ($socket, $text, $n, $pause) = @_;
	my @took;
	for (1 .. $n) {
		my $begin = clock_gettime(CLOCK_MONOTONIC);
		put($socket, $text);
		get($socket);
		push @took, int(1e9 * (clock_gettime(CLOCK_MONOTONIC) - $begin));
		sleep $pause;
	}
	return @took;
}

# A process for each; what its code prints is its part of the document.
sub clients {
	my $n = $argument;
	my %clients = (
		sub => sub {
			my ($socket) = @_;
			ask($socket, 'sub', 1, 0);
			my $news = 0;
			for (1 .. $n) { get($socket); $news++; put($socket, 'ack') }
			return $news;
		},
		pub => sub { sleep 0.3; return ask($_[0], 'pub', $n, 0.025) },
		ask => sub { sleep 0.3; return ask($_[0], 'ask', $n / 2, 0.01) },
		work => sub { sleep 0.3; return ask($_[0], 'work', $n / 2, 0.01) },
		tick => sub {
			my ($socket) = @_;
			sleep 0.3;
			ask($socket, 'tick', 1, 0);
			for (1 .. 20) { get($socket); put($socket, 'ack') }
			return 20;
		},
	);
	my %pipes;
	for my $name (@names) {
		my $socket = connect_to($port);
		my $local = $socket->sockport;
		pipe my $from, my $to or die;
		start_child(sub { close $from; my @values = $clients{$name}->($socket); print {$to} qq("$name":{"port":$local,"values":[), join(',', @values), ']}'; close $to; sleep 0.2 });
		close $to;
		$pipes{$name} = $from;
	}
	my @parts = map { my $from = $pipes{$_}; local $/; scalar <$from> } @names;
	put(connect_to($port), 'end');
	print '{', join(',', @parts), "}\n";
	1 while wait != -1;
}

{backend => \&backend, server => \&server, clients => \&clients}->{$mode}->();
