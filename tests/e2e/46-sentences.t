#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# No sentence of dwell report, waits or path says what the rows of its JSON deny, of recordings of known
# programs and of others. (tests/sentences: of any recording. tests/unit/test_waits_sentences.c and
# test_path_sentences.c: of random ones.)
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Claims;
use Dwell;
use Test::More;

need_recording();

sub sentences_hold {
	my ($name, $mode, @command) = @_;
	my $file = "$name.data";
	is(record([@$mode, '-o', $file], @command)->{status}, 0, "$name is recorded") or return;
	my %wrong = wrong_sentences($file);
	is($wrong{$_}, '', "$name: dwell $_") for sort keys %wrong;
	unlink $file;
}

my @trace = ('--trace', '--wakers', 'linked');
my $sources = "$FindBin::Bin/../..";

spew('Makefile', "all: a b c d\na b c d:\n\tgzip -c $sources/tests/e2e/*.t | gunzip | md5sum > \$\@\n.PHONY: all a b c d\n");
sentences_hold('compressed', \@trace, 'sh', '-c', "tar cf - $sources/tests $sources/docs | gzip > compressed");
sentences_hold('built', \@trace, 'make', '-s', '-j2');
sentences_hold('knots-lock', ['--trace'], program('knots'), 'lock', '--seconds', 1);
sentences_hold('knots-io', [], program('knots'), 'io', '--seconds', 1, '--dir', '/var/tmp');
sentences_hold('knots-cpus', [], program('knots'), 'cpus', '--seconds', 1);
sentences_hold('knots-rpc', \@trace, program('knots'), 'rpc', '--seconds', 1);
sentences_hold('stopped', ['--trace'], program('stopped'), 'signal');
sentences_hold('convoy', ['--trace'], program('idle'), 'convoy', '--seconds', 1);
sentences_hold("tcp-$_", ['--trace'], program('tcp_holds'), $_) for qw(nagle listen);
sentences_hold('pool', ['--trace'], program('paths'), 'pool');

cmp_ok(count_claims($_), '>', 0, "there are claims: $_") for 'path: function or wait', 'report: CPUs', 'lock';
done_testing();
