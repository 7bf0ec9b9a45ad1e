# SPDX-License-Identifier: BSD-2-Clause
#
# Tools that tell how long calls of functions take, on memcached: how a user would call each.
#
#   build      the way of bench/lib/Builds.pm that it needs (default: gcc)
#   env, wrap  how the server is started; wrap gets the data's path and precedes the command
#   attach     gets the data's path and the server's pid
#   ready      what an attached tool prints once it is at work
#   data       a pattern of the files that it writes
#   report     gets the data's path, those files, and the program: the command that analyzes them
#   slow       gets what this prints: the functions behind the tail, the first first
package CallTools;

use strict;
use warnings;

use JSON::PP ();

use Runner qw($BUILD have);

my $dwell = $ENV{DWELL} // "$BUILD/dwell";

# Measured by the tools that have to be told; nested in each other.
my @functions = ('try_read_command_ascii', 'process_get_command*', 'do_store_item');

my $bpftrace = 'BEGIN { printf("ready\n"); }' . join '', map { <<"EOT" } @functions;
uprobe:PROGRAM:$_ { \@start[tid, "$_"] = nsecs; }
uretprobe:PROGRAM:$_ /\@start[tid, "$_"]/ {
	\$ns = nsecs - \@start[tid, "$_"];
	\@ns["$_"] = hist(\$ns);
	\@longest["$_"] = max(\$ns);
	delete(\@start[tid, "$_"]);
}
EOT

sub name_of {
	my ($function) = @_;
	return $function->{name} . ($function->{caller} ? " < $function->{caller}" : '');
}

sub slow_of_dwell {
	my $report = eval { JSON::PP->new->decode($_[0]) } or return;
	return map { name_of($_) } @{$report->{functions}};
}

sub report_of_dwell {
	return ($dwell, 'latency', 'report', '--json', '-i', $_[0]);
}

sub scanner {
	my ($resolution) = @_;
	return {
		name => "dwell-$resolution", needs => $dwell, build => 'gcc-dwell',
		about => "dwell latency run --resolution $resolution",
		attach => sub { ($dwell, 'latency', 'run', '--resolution', $resolution, '-o', $_[0], '-p', $_[1]) },
		data => '', report => \&report_of_dwell, slow => \&slow_of_dwell,
	};
}

# The functions of a table, of which a line matches with the number of calls and the name. Those
# called a few times only, when the server starts, are not behind the tail of requests.
sub table_rows {
	my ($text, $row) = @_;
	return map { /$row/ && $1 >= 1000 ? $2 : () } split /\n/, $text;
}

our @all = (
	{name => 'plain', about => 'gcc -O2'},
	{name => 'dwell-cc', about => 'dwell-cc -O2, not recorded', build => 'gcc-dwell', needs => "$BUILD/dwell-cc"},
	{
		name => 'dwell-trace', build => 'gcc-dwell', needs => $dwell,
		about => 'dwell record --trace --lock-wakers: dwell latency run without the thread that looks',
		attach => sub { ($dwell, 'record', '--trace', '--lock-wakers', '-o', $_[0], '-p', $_[1]) },
	},
	{
		name => 'dwell-sampled', build => 'gcc-dwell', needs => $dwell,
		about => 'dwell record --calls 1000: of the waits, only those that hold a sampling point',
		attach => sub { ($dwell, 'record', '--calls', 1000, '-o', $_[0], '-p', $_[1]) },
		data => '', report => \&report_of_dwell, slow => \&slow_of_dwell,
	},
	(map { scanner($_) } 5000, 1000, 300, 0),
	{
		name => 'dwell-probes', needs => $dwell, about => 'dwell latency run --function, 3 functions',
		attach => sub { ($dwell, 'latency', 'run', '--function', join(',', @functions), '-o', $_[0], '-p', $_[1]) },
		data => '', report => \&report_of_dwell, slow => \&slow_of_dwell,
	},
	{
		name => 'clang', about => 'clang -O2, to compare XRay with', build => 'clang', needs => 'clang',
	},
	{
		name => 'xray', about => 'XRay, flight data recorder', build => 'xray', needs => 'clang llvm-xray',
		env => sub { (DWELL_XRAY => 1, XRAY_OPTIONS => "xray_logfile_base=$_[0].") }, data => '.*',
		report => sub { ('llvm-xray', 'account', $_[1], "--instr_map=$_[2]", '--sort=99p', '--sortorder=dsc',
			'--keep-going', '--deduce-sibling-calls') },
		slow => sub { table_rows($_[0], qr/^\s*\d+\s+(\d+)\s.*:\s*(\S+)\s*$/) },
	},
	{
		name => 'uftrace', about => 'uftrace record --no-libcall --no-event, built with -pg', build => 'pg',
		needs => 'uftrace',
		wrap => sub { ('uftrace', 'record', '--no-libcall', '--no-event', '-d', $_[0]) }, data => '/*',
		report => sub { ('uftrace', 'report', '-d', $_[0], '-f', 'total-max,call', '-s', 'total-max', '--no-pager') },
		slow => sub { table_rows($_[0], qr/\s(\d+)\s+(\S+)\s*$/) },
	},
	{
		name => 'bpftrace', needs => 'bpftrace', about => 'bpftrace, uprobes and uretprobes of 3 functions',
		attach => sub { ('bpftrace', '-p', $_[1], '-e', $bpftrace =~ s/PROGRAM/$_[2]/gr) }, ready => qr/ready/,
		slow => sub {
			my %longest = $_[0] =~ /^\@longest\[([^\]]+)\]: (\d+)/mg;
			return sort { $longest{$b} <=> $longest{$a} } keys %longest;
		},
	},
	{
		name => 'perf-trace', needs => 'perf', about => 'perf trace -p',
		attach => sub { ('perf', 'trace', '-o', $_[0], '-p', $_[1]) }, data => '',
		report => sub { ('sort', '-t', '(', '-k', '2', '-n', '-r', $_[0]) },
		slow => sub { my %seen; grep { !$seen{$_}++ } $_[0] =~ /^.*?\): \S+ (\w+)\(/mg },
	},
);

# Those wanted that can run here; the others are named on standard error.
sub available {
	my %wanted = map { $_ => 1 } @_;
	return grep {
		my $ok = !%wanted || $wanted{$_->{name}} || $_->{name} eq 'plain';
		my ($missing) = $ok ? grep { !have($_) } split ' ', $_->{needs} // '' : ();
		print STDERR "bench: $_->{name}: $missing is not installed\n" if $missing;
		$ok && !$missing;
	} @all;
}

1;
