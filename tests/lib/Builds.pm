# SPDX-License-Identifier: BSD-2-Clause
#
# tests/builds/RELEASE.t: dwell is built in a chroot of a Debian release, by each of its compilers, and runs
# on this kernel; its packages are built, checked and installed in a chroot that has nothing else.
#
# CHROOTS is the folder of what debootstrap made, and of what is installed for the build; both are kept.
# Remove a release's folders there to begin anew.
package Builds;

use strict;
use warnings;

use Cwd qw(abs_path getcwd);
use Exporter qw(import);
use File::Basename qw(dirname);
use File::Path qw(make_path remove_tree);
use File::Temp qw(tempdir);
use Test::More;

our @EXPORT = qw(check_release);

my $source = abs_path(dirname(__FILE__) . '/../..');
my $here = "$source/tests/builds";
my $chroots = abs_path($ENV{CHROOTS} // "$source/build/chroots") // '';
my $mirror = $ENV{DEBIAN_MIRROR} // 'http://deb.debian.org/debian';

sub quoted { my ($text) = @_; return "'" . $text =~ s/'/'\\''/gr . "'" }

# Runs a command, its output to the log: (succeeded, output).
sub command {
	my (@command) = @_;
	open my $pipe, '-|', '/bin/sh', '-c', join(' ', map { quoted($_) } @command) . ' 2>&1 </dev/null' or die "$!";
	local $/;
	my $output = <$pipe> // '';
	close $pipe;
	return ($? == 0, $output);
}

# The output if it succeeds, which is true even if there is none.
sub passes {
	my ($what, @command) = @_;
	my ($fine, $output) = command(@command);
	ok($fine, $what) or diag(substr($output, -3000));
	return $fine ? "$output\n" : undef;
}

# A chroot: sh($script) runs a script in it.
sub chroot_of {
	my ($lower, $upper) = @_;
	return {lower => $lower, upper => $upper, command => ["$here/in-chroot", $lower, $upper, 'sh', '-euc']};
}

sub in { my ($chroot, $what, $script) = @_; return passes($what, @{$chroot->{command}}, $script) }

# What debootstrap makes, and the chroot of the build with what is installed above it.
sub make_chroots {
	my ($release, @packages) = @_;
	my $base = "$chroots/$release";
	make_path($chroots, "$base.debs");
	if (!-e "$base/made") {
		remove_tree($base);
		passes("debootstrap of $release", 'debootstrap', '--variant=minbase', "--cache-dir=$base.debs", $release, $base, $mirror)
			or return;
		# A mirror may be a snapshot, and sid's lists are valid for a week only.
		open my $apt, '>', "$base/etc/apt/apt.conf.d/90check-builds" or die "$base: $!";
		print $apt qq{Acquire::Check-Valid-Until "false";\n};
		close $apt;
		open my $made, '>', "$base/made" or die "$base/made: $!";
	}
	my $build = chroot_of($base, "$base.build");
	my $apt = 'apt-get -qq install -y --no-install-recommends';
	make_path("$build->{upper}/changed/src/tools");
	command('cp', "$source/tools/install-deps", "$build->{upper}/changed/src/tools/");
	in($build, "install-deps deb, and @packages", "apt-get -qq update && /src/tools/install-deps deb && $apt @packages")
		or return;
	return $build;
}

# The source as it is in this folder, committed or not.
sub copy_source {
	my ($build) = @_;
	my $to = "$build->{upper}/changed/src";
	remove_tree($to);
	make_path($to);
	my ($fine, $files) = command('git', '-C', $source, '-c', "safe.directory=$source", 'ls-files', '-co', '--exclude-standard');
	$fine or die "git: $files";
	open my $tar, '|-', "tar -C " . quoted($source) . " -c -T - --ignore-failed-read 2>/dev/null | tar -x -C " . quoted($to) or die "$!";
	print $tar $files;
	close $tar;
	my (undef, $version) = command("$source/tools/version");
	open my $file, '>', "$to/VERSION" or die "$!";
	print $file $version;
}

# The lines of tests/builds/exercise as tests.
sub exercise {
	my ($chroot, $what, $script) = @_;
	my ($fine, $output) = command(@{$chroot->{command}}, $script);
	my @lines = split /\n/, $output;
	my @results = grep { /^(?:not )?ok / } @lines;
	cmp_ok(scalar @results, '>', 20, "$what: everything was tried") or diag($output);
	ok(!/^not/, "$what: " . s/^(?:not )?ok //r) for @results;
}

sub build {
	my ($build, $gcc, $clang) = @_;
	my $cxx = $gcc =~ s/^gcc/g++/r;
	my $by = "by $gcc and $clang";
	# Only what clang makes is made again, and what depends on it.
	my $output = in($build, "it builds $by", "cd /src && rm -rf build/bpf build/compiler/dwell_clang.so && make -j\$(nproc) WERROR=-Werror"
		. " CC=$gcc CXX=$cxx GCC_PLUGIN_CC=$gcc CLANG=$clang LLVM_CONFIG=llvm-config-" . $clang =~ s/\D//gr . ' all build/tests/programs/figure1') // return;
	unlike($output, qr/warning/i, "without warnings $by");
	exercise($build, $by, '/src/tests/builds/exercise /src/build/dwell /src/build/tests/programs/figure1');
	# The plugins time a program's calls.
	for my $compiler ($gcc, $clang) {
		in($build, "dwell-cc with $compiler: calls are timed", "cd /tmp && DWELL_CC=$compiler /src/build/dwell-cc -O2 -o calls /src/tests/builds/calls.c"
			. ' && /src/build/dwell latency run -o calls.data -- ./calls && /src/build/dwell latency report -i calls.data | grep work');
	}
	passes("all C files build by $clang", @{$build->{command}},
		"cd /src && make -j\$(nproc) WERROR=-Werror BUILD=/tmp/by-$clang CC=$clang CFLAGS='-O1 -g0' CLANG=$clang DWELL_CC= /tmp/by-$clang/dwell && rm -r /tmp/by-$clang");
}

# Packages, in a chroot without anything that they do not depend on.
sub check_packages {
	my ($release, $build) = @_;
	my $output = in($build, 'its packages are built, lintian has no errors', 'cd /src && rm -rf build/deb && tools/deb build/deb') // return;
	note($output);
	my $scratch = tempdir("$release-XXXXXX", DIR => $chroots);
	my $clean = chroot_of("$chroots/$release", $scratch);
	make_path("$scratch/changed/packages");
	command('sh', '-c', "cp $build->{upper}/changed/src/build/deb/dwell*.deb $build->{upper}/changed/src/build/tests/programs/figure1 $here/exercise $scratch/changed/packages");
	in($clean, 'dwell is installed where nothing else is', 'apt-get -qq update && apt-get -qq install -y --no-install-recommends /packages/dwell_*.deb');
	exercise($clean, 'installed', '/packages/exercise dwell /packages/figure1');
	in($clean, 'man pages and completions', 'apt-get -qq install -y --no-install-recommends man-db bash-completion zsh fish
		man dwell-record | grep -q -- --wakers
		bash -c ". /usr/share/bash-completion/bash_completion; _completion_loader dwell || :; complete -p dwell"
		zsh -fc "autoload -U compinit; compinit -u; [[ \$_comps[dwell] == _dwell ]]"
		fish -c "complete -C \"dwell rep\"" | grep -q report');
	in($clean, 'dwell-cc and dwell.h', 'apt-get -qq install -y --no-install-recommends /packages/dwell-cc_*.deb libc6-dev pkgconf || exit 1
		cd /tmp
		printf "%s\n" "#include <dwell.h>" "int main(void) { DWELL_PROGRESS; return 0; }" >p.c
		dwell-cc -O2 -o p p.c $(pkg-config --cflags dwell) && ./p
		nm p | grep -q __dwell_shadow');
	in($clean, 'it is removed without a rest', 'dpkg -P dwell-cc dwell && ! ls -d /usr/lib/dwell /usr/bin/dwell* 2>/dev/null');
	command('rm', '-rf', $scratch);
}

# @combinations: [gcc, clang].
sub check_release {
	my ($release, $packages, @combinations) = @_;
	plan skip_all => 'needs root' if $>;
	my $build = make_chroots($release, @$packages) // return done_testing;
	copy_source($build);
	note(in($build, 'versions', "dpkg-query -W -f='\${Package} \${Version}\\n' libbpf-dev libdw-dev libcapstone-dev bpftool @$packages"));
	build($build, @$_) for @combinations;
	check_packages($release, $build);
	done_testing;
}

1;
