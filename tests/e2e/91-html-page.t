#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# The report page in a browser: what it shows is what the commands print; viewer/test/browser/page.mjs.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use JSON::XS ();
use List::Util qw(max min sum);
use POSIX ();
use Page;
use Test::More;

need_recording();
need_command('node');
need_command('chromium');

my $root = dirname(dirname($FindBin::Bin));
-d "$root/viewer/node_modules" or die "modules are not installed: make viewer\n";

my ($threads, %is_own);

sub save {
	my ($name, @arguments) = @_;
	my $result = run({seconds => 120}, $DWELL, @arguments);
	BAIL_OUT("dwell @arguments: $result->{err}") if $result->{status};
	spew($name, $result->{out}) if $name;
	return decode($result->{out}) if $name;
}

sub is_own_vertex {
	my ($vertex) = @_;
	return $is_own{$vertex->{tid} // 0} && ($vertex->{threads} // 1) == 1;
}

my @names = ('<img src=x onerror=broken=1>', '</script><script>broken=1//', q{"'><svg onload=broken=1>}, "\x{202e}txt.exe");
my $loops = 'binmode STDERR; for my $name (@ARGV) { fork or do { $0 = $name; select undef, undef, undef, 0.01 for 1 .. 20; exit } } 1 while wait > 0';

# Threads of another run of the program have the same names and similar stacks: where they are linked
# with these, they become one vertex. Then it is recorded again.
for (1 .. 5) {
	Page::record_exactly(['--trace', '--wakers', 'linked', '-o', 'trace.data'], program('figure1'), '--seconds', 3) or BAIL_OUT('no recording');
	$threads = save('threads.json', 'report', '-i', 'trace.data', '--json', '--sort', 'comm,tid,class');
	%is_own = map { ($_->{tid} => 1) } @{$threads->{rows}};
	my $waits = save('waits.json', 'waits', '-i', 'trace.data', '--json', '--stacks', '20');
	last if 2 == grep { is_own_vertex($_) && $_->{name} =~ m{^T[12](?:/|$)} } @{$waits->{threads}};
}
record(['-o', 'sampled.data'], program('figure1'), '--seconds', 3);
record(['--trace', '-o', 'hostile.data'], 'perl', '-e', $loops, map { utf8::is_utf8($_) ? do { utf8::encode(my $bytes = $_); $bytes } : $_ } @names);
record(['-o', 'true.data'], 'true');

# The waits of the verdict, for more than work, the heaviest first.
sub verdict_waits {
	my ($waits) = @_;
	my %is_needed = map { ("$_->{from} $_->{to}" => 1) } @{$waits->{verdict}{edges} // []};
	return sort { $b->{weight_ns} - $b->{for_work_ns} <=> $a->{weight_ns} - $a->{for_work_ns} }
		grep { $is_needed{"$_->{from} $_->{to}"} && $_->{for_work_ns} <= $_->{plain_ns} / 2 } @{$waits->{edges}};
}

# A knot of a thread and its disk. On a busy machine, CPUs or another wait may be the bottleneck instead.
for (1 .. 20) {
	record(['--trace', '-o', 'knot.data'], program('knots'), 'pipeline', '--seconds', 2);
	my ($heaviest) = verdict_waits(save('knot.json', 'waits', '--json', '--stacks', '20', '-i', 'knot.data'));
	last if $heaviest && $heaviest->{from} =~ m{^B(?:/|$)};
}

for my $page (qw(trace sampled hostile true knot)) {
	save('', 'html', '-i', "$page.data", '-o', "$page.html");
}
save('', 'html', '-i', 'trace.data', '-i', 'true.data', '-o', 'both.html');
save('', 'html', '-i', "$root/tests/data/causal/small.causal", '-o', 'causal.html');
my $whole = slurp('trace.html');
spew('damaged.html', $whole =~ s{(id="index">.{100}).*?</script>}{$1</script>}sr);

# The path of a thread that is not the command's first.
my ($t2) = grep { $_->{comm} eq 'T2' } @{$threads->{rows}};
save('', 'html', '-i', 'trace.data', '--of', $t2->{tid}, '-o', 'of.html');
spew('of.json', JSON::XS->new->encode({name => 'T2', tid => $t2->{tid}}));

# As those of long recordings: times in units of 128 ns. The path covers half of the time.
my $scaled = Page->read($whole);
$_->{unit_ns} = 128, $_->{duration_ns} *= 256 for $scaled->{index}{recordings}[0];
# And a file without names of functions, and a length in a sentence.
push @{$scaled->{index}{recordings}[0]{diagnostics}}, {label => 'symbols', text => 'no names for code in 71% of the samples', well => \0};
$_->{text} .= ' It is 9.6 us.' for @{$scaled->{index}{verdicts}};
spew('scaled.html', $scaled->with_index($scaled->{index}));

my @trace = ('-i', 'trace.data', '--json');
save('report.json', 'report', @trace);
save('children.json', 'report', @trace, '--children', '--sort', 'symbol');
save('idle.json', 'report', @trace, '--idle');
save('wakers.json', 'report', @trace, '--wakers');
save('second.json', 'report', @trace, '--time', '1,2');
save('second-children.json', 'report', @trace, '--time', '1,2', '--children', '--sort', 'symbol');
save('second-waits.json', 'report', @trace, '--time', '1,2', '--class', 'io,lock');
save('path.json', 'path', @trace);
save('locks.json', 'latency', 'locks', @trace);
save('sampled.json', 'report', '-i', 'sampled.data', '--json');
save('causal.json', 'causal', 'report', '--json', "$root/tests/data/causal/small.causal");
# The waits of a part of the time, from the start of a bin to the end of another.
my $index = Page->read($whole)->{index}{recordings}[0];
# Threads that were recorded only for their wakeups, as kernel workers are, and what they did.
my @others = grep { $_->{recorded} && $_->{waker_only} } @{$index->{threads}};
spew('others.json', JSON::XS->new->encode({count => scalar @others, ns => sum(map { @{$_->{ns}} } @others)}));
# An edge of the program's own threads. On a busy machine they may not wait at all for a while.
my (@part, $part, $edge);
for my $bins ([40, 80], [30, 90], [10, 110], [0, 120]) {
	@part = map { $index->{wait_bins}{from_ns} + $_ * $index->{wait_bins}{length_ns} } @$bins;
	$part = decode(run({seconds => 120}, $DWELL, 'waits', @trace, '--stacks', 0, '--time', join(',', map { sprintf '%.9f', $_ / 1e9 } @part))->{out});
	my %is_own_name = map { ($_->{name} => 1) } grep { is_own_vertex($_) } @{$part->{threads}};
	($edge) = grep { $is_own_name{$_->{from}} && $is_own_name{$_->{to}} } @{$part->{edges}};
	last if $edge;
}
# And a class that none of its waits has.
my %has = map { ($_->{class} => 1) } @{$edge->{stacks}};
my ($other) = grep { !$has{(qw(cpu io lock sched other))[$_]} } 1 .. 4;
spew('part.json', JSON::XS->new->encode({from => $part[0], until => $part[1], edge => $edge, other => 1 << $other}));

# Comms have 15 bytes.
spew('hostile.json', JSON::XS->new->encode([map { substr $_, 0, 15 } @names[0 .. 2]]));

# The longest wait of T1 for a lock that T2 ended: a time in it, and the number of T1 in the page.
my %tid = map { $_->{comm} => $_->{tid} } @{$threads->{rows}};
my ($wait) = sort { ($b->{t_wake_ns} - $b->{t_out_ns}) <=> ($a->{t_wake_ns} - $a->{t_out_ns}) }
	grep { $_->{event} eq 'interval' && ($_->{waker_tid} // 0) == $tid{T2} } events('-i', 'trace.data', '--no-stacks', '--class', 'lock', '--tid', $tid{T1});
my ($number) = grep { $index->{threads}[$_]{tid} == $tid{T1} } 1 .. $#{$index->{threads}};
spew('wait.json', JSON::XS->new->encode({at => sprintf('%d.%d', $number, ($wait->{t_out_ns} + $wait->{t_wake_ns}) / 2), by => $tid{T2}}));

sub middle_of_bucket {
	my ($bucket) = @_;
	return $bucket - 1 if $bucket <= 64;
	my $shift = int(($bucket - 1) / 32) - 1;
	return ($bucket - 1 - 32 * $shift) * 2 ** $shift + (2 ** $shift - 1) / 2;
}

# Calls of a function by bucket: how many they are, their median, and the longest one.
sub median_of {
	my ($buckets, $sum, $slow) = @_;
	my @buckets = sort { $a <=> $b } grep { $buckets->{$_} > 0 } keys %$buckets;
	return () if !$buckets[-1];
	my ($below, $median) = (0);
	for my $bucket (@buckets) {
		$median //= $bucket if $below + $buckets->{$bucket} > 0.5 * $sum;
		$below += $buckets->{$bucket};
	}
	# Slow calls are known exactly, and no other one is longer.
	my ($longest) = sort { $b <=> $a } map { $_->[0] } grep { $_->[1] } @$slow;
	$longest //= min(middle_of_bucket($buckets[-1]), map { $_->[0] } @$slow);
	$median //= $buckets[-1];
	return (p50 => $median ? min($longest, middle_of_bucket($median)) : undef, max => $longest);
}

# By function: the length of each slow call, and whether it began in the time.
sub slow_calls {
	my ($page, $from, $until) = @_;
	my $slow = $page->table('r0.latency.slow');
	my ($function, $time, @calls) = (0, 0);
	for my $i (0 .. $#{$slow->{function}}) {
		$function += $slow->{function}[$i];
		$time += $slow->{begin}[$i];
		push @{$calls[$function]}, [$slow->{length}[$i], $time >= $from && $time < $until];
	}
	return @calls;
}

# What the tables give for a part of the time.
sub selected_calls {
	my ($page, $from, $until) = @_;
	my ($recording, $document, $calls) = ($page->{index}{recordings}[0], $page->json('r0.latency'), $page->table('r0.latency.calls'));
	my ($first, $last) = map { $_ / $recording->{duration_ns} * $recording->{latency_bins} } $from, $until;
	my ($function, @buckets, @sums) = (0);
	for my $i (0 .. $#{$calls->{bin}}) {
		my $share = min($calls->{bin}[$i] + 1, $last) - max($calls->{bin}[$i], $first);
		$function += $calls->{function}[$i];
		next if $share <= 0;
		$buckets[$function]{$calls->{bucket}[$i]} += $calls->{calls}[$i] / 256 * $share;
		$sums[$function] += $calls->{calls}[$i] / 256 * $share;
	}
	my @slow = slow_calls($page, $from, $until);
	return map {
		my $of = $document->{functions}[$_];
		{name => $of->{name}, caller => $of->{caller}, all => $of->{calls}, calls => $sums[$_], median_of($buckets[$_], $sums[$_], $slow[$_])};
	} grep { $buckets[$_] } 0 .. $#buckets;
}

sub selected_requests {
	my ($page, $from, $until) = @_;
	my @requests = grep { $_->{begin_ns} >= $from && $_->{begin_ns} < $until } @{$page->json('r0.requests')->{requests}};
	my @lengths = sort { $a <=> $b } map { $_->{length_ns} } @requests;
	my ($p50, $p99) = map { my $rank = POSIX::ceil($_ * @lengths); $lengths[$rank ? $rank - 1 : 0] } 0.5, 0.99;
	return {count => scalar @lengths, p50 => $p50, p99 => $p99, max => $lengths[-1], all => scalar @{$page->json('r0.requests')->{requests}}};
}

if (qx(uname -m) eq "x86_64\n") {
	my $built = run(dirname($DWELL) . '/dwell-cc', '-O2', '-g', '-fdwell-min-size=0', "-I$root", '-D_GNU_SOURCE', '-o', 'measured',
		"$root/tests/calls/measured.c", '-lpthread');
	BAIL_OUT("dwell-cc: $built->{err}") if $built->{status};
	save('', 'latency', 'run', '--request', 'served', '-o', 'calls.data', '--', './measured', 2);
	save('', 'html', '-i', 'calls.data', '-o', 'calls.html');
	save('calls-path.json', 'path', '-i', 'calls.data', '--quantile', 99, '--json');
	my $page = Page->read(slurp('calls.html'));
	my ($from, $until) = map { int($_ * $page->{index}{recordings}[0]{duration_ns}) } 0.4, 0.7;
	spew('calls.json', JSON::XS->new->utf8->encode({from => $from, until => $until, functions => [selected_calls($page, $from, $until)],
		requests => selected_requests($page, $from, $until)}));
}

exit(system('node', "$root/viewer/test/browser/page.mjs", $DIR) ? 1 : 0);
