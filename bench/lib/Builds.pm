# SPDX-License-Identifier: BSD-2-Clause
#
# Programs built for the benchmarks of calls, each in several ways: by gcc and clang, without
# and with dwell-cc, and as other tools need them. What is built stays in build/bench/built.
#
# Sources are Debian's, fetched by apt-get with a list of its own. With DWELL_BENCH_SOURCES,
# they are those source packages (*.dsc) in that folder.
package Builds;

use strict;
use warnings;

use Exporter 'import';
use File::Path qw(make_path remove_tree);

use Runner qw($BUILD $ROOT run have slurp);

our @EXPORT_OK = qw(build text_size);

my $counting = "$BUILD/bench/counting";
my $built = "$BUILD/bench/built";
my $sources = $ENV{DWELL_BENCH_SOURCES} // "$BUILD/bench/sources";

# dwell: what dwell-cc is to run; flags are in front of those of the program; with: a file of
# bench/programs that is linked, too.
our %ways = (
	'gcc' => {cc => 'gcc', cxx => 'g++'},
	'gcc-dwell' => {cc => "$BUILD/dwell-cc", cxx => "$BUILD/dwell-c++", dwell => 'gcc'},
	'gcc-count' => {cc => "$counting/dwell-cc", cxx => "$counting/dwell-c++", dwell => 'gcc'},
	'clang' => {cc => 'clang', cxx => 'clang++'},
	'clang-dwell' => {cc => "$BUILD/dwell-cc", cxx => "$BUILD/dwell-c++", dwell => 'clang'},
	'clang-count' => {cc => "$counting/dwell-cc", cxx => "$counting/dwell-c++", dwell => 'clang'},
	# As small as the functions of dwell-cc.
	'xray' => {
		cc => 'clang', cxx => 'clang++',
		flags => ['-fxray-instrument', '-fxray-instruction-threshold=10'],
		with => 'xray_start',
	},
	'pg' => {cc => 'gcc', cxx => 'g++', flags => ['-pg']},
);

# Runs commands in a folder; dies with the end of what they print.
sub commands {
	my ($folder, @commands) = @_;
	for my $command (@commands) {
		my ($status, $output) = run('env', '-C', $folder, @$command);
		die "@$command: " . substr($output, -2000) . "\n" if $status;
	}
}

sub fetch {
	my ($package) = @_;
	my $apt = "$sources/apt";
	make_path("$apt/lists/partial");
	open my $list, '>', "$apt/sources.list" or die "$apt/sources.list: $!\n";
	my ($suite) = slurp('/etc/os-release') =~ /^VERSION_CODENAME=(\w+)/m;
	print $list "deb-src http://deb.debian.org/debian ", $suite // 'stable', " main\n";
	close $list;
	my @options = map { ('-o', $_) } "Dir::Etc::SourceList=$apt/sources.list", 'Dir::Etc::SourceParts=-',
		"Dir::State::Lists=$apt/lists", 'APT::Sandbox::User=root';
	commands($sources, ['apt-get', '-q', @options, 'update'],
		['apt-get', '-q', @options, '--download-only', 'source', $package]);
}

# Unpacks the source of a Debian package.
sub unpack_source {
	my ($package, $folder) = @_;
	make_path($sources);
	my ($description) = glob "$sources/${package}_*.dsc";
	if (!$description) {
		fetch($package);
		($description) = glob "$sources/${package}_*.dsc";
	}
	remove_tree($folder);
	commands('/', ['dpkg-source', '--no-check', '-x', $description, $folder]);
}

sub build_memcached {
	my ($way, $folder) = @_;
	my $source = "$folder/source";
	unpack_source('memcached', $source);
	my $object = $way->{with} ? "$folder/$way->{with}.o" : '';
	commands($ROOT, [$way->{cc}, '-xc++', '-O2', '-c', '-o', $object, "bench/programs/$way->{with}.c"]) if $object;
	commands($source, ['./configure', "CC=$way->{cc}", "CFLAGS=@{$way->{flags} // []} -O2 -g"],
		['make', '-j2', 'memcached', $object ? "LIBS=$object -levent" : ()]);
	rename "$source/memcached", "$folder/program";
}

# The amalgamation with speedtest1, as one file each.
sub build_sqlite {
	my ($way, $folder) = @_;
	my $source = "$built/sqlite-source";
	if (!-e "$source/sqlite3.c") {
		unpack_source('sqlite3', $source);
		commands($source, ['./configure'], ['make', 'sqlite3.c']);
	}
	commands($source, [$way->{cc}, @{$way->{flags} // []}, '-O2', '-g', '-I.', '-DSQLITE_THREADSAFE=0',
		'-DSQLITE_OMIT_LOAD_EXTENSION', '-o', "$folder/program", 'test/speedtest1.c', 'sqlite3.c', '-lm']);
}

sub build_file {
	my ($file, @options) = @_;
	my $build = sub {
		my ($way, $folder) = @_;
		my $compiler = $file =~ /\.cc$/ ? $way->{cxx} : $way->{cc};
		commands($ROOT, [$compiler, @{$way->{flags} // []}, '-O2', '-g', '-o', "$folder/program",
			$way->{dwell} ? @options : (), "bench/programs/$file"]);
	};
	return {build => $build, source => "$ROOT/bench/programs/$file"};
}

my %programs = (
	memcached => {build => \&build_memcached},
	sqlite => {build => \&build_sqlite},
	# Their functions are smaller than those that dwell-cc chooses by itself.
	micro => build_file('calls_micro.c', '-fdwell-min-size=0'),
	regex => build_file('calls_regex.cc'),
	json => build_file('calls_json.cc'),
);

# Whether a path is at least as new as others.
sub is_newer {
	my ($path, @others) = @_;
	return -x $path && !grep { -M $_ < -M $path } @others;
}

# The path of a program that was built in a way; dies if that is not possible.
sub build {
	my ($program, $name) = @_;
	my $way = $ways{$name};
	my $folder = "$built/$program-$name";
	my $path = "$folder/program";
	my $source = $programs{$program}{source};
	return $path if is_newer($path, $source // (), $way->{dwell} ? $way->{cc} : ());
	print STDERR "bench: building $program, $name\n";
	make_path($folder);
	local %ENV = (%ENV, $way->{dwell} ? (DWELL_CC => $way->{dwell}) : ());
	$programs{$program}{build}->($way, $folder);
	return $path;
}

# Bytes of machine code of a program.
sub text_size {
	my ($path) = @_;
	my ($status, $output) = run('size', '-A', $path);
	return $output =~ /^\.text\s+(\d+)/m ? $1 : undef;
}

1;
