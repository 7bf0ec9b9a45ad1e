# SPDX-License-Identifier: BSD-2-Clause
#
# What is run under the profilers. A workload is
#
#   name, about, needs
#   prepare()       once, before the first run; returns a state
#   command(state)  the command to run
#   attach(state)   the pid to attach to; without it, the command itself is profiled
#   work(output)    how much was done, when the time is fixed rather than the work
#   causal          options of dwell causal run that say where its progress is seen
#   serve(state, wrap)  starts the server of it anew, below the command wrap
#   finish(state)
package Workloads;

use strict;
use warnings;

use Time::HiRes qw(sleep time);

use Runner qw($DIR start stop run have slurp program);

our $seconds = 4; # of one run, about

# How many loops of hackbench take about $seconds here.
sub hackbench_loops {
	my (@options) = @_;
	my ($status, $output) = run('hackbench', @options, '-l', 500);
	my ($took) = $output =~ /Time: ([\d.]+)/ or die "hackbench: $output\n";
	return int(500 * $seconds / $took) || 1;
}

sub hackbench {
	my ($name, $about, @options) = @_;
	return {
		name => $name, about => $about, needs => 'hackbench',
		prepare => sub { {loops => hackbench_loops(@options)} },
		command => sub { ('hackbench', @options, '-l', $_[0]{loops}) },
	};
}

sub serve_mariadb {
	my ($state, @wrap) = @_;
	my ($data, $socket) = ("$DIR/mariadb", "$DIR/mariadb.sock");
	stop($state->{pid}, 'TERM') if $state->{pid};
	unlink $socket;
	$state->{pid} = start("$DIR/mariadbd.log", @wrap, have('mariadbd'), '--no-defaults', '--user=root',
		"--datadir=$data", "--socket=$socket", '--bind-address=127.0.0.1', '--port=33061',
		"--pid-file=$DIR/mariadbd.pid");
	my $until = time + 60;
	sleep 0.2 until -S $socket || time > $until;
	-S $socket or die 'mariadbd: ' . slurp("$DIR/mariadbd.log") . "\n";
	run(@{$state->{sysbench}}, '--time=1', 'run'); # warm
}

sub prepare_mariadb {
	my $socket = "$DIR/mariadb.sock";
	my @sysbench = ('sysbench', 'oltp_write_only', '--db-driver=mysql', "--mysql-socket=$socket",
		'--mysql-user=root', '--mysql-db=sb', '--tables=2', '--table-size=50000', '--threads=8');
	my $state = {sysbench => \@sysbench};
	my ($status, $output) = run('mariadb-install-db', '--no-defaults', '--user=root',
		"--datadir=$DIR/mariadb", '--auth-root-authentication-method=normal');
	die "mariadb-install-db: $output\n" if $status;
	serve_mariadb($state);
	run('mariadb', '--no-defaults', "--socket=$socket", '-u', 'root', '-e', 'create database sb');
	($status, $output) = run(@sysbench, 'prepare');
	die "sysbench prepare: $output\n" if $status;
	run(@sysbench, '--time=5', 'run'); # warm
	return $state;
}

sub prepare_rocksdb {
	my ($status, $output) = run('db_bench', '--benchmarks=fillrandom,compact', '--num=500000',
		'--value_size=400', '--compression_type=none', "--db=$DIR/rocksdb");
	die "db_bench: $output\n" if $status;
	return {};
}

# Loops of computing that take about $seconds here.
sub prepare_compute {
	my ($status, $output) = run(compute_command({iterations => 100}));
	my ($took) = $output =~ /"lifetime_ns": (\d+)/ or die "figure1: $output\n";
	return {iterations => int(100 * $seconds * 1e9 / $took) || 1};
}

sub compute_command {
	return (program('figure1'), '--reads', 0, '--no-write', '--light-loops', 1, '--heavy-loops', 3000000,
		'--iterations', $_[0]{iterations});
}

our @all = (
	hackbench('hackbench-sockets', 'processes over sockets', '-g', 4),
	hackbench('hackbench-pipes', 'threads over pipes', '-g', 4, '-T', '-p'),
	{
		name => 'compute', about => 'a thread that only computes',
		prepare => \&prepare_compute, command => \&compute_command,
	},
	{
		name => 'rocksdb', about => 'db_bench readrandom, direct reads, 8 threads', needs => 'db_bench',
		prepare => \&prepare_rocksdb,
		command => sub { ('db_bench', '--benchmarks=readrandom', '--use_existing_db', "--db=$DIR/rocksdb",
			'--num=500000', '--threads=8', "--duration=$seconds", '--use_direct_reads',
			'--cache_size=8388608', '--compression_type=none') },
		work => sub { $_[0] =~ /readrandom\s*:.*?(\d+) ops\/sec/ ? $1 : undef },
		causal => ['-p', 'rocksdb::DBImpl::Get', '--functions', '-b', 'librocksdb*'],
	},
	{
		name => 'mariadb', about => 'sysbench oltp_write_only, 8 threads; attached by pid',
		needs => 'mariadbd sysbench',
		prepare => \&prepare_mariadb,
		command => sub { (@{$_[0]{sysbench}}, "--time=$seconds", 'run') },
		attach => sub { $_[0]{pid} },
		work => sub { $_[0] =~ /transactions:\s+\d+\s+\(([\d.]+) per sec/ ? $1 : undef },
		finish => sub { stop($_[0]{pid}, 'TERM') },
		causal => ['-p', 'dispatch_command', '--functions'],
		serve => \&serve_mariadb,
	},
);

sub available {
	my %wanted = map { $_ => 1 } @_;
	return grep {
		my $ok = !%wanted || $wanted{$_->{name}};
		my ($missing) = $ok ? grep { !have($_) } split ' ', $_->{needs} // '' : ();
		print STDERR "bench: $_->{name}: $missing is not installed\n" if $missing;
		$ok && !$missing;
	} @all;
}

1;
