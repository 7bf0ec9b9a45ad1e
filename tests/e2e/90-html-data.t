#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# The data of the report page is what the other commands print, to the nanosecond; nothing of a recording
# is markup; and what cannot be written leaves nothing behind.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use POSIX ();
use Page;
use Test::More;

need_recording();

my @classes = qw(cpu io lock sched other);

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
	my ($page, $recording, $file) = @_;
	my $report = json_of('report', '--json', '--idle', '--wakers', '--sort', 'tid,class', '-i', $file);
	my %expected;
	my %number = map { $classes[$_] => $_ } 0 .. $#classes;
	$expected{"$_->{tid} $number{$_->{class}}"} += $_->{self_ns} for @{$report->{rows}};
	cmp_ok(scalar keys %expected, '>', 3, "$file: threads and classes");
	is_deeply($page->times($recording), \%expected, "$file: the same time by thread and class");
}

# The stacks of intervals are those of dwell script, in their order.
sub check_interval_stacks {
	my ($page, $recording, $file) = @_;
	my ($nodes, $stacks, $frames) = map { $page->table("r0.$_") } qw(nodes stacks frames);
	my @strings = $page->strings('r0.strings');
	my (%got, %expected);
	$page->rows($recording, 'intervals', sub {
		my ($row) = @_;
		my @names;
		for (my $node = $stacks->{node}[$row->{stack}]; $node; $node -= $nodes->{up}[$node]) {
			push @names, $strings[$frames->{name}[$nodes->{frame}[$node]]];
		}
		push @{$got{$recording->{threads}[$row->{thread}]{tid}}}, join ';', grep { !/^0x/ } @names;
	});
	for my $event (grep { $_->{event} eq 'interval' } events('-i', $file, '--wakers')) {
		my @frames = @{$event->{frames}};
		push @{$expected{$event->{tid}}}, join ';', grep { defined && $_ ne '' && !/^0x/ } map { $frames[2 * $_] } 0 .. $#frames / 2;
	}
	# The scheduler's own functions are not in the page.
	my $bad = 0;
	for my $tid (keys %expected) {
		$bad += @{$got{$tid}} != @{$expected{$tid}};
		$bad += grep { $expected{$tid}[$_] !~ /(?:^|;)\Q$got{$tid}[$_]\E$/ } 0 .. $#{$expected{$tid}};
	}
	is($bad, 0, 'intervals have their stacks');
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
		my @numbers = $number .. $number + @{$edge->{stacks}} + 9;
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
		my @numbers = $number .. $number + @{$edge->{stacks}} + 9;
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

# Files of each kind. Threads of the program have names that would be markup.
my $hostile = q{</script><b>'"&};
my @program = (program('figure1'));
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
	my $result = run($DWELL, 'html', '-i', 'trace.data', '-o', '-');
	is($result->{status}, 0, 'is fine');
	is($result->{out}, slurp('trace.html'), 'and has the same');
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
	my @left = grep { -e } 'x.html', 'x.html.partial';
	is("@left", '', 'nothing is left behind');
};

subtest 'ended by a signal' => sub {
	# Until a signal has come while the file was written.
	my ($left, $caught) = ('x.html.partial', 0);
	wait_for(60, sub {
		my $pid = start($DWELL, 'html', '-i', 'trace.data', '-o', 'x.html');
		1 until -e $left || !is_running($pid);
		kill 'INT', $pid;
		return $caught = finish($pid)->{signal} == POSIX::SIGINT();
	});
	ok($caught, 'it ends at once');
	ok(!-e $left, 'and leaves nothing behind');
};

subtest 'a recording that was cut short' => sub {
	my $bytes = slurp('trace.data');
	spew('cut.data', substr($bytes, 0, length($bytes) / 2));
	my $page = page('cut.html', '-i', 'cut.data');
	my $recording = $page->{index}{recordings}[0];
	ok((grep { $_->{label} eq 'warning' && !$_->{well} } @{$recording->{diagnostics}}), 'the page says so');
	compare_times($page, $recording, 'cut.data');
};

subtest 'a recording without samples' => sub {
	record(['-o', 'true.data'], 'true');
	my $page = page('true.html', '-i', 'true.data');
	ok($page->{index}{recordings}[0]{duration_ns}, 'is a page, too');
};

done_testing();
