#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# The data of the report page is what the other commands print, to the nanosecond; nothing of a recording
# is markup; and what cannot be written leaves nothing behind.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use POSIX ();
use Page;
use Test::More;

need_recording();

my $root = dirname(dirname($FindBin::Bin));
my @classes = qw(cpu io lock sched other stopped);

sub page {
	my ($name, @arguments) = @_;
	my $result = run($DWELL, 'html', '-o', $name, @arguments);
	is($result->{status}, 0, "$name is written") or diag($result->{err});
	return Page->read(slurp($name));
}

sub json_of {
	return decode(run($DWELL, @_)->{out});
}

# The rows of the page sum to those of the report, by thread and class.
sub compare_times {
	my ($page, $recording, $file, $is_cut) = @_;
	my $report = json_of('report', '--json', '--idle', '--wakers', '--sort', 'tid,class', '-i', $file);
	my %expected;
	my %number = map { $classes[$_] => $_ } 0 .. $#classes;
	# In a recording that was cut short, the record with a thread's tid may be missing; the page has 0 for it.
	is(scalar(grep { !$_->{tid} } @{$report->{rows}}), 0, "$file: threads have tids") unless $is_cut;
	$expected{($_->{tid} // 0) . " $number{$_->{class}}"} += $_->{self_ns} for @{$report->{rows}};
	cmp_ok(scalar keys %expected, '>', 3, "$file: threads and classes");
	is_deeply($page->times($recording), \%expected, "$file: the same time by thread and class");
	check_end($page, $recording, $file) unless $is_cut;
}

# What the recorded threads did lies within the recording: the whole of it, selected, has all of their time.
sub check_end {
	my ($page, $recording, $file) = @_;
	my $late = 0;
	for my $type (qw(samples intervals)) {
		$page->rows($recording, $type, sub {
			my ($row) = @_;
			my $end = $row->{time} + ($type eq 'samples' ? 1 : $row->{blocked} + $row->{runq});
			$late++ if $end > $recording->{duration_ns} && !$recording->{threads}[$row->{thread}]{waker_only};
		});
	}
	is($late, 0, "$file: no sample or interval is after its end");
}

# The stacks of intervals are those of dwell script, in their order.
sub check_interval_stacks {
	my ($page, $recording, $file) = @_;
	my ($nodes, $stacks, $frames) = map { $page->table("r0.$_") } qw(nodes stacks frames);
	my @strings = $page->strings('r0.strings');
	my (%got, %expected, %is_gone);
	$page->rows($recording, 'intervals', sub {
		my ($row) = @_;
		my @names;
		for (my $node = $stacks->{node}[$row->{stack}]; $node; $node -= $nodes->{up}[$node]) {
			push @names, $strings[$frames->{name}[$nodes->{frame}[$node]]];
		}
		push @{$got{$recording->{threads}[$row->{thread}]{tid}}}, join ';', grep { !/^0x|^\[unknown\]$/ } @names; # those with names
	});
	# Wakers may be programs whose files were removed since the page was made: they have no names any more.
	for my $event (grep { $_->{event} eq 'interval' } events('-i', $file, '--wakers')) {
		my @frames = @{$event->{frames}};
		push @{$expected{$event->{tid}}}, join ';', grep { defined && $_ ne '' && !/^0x/ } map { $frames[2 * $_] } 0 .. $#frames / 2;
		$is_gone{"$event->{tid} $#{$expected{$event->{tid}}}"} = 1 if grep { m{^/} && !-e } map { $frames[2 * $_ + 1] // '' } 0 .. $#frames / 2;
	}
	# The scheduler's own functions are not in the page.
	my @bad;
	for my $tid (keys %expected) {
		push @bad, "$tid: " . @{$got{$tid}} . ' instead of ' . @{$expected{$tid}} if @{$got{$tid}} != @{$expected{$tid}};
		push @bad, map { "$tid: $got{$tid}[$_] instead of $expected{$tid}[$_]" }
			grep { !$is_gone{"$tid $_"} && $expected{$tid}[$_] !~ /(?:^|;)\Q$got{$tid}[$_]\E$/ } 0 .. $#{$expected{$tid}};
	}
	is_deeply(\@bad, [], 'intervals have their stacks');
}

# Each call chain ends at the root, and its names are in the recording.
sub check_stacks {
	my ($page, $number, $wanted) = @_;
	my ($nodes, $stacks, $frames) = map { $page->table("r$number.$_") } qw(nodes stacks frames);
	my @strings = $page->strings("r$number.strings");
	my $bad = grep { $nodes->{up}[$_] < 1 || $nodes->{up}[$_] > $_ } 1 .. $#{$nodes->{up}};
	is($bad, 0, 'callers come before what they call');
	is(scalar(grep { $_ > $#{$frames->{name}} } @{$nodes->{frame}}), 0, 'all of them have functions');
	is(scalar(grep { $_ > $#{$nodes->{up}} } @{$stacks->{node}}), 0, 'all stacks have nodes');
	is(scalar(grep { $_ > $#strings } map { @{$frames->{$_}} } qw(name file dso)), 0, 'all functions have names');
	ok((grep { $strings[$_] eq $wanted } @{$frames->{name}}), "function $wanted is there");
}

# Steps follow each other, and lie in their levels; levels lie in what they explain.
sub check_path {
	my ($page, $file) = @_;
	my $json = json_of('path', '--json', '-i', $file);
	my $path = $page->json('r0.path');
	my ($levels, $steps) = map { $page->table("r0.path.$_") } qw(levels steps);
	my %expected = map { $_ => $json->{categories}{"${_}_ns"} } keys %{$path->{categories}};
	is_deeply($path->{categories}, \%expected, 'the account of the path is that of dwell path');
	is($path->{accounted_ns}, $json->{accounted_ns}, 'as much is accounted for');

	my ($time, @from, @until, @length) = (0);
	for my $i (0 .. $#{$levels->{from}}) {
		$time += $levels->{from}[$i];
		push @from, $time;
		push @until, $time + $levels->{length}[$i];
	}
	my $outside = grep {
		my $above = $_ - $levels->{up}[$_];
		$above != $_ && ($from[$_] < $from[$above] || $until[$_] > $until[$above]
			|| $levels->{depth}[$_] != $levels->{depth}[$above] + 1);
	} 0 .. $#from;
	is($outside, 0, 'levels lie within those that they explain');

	my ($level, %ns) = (0);
	($time, $outside) = ($path->{from}, 0);
	for my $i (0 .. $#{$steps->{level}}) {
		$level += $steps->{level}[$i];
		$outside++ if $time < $from[$level] || $time + $steps->{length}[$i] > $until[$level];
		$time += $steps->{length}[$i];
		$ns{$path->{names}[$steps->{category}[$i]]} += $steps->{length}[$i];
	}
	is($outside, 0, 'steps lie within their levels');
	is($time, $path->{until}, 'and there is no time between them');
	is_deeply(\%ns, {map { $_ => $expected{$_} } grep { $expected{$_} } keys %expected}, 'and sum to the account');
}

# What the bins from @first up to @until have, by the number of the cause.
sub sum_wait_bins {
	my ($table, $first, $until) = @_;
	my ($bin, %sums) = (0);
	for my $i (0 .. $#{$table->{gap}}) {
		$bin += $table->{gap}[$i];
		next if $bin < $first || $bin >= $until;
		my $sum = $sums{$table->{cause}[$i]} //= {count => 0, plain => 0, weight => 0};
		$sum->{$_} += $table->{$_}[$i] for keys %$sum;
	}
	return \%sums;
}

# The bins of waits sum to the wait-for graph, by stack.
sub check_wait_bins {
	my ($page, $file) = @_;
	my $whole = sum_wait_bins($page->table('r0.waits.bins'), 0, 1e9);
	my ($number, $stacks, @off) = (0, 0);
	for my $edge (@{$page->json('r0.waits')->{edges}}) {
		my @numbers = $number .. $number + @{$edge->{stacks}} + 11; # of each class, for work or not
		for my $key (qw(plain weight)) {
			my $sum = 0;
			$sum += ($whole->{$_} // {})->{$key} // 0 for @numbers;
			push @off, "$edge->{from} > $edge->{to} $key" if $sum != $edge->{"${key}_ns"};
			push @off, "stack $_ of $edge->{from} $key"
				for grep { (($whole->{$number + $_} // {})->{$key} // 0) != $edge->{stacks}[$_]{"${key}_ns"} } 0 .. $#{$edge->{stacks}};
		}
		$stacks += @{$edge->{stacks}};
		$number += @numbers;
	}
	cmp_ok($stacks, '>', 10, "$file: waits have stacks");
	is_deeply(\@off, [], "$file: the waits of all bins are those of the graph");
}

# Threads that are merged with others may be so in a part of the time, or not.
sub single_threads {
	my ($waits) = @_;
	return map { ($_->{name} => 1) } grep { ($_->{threads} // 1) == 1 } @{$waits->{threads}};
}

# Those of a part of the time are what the graph of that time has.
sub check_part_of_waits {
	my ($page, $file) = @_;
	my ($waits, $table, $place) = ($page->json('r0.waits'), $page->table('r0.waits.bins'), $page->{index}{recordings}[0]{wait_bins});
	my ($from, $until) = map { ($place->{from_ns} + $_ * $place->{length_ns}) / 1e9 } 40, 80;
	my $json = json_of('waits', '--json', '--percent-limit', 0, '--time', sprintf('%.9f,%.9f', $from, $until), '-i', $file);
	my %expected = map { ("$_->{from} > $_->{to}" => $_) } @{$json->{edges}};
	my %single = single_threads($waits);
	my %both = map { ($_ => 1) } grep { $single{$_} } keys %{{single_threads($json)}};
	my ($part, $number, $compared, @off) = (sum_wait_bins($table, 40, 80), 0, 0);
	for my $edge (@{$waits->{edges}}) {
		my @numbers = $number .. $number + @{$edge->{stacks}} + 11; # of each class, for work or not
		$number += @numbers;
		my $other = $both{$edge->{from}} && $both{$edge->{to}} ? $expected{"$edge->{from} > $edge->{to}"} : undef;
		next if !$other;
		$compared++;
		for my $key (qw(plain weight)) {
			my $sum = 0;
			$sum += ($part->{$_} // {})->{$key} // 0 for @numbers;
			push @off, "$edge->{from} > $edge->{to} $key: $sum for $other->{qq(${key}_ns)}" if $sum != $other->{"${key}_ns"};
		}
	}
	cmp_ok($compared, '>', 2, "$file: edges of a part of the time");
	is_deeply(\@off, [], "$file: the waits of some bins are those that dwell waits --time says");
}

# The lowest length in a bucket, and the lowest above it.
sub bucket {
	my ($number) = @_;
	return ($number - 1, $number) if $number <= 64;
	my $shift = int(($number - 1) / 32) - 1;
	my $steps = $number - 1 - 32 * $shift;
	return ($steps << $shift, $steps + 1 << $shift);
}

# Each quantile lies in the bucket in which the share of calls is reached; numbers are rounded to 1/256.
sub check_quantiles {
	my ($function, $calls, $what) = @_;
	my @lacking;
	for (['p50_ns', 0.5], ['p90_ns', 0.9], ['p99_ns', 0.99], ['p999_ns', 0.999], ['p9999_ns', 0.9999]) {
		my ($key, $share) = @$_;
		my ($below, $fits) = (0, 0);
		for my $number (sort { $a <=> $b } keys %$calls) {
			my $upto = $below + $calls->{$number};
			my ($low, $next) = bucket($number);
			my $is_in = defined $function->{$key} ? $number && $function->{$key} >= $low && $function->{$key} < $next : !$number;
			my $wanted = $share * $function->{calls};
			my $slack = keys(%$calls) * 128 / 256 + 5e-9 * $wanted;
			$fits = 1 if $is_in && $below <= $wanted + $slack && $upto >= $wanted - $slack;
			$below = $upto;
		}
		push @lacking, $key if !$fits;
	}
	is("@lacking", '', "$what: quantiles are in their buckets");
}

# The tables of calls sum up to what is known of the whole recording, which has nine digits in JSON.
sub check_calls {
	my ($page) = @_;
	my ($document, $recording) = ($page->json('r0.latency'), $page->{index}{recordings}[0]);
	my ($calls, $slow) = map { $page->table("r0.latency.$_") } qw(calls slow);
	my @keys = qw(runqueue lock disk network other stolen);
	my ($function, @got) = (0);
	for my $i (0 .. $#{$calls->{function}}) {
		$function += $calls->{function}[$i];
		$got[$function]{calls} += $calls->{calls}[$i];
		$got[$function]{observed} += $calls->{observed}[$i];
		$got[$function]{buckets}{$calls->{bucket}[$i]} += $calls->{calls}[$i] / 256;
	}
	cmp_ok(scalar(keys %{{map { $_ => 1 } @{$calls->{bin}}}}), '>', 4, 'calls are spread over the time');
	is((grep { $_ >= $recording->{latency_bins} } @{$calls->{bin}}), 0, 'which has no other bins');
	my ($time, $outside) = (0, 0);
	$function = 0;
	for my $i (0 .. $#{$slow->{function}}) {
		$function += $slow->{function}[$i];
		$time += $slow->{begin}[$i];
		$outside++ if $time < 0 || $time * $recording->{unit_ns} > $recording->{duration_ns} || !$recording->{threads}[$slow->{thread}[$i]]{recorded};
		my $cpu = $slow->{length}[$i];
		$got[$function]{slow}{"${_}_ns"} += $slow->{$_}[$i], $cpu -= $slow->{$_}[$i] for @keys;
		$got[$function]{slow}{cpu_ns} += $cpu;
		$got[$function]{slow}{ns} += $slow->{length}[$i];
		$got[$function]{slow}{calls}++;
	}
	is($outside, 0, 'slow calls are of recorded threads, in the time of the recording');
	cmp_ok(scalar @got, '>', 10, 'functions have calls');
	cmp_ok(scalar @got, '<=', scalar @{$document->{functions}}, 'and are known');
	# Of some functions, no call ended.
	for my $i (grep { $document->{functions}[$_]{calls} > 0 || $got[$_] } 0 .. $#{$document->{functions}}) {
		my $function = $document->{functions}[$i];
		my $what = "$function->{name} of " . ($function->{caller} // 'none');
		cmp_ok(abs($got[$i]{calls} / 256 - $function->{calls}), '<=', 0.5 / 256 + 5e-9 * $function->{calls}, "$what: the number of calls");
		cmp_ok(abs($got[$i]{observed} - $function->{observed} * $function->{calls}), '<', 0.001 + 5e-9 * $function->{calls}, "$what: those seen");
		my @times = ('calls', 'ns', 'cpu_ns', map { "${_}_ns" } @keys);
		is_deeply($got[$i]{slow} // {map { $_ => 0 } @times}, {map { $_ => $function->{slow}{$_} } @times}, "$what: slow calls");
		check_quantiles($function, $got[$i]{buckets}, $what);
	}
}

# Begin, length and thread of the requests of a document. It is too large for a JSON parser in perl.
sub listed {
	my @requests;
	push @requests, "$1 $2 $3" while $_[0] =~ /"begin_ns": ?(\d+),\s*"length_ns": ?(\d+),\s*"unread_ns": ?\d+,\s*"tid": ?(\d+)/g;
	return @requests;
}

# Files of each kind. Threads of the program have names that would be markup.
my $hostile = q{</script><b>'"&};
my @program = (program('figure1'), '--seconds', 3);
Page::record_exactly(['--trace', '--wakers', 'linked', '-o', 'trace.data'], @program) or BAIL_OUT('no recording');
record(['-o', 'sampled.data'], @program);
record(['--trace', '-o', 'hostile.data'], 'perl', '-e', '$0 = shift; select undef, undef, undef, 0.01 for 1 .. 9', $hostile);

subtest 'trace mode' => sub {
	my $page = page('trace.html', '-i', 'trace.data');
	my $recording = $page->{index}{recordings}[0];
	is($recording->{mode}, 'trace', 'the mode');
	compare_times($page, $recording, 'trace.data');
	check_stacks($page, 0, 'main');
	check_interval_stacks($page, $recording, 'trace.data');
	check_path($page, 'trace.data');
	is_deeply($page->json('r0.waits'), json_of('waits', '--json', '--stacks', 20, '--percent-limit', 0.1, '-i', 'trace.data'),
		'the wait-for graph is that of dwell waits');
	check_wait_bins($page, 'trace.data');
	check_part_of_waits($page, 'trace.data');
	is_deeply($page->json('r0.locks'), json_of('latency', 'locks', '--json', '-i', 'trace.data'), 'the locks are');
	is_deeply([sort @{$recording->{blocks}}], [sort grep { /^r0/ } keys %{$page->{blocks}}], 'the index has all blocks');
	ok((grep { $_->{view} eq 'waits' } @{$page->{index}{verdicts}}), 'and verdicts');
};

subtest 'sampling mode' => sub {
	my $page = page('sampled.html', '-i', 'sampled.data');
	compare_times($page, $page->{index}{recordings}[0], 'sampled.data');
	ok(!$page->has('r0.path'), 'there is no path');
	check_wait_bins($page, 'sampled.data');
	is_deeply($page->json('r0.waits'), json_of('waits', '--json', '--stacks', 20, '--percent-limit', 0.1, '-i', 'sampled.data'),
		'the wait-for graph is that of dwell waits');
};

subtest 'names that would be markup' => sub {
	my $page = page('hostile.html', '-i', 'hostile.data');
	my ($thread) = grep { grep { $_->[1] =~ m{^</script><b>} } @{$_->{names}} } @{$page->{index}{recordings}[0]{threads}};
	ok($thread, 'are in the data as they are');
	unlike($page->{text}, qr{</script><b>}, 'and not in the page');
	my $rest = $page->{text} =~ s{<script type="text/x-dwell" id="[\w.]+">[A-Za-z0-9+/=]*</script>\n}{}gr;
	is(Page->read(slurp('trace.html'))->{text} =~ s{<script type="text/x-dwell".*?</script>\n}{}gr, $rest,
		'outside of the data, pages are the same');
};

subtest 'latencies of a selection' => sub {
	plan skip_all => 'dwell-cc is for x86-64' if qx(uname -m) ne "x86_64\n";
	my @cc = (dirname($DWELL) . '/dwell-cc', '-O2', '-g', '-fdwell-min-size=0', "-I$root", '-D_GNU_SOURCE');
	is(run(@cc, '-o', 'measured', "$root/tests/calls/measured.c", '-lpthread')->{status}, 0, 'a program is built');
	# None are seen if the recorder does not get a CPU for as long as the program lives.
	my $status;
	for (1 .. 5) {
		$status = run({seconds => 120}, $DWELL, 'latency', 'run', '--request', 'served', '-o', 'calls.data', '--',
			'./measured', 2)->{status};
		my $report = run($DWELL, 'latency', 'report', '--json', '-i', 'calls.data');
		last if !$report->{status};
		diag($report->{err});
	}
	is($status, 0, 'it is recorded');
	my $page = page('calls.html', '-i', 'calls.data');
	is_deeply($page->json('r0.latency'), json_of('latency', 'report', '--json', '-i', 'calls.data'), 'latencies are those of dwell latency');
	check_calls($page);
	ok(!$page->has('r0.requests.times'), 'the document lists all requests');
};

subtest 'more requests than are listed' => sub {
	# Some are lost if the recorder does not get a CPU for long.
	my @all;
	for (1 .. 5) {
		run({seconds => 120}, $DWELL, 'latency', 'run', '--request', 'served', '-o', 'spans.data', '--', program('spans'), 70);
		@all = listed(run($DWELL, 'latency', 'requests', '--json', '-i', 'spans.data')->{out});
		last if @all > 100000;
	}
	cmp_ok(scalar @all, '>', 100000, 'there are so many') or return;
	my $page = page('spans.html', '-i', 'spans.data');
	my ($list) = split /"timelines"/, $page->bytes('r0.requests');
	is(scalar(my @listed = listed($list)), 100000, 'the slowest are listed');
	my $table = $page->table('r0.requests.times');
	my ($recording, $time, @got) = ($page->{index}{recordings}[0], 0);
	for my $i (0 .. $#{$table->{begin}}) {
		$time += $table->{begin}[$i];
		push @got, join ' ', $time, $table->{length}[$i], $recording->{threads}[$table->{thread}[$i]]{tid};
	}
	is($recording->{unit_ns}, 1, 'times are exact');
	is(join("\n", sort @got), join("\n", sort @all), 'the table has all');
};

subtest 'several files' => sub {
	my $page = page('both.html', '-i', 'trace.data', 'sampled.data');
	is(scalar @{$page->{index}{recordings}}, 2, 'two recordings');
	compare_times($page, $page->{index}{recordings}[1], 'sampled.data');
	check_stacks($page, 1, 'main');
	my $mixed = run($DWELL, 'html', 'trace.data', '-o', 'mixed.html', 'sampled.data');
	is("$mixed->{status} $mixed->{err}", "0 dwell: wrote mixed.html\n", 'files may stand before options');
	ok(slurp('mixed.html') eq slurp('both.html'), 'with the same page');
};

is((stat 'trace.html')[2] & 0777, 0600, 'a page is for its user alone');

subtest 'standard output' => sub {
	my $result;
	for (1 .. 5) { # files of other programs that were recorded as wakers may be removed in between
		run($DWELL, 'html', '-i', 'trace.data', '-o', 'same.html');
		$result = run($DWELL, 'html', '-i', 'trace.data', '-o', '-');
		last if $result->{out} eq slurp('same.html');
	}
	is($result->{status}, 0, 'is fine');
	ok($result->{out} eq slurp('same.html'), 'and has the same');
};

sub fails {
	my ($what, $error, @arguments) = @_;
	my $result = run($DWELL, 'html', @arguments);
	isnt($result->{status}, 0, "$what: it fails");
	like($result->{err}, $error, "$what: and says why");
	is(scalar(split /\n/, $result->{err} =~ s/^  .*\n//mgr), 1, "$what: once");
}

subtest 'what cannot be done' => sub {
	fails('no recording', qr/there is no recording none\.data.*dwell record/s, '-i', 'none.data', '-o', 'x.html');
	spew('empty.data', '');
	fails('an empty file', qr/empty/, '-i', 'empty.data', '-o', 'x.html');
	fails('a full disk', qr/No space left/, '-i', 'trace.data', '-o', '/dev/full');
	fails('a missing folder', qr/cannot create.*No such file/, '-i', 'trace.data', '-o', 'none/x.html');
	fails('its own input', qr/is one of the inputs/, '-i', 'trace.data', '-o', 'trace.data');
	fails('nothing to open', qr/--open needs a file/, '-i', 'trace.data', '-o', '-', '--open');
	fails('no such thread', qr/no thread in the recording is called/, '-i', 'trace.data', '-o', 'x.html', '--of', 'nobody');
	my @left = (grep({ -e } 'x.html'), glob '.dwell-*');
	is("@left", '', 'nothing is left behind');
};

subtest 'ended by a signal' => sub {
	# Until a signal has come while the file was written: it has no name, or not its own.
	my $caught = 0;
	wait_for(180, sub {
		my $pid = start($DWELL, 'html', '-i', 'trace.data', '-o', 'x.html');
		1 until !is_running($pid) || grep { (readlink // '') =~ m{^\Q$DIR\E/(?:#|\.dwell-)} } glob "/proc/$pid/fd/*";
		kill 'INT', $pid;
		return $caught = finish($pid)->{signal} == POSIX::SIGINT();
	});
	ok($caught, 'it ends at once');
	is_deeply([grep({ -e } 'x.html'), glob '.dwell-*'], [], 'and leaves nothing behind');
};

subtest 'a recording that was cut short' => sub {
	my $bytes = slurp('trace.data');
	spew('cut.data', substr($bytes, 0, length($bytes) / 2));
	my $page = page('cut.html', '-i', 'cut.data');
	my $recording = $page->{index}{recordings}[0];
	ok((grep { $_->{label} eq 'warning' && !$_->{well} } @{$recording->{diagnostics}}), 'the page says so');
	compare_times($page, $recording, 'cut.data', 1);
};

subtest 'a recording without samples' => sub {
	record(['-o', 'true.data'], 'true');
	my $page = page('true.html', '-i', 'true.data');
	ok($page->{index}{recordings}[0]{duration_ns}, 'is a page, too');
};

done_testing();
