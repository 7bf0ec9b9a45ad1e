# SPDX-License-Identifier: BSD-2-Clause
# dwell waits of the programs in tests/programs/knots/, for end-to-end tests.
package Waits;

use strict;
use warnings;

use Dwell;
use Exporter qw(import);
use List::Util qw(sum);
use Test::More;

our @EXPORT = qw(waits vertex edge members record_knot hold_against_truth knots);

sub waits {
	my @arguments = @_;
	my $got = run($DWELL, 'waits', '--json', @arguments);
	is($got->{status}, 0, "dwell waits @arguments") or diag($got->{err});
	return decode($got->{out}) // {};
}

# Where another program has a thread of that name, too, and feeds the same disk, the name has the
# thread's number behind it.
sub vertex {
	my ($waits, $name) = @_;
	my ($found) = grep { $_->{name} eq $name || $_->{recorded} && $_->{name} =~ m{^\Q$name\E/\d+$} }
		@{$waits->{threads}};
	return $found;
}

sub edge {
	my ($waits, $from, $to) = @_;
	$_ = (vertex($waits, $_) // {name => $_})->{name} for $from, $to;
	my ($found) = grep { $_->{from} eq $from && $_->{to} eq $to } @{$waits->{edges}};
	return $found // {share => 0, plain_share => 0};
}

# The block device that a disk is: the one with an edge from a thread.
sub disk_of {
	my ($waits, $from) = @_;
	$from = (vertex($waits, $from) // {name => $from})->{name};
	my %devices = map { $_->{name} => 1 } grep { $_->{type} eq 'device' } @{$waits->{threads}};
	my ($edge) = grep { $_->{from} eq $from && $devices{$_->{to}} } @{$waits->{edges}};
	return $edge ? $edge->{to} : 'no device';
}

# The share of its time that @from measured to have waited for @to.
sub measured {
	my ($truth, $from, $to) = @_;
	my ($edge) = grep { $_->{from} eq $from && $_->{to} eq $to } @{$truth->{edges}};
	return $edge ? $edge->{wait_ns} / (1e9 * $truth->{seconds}) : 0;
}

# A wait as the program saw it also holds the way to the CPU behind the wakeup. Some of this is CPU time in
# the kernel's count.
sub as_measured {
	my ($waits, $truth, $from, $to, $vertex) = @_;
	my $whole = 1e9 * $truth->{seconds};
	my $share = 100 * edge($waits, $from, $vertex // $to)->{plain_share};
	my $of = vertex($waits, $from);
	my $true = 100 * measured($truth, $from, $to);
	my $runnable = 100 * ($of->{runnable_ns} + ($truth->{threads}{$from}{early_ns} // 0)) / $whole;
	# The recording is longer than the program's own measurement by its begin and end.
	$share *= $waits->{window_ns} / $whole;
	ok($share < $true + 4 && $share > $true - $runnable - 4,
		sprintf('%s waits for %s %.1f%% of the time, %.1f%% (of it %.1f%% runnable) as measured',
			$from, $vertex // $to, $share, $true, $runnable));
}

# Kernel workers that issue a program's requests may be part of the circle.
sub members {
	my ($knot) = @_;
	return join ' ', sort map { s{/\d+$}{}r } grep { !/^kworker/ } @{$knot->{members} // []};
}

sub background {
	my ($waits) = @_;
	return join '; ', sort grep { /./ } map { members($_) } grep { $_->{background} } @{$waits->{knots}};
}

# By case: what the verdict has to be, and which edges were measured.
my %cases = (
	pipeline => {
		type => 'knot',
		members => sub { join ' ', sort 'B', disk_of($_[0], 'B') },
		edges => sub { (['A', 'B'], ['B', 'disk', disk_of($_[0], 'B')]) },
		more => sub {
			my ($waits, $truth) = @_;
			my $disk = disk_of($waits, 'B');
			SKIP: {
				# A waited for a CPU instead, as it measured itself.
				skip 'other programs have the CPUs', 1 if is_shared_machine($waits) && measured($truth, 'A', 'B')
					- vertex($waits, 'A')->{runnable_ns} / (1e9 * $truth->{seconds}) <= measured($truth, 'B', 'disk');
				cmp_ok(edge($waits, 'A', 'B')->{plain_share}, '>',
					edge($waits, 'B', $disk)->{plain_share}, 'the longest wait is outside');
			}
			cmp_ok(edge($waits, 'B', $disk)->{share}, '>',
				1.5 * edge($waits, 'B', $disk)->{plain_share},
				'A, who waits for B meanwhile, counts there');
			my ($code) = map { $_->{symbol} } grep { $_->{symbol} =~ /flush_record/ }
				@{edge($waits, 'B', $disk)->{stacks}[0]{waiter}};
			is($code, 'flush_record', 'and the code that waits is named');
			my ($idle) = grep { $_->{from} eq $disk } @{$waits->{verdict}{edges}};
			ok($idle->{for_work}, 'the disk waits for work only');
		},
		# Other programs, which have the CPUs and the disk, too, change both of the last ones.
		is_disturbed => sub {
			my ($waits) = @_;
			my $disk = disk_of($waits, 'B');
			my $edge = edge($waits, 'B', $disk);
			my ($idle) = grep { $_->{from} eq $disk } @{$waits->{verdict}{edges}};
			return is_shared_machine($waits) && !($edge->{share} > 1.5 * $edge->{plain_share} && $idle->{for_work});
		},
	},
	io => {
		type => 'knot',
		members => sub { join ' ', sort 'reader', disk_of($_[0], 'reader') },
		edges => sub { (['reader', 'disk', disk_of($_[0], 'reader')]) },
		more => sub {
			my ($waits, $truth) = @_;
			my $disk = vertex($waits, disk_of($waits, 'reader'));
			my ($reader) = grep { $_->{from} eq 'reader' } @{$truth->{edges}};
			cmp_ok($disk->{requests}, '>=', $truth->{threads}{reader}{work},
				'no request of the disk is missing');
			my $waited = $reader->{wait_ns} - vertex($waits, 'reader')->{runnable_ns};
			cmp_ok($disk->{service_ns}, '>', 0.7 * $waited, 'it was served so long');
		},
	},
	lock => {
		type => 'knot',
		folded => 1,
		members => sub { 'lock*' },
		more => sub {
			my ($waits) = @_;
			my ($kind) = sort { $b->{plain_ns} <=> $a->{plain_ns} }
				map { @{$_->{stacks}} } grep { $_->{from} eq 'lock*' } @{$waits->{edges}};
			is($kind->{kind}, 'futex', 'for a futex');
		},
	},
	imbalance => {
		type => 'knot',
		members => sub { 'left right' },
		edges => sub { (['left', 'right'], ['right', 'left']) },
	},
	full => {
		type => qr{^(?:work|cpus)$},
		members => sub { 'consumer' },
		edges => sub { (['producer', 'consumer']) },
	},
	empty => {
		type => qr{^(?:work|cpus)$},
		members => sub { 'producer' },
		edges => sub { (['consumer', 'producer']) },
	},
	heartbeat => {
		type => qr{^(?:work|cpus)$},
		members => sub { 'worker' },
		edges => sub { (['beat1', 'beat2'], ['beat2', 'beat1'], ['beat1', 'timer']) },
		more => sub {
			my ($waits) = @_;
			# They take turns: one of them is active for as long as both together.
			my @beats = map { vertex($waits, $_) } 'beat1', 'beat2';
			SKIP: {
				skip 'the machine is too busy for a heartbeat', 1
					if sum(map { ($_->{running_ns} + $_->{runnable_ns}) / $_->{lifetime_ns} } @beats) > 0.7;
				is(background($waits), 'beat1 beat2', 'the beats are set aside');
			}
		},
	},
	'per-request' => {
		folded => 1,
		members => sub { 'req' },
		more => sub {
			my ($waits, $truth) = @_;
			# On a busy machine a request may take too long for a short-lived thread.
			my @reqs = grep { $_->{name} =~ m{^req(?:/\d+)?$} } @{$waits->{threads}};
			my @long = grep { $_->{merged} ne 'short-lived' } @reqs;
			is(@reqs - @long, 1, 'they stand as one');
			is((grep { $_->{lifetime_ns} < $_->{threads} * $waits->{window_ns} / 10 } @long), 0,
				'but for those that live long');
			is(sum(map { $_->{threads} } @reqs), $truth->{threads}{req}{work}, 'all of them');
			my $waited = sum(map { edge($waits, 'main', $_->{name})->{plain_share} } @reqs);
			cmp_ok($waited, '>', 0.5, 'main waits for them');
		},
	},
	pipe => {type => qr{^(?:work|cpus)$}, members => sub { 'writer' }, edges => sub { (['reader', 'writer']) }},
	rpc => {
		type => 'knot',
		members => sub { 'client server' },
		edges => sub { (['client', 'server'], ['server', 'client']) },
	},
	cpus => {
		type => 'cpus',
		folded => 1,
		members => sub { 'cpu*' },
		more => sub { like($_[0]{verdict}{note}, qr{more CPUs}, 'more CPUs would help') },
	},
	broadcast => {
		type => qr{^(?:work|cpus)$},
		members => sub { 'seller' },
		edges => sub { (map { ["buyer$_", 'seller'] } 0 .. 2) },
		more => sub { cmp_ok($_[0]{false_wakeups}, '>', 10, 'false wakeups are taken out') },
	},
	spin => {
		type => 'knot',
		members => sub { 'spin0 spin1' },
		edges => sub { (['spin0', 'spin1'], ['spin1', 'spin0']) },
		more => sub {
			is(edge($_[0], 'spin0', 'spin1')->{stacks}[0]{origin}, 'spin', 'by busy waiting');
		},
	},
);

# The names of all cases.
sub knots {
	return sort keys %cases;
}

# Records case @name to the file @file, by @options: up to five times, if other programs disturb it.
sub record_knot {
	my ($name, $file, @options) = @_;
	# A trace is exact, however short; others have the points of 4 s at the default period.
	my $seconds = full() ? 10 : 2;
	push @options, '-c', 500 if !grep { $_ eq '-c' } @options;
	my $is_disturbed = $cases{$name}{is_disturbed};
	my $got;
	for (1 .. 5) {
		$got = record([@options, '-o', $file], program('knots'), $name, '--seconds', $seconds);
		last if $got->{status} || !$is_disturbed || !$is_disturbed->(waits('-i', $file, '--unfold'));
	}
	is($got->{status}, 0, "$name is recorded");
	return $got;
}

# Whether programs that were not recorded took more than a quarter of the machine.
sub is_shared_machine {
	my ($waits) = @_;
	my $others = $waits->{machine_busy_ns};
	$others -= $_->{running_ns} // 0 for grep { $_->{recorded} } @{$waits->{threads}};
	return $others > ($waits->{machine_busy_ns} + $waits->{machine_idle_ns}) / 4;
}

# What dwell waits says of case @name in @file is what is known of it: @truth is what it printed.
sub hold_against_truth {
	my ($name, $file, $truth) = @_;
	my $case = $cases{$name};
	my $waits = waits('-i', $file, $case->{folded} ? () : '--unfold');
	my $verdict = $waits->{verdict};
	my $names = $case->{members}->($waits);
	my $is_right = members($verdict) eq $names && $verdict->{type} =~ qr{^@{[$case->{type} // '.*']}$};
	SKIP: {
		# Where other programs have the CPUs, CPUs may be the bottleneck of any program.
		skip "other programs have the CPUs: $verdict->{text}", $case->{type} ? 2 : 1
			if !$is_right && is_shared_machine($waits);
		# On a busy machine, work is waiting for a CPU.
		like($verdict->{type}, qr{^$case->{type}$}, 'the verdict is of this type') if $case->{type};
		is(members($verdict), $names, 'and names those') or diag($verdict->{text});
	}
	as_measured($waits, $truth, @$_) for $case->{edges} ? $case->{edges}->($waits) : ();
	$case->{more}->($waits, $truth) if $case->{more};
}

1;
