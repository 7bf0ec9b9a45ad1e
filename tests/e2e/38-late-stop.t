#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A recording ends when the kernel side is stopped, not before: the times of a thread make up its length.
# Here gdb holds dwell just before that, and meanwhile a thread runs that did not until then.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

need_command('gdb');
need_recording();

sub state_of {
	my ($pid) = @_;
	return slurp("/proc/$pid/stat") =~ /\) (\S)/ ? $1 : '';
}

# Its CPU time in clock ticks.
sub ran {
	my ($pid) = @_;
	my @fields = split ' ', slurp("/proc/$pid/stat") =~ s/.*\) //sr;
	return $fields[11] + $fields[12];
}

my $pid = start($^X, '-e', 'kill STOP => $$; 1 while 1');
ok(wait_for(180, sub { state_of($pid) eq 'T' }), 'a thread is stopped');
my $before = ran($pid);
spew('wait', <<"END");
kill -CONT $pid
while read -r pid name state parent group session tty foreground flags a b c d ran system rest < /proc/$pid/stat &&
		[ \$((ran + system)) -lt @{[$before + 20]} ]; do
	:
done
END
my $got = run({seconds => 120}, qw(gdb -batch -nx), map({ ('-ex', $_) } 'set debuginfod enabled off',
	'tbreak loader__freeze', 'run', 'shell sh wait', 'continue'),
	'--args', $DWELL, 'record', '-o', 'late.data', '--duration', '0.3', '-p', $pid);
cmp_ok(ran($pid), '>=', $before + 20, 'it runs while dwell is held') or diag("$got->{out}$got->{err}");
my ($thread) = @{report('-i', 'late.data')->{threads}};
is($thread->{tid}, $pid, 'it is in the recording');
my $sum = 0;
$sum += $thread->{"${_}_ns"} for qw(cpu io lock sched other stopped stolen not_seen);
near(100 * $sum / $thread->{lifetime_ns}, 100, 0.1, 'its times make up the recording');
cmp_ok($thread->{cpu_ns}, '>', 0.1e9, 'and it ran in it');
stop($pid, 'KILL');

done_testing;
