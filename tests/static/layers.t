#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# The house (docs/developing.md): includes point down only, products do not include each other,
# and the core of what collects knows no product.
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
	'bpf/core'     => ['abi', 'include'],
	'bpf/record'   => ['bpf/core', 'abi', 'include'],
	'bpf/causal'   => ['bpf/core', 'abi', 'include'],
	'bpf'          => ['bpf/core', 'bpf/record', 'bpf/causal', 'abi', 'include'],
	'recording'    => ['base', 'abi'],
	'symbols'      => ['base', 'abi'],
	'model'        => ['recording', 'symbols', 'base', 'abi'],
	'analysis'     => ['model', 'recording', 'symbols', 'base', 'abi'],
	'render'       => ['analysis', 'model', 'recording', 'symbols', 'base', 'abi'],
	'collect'      => ['recording', 'symbols', 'base', 'abi', 'include', 'bpf'],
	'cmd'          => ['render', 'analysis', 'model', 'collect', 'recording', 'symbols', 'base', 'abi'],
	'runtime'      => ['abi', 'include'],
);
# Folders of one layer that must not see each other; what they share lies beside them.
my %products = (
	analysis => [qw(profile waits causal)],
	render   => [qw(report waits causal)],
	collect  => [qw(record causal)],
	bpf      => [qw(record causal)],
);

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

my (@up, @across, @core, @unknown);
my @files = grep { m{^(?:base|abi|bpf|recording|symbols|model|analysis|render|collect|cmd|runtime)/} }
	split /\n/, `git ls-files '*.c' '*.h'`;
for my $file (@files) {
	open my $fh, '<', $file or next;
	while (<$fh>) {
		my ($path) = /^#include "([^"]+)"/ or next;
		my ($from, $to) = (folder($file), folder($path));
		push @unknown, "$file: $path" unless -e $path || $path =~ /\.skel\.h$/;
		push @up, "$file: $path" unless is_below($from, $to);
		for my $layer (keys %products) {
			my $names = join '|', @{$products{$layer}};
			my ($one) = $from =~ m{^$layer/($names)\b} or next;
			my ($other) = $to =~ m{^$layer/($names)\b} or next;
			push @across, "$file: $path" if $one ne $other;
		}
		push @core, "$file: $path" if $from =~ m{^(collect|bpf)/core$} && $to =~ m{^$1/(?!core)};
	}
}
is_deeply(\@unknown, [], 'what is included exists');
is_deeply(\@up, [], 'includes point down');
is_deeply(\@across, [], 'products do not include each other');
is_deeply(\@core, [], 'the core includes no product');
my $named = `git grep -il causal -- bpf/core collect/core`;
is($named, '', 'and names none');

done_testing;
