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
#   recorded        0: not for profilers that record
#   serve(state, wrap)  starts the server of it anew, below the command wrap
#   finish(state)
package Workloads;

use strict;
use warnings;

use Time::HiRes qw(sleep time);

use Runner qw($DIR $ROOT start stop run with_children have slurp program);

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

# The threads of docs/case-studies/sqlite.md, with the library of the machine.
sub prepare_sqlite {
	my ($status, $output) = run('cc', '-O2', '-g', "-I$ROOT/include", '-o', "$DIR/sqlite_insert",
		"$ROOT/docs/case-studies/sqlite_insert.c", '-lsqlite3', '-lpthread');
	die "cc: $output\n" if $status;
	return {};
}

my ($postgres) = reverse sort glob '/usr/lib/postgresql/*/bin';
$postgres //= 'postgresql';
my @postgres_user = ('setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--');

sub serve_postgres {
	my ($state, @wrap) = @_;
	my $log = "$DIR/postgres.log";
	stop($state->{pid}, 'INT') if $state->{pid};
	unlink $log;
	$state->{pid} = start($log, @wrap, @postgres_user, "$postgres/postgres", '-D', "$DIR/postgres",
		'-k', "$DIR/postgres", '-c', 'listen_addresses=');
	my $until = time + 60;
	sleep 0.2 until slurp($log) =~ /ready to accept/ || time > $until;
	time < $until or die 'postgres: ' . slurp($log) . "\n";
	run(@{$state->{pgbench}}, '-T', 1); # warm
}

sub prepare_postgres {
	my $state = {pgbench => ["$postgres/pgbench", '-h', "$DIR/postgres", '-U', 'postgres', '-n',
		'-c', 8, '-j', 2, 'postgres']};
	chmod 0755, $DIR;
	mkdir "$DIR/postgres";
	chown +(getpwnam 'postgres')[2, 3], "$DIR/postgres";
	my ($status, $output) = run(@postgres_user, "$postgres/initdb", '-A', 'trust', '-D', "$DIR/postgres");
	die "initdb: $output\n" if $status;
	serve_postgres($state);
	($status, $output) = run("$postgres/pgbench", '-h', "$DIR/postgres", '-U', 'postgres', '-i', '-q',
		'-s', 10, 'postgres');
	die "pgbench: $output\n" if $status;
	return $state;
}

my ($php_fpm) = reverse sort glob '/usr/sbin/php-fpm*';
$php_fpm //= 'php-fpm';

sub write_file {
	my ($path, $text) = @_;
	open my $file, '>', $path or die "$path: $!\n";
	print $file $text;
	close $file;
}

# nginx, which passes pages to php-fpm, whose page asks MariaDB.
sub prepare_web {
	my $state = prepare_mariadb();
	my ($web, $port) = ("$DIR/web", 18090);
	my $socket = "$DIR/mariadb.sock";
	mkdir $web;
	chmod 0755, $DIR;
	write_file("$web/page.php", "<?php \$db = new mysqli('localhost', 'root', '', 'sb', 0, '$socket');"
		. " print_r(\$db->query('select count(*), sum(k) from sbtest1 where id < 2000')->fetch_row());"
		. " \$db->query('update sbtest1 set k = k + 1 where id = ' . rand(1, 50000));\n");
	write_file("$web/fpm.conf", "[global]\nerror_log = $web/fpm.log\ndaemonize = no\n[www]\nuser = root\ngroup = root\n"
		. "listen = $web/php.sock\npm = static\npm.max_children = 4\n");
	write_file("$web/nginx.conf", "daemon off; user root; worker_processes 2; pid $web/nginx.pid; error_log $web/error.log;\n"
		. "events {} http { access_log off; client_body_temp_path $web/t; fastcgi_temp_path $web/t; proxy_temp_path $web/t; uwsgi_temp_path $web/t; scgi_temp_path $web/t;\n"
		. "server { listen 127.0.0.1:$port; root $web; location ~ \\.php\$ { fastcgi_pass unix:$web/php.sock; include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME \$document_root\$fastcgi_script_name; } } }\n");
	$state->{fpm} = start("$web/fpm.out", $php_fpm, '-F', '-R', '-y', "$web/fpm.conf");
	$state->{nginx} = start("$web/nginx.out", have('nginx'), '-c', "$web/nginx.conf");
	$state->{url} = "http://127.0.0.1:$port/page.php";
	my $until = time + 20;
	sleep 0.2 until !(run('ab', '-n', 1, $state->{url}))[0] || time > $until;
	run('ab', '-n', 200, '-c', 4, $state->{url}); # warm
	return $state;
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
	{
		name => 'web', about => 'nginx, php-fpm, MariaDB; 4 clients; attached by pid',
		needs => "mariadbd sysbench nginx ab $php_fpm",
		prepare => \&prepare_web,
		command => sub { ('ab', '-q', '-t', $seconds, '-n', 1000000, '-c', 4, $_[0]{url}) },
		attach => sub { join ',', map { with_children($_) } @{$_[0]}{qw(nginx fpm pid)} },
		work => sub { $_[0] =~ /^Requests per second:\s+([\d.]+)/m ? $1 : undef },
		finish => sub { stop($_[0]{$_}, 'TERM') for qw(nginx fpm pid) },
	},
	{
		name => 'sqlite', about => 'inserts by 2 threads, each into a database of its own',
		needs => 'cc', recorded => 0,
		prepare => \&prepare_sqlite,
		command => sub { ("$DIR/sqlite_insert", '--threads', 2, '--seconds', $seconds) },
		work => sub { $_[0] =~ /inserts per second: (\d+)/ ? $1 : undef },
		causal => ['--functions', '-b', 'sqlite_insert', '-b', 'libsqlite3*'],
	},
	{
		name => 'postgresql', about => 'pgbench, 8 clients, each with a process of its own',
		needs => "$postgres/postgres setpriv", recorded => 0,
		prepare => \&prepare_postgres,
		command => sub { (@{$_[0]{pgbench}}, '-T', $seconds) },
		work => sub { $_[0] =~ /tps = ([\d.]+)/ ? $1 : undef },
		finish => sub { stop($_[0]{pid}, 'INT') },
		causal => ['-p', 'ReadyForQuery', '--functions', '-b', 'postgres'],
		serve => \&serve_postgres,
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
