#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# The same addresses in other files have other names: of programs that are always at the same addresses,
# one run after the other, and of libraries that are opened where another one was.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_recording();
need_command('gcc');

spew('phases.c', <<'END');
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define PHASE(i) __attribute__((noinline)) static unsigned int JOIN(NAME, i)(unsigned int n) \
	{ clock_t end = clock() + CLOCKS_PER_SEC / 5; \
	  while (clock() < end) for (unsigned int k = 0; k < 1000000; k++) n = n * 31 + k + i; return n; }
#include <time.h>
PHASE(1) PHASE(2) PHASE(3) PHASE(4)
unsigned int phases(unsigned int n);
unsigned int phases(unsigned int n)
{
	return JOIN(NAME, 4)(JOIN(NAME, 3)(JOIN(NAME, 2)(JOIN(NAME, 1)(n) + 1) + 1) + 1);
}
#ifdef PROGRAM
int main(int argc, char **argv)
{
	return phases((unsigned int)argc) == 1;
}
#endif
END
spew('opens.c', <<'END');
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *was = NULL;

	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW), *phases = library ? dlsym(library, "phases") : NULL;

		if (!phases)
			return 1;
		if (was && was != phases)
			puts("elsewhere");
		was = phases;
		((unsigned int (*)(unsigned int))phases)(1);
		dlclose(library);
	}
	return 0;
}
END

# With debug information: without, functions' names do not change the build id.
sub compile {
	my ($name, @arguments) = @_;
	my $got = run('gcc', '-O1', '-g', '-o', $name, @arguments);
	is("$got->{status} $got->{err}", '0 ', "$name is compiled");
}

# The recording has the names of all phases, without the files.
sub all_are_named {
	my ($data, $what, @names) = @_;
	unlink @names, map { "$_.so" } @names;
	my $folded = run($DWELL, 'script', '--folded', '-i', $data)->{out};
	my @expected = map { my $name = $_; map { "$name$_" } 1 .. 4 } @names;
	is(join(' ', grep { $folded !~ /;$_\b/ } @expected), '', "$what: every function is named");
}

my @names = qw(alpha bravo delta);
SKIP: {
	skip 'no static libraries' if run('gcc', '-print-file-name=libc.a')->{out} !~ m{/};
	compile($_, '-static', '-no-pie', "-DNAME=$_", '-DPROGRAM', 'phases.c') for @names;
	is(record(['-o', 'programs.data'], 'sh', '-c', join ';', map { "./$_" } @names)->{status}, 0, 'programs are recorded');
	all_are_named('programs.data', 'programs', @names);
}

compile('opens', 'opens.c', '-ldl');
compile("$_.so", '-shared', '-fPIC', "-DNAME=$_", 'phases.c') for @names;
my $got = record(['-o', 'libraries.data'], './opens', map { "./$_.so" } @names);
is($got->{status}, 0, 'libraries are recorded');
SKIP: {
	skip 'the libraries were at different addresses' if $got->{out} =~ /elsewhere/;
	all_are_named('libraries.data', 'libraries', @names);
}
done_testing();
