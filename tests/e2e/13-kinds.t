#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Every way to wait is told apart: class, kind and object, thread by thread.
use strict;
use warnings;

use Cwd qw(getcwd);
use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;
use Time::HiRes qw(sleep);

need_recording();

# Thread of the program => kinds its waiting may be called, and their share of it.
my %expected = (
	pread => qr/^disk read$/, pwrite => qr/^(?:disk write|fsync|journal commit)$/,
	fsync => qr/^(?:fsync|journal commit|writeback|disk write)$/,
	page_fault => qr/^page-fault read$/, append => qr/^(?:disk write|discard|kernel rwsem|metadata read)$/,
	pipe_read => qr/^pipe read$/, pipe_write => qr/^pipe write$/,
	tcp_recv => qr/^tcp receive$/, unix_recv => qr/^unix receive$/,
	accept => qr/^tcp accept$/, poll => qr/^poll$/, select => qr/^select$/,
	epoll_wait => qr/^epoll$/, eventfd_read => qr/^eventfd$/, timerfd_read => qr/^timerfd$/,
	nanosleep => qr/^sleep$/, sigtimedwait => qr/^signal wait$/, mutex => qr/^futex$/,
	cond_wait => qr/^futex$/, sem_wait => qr/^futex$/, join => qr/^futex$/,
	flock => qr/^(?:file lock|pipe read)$/, waitpid => qr/^wait for child$/,
);

# How long each thread lived, and was blocked, as it was sampled and in truth: sums of all recordings. Beside many
# others a recording has too few samples: then more are made before it says no.
my ($got, $truth, $report, %sum);
sub off {
	my ($name) = @_;
	my $all = $sum{$name};
	return (100 * $all->{sampled} / $all->{life}, 100 * $all->{blocked} / $all->{life});
}
for (1 .. 4) {
	$got = record(['-o', 'waits.data'], program('waits'), '--seconds', full(10, 4));
	$truth = $got->{truth}{threads};
	$report = report('-i', 'waits.data', '--sort', 'tid,class,kind');
	for my $name (keys %$truth) {
		$sum{$name}{life} += $truth->{$name}{lifetime_ns};
		$sum{$name}{blocked} += $truth->{$name}{blocked_ns};
		$sum{$name}{sampled} += time_of($report, tid => $truth->{$name}{tid}, class => qr/^(?:io|lock|other)$/);
	}
	last if $got->{status} || !grep { distance(off($_)) > 8 } keys %sum;
}
is($got->{status}, 0, 'recorded');
my $by_function = report('-i', 'waits.data', '--sort', 'tid,class,symbol');

# Of a wait whose end the kernel hid, only the class is known: not even the system call.
my ($hidden, %hidden_ns) = (0);
for my $event (grep { $_->{event} eq 'interval' && $_->{syscall} eq 'none' } events('-i', 'waits.data', '--no-stacks')) {
	next unless $event->{blocked_points} && $event->{kind} =~ m{^(?:blocked|lock|I/O)$};
	$hidden_ns{$event->{tid}} += $event->{blocked_points} * $report->{period_ns};
	$hidden++;
}
cmp_ok($hidden, '<=', $report->{lost}{'switches, hidden from tracing by the kernel'} // 0,
	'no other wait is without its system call');

for my $name (sort keys %$truth) {
	my $true = $truth->{$name};
	my %tid = (tid => $true->{tid});
	my $blocked = time_of($report, %tid, class => qr/^(?:io|lock|other)$/);
	my $of_class = time_of($report, %tid, class => qr/^(?:$true->{class})$/);
	my $of_kind = time_of($report, %tid, kind => $expected{$name},
		class => qr/^(?:io|lock|other)$/);

	near(off($name), 8, "$name: time blocked")
		or diag(join ', ', map({ "$_ $true->{$_}" } qw(lifetime_ns cpu_ns runqueue_ns)), map { "$_->{class}/$_->{kind}: $_->{self_ns}" }
			rows_of($report, %tid));
	# The threads share one address space, and wait for its lock while a preempted one has it.
	$blocked -= time_of($report, %tid, kind => qr/^mmap lock$/);
	# Between page faults, pages are dropped from the cache: that waits for work of every CPU.
	$blocked -= time_of($by_function, %tid, symbol => qr/^posix_fadvise/, class => qr/^(?:io|lock|other)$/);
	next unless $blocked;
	cmp_ok(100 * $of_class / $blocked, '>=', 94, "$name: class $true->{class}");
	cmp_ok(100 * $of_kind, '>=', 94 * ($blocked - ($hidden_ns{$true->{tid}} // 0)), "$name: kind $expected{$name}")
		or diag(join ', ', map { "$_->{class}/$_->{kind}: $_->{self_ns}" } rows_of($report, %tid));
}
ok(time_of($report, tid => $truth->{append}{tid}, class => 'lock', kind => 'kernel rwsem') > 0,
	'append: a lock of the kernel is a lock');
ok(time_of($report, tid => $truth->{flock}{tid}, kind => 'file lock') > 0,
	'flock: a file lock');

# What was waited for.
$report = report('-i', 'waits.data', '--sort', 'tid,object');
for my $name (qw(pread pwrite fsync tcp_recv flock)) {
	my $object = $truth->{$name}{object};
	my ($top) = sort { $b->{self_ns} <=> $a->{self_ns} }
		grep { ($_->{object} // '') ne '' } rows_of($report, tid => $truth->{$name}{tid});
	like($top->{object} // 'nothing', qr/\Q$object\E/, "$name: waits for $object");
}

# A page fault names the file that it reads, which is no descriptor of a system call.
my %fault = (tid => $truth->{page_fault}{tid}, kind => 'page-fault read');
$report = report('-i', 'waits.data', '--sort', 'tid,kind,object');
cmp_ok(time_of($report, %fault, object => qr{/dwell-\d+-page_fault$}), '>=', 0.95 * time_of($report, %fault),
	'page_fault: waits for its file') or diag(explain([rows_of($report, %fault)]));

# A path with more names than the kernel side sends is cut, and does not look like a whole one.
for my $depth (10, 40) {
	my $file = join '/', (map { "deep$_" } 1 .. $depth), 'file';
	make_path($file =~ s{/file$}{}r);
	run('dd', 'if=/dev/zero', "of=$file", qw(bs=4k count=200 oflag=direct));
	record(['-o', 'deep.data', '--trace'], 'dd', "if=$file", qw(of=/dev/null bs=4k iflag=direct));
	my ($path) = grep { m{/deep$depth/file$} } map { $_->{object} // '' }
		rows_of(report('-i', 'deep.data', '--sort', 'object'));
	my $whole = getcwd() . "/$file";
	if ($depth == 10) {
		is($path, $whole, "$depth folders: the whole path");
	} else {
		like($whole, qr{/\Q$path\E$}, "$depth folders: the end of the path");
		unlike($path, qr{^/}, "$depth folders: it does not begin at the root");
	}
}

done_testing;
