#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# What the verifier must be told, whatever a compiler knows (bpf/core/verifier.bpf.h): results of
# callbacks, and of global functions.
use strict;
use warnings;

use FindBin;
use Test::More;

chdir "$FindBin::Bin/../.." or die "$!";

my $text = '';
for my $file (glob 'bpf/*.bpf.c bpf/*/*.bpf.h') {
	open my $fh, '<', $file or die "$file: $!";
	local $/;
	$text .= <$fh>;
}

$text =~ s{/\*.*?\*/}{}gs;

my @callbacks = $text =~ /\bbpf_loop\([^,]+,\s*(\w+)/g;
push @callbacks, $text =~ /\bbpf_for_each_map_elem\([^,]+,\s*(\w+)/g;
push @callbacks, $text =~ /\bbpf_find_vma\([^,]+,[^,]+,\s*(\w+)/g;
cmp_ok(scalar @callbacks, '>=', 10, 'callbacks are found');
for my $name (@callbacks) {
	my ($body) = $text =~ /^static long $name\(.*?\n\{\n(.*?)^\}/ms;
	my @returns = ($body // '') =~ /\breturn\b\s*(.*?);/gs;
	my @bare = grep { !/^loop_ends\(/ } @returns;
	ok(@returns && !@bare, "$name returns loop_ends()") or diag(map { "return $_;\n" } @bare);
}

my @strong = $text =~ /^__noinline.*?\b(\w+)\(/mg;
is("@strong", '', 'global functions are GLOBAL, and thus weak');

done_testing();
