#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# What TCP holds back, by sampling. The kernel side does not run for what is sent by others than TCP while much
# of that is sent, and nothing by TCP; and does again when a recorded thread sends by TCP.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(sum0);
use Test::More;

need_recording();

# Whether a program of the recorder is attached to the tracepoint.
sub is_attached {
	my ($recorder, $tracepoint) = @_;
	return scalar grep { slurp($_) =~ /^tp_name:\s+\Q$tracepoint\E$/m } glob "/proc/$recorder/fdinfo/*";
}

sub held_ns {
	my ($file) = @_;
	return sum0(map { $_->{self_ns} } grep { $_->{kind} eq 'tcp held back' } @{report('-i', $file, '--wakers', '--sort', 'kind')->{rows}});
}

my $nagle = program('tcp_holds');
my $got = record(['--wakers', 'linked', '-o', 'nagle.data'], $nagle, 'nagle');
my $held = sum0(map { $_->[1] } @{$got->{truth}{held}});
cmp_ok(held_ns('nagle.data'), '>', 0.5 * $held, 'what is held back from the start is known') or diag explain $got->{truth};

# Sends through a socket that is none of TCP until a file is there; then TCP holds back, until another is there.
spew('flood', 'use Socket; socketpair(my $from, my $to, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die; '
	. 'until (-e "enough") { syswrite $from, "x" x 64; sysread $to, my $data, 64 }');
my $recorder = start({name => 'recorder'}, $DWELL, 'record', '--wakers', 'linked', '-o', 'flood.data', '--', 'sh', '-c',
	"$^X flood; while ! [ -e end ]; do $nagle nagle >>held; done");
for my $tracepoint ('sock_send_length', 'sk_data_ready') {
	ok(wait_for(180, sub { is_attached($recorder, 'sched_switch') && !is_attached($recorder, $tracepoint) }), "nothing runs at $tracepoint in a flood");
}
spew('enough', '');
ok(wait_for(180, sub { is_attached($recorder, 'sock_send_length') && is_attached($recorder, 'sk_data_ready') }), 'but again for TCP');
my $at = () = slurp('held') =~ /\n/g;
ok(wait_for(180, sub { (() = slurp('held') =~ /\n/g) > $at + 3 }), 'which holds data back');
spew('end', '');
is(finish($recorder)->{status}, 0, 'recorded');
my @rounds = map { sum0(map { $_->[1] } @{decode($_)->{held}}) } split /\n/, slurp('held');
cmp_ok(held_ns('flood.data'), '>', 0.5 * sum0(@rounds[$at + 1 .. $#rounds]), 'it is known then') or diag explain \@rounds;

done_testing();
