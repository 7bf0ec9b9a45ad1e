#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# The source layout (docs/developing.md): includes point down only, products do not include each
# other, and what they share includes none of them. A name says whether a function is public.
use strict;
use warnings;

use FindBin;
use Test::More;

chdir "$FindBin::Bin/../.." or die "$!";

# What the files of a folder may include, besides their own folder.
my %below = (
	'base'         => [],
	'include'      => [],
	'abi'          => ['include'],
	'arch'         => ['abi', 'base'],
	'bpf'          => ['arch', 'abi', 'include'],
	'wait_kinds'   => ['arch', 'base', 'abi'],
	'recording'    => ['arch', 'base', 'abi'],
	'symbols'      => ['arch', 'base', 'abi'],
	'privsep'      => ['symbols', 'arch', 'base', 'abi'],
	'model'        => ['recording', 'symbols', 'privsep', 'arch', 'base', 'abi'],
	'analysis'     => ['model', 'recording', 'symbols', 'wait_kinds', 'arch', 'base', 'abi'],
	'render'       => ['analysis', 'model', 'recording', 'symbols', 'wait_kinds', 'arch', 'base', 'abi'],
	'collect'      => ['recording', 'symbols', 'privsep', 'wait_kinds', 'arch', 'base', 'abi', 'include', 'bpf'],
	'cmd'          => ['render', 'analysis', 'model', 'collect', 'recording', 'symbols', 'privsep', 'wait_kinds', 'arch', 'base',
		'abi'],
	'runtime'      => ['arch', 'abi', 'include'],
	'compiler'     => ['arch', 'abi', 'include'],
);
# The parts of a capture: those behind use those before.
my @parts;
for my $part (qw(kernel clocks probes stacks capture)) {
	$below{"collect/$part"} = [@{$below{collect}}, grep { $part eq 'capture' || $_ eq 'collect/kernel' } @parts];
	push @parts, "collect/$part";
}
# Folders that the products of a layer share. All other folders of these layers are products.
my %shared = (
	analysis => [qw(kinds requests)],
	render   => [],
	collect  => [qw(kernel clocks probes stacks capture programs)],
	bpf      => [qw(core)],
);
my $layers = join '|', keys %shared;

sub folder { my ($path) = @_; return $path =~ s{/[^/]+$}{}r }

sub rule_of {
	my ($folder) = @_;
	$folder =~ s{/[^/]+$}{} until exists $below{$folder} || $folder !~ m{/};
	return $folder;
}

sub is_below {
	my ($from, $to) = @_;
	my $rule = rule_of($from);
	return 1 if $to eq $rule || index($to, "$rule/") == 0;
	return scalar grep { $to eq $_ || index($to, "$_/") == 0 } @{$below{$rule} // []};
}

# The layer of @path, and its product: by the folder, or by the name of a BPF object.
sub product_of {
	my ($path) = @_;
	my ($layer, $name) = $path =~ m{^($layers)/(?:(\w+)(?:/|\.bpf\.c$))?} or return ('', undef);
	return ($layer, (grep { $_ eq ($name // '') } @{$shared{$layer}}) ? undef : $name);
}

sub private_names {
	my ($file) = @_;
	open my $fh, '<', $file or return;
	my $text = do { local $/; <$fh> };
	return $text =~ /^static\b[^;={}()]*?\b(\w+)\(/mg;
}

my (@up, @across, @sharing, @unknown, %products);
my @files = grep { m{^(?:base|abi|arch|bpf|wait_kinds|recording|symbols|privsep|model|analysis|render|collect|cmd|runtime|compiler)/} }
	split /\n/, `git ls-files '*.c' '*.cc' '*.h'`;
for my $file (@files) {
	open my $fh, '<', $file or next;
	while (<$fh>) {
		my ($path) = /^#include "([^"]+)"/ or next;
		my ($from, $to) = (folder($file), folder($path));
		push @unknown, "$file: $path" unless -e $path || $path =~ m{\.skel\.h$|^base/version_text\.h$};
		push @up, "$file: $path" unless is_below($from, $to);
		my ($layer, $one) = product_of($file);
		my ($included, $other) = product_of($path);
		$products{"$layer/$one"} = 1 if $one;
		next unless $layer && $layer eq $included && $other;
		push @across, "$file: $path" if $one && $one ne $other;
		push @sharing, "$file: $path" unless $one;
	}
}
is_deeply(\@unknown, [], 'what is included exists');
is_deeply(\@up, [], 'includes point down');
is_deeply(\@across, [], 'products do not include each other');
is_deeply(\@sharing, [], 'what they share includes no product');
ok($products{$_}, "$_ is a product") for qw(analysis/waits render/report collect/record collect/latency bpf/causal);
my $named = `git grep -il causal -- bpf/core collect/kernel collect/clocks collect/probes collect/stacks collect/capture`;
is($named, '', 'the core names no product');

# What has privileges interprets no files of others: it asks a parser (privsep/privsep.h). The kernel's
# functions are looked up in the recorder itself.
my %parses = map { $_ => 1 } qw(collect/kernel/kernel_types.c);
my @parsing = split /\n/, `git grep -lE '#include "symbols/|#include <(gelf|libelf|dwarf|elfutils/)' -- collect cmd`;
is_deeply([grep { !$parses{$_} } @parsing], [], 'a recorder parses no files');
is_deeply([grep { my $file = $_; !grep { $_ eq $file } @parsing } sort keys %parses], [], 'the exceptions are exceptions');

# The same of names: only namers and the like include what parses, as symbols/ (with the kernel's
# names), the rules for files, strings, and plain types of code do not.
my @reading = grep { !m{^privsep/\w+_process\.c:|#include "symbols/(?:symbols|symbol_files|strings|code/code_types)\.h"} }
	split /\n/, `git grep -E '#include "symbols/|#include <(gelf|libelf|dwarf|elfutils/)' -- privsep model analysis render`;
is_deeply(\@reading, [], 'names are found by others');

# Only arch/ names registers, instructions and processors. Comments are prose.
my $processor = qr{
	(?<![a-z0-9]) (?: [re](?:[a-d]x|[sb]p|[sd]i|ip) | r(?:[89]|1[0-5])[dwb]? ) (?![a-z0-9])
	| \b gregs \b | __builtin_ia32 | _mm_pause | \b endbr
	| (?-i: \b REG_[A-Z0-9]+ | \b (?: EM | R ) _ (?: X86_64 | AARCH64 ) | \b X86_ | __TARGET_ARCH_\w
	    | __ (?: x86_64 | aarch64 | i386 ) __ )
}xi;
my %names_it = (
	'include/dwell.h'                 => 'is copied into programs, includes nothing, and knows where atomics are plain',
	'tests/programs/causal/rounds.c'  => 'a known answer of instructions',
	'tests/programs/jit.c'            => 'writes instructions, as a JIT compiler',
	'tests/programs/knots/locks.c'    => 'spins, and does not include dwell',
	'tests/programs/undescribed.c'    => 'assembly without call frame information',
	'tests/unit/test_probe_exit.c'    => 'compares arch/ with the processor',
	'tests/unit/test_symbols_elf.c'   => 'options of linkers that one processor has',
	'tests/unit/test_unwind_steps.c'  => 'compares arch/ with the processor, by ptrace',
	'tests/unit/test_uprobe_offset.c' => 'instructions, by name',
);

sub code_of {
	my ($file) = @_;
	open my $fh, '<', $file or return '';
	my $text = do { local $/; <$fh> };
	return $text =~ s/^\s*#.*//mgr if $file =~ /(?:\.mk|Makefile)$/;
	$text =~ s{("(?:\\.|[^"\\\n])*")|'(?:\\.|[^'\\\n])'|/\*.*?\*/|//[^\n]*}{$1 // ' '}gse;
	return $text;
}

my %naming = map { $_ => 1 } grep { code_of($_) =~ $processor }
	grep { !m{^arch/} } split /\n/, `git ls-files '*.c' '*.cc' '*.h' '*.S' '*.mk' Makefile`;
is_deeply([grep { !$names_it{$_} } sort keys %naming], [], 'only arch/ knows the processor');
is_deeply([grep { !$naming{$_} } sort keys %names_it], [], 'the exceptions are exceptions');

sub text_of { my ($file) = @_; open my $fh, '<', $file or return ''; local $/; return <$fh> // '' }
my ($missing) = text_of('arch/README.md') =~ /^## Missing for aarch64\n(.*)/ms;
my @stops = grep { text_of($_) =~ m{#error "arch/README.md} && text_of($_) !~ /__aarch64__/ } glob('arch/*.[ch]');
is_deeply([map { "arch/$_" } sort $missing =~ /^\| `([\w.]+)`/mg], \@stops, 'arch/README.md lists what is missing');
ok('a = regs->rbp' =~ $processor && '"mov %r10d"' =~ $processor && 'UNWIND_CFA_RSP' =~ $processor, 'registers are found');

# Static functions, but for those in headers.
my @private = map { my $file = $_; map { "$file: $_" } private_names($file) } split /\n/, `git ls-files '*.c'`;
is_deeply([grep { /[a-z0-9]__[a-z0-9]/ } @private], [], 'only public functions have __ in their names');
cmp_ok(scalar @private, '>', 1000, 'private functions are found');

done_testing;
