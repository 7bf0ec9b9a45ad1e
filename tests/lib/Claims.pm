# SPDX-License-Identifier: BSD-2-Clause
#
# What the sentences of dwell report, waits and path claim, compared with the rows of their JSON. Sums and
# words are made here independently of dwell's own code.
package Claims;

use strict;
use warnings;
no warnings 'recursion';

use Exporter qw(import);
use Dwell;
use List::Util qw(any max sum0);

our @EXPORT = qw(wrong_sentences count_claims);

my %claims; # how often each was compared

sub count_claims { my ($name) = @_; return $claims{$name} // 0 }

# Percent are printed without digits.
sub differs {
	my ($percent, $part, $whole) = @_;
	return !$whole || abs($percent - 100 * $part / $whole) > 0.51;
}

# "name: text", if @text has @claim and it does not hold. In @claim, a group is a percentage: @holds gets it.
sub check {
	my ($text, $claim, $holds) = @_;
	return unless $text =~ $claim;
	$claims{"$claim"}++;
	return $holds->($1 // 0) ? () : "$claim: $text";
}

# Sums of the rows of a bottleneck's members, the kernel's threads (by tid) apart.
sub rows_of_members {
	my ($waits, $bottleneck, $kernel) = @_;
	my %of = map { $_->{name} => $_ } @{$waits->{threads}};
	my %is_member = map { $_ => 1 } @{$bottleneck->{members}};
	my %sum = map { $_ => 0 } qw(lifetime inside outside work limit kernel inferred);
	my %others;
	for my $member (map { $of{$_} } keys %is_member) {
		$sum{lifetime} += $member->{lifetime_ns} if $member->{type} eq 'thread';
		$sum{inferred}++ if $member->{inferred};
	}
	for my $edge (grep { $is_member{$_->{from}} && $of{$_->{from}}{type} eq 'thread' } @{$waits->{edges}}) {
		if ($is_member{$edge->{to}}) {
			$sum{inside} += $edge->{plain_ns};
		} elsif ($kernel->{$of{$edge->{from}}{tid}}) {
			$sum{kernel} += $edge->{plain_ns}; # for the next work
			$sum{work} += $edge->{plain_ns};
			next;
		} else {
			$sum{outside} += $edge->{plain_ns};
			$sum{limit} += $edge->{plain_ns} if $of{$edge->{to}}{type} eq 'limit';
			$others{$edge->{to}} = max($others{$edge->{to}} // 0, $edge->{plain_ns});
		}
		$sum{work} += $edge->{for_work_ns};
	}
	$sum{waited} = $sum{inside} + $sum{outside};
	$sum{all} = $sum{waited} + $sum{kernel};
	$sum{others} = \%others;
	return \%sum;
}

sub wrong_bottleneck {
	my ($waits, $bottleneck, $kernel) = @_;
	my $text = $bottleneck->{why};
	my $sum = rows_of_members($waits, $bottleneck, $kernel);
	my ($waited, $all, $life) = @{$sum}{qw(waited all lifetime)};
	my ($runs, $queues) = @{$bottleneck}{qw(running_ns runnable_ns)};
	my $idle = $bottleneck->{idle_for};
	my @wrong = (
		check($text, qr/for nothing else\./, sub { $sum->{outside} <= 0.005 * $waited && $sum->{kernel} <= 0.005 * $all }),
		check($text, qr/for nothing else but their next work\./, sub { $sum->{outside} <= 0.005 * $waited }),
		check($text, qr/hardly for anything else/, sub { $sum->{outside} <= 0.1 * $waited }),
		check($text, qr/; (\d+)% of their waits are for others/, sub { !differs($_[0], $sum->{outside}, $waited) }),
		check($text, qr/ waits? for nothing:/, sub { $life && $all <= 0.005 * $life }),
		check($text, qr/ waits? little:/, sub { $all <= 0.1 * $life }),
		check($text, qr/ waits? (?:for work )?(\d+)% of the time: it is the work/, sub { !differs($_[0], $all, $life) }),
		check($text, qr/ waits? for work \d+% of the time: it is/, sub { 2 * $sum->{work} > $all }),
		check($text, qr/ waits? most for a CPU\./, sub { $queues >= $all }),
		check($text, qr/ for a CPU (\d+)% of the time, longer than/, sub { !differs($_[0], $queues, $life) && $queues > $runs }),
		check($text, qr/ not allowed to run (\d+)% of the time/, sub { !differs($_[0], $sum->{limit}, $life) }),
		check($text, qr/ busy(?:, or waits for a CPU,)? (\d+)% of the time/, sub { !differs($_[0], $bottleneck->{active}, 1) }),
		check($text, qr/ busy, or waits for a CPU, /, sub { $queues > 0.095 * ($runs + $queues) }),
		check($text, qr/(?:is|are) busy \d+% of the time/, sub { $queues <= 0.105 * ($runs + $queues) }),
		check($text, qr/and otherwise (?:they wait|waits) for timers/, sub { $idle->{timer} == max(values %$idle) }),
		check($text, qr/and otherwise (?:they wait|waits) for threads/, sub { $idle->{thread} == max(values %$idle) }),
		check($text, qr/ for [^,.]*, (\d+)% of the time for work\./, sub { !differs($_[0], $sum->{work}, $life) && 2 * $sum->{work} > $waited }),
		check($text, qr/ was not recorded: while recorded threads wait/, sub { $sum->{inferred} }),
		check($text, qr/ takes? the time: (?:.*) waits? for it (\d+)% of/, sub { $sum->{inferred} ? $_[0] > 50 : !$life }),
		check($text, qr/(?:[Tt]hey )?sleeps? with a lock held/, sub { $bottleneck->{lock} }),
		check($bottleneck->{note}, qr/its threads wait for a CPU (\d+)% of the time/, sub { !differs($_[0], $queues, $runs + $queues) }),
	);
	if ($text =~ /mostly (.*?)\. (?:At least|It is)/) {
		my ($most) = sort { $sum->{others}{$b} <=> $sum->{others}{$a} } keys %{$sum->{others}};
		push @wrong, "mostly $most: $text" if $sum->{others}{$1} && $sum->{others}{$1} != $sum->{others}{$most};
	}
	push @wrong, "who was not recorded is not said: $text" if $sum->{inferred} && $text !~ / was not recorded: while/;
	return (@wrong, wrong_lock($waits, $bottleneck));
}

# A lock is held by its holder for no longer than by all, and what they wait for is within that.
sub wrong_lock {
	my ($waits, $bottleneck) = @_;
	my $lock = $bottleneck->{lock} or return;
	$claims{lock}++;
	my @wrong;
	push @wrong, 'the holder holds it longer than all' if $lock->{holder}{held_ns} > $lock->{held_ns};
	push @wrong, 'holders wait for longer than they hold it' if $lock->{blocked_ns} > $lock->{held_ns};
	push @wrong, 'it is held for longer than it is waited for' if $waits->{exact} && $lock->{held_ns} > $lock->{wait_ns};
	return map { "$_: $lock->{name}" } @wrong;
}

sub wrong_cpus {
	my ($waits) = @_;
	my ($busy, $idle) = @{$waits}{qw(machine_busy_ns machine_idle_ns)};
	return check($waits->{verdict}{cpus}, qr/The CPUs are full: (\d+)% busy/,
		sub { !differs($_[0], $busy, $busy + $idle) && $busy > 0.85 * ($busy + $idle) });
}

# Without line breaks, and what a terminal does not need.
sub unwrapped { my ($text) = @_; return $text =~ s/\n +/ /gr }

# @waits is the JSON, with all edges; @text what is printed for people; @kernel has tids of kernel threads.
sub wrong_waits {
	my ($waits, $text, $kernel) = @_;
	my @wrong = map { wrong_bottleneck($waits, $_, $kernel) } @{$waits->{knots}};
	my ($said) = unwrapped($text) =~ /^(?:Bottleneck|With more CPUs|Besides|Most affected|No bottleneck[^:]*): (?!The CPUs)(.*)/m;
	push @wrong, 'the text says: ' . ($said // 'nothing') if index($said // '', $waits->{verdict}{text});
	return (@wrong, wrong_cpus($waits));
}

# What sentences about a whole category say.
my %words = (
	running => 'running', estimated => 'running', not_sampled => 'running', disk_active => 'waiting for disks',
	disk_queued => 'waiting for disks', stopped => 'not allowed to run', tcp => 'waiting for what TCP held back or sent again',
	run_queue => 'waiting for a CPU', preempted => 'waiting for a CPU', cpu_idle => 'waiting for an idle CPU to wake up',
	sleep => 'sleeping', timeout => 'in waits that timed out', peer => 'waiting for network peers',
	interrupt => 'waiting for interrupts', delivery => 'waiting for wakeups under way', idle => 'waiting for work',
	other_path => 'waiting for threads further out, which wait, too', not_recorded => 'waiting for threads that were not recorded',
	gap => 'in gaps, where events were lost', unknown => 'in states that are not known',
);

# Adds the rows of @nodes to @rows: their time, their thread, and what sentences say that it does.
sub add_rows {
	my ($rows, $nodes, $thread, $parent, $waiting) = @_;
	for my $node (@$nodes) {
		my $own = exists $node->{comm} && !$node->{had_cpu} ? $node : $thread;
		# What has the CPU does nothing for the thread above, which waits for it.
		my $queue = $node->{had_cpu} ? $parent : $waiting;
		my $doing = $queue // $node;
		my $wait = !$queue && $parent && exists $parent->{kind} ? $parent : undef;
		my $what = exists $doing->{frame} ? " running in $doing->{frame}"
			: exists $doing->{comm} ? ' running'
			: exists $doing->{category} && !$wait ? ": $doing->{text}"
			: ' in ' . join(' ', grep { defined && $_ ne '' } @{$wait // $doing}{qw(kind object)});
		push @$rows, {ns => $node->{self_ns}, thread => $own, what => $what,
			words => ' ' . $words{$doing->{category} // 'running'}} if $node->{self_ns};
		add_rows($rows, $node->{children}, $own, $node, $queue);
	}
	return $rows;
}

# "nginx/812", "make (several)", "mariadbd/812 io/815": threads of the same name and process
sub thread_text {
	my (@threads) = @_;
	my %pids = map { ($_->{pid} // '') => 1 } @threads;
	my %tids = map { ($_->{tid} // '') => 1 } @threads;
	my ($pid, $tid) = map { my ($set) = $_; keys %$set == 1 && (keys %$set)[0] ne '' ? (keys %$set)[0] : undef } \%pids, \%tids;
	my ($process, $comm) = @{$threads[0]}{qw(process comm)};
	my $text = defined $pid ? "$process/$pid" : $process;
	my $other = defined $tid && $tid != ($pid // $threads[0]{pid} // $tid);
	$text .= $comm ne $process ? " $comm" : $other ? ' thread' : '';
	$text .= "/$tid" if $other;
	return $text . (!defined $pid ? ' (several)' : !defined $tid ? ' (threads)' : '');
}

# The time of each sentence that could be said: about functions and waits, or about categories.
sub times_of {
	my ($rows, $by_category) = @_;
	my (%groups, %times);
	for my $row (@$rows) {
		my $thread = $row->{thread};
		my $who = join "\0", @{$thread}{qw(process comm)}, $by_category ? () : $thread->{tid} // 'several';
		push @{$groups{"$who\0" . ($by_category ? $row->{words} : $row->{what})}}, $row;
	}
	for my $group (values %groups) {
		my $name = thread_text(map { $_->{thread} } @$group) . ($by_category ? $group->[0]{words} : $group->[0]{what});
		push @{$times{$name}}, sum0(map { $_->{ns} } @$group);
	}
	return \%times;
}

# @path is the JSON. The first sentence is about what takes most time.
sub wrong_path {
	my ($path, $text) = @_;
	my $rows = add_rows([], $path->{tree});
	my $whole = $path->{wall_ns};
	my ($single, $grouped) = map { times_of($rows, $_) } 0, 1;
	my $most = max(0, map { @$_ } values %$single);
	my (@wrong, $n);
	push @wrong, 'the rows are not all of it' if sum0(map { $_->{ns} } @$rows) != $whole;
	for my $claim (split /(?<=\.) (?=\d+% of it is )/, $path->{verdict}) {
		my ($percent, $what) = $claim =~ /^(\d+)% of it is (.*?)(?:, \w+ waits? away)?\.$/ or do { push @wrong, "no claim: $claim"; next };
		my $times = $single->{$what} ? $single : $grouped;
		my $by_category = $times == $grouped;
		$claims{$by_category ? 'path: category' : 'path: function or wait'}++;
		push @wrong, $claim if !any { !differs($percent, $_, $whole) } @{$times->{$what} // []};
		push @wrong, "something alone takes more: $claim" if $by_category && !$n && 100 * $most > 20.01 * $whole;
		push @wrong, "another one takes more: $claim" if !$n++ && differs($percent, max(map { @$_ } values %$times), $whole);
	}
	push @wrong, 'the text says something else' if index(($text =~ s/\n# / /gr), $path->{verdict}) < 0;
	return @wrong;
}

# @report is the JSON, with idle waits left out.
sub wrong_report {
	my ($report, $text) = @_;
	my @wrong;
	if (my ($n, $percent) = $text =~ /^# idle +: .* of (\d+) threads?, ([\d.]+)% of all time/m) {
		$claims{'report: idle'}++;
		push @wrong, "idle $percent%" if abs($percent - 100 * $report->{idle_ns} / ($report->{idle_ns} + $report->{total_ns})) > 0.051;
		# Of samples, a thread may have none; and of one that was lost, the times are not known.
		my $known = grep { $_->{idle_ns} } @{$report->{threads}};
		push @wrong, "idle threads: $n" if $report->{mode} eq 'trace' && !%{$report->{lost}} ? $n != $known : !$n;
	}
	if (my ($percent) = $text =~ /^# CPUs +: ([\d.]+)% busy/m) {
		my ($busy, $idle) = @{$report}{qw(machine_busy_ns machine_idle_ns)};
		$claims{'report: CPUs'}++;
		push @wrong, "CPUs $percent% busy" if differs($percent, $busy, $busy + $idle);
	}
	for my $class (qw(cpu io lock sched other stopped)) {
		my $sum = sum0(map { $_->{"${class}_ns"} } @{$report->{threads}});
		push @wrong, "$class: $report->{exact}{\"${class}_ns\"} of all threads, $sum of each" if $report->{exact}{"${class}_ns"} != $sum;
	}
	return @wrong;
}

# Tids of kernel threads in a recording.
sub kernel_threads {
	my ($file) = @_;
	return {map { $_->{tid} => 1 } grep { $_->{event} eq 'thread' && $_->{kernel} } events('-i', $file, '--wakers')};
}

# The JSON and the text of a view; none if it has nothing to show.
sub view {
	my ($command, @options) = @_;
	my ($json, $text) = map { run({seconds => 180}, $DWELL, $command, @options, @$_) } ['--json'], [];
	return $json->{status} || $text->{status} ? () : (decode($json->{out}) // {}, $text->{out});
}

# What is wrong with the sentences of each view of a recording, by the view with its options: '' if nothing is.
sub wrong_sentences {
	my ($file) = @_;
	my %wrong;
	if (my ($json, $text) = view('report', '-i', $file)) {
		$wrong{report} = join "\n", wrong_report($json, $text);
	}
	for my $options ([], ['--threshold', 5], ['--unfold']) {
		my ($json, $text) = view('waits', '-i', $file, '--percent-limit', 0, @$options) or next;
		$wrong{"waits @$options"} = join "\n", wrong_waits($json, $text, kernel_threads($file));
	}
	if (my ($json, $text) = view('path', '-i', $file)) {
		$wrong{path} = join "\n", wrong_path($json, $text);
	}
	return %wrong;
}

1;
