#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# dwell export --format firefox, perfetto and sqlite: what comes out sums to what dwell report
# says, per thread and class, and keeps the rules of its format.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(sum0 max min);
use Test::More;

need_recording();
need_command('sqlite3');

sub export {
	my ($format, $file, @options) = @_;
	return run({seconds => 120}, $DWELL, 'export', '--format', $format, '-o', $file, @options);
}

sub sql {
	my ($file, $query) = @_;
	my $got = run({seconds => 120}, 'sqlite3', '-bail', '-separator', "\t", $file, $query);
	diag("$query: $got->{err}") if $got->{status};
	return $got->{out};
}

# {tid}{class}: ns, and {tid}{idle}, as the report has them.
sub truth_of {
	my (@options) = @_;
	my $report = report('--sort', 'pid,tid,class', @options);
	my %ns;
	for my $row (@{$report->{rows}}) {
		$ns{$row->{tid}}{$row->{class}} += $row->{self_ns};
		$ns{$row->{tid}}{idle} += $row->{idle_ns};
	}
	delete $_->{idle} for grep { !$_->{idle} } values %ns;
	return \%ns;
}

# ---- sqlite

sub sums_of_sqlite {
	my ($file) = @_;
	my %ns;
	for (split /\n/, sql($file, 'SELECT tid, class, sum(ns), sum(idle_ns) FROM thread_time GROUP BY 1, 2')) {
		my ($tid, $class, $ns, $idle) = split /\t/;
		$ns{$tid}{$class} = $ns;
		$ns{$tid}{idle} += $idle if $idle;
	}
	return \%ns;
}

# The queries of the manual.
sub queries {
	my ($text) = slurp("$FindBin::Bin/../../docs/man/dwell-export.1") =~ /^\.SH QUERIES\n(.*?)^\.SH/ms;
	my @queries = $text =~ /^\.nf\n(.*?)^\.fi/msg;
	s/\\\(aq/'/g, s/\\-/-/g, s/\\e/\\/g for @queries;
	return @queries;
}

sub check_sqlite {
	my ($file, $what) = @_;
	is(sql($file, 'PRAGMA integrity_check; PRAGMA foreign_key_check'), "ok\n", "$what: sqlite is intact");
	is(sql($file, 'SELECT count(*) FROM stacks WHERE parent >= id'), "0\n", "$what: callers come first");
	my $n = 0;
	for my $query (queries()) {
		my $got = run({seconds => 60}, 'sqlite3', '-bail', $file, $query);
		is($got->{status}, 0, "$what: query " . ++$n . ' of the manual') || diag("$query: $got->{err}");
	}
	is($n, 10, "$what: there are ten");
}

# ---- firefox

my %class_of = (User => 'cpu', Kernel => 'cpu', 'I/O' => 'io', Lock => 'lock', 'Waiting for a CPU' => 'sched',
	'Not allowed to run' => 'stopped', Blocked => 'other');

# Whether all of these columns have the table's length.
sub has_columns {
	my ($table, @columns) = @_;
	return !grep { !$table->{$_} || @{$table->{$_}} != $table->{length} } @columns;
}

# Whether all numbers of a column are below a limit, or null.
sub is_below { my ($column, $limit) = @_; return !grep { defined && ($_ < -1 || $_ >= $limit) } @$column }

sub check_firefox {
	my ($profile, $what) = @_;
	my $shared = $profile->{shared};
	my ($stacks, $frames, $functions) = @{$shared}{qw(stackTable frameTable funcTable)};
	my $strings = @{$shared->{stringArray}};
	is($profile->{meta}{preprocessedProfileVersion}, 66, "$what: the format's version");
	ok((grep { $_->{color} eq 'grey' } @{$profile->{meta}{categories}}), "$what: there is a grey category");
	ok(has_columns($stacks, qw(frame prefixOffset)) && has_columns($frames, qw(func category line address
			subcategory nativeSymbol innerWindowID column inlineDepth originalLocation))
		&& has_columns($functions, qw(name resource source isJS relevantForJS lineNumber columnNumber))
		&& has_columns($shared->{resourceTable}, qw(name lib host type))
		&& has_columns($shared->{sources}, qw(filename id startLine startColumn)), "$what: columns of tables");
	ok(is_below($stacks->{frame}, $frames->{length}) && is_below($frames->{func}, $functions->{length})
		&& is_below($frames->{category}, scalar @{$profile->{meta}{categories}})
		&& is_below($functions->{name}, $strings)
		&& is_below($functions->{resource}, $shared->{resourceTable}{length})
		&& is_below($functions->{source}, $shared->{sources}{length})
		&& is_below($shared->{sources}{filename}, $strings), "$what: numbers are valid");
	ok(!(grep { $stacks->{prefixOffset}[$_] < 0 || $stacks->{prefixOffset}[$_] > $_ } 0 .. $stacks->{length} - 1),
		"$what: callers come first");
	my %schema = map { $_->{name} => $_ } @{$profile->{meta}{markerSchema}};
	for my $thread (@{$profile->{threads}}) {
		my ($samples, $markers) = @{$thread}{qw(samples markers)};
		my @times = @{$samples->{time}};
		my @bad;
		push @bad, 'columns' unless has_columns($samples, qw(stack time weight threadCPUDelta))
			&& has_columns($markers, qw(name startTime endTime phase category data));
		push @bad, 'stacks' unless is_below($samples->{stack}, $stacks->{length});
		push @bad, 'time goes back' if grep { $times[$_] < $times[$_ - 1] } 1 .. $#times;
		push @bad, 'markers' if grep { $markers->{endTime}[$_] < $markers->{startTime}[$_]
			|| !$schema{$markers->{data}[$_]{type}} } 0 .. $markers->{length} - 1;
		push @bad, 'wakers' unless is_below([map { $_->{cause}{stack} } grep { $_->{cause} } @{$markers->{data}}],
			$stacks->{length});
		is("@bad", '', "$what: thread $thread->{tid}") if @bad;
	}
}

sub ns_of { my ($ms) = @_; return sprintf '%.0f', $ms * 1e6 }

# Classes of idle waits are told by markers alone.
sub sums_of_firefox {
	my ($profile) = @_;
	my ($stacks, $frames) = @{$profile->{shared}}{qw(stackTable frameTable)};
	my %ns;
	for my $thread (@{$profile->{threads}}) {
		my $of = $ns{$thread->{tid}} //= {};
		my ($samples, $markers) = @{$thread}{qw(samples markers)};
		for my $i (0 .. $samples->{length} - 1) {
			my $stack = $samples->{stack}[$i];
			my $category = defined $stack ? $frames->{category}[$stacks->{frame}[$stack]] : 1;
			my $class = $class_of{$profile->{meta}{categories}[$category]{name}};
			$of->{$class} += ns_of($samples->{weight}[$i]) if $class;
		}
		for my $data (grep { ($_->{idle} // 'no') ne 'no' } @{$markers->{data}}) {
			$of->{$_} += ns_of($data->{ns}) for $data->{class}, 'idle';
		}
		delete $ns{$thread->{tid}} unless %$of;
	}
	return \%ns;
}

# ---- perfetto

# The fields of a message: [number, value], with bytes for messages.
sub fields {
	my ($bytes) = @_;
	my ($at, @fields) = (0);
	my $varint = sub {
		my ($value, $shift) = (0, 0);
		while (1) {
			my $byte = ord substr $bytes, $at++, 1;
			$value |= ($byte & 127) << $shift;
			return $value if $byte < 128;
			$shift += 7;
		}
	};
	while ($at < length $bytes) {
		my $tag = $varint->();
		my ($number, $type) = ($tag >> 3, $tag & 7);
		if ($type == 0) {
			push @fields, [$number, $varint->()];
		} elsif ($type == 1) {
			push @fields, [$number, substr $bytes, $at, 8];
			$at += 8;
		} elsif ($type == 2) {
			my $size = $varint->();
			die "a field ends after its message\n" if $at + $size > length $bytes;
			push @fields, [$number, substr $bytes, $at, $size];
			$at += $size;
		} else {
			die "wire type $type\n";
		}
	}
	return @fields;
}

sub message { my %message; push @{$message{$_->[0]}}, $_->[1] for fields($_[0]); return \%message }

# {ns}: sums; {bad}: what is wrong; {slices}, {switches}, {flows}, ...: numbers of them.
sub read_perfetto {
	my ($file, $trace_mode) = @_;
	my (%ns, %bad, %count, %names, %open, %tracks, %cpu, %flows, %known_stack);
	my @events;
	my $order = 0;
	for (fields(slurp($file))) {
		my $packet = message($_->[1]);
		my ($time) = @{$packet->{8} // [0]};
		$bad{'no sequence'}++ unless $packet->{10};
		my $interned = $packet->{12} ? message($packet->{12}[0]) : {};
		for my $kind (keys %$interned) {
			for (map { message($_) } @{$interned->{$kind}}) {
				$bad{"interned $kind twice"}++ if exists $names{$kind}{$_->{1}[0]};
				$names{$kind}{$_->{1}[0]} = $_->{2}[0];
				$bad{'frames of a stack'}++ if $kind == 7 && grep { !$names{6}{$_} && !$interned->{6} } @{$_->{2}};
			}
		}
		if ($packet->{60}) { # a track
			my $track = message($packet->{60}[0]);
			$tracks{$track->{1}[0]} = $track->{4} ? message($track->{4}[0])->{2}[0] : '';
		} elsif ($packet->{135}) { # a sample
			my $sample = message($packet->{135}[0]);
			$ns{message($sample->{1}[0])->{3}[0]}{cpu} += $sample->{11}[0];
			$bad{'stack of a sample'}++ if $sample->{6} && !exists $names{7}{$sample->{6}[0]};
		} elsif ($packet->{11}) {
			my $event = message($packet->{11}[0]);
			push @events, {time => $time, order => $order++, track => $event->{11}[0], type => $event->{9}[0],
				categories => [map { $names{1}{$_} } @{$event->{3} // []}],
				name => $event->{10} ? $names{2}{$event->{10}[0]} : undef,
				weight => $event->{57} ? unpack('d<', $event->{57}[0]) : undef};
			$bad{'stack of a slice'}++ if $event->{56} && !exists $names{7}{$event->{56}[0]};
			$flows{unpack 'Q<', $_}[0]++ for @{$event->{47} // []};
			$flows{unpack 'Q<', $_}[1]++ for @{$event->{48} // []};
		} elsif ($packet->{1}) {
			my $bundle = message($packet->{1}[0]);
			my $event = message($bundle->{2}[0]);
			push @events, {time => $event->{1}[0], order => $order++, cpu => $bundle->{1}[0],
				switch => $event->{4} ? message($event->{4}[0]) : undef,
				waking => $event->{20} ? message($event->{20}[0]) : undef};
		}
	}
	for my $event (sort { $a->{time} <=> $b->{time} || $a->{order} <=> $b->{order} } @events) {
		if (my $switch = $event->{switch}) {
			$count{switches}++;
			my ($from, $to) = map { $_->[0] } @{$switch}{2, 6};
			$bad{'another thread was on the CPU'}++ if defined $cpu{$event->{cpu}} && $cpu{$event->{cpu}} != $from;
			$bad{'runs on two CPUs'}++ if $to && grep { $_ != $event->{cpu} && ($cpu{$_} // 0) == $to } keys %cpu;
			$cpu{$event->{cpu}} = $to;
			next;
		}
		$count{wakings}++ if $event->{waking};
		my $track = $event->{track} // next;
		$bad{'no such track'}++ unless exists $tracks{$track};
		if ($event->{type} == 1) {
			push @{$open{$track}}, $event;
			next;
		}
		next if $event->{type} != 2;
		my $begin = pop @{$open{$track}};
		$bad{'an end without a begin'}++, next unless $begin;
		$count{slices}++;
		my ($class, @more) = @{$begin->{categories}};
		$count{stolen}++ if $class eq 'stolen';
		next unless $tracks{$track} ne '' && defined $begin->{weight};
		$bad{'slices of a thread nest'}++ if grep { defined $_->{weight} } @{$open{$track}};
		$bad{'length and weight differ'}++ if $trace_mode && $event->{time} - $begin->{time} != $begin->{weight};
		$ns{$tracks{$track}}{$_} += $begin->{weight} for $class, @more;
	}
	$bad{'slices that do not end'}++ if grep { @$_ } values %open;
	$bad{'flows with one end'}++ if grep { ($_->[0] // 0) != 1 || ($_->[1] // 0) != 1 } values %flows;
	return {ns => \%ns, bad => \%bad, flows => scalar keys %flows, names => $names{2}, %count};
}

# ---- recordings with known sums

sub without_zeros {
	my ($ns) = @_;
	for my $thread (values %$ns) {
		delete $thread->{$_} for grep { !$thread->{$_} } keys %$thread;
	}
	return {map { %{$ns->{$_}} ? ($_ => $ns->{$_}) : () } keys %$ns};
}

# Every format has the report's times, of all of $name and by filters. $mode: sampling or trace. Returns what
# Perfetto gets of all.
sub check_times {
	my ($mode, $name, @filters) = @_;
	my $all;
	for my $filter ([], @filters) {
		my @options = ('-i', "$name.data", @$filter);
		my $what = join ' ', $name, @$filter;
		my $truth = without_zeros(truth_of(@options));
		unlink glob 'out.*';
		is(export('sqlite', 'out.sqlite', @options)->{status}, 0, "$what: sqlite");
		is_deeply(without_zeros(sums_of_sqlite('out.sqlite')), $truth, "$what: sqlite has the report's times");
		is(export('firefox', 'out.json', @options)->{status}, 0, "$what: firefox");
		my $profile = decode(slurp('out.json'));
		check_firefox($profile, $what);
		is_deeply(without_zeros(sums_of_firefox($profile)), $truth, "$what: firefox has the report's times");
		is(export('perfetto', 'out.pftrace', @options)->{status}, 0, "$what: perfetto");
		my $trace = eval { read_perfetto('out.pftrace', $mode eq 'trace') } // {bad => {$@ => 1}};
		is_deeply($trace->{bad}, {}, "$what: perfetto's rules");
		is_deeply(without_zeros($trace->{ns}), $truth, "$what: perfetto has the report's times");
		next if @$filter;
		check_sqlite('out.sqlite', $what);
		$all = $trace;
	}
	# Without waits for work nothing of them is left.
	export('sqlite', 'busy.sqlite', '-i', "$name.data", '--idle=hide');
	is(sql('busy.sqlite', 'SELECT count(*) FROM activity WHERE idle IS NOT NULL'), "0\n", "$name: idle waits left out");
	return $all;
}

for my $mode ('sampling', 'trace') {
	my @mode = $mode eq 'trace' ? ('--trace') : ();
	record(['-o', "$mode.data", @mode], program('classes'), '--scale', 'mixed', '--seconds', 2);
	my $trace = check_times($mode, $mode, ['--wakers', '--time', '500ms,1.5s'], ['--class', 'io,sched']);
	cmp_ok($trace->{$_->[0]} // 0, $mode eq 'trace' ? '>' : '==', 0, "$mode: $_->[1] in trace mode only")
		for ['switches', 'thread states'], ['wakings', 'wakers'], ['flows', 'flows to the main thread'];
	record(['-o', "$mode-stopped.data", @mode], program('stopped'), 'signal');
	ok((grep { $_->{stopped} } values %{truth_of('-i', "$mode-stopped.data")}), "$mode: a thread was stopped");
	check_times($mode, "$mode-stopped");
}

# What was stolen from runs, in trace mode: of each run that has 10 us of it.
{
	my (@stolen, $last);
	for my $event (events('-i', 'trace.data', '--no-stacks', '--idle')) {
		push @stolen, $event->{stolen_before_ns} if $event->{event} eq 'interval';
		push @stolen, $event->{last_stolen_ns} if $event->{event} eq 'exit';
	}
	@stolen = grep { $_ } @stolen;
	my $sum = sum0(@stolen);
	cmp_ok(min(@stolen, 1e9), '>=', 10000, sprintf('stolen: %.3f ms of %d runs', $sum / 1e6, scalar @stolen));
	export('sqlite', 'stolen.sqlite', '-i', 'trace.data');
	is(sql('stolen.sqlite', 'SELECT (SELECT total(stolen_before_ns) FROM intervals) + (SELECT total(last_stolen_ns) FROM threads)') + 0, $sum,
		'stolen: sqlite') or diag(sql('stolen.sqlite', 'SELECT tid, cpu_ns, last_stolen_ns FROM threads'));
	export('firefox', 'stolen.json', '-i', 'trace.data');
	my @markers = grep { $_->{type} eq 'Stolen' } map { @{$_->{markers}{data}} } @{decode(slurp('stolen.json'))->{threads}};
	is(sum0(map { ns_of($_->{ns}) } @markers), $sum, 'stolen: firefox');
	export('perfetto', 'stolen.pftrace', '-i', 'trace.data');
	is(read_perfetto('stolen.pftrace', 1)->{stolen} // 0, @stolen, 'stolen: perfetto');
}

# An old file is replaced, and only by a whole one.
{
	spew('old.sqlite', 'old');
	is(export('sqlite', 'old.sqlite', '-i', 'trace.data')->{status}, 0, 'an old file');
	is(sql('old.sqlite', 'PRAGMA user_version'), "1\n", 'is replaced');
	is("@{[glob '.dwell-*']}", '', 'and nothing is left beside it');
	like(export('sqlite', '-', '-i', 'trace.data')->{err}, qr/can only be written to a file/, 'a database is no stream');
}

# ---- what was recorded, by the name of the program, however it was given

{
	my $sleeper = start($^X, '-e', '$0 = "a sleeper"; select undef, undef, undef, 0.01 while 1');
	my $long = "\xc3\xa4" x 100; # bytes of UTF-8, as long as names of files may be
	symlink $^X, $long;
	my @targets = (['perl', [], '--', $^X, '-e', '1'], [$long, [], '--', "./$long", '-e', '1'], ['a sleeper', ['-p', $sleeper], '--duration', '0.3'],
		['a sleeper', ['-t', $sleeper], '--duration', '0.3'], ['dwell', ['-a'], '--duration', '0.3']);
	for my $target (@targets) {
		my ($name, $what, @rest) = @$target;
		run({seconds => 60}, $DWELL, 'record', '-o', 'named.data', @$what, @rest);
		export('firefox', 'named.json', '-i', 'named.data');
		my $product = decode(slurp('named.json'))->{meta}{product};
		utf8::encode($product);
		is($product, $name, "recorded by @$what: the product");
		export('otlp', 'named.otlp', '-i', 'named.data');
		my ($resource) = fields((fields((fields(slurp('named.otlp')))[0][1]))[0][1]);
		my $attribute = message($resource->[1]);
		is("$attribute->{1}[0] " . message($attribute->{2}[0])->{1}[0], "service.name $name", "recorded by @$what: the service");
	}
	stop($sleeper);
}

# ---- requests, and the path

{
	record(['-o', 'requests.data', '--trace', '--request', 'answer'], program('requests'), 'closed', 'tcp:' . free_port());
	my $count = eval { scalar grep { $_->{event} eq 'request' } events('-i', 'requests.data', '--no-stacks') } // 0;
	cmp_ok($count, '>', 0, 'requests were recorded');
	export('sqlite', 'requests.sqlite', '-i', 'requests.data', '--wakers');
	is(sql('requests.sqlite', 'SELECT count(*) FROM requests'), "$count\n", 'sqlite has them');
	check_sqlite('requests.sqlite', 'requests');
	export('firefox', 'requests.json', '-i', 'requests.data', '--wakers');
	my $profile = decode(slurp('requests.json'));
	is(scalar(grep { $_->{type} eq 'Request' } map { @{$_->{markers}{data}} } @{$profile->{threads}}), $count, 'firefox, too');
	export('perfetto', 'requests.pftrace', '-i', 'requests.data', '--wakers');
	my $trace = read_perfetto('requests.pftrace', 1);
	is_deeply($trace->{bad}, {}, "perfetto's rules");
	ok((grep { $_ eq 'answer' } values %{$trace->{names}}), 'perfetto has them');
}

# ---- hostile names

{
	my @names = ("a\"b'c;d\\", "new\nline\ttab", "bad\xff\xfe\xed\xa0\x80", '</script>', "\x01\x1b[31m", ' ', '%s%n${x}');
	my $script = 'for my $name (@ARGV) { next if fork; $0 = $name; my $until = time + 1; 1 while time < $until; '
		. 'select undef, undef, undef, 0.05; exit } 1 while wait > 0';
	record(['-o', 'hostile.data', '--trace'], $^X, '-e', $script, @names);
	is(export('firefox', 'hostile.json', '-i', 'hostile.data')->{status}, 0, 'hostile names: firefox');
	my $profile = decode(slurp('hostile.json'));
	check_firefox($profile, 'hostile names');
	my %found = map { $_->{name} => 1 } @{$profile->{threads}};
	ok($found{$_}, "hostile names: $_") for "a\"b'c;d\\", 'new\x0aline\x09tab', 'bad\xff\xfe\xed\xa0\x80', '</script>',
		'\x01\x1b[31m', ' ', '%s%n${x}';
	is(export('sqlite', 'hostile.sqlite', '-i', 'hostile.data')->{status}, 0, 'hostile names: sqlite');
	check_sqlite('hostile.sqlite', 'hostile names');
	my %names = map { $_ => 1 } split /\n/, sql('hostile.sqlite', 'SELECT name FROM threads');
	ok($names{$_}, "sqlite: $_") for "a\"b'c;d\\", 'new\x0aline\x09tab', 'bad\xff\xfe\xed\xa0\x80', '</script>';
	is(export('perfetto', 'hostile.pftrace', '-i', 'hostile.data')->{status}, 0, 'hostile names: perfetto');
	is_deeply(read_perfetto('hostile.pftrace', 1)->{bad}, {}, "hostile names: perfetto's rules");
}

# ---- nothing to export, and nowhere to write

{
	my @none = ('-i', 'trace.data', '--comm', 'partner0', '--class', 'io');
	is(export($_, "none.$_", @none)->{status}, 0, "no samples: $_") for qw(firefox perfetto sqlite);
	check_sqlite('none.sqlite', 'no samples');
	check_firefox(decode(slurp('none.firefox')), 'no samples');
	is_deeply(read_perfetto('none.perfetto', 1)->{bad}, {}, "no samples: perfetto's rules");
}

for my $format (qw(firefox perfetto sqlite)) {
	my $got = export($format, "$DIR/missing/out", '-i', 'trace.data');
	isnt($got->{status}, 0, "$format: a folder that does not exist");
	like($got->{err}, qr{cannot create '.*missing/out}, "$format: says so");
	next if $format eq 'sqlite';
	$got = export($format, '/dev/full', '-i', 'trace.data');
	isnt($got->{status}, 0, "$format: a full disk");
	like($got->{err}, qr{cannot write '/dev/full': No space left}, "$format: says so");
}

SKIP: {
	skip 'only root can mount a small file system', 3 if $> != 0;
	mkdir 'small' or die "small: $!";
	my $inside = 'mount -t tmpfs -o size=64k none small && "$@"; status=$?; ls -A small; exit $status';
	my $got = run('unshare', '-m', 'sh', '-c', $inside, 'sh', $DWELL, 'export', '-f', 'sqlite', '-o', 'small/out', '-i',
		'trace.data');
	isnt($got->{status}, 0, 'sqlite: a full disk');
	like($got->{err}, qr{cannot write 'small/out.*': No space left}, 'sqlite: says so');
	is($got->{out}, '', 'sqlite: nothing is left');
}

done_testing();
