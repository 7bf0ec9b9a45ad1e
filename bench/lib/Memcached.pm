# SPDX-License-Identifier: BSD-2-Clause
#
# A memcached of one worker thread, and its client, each on a CPU that is told.
package Memcached;

use strict;
use warnings;

use Exporter 'import';
use IO::Socket::INET ();
use JSON::PP ();
use Time::HiRes qw(sleep time);

use Runner qw($BUILD $DIR start stop run slurp);

our @EXPORT_OK = qw(serve load end_server server_ns);

# What sets the priority of server and client: in front of a command, and of the pid of one.
my (@priority, @priority_of_pid);
my $port = 21211;

# fifo: other programs of the machine do not preempt them.
sub set_priority {
	my ($priority) = @_;
	@priority = $priority eq 'fifo' ? ('chrt', '-f', 1) : ();
	@priority_of_pid = $priority eq 'fifo' ? ('chrt', '-a', '-f', '-p', 1) : ();
}

# Threads of a running process. Not by a command in front of its own: uftrace starts only
# what it can trace, and its own threads are to be elsewhere.
sub place {
	my ($pid, $cpus) = @_;
	run('taskset', '-a', '-c', '-p', $cpus, $pid);
	run(@priority_of_pid, $pid) if @priority_of_pid;
}

# A server {pid, filled} with its keys set, so many; wrap is a command that runs it.
sub serve {
	my ($program, %options) = @_;
	my $pid_file = "$DIR/memcached.pid";
	unlink $pid_file;
	local %ENV = (%ENV, %{$options{env} // {}});
	my @command = ($program, '-u', 'root', '-l', '127.0.0.1', '-p', $port, '-U', 0, '-t', 1, '-m', 64,
		'-P', $pid_file);
	my $started = start("$DIR/memcached.log", @{$options{wrap} // []}, @command);
	my $until = time + 30;
	sleep 0.05 until slurp($pid_file) =~ /\d/ || time > $until;
	my ($pid) = slurp($pid_file) =~ /(\d+)/ or die 'memcached: ' . slurp("$DIR/memcached.log") . "\n";
	sleep 0.05 until IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) || time > $until;
	place($pid, $options{cpus} // '0-1');
	my $server = {pid => $pid, started => $started};
	$server->{filled} = load(cpus => $options{cpus} // '0-1', options => ['--fill'])->{requests};
	return $server;
}

# What the client tells, or dies.
sub load {
	my (%options) = @_;
	my ($status, $output) = run(@priority, 'taskset', '-c', $options{cpus} // '0-1',
		"$BUILD/bench/programs/memcached_load", '--port', $port, @{$options{options}});
	die "memcached_load: $output\n" if $status;
	return JSON::PP->new->decode($output =~ /(\{.*\})/ ? $1 : '{}');
}

sub end_server {
	my ($server) = @_;
	kill 'TERM', $server->{pid};
	stop($server->{started}, 'CONT');
}

# The time its threads have run, in ns.
sub server_ns {
	my ($server) = @_;
	my $sum = 0;
	$sum += (split ' ', slurp($_))[0] for glob "/proc/$server->{pid}/task/*/schedstat";
	return $sum;
}

1;
