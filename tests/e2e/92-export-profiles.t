#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# dwell export: what is in the formats pprof, speedscope and otlp is what the report has, by thread and
# class, to the nanosecond; the files obey the rules of their formats, whatever threads are called.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use List::Util qw(sum0);
use Protobuf;
use Test::More;

need_recording();

my @formats = qw(otlp pprof speedscope);
my $hostile = qq{"'\n\xff</script>};
my $escaped = q{"'\x0a\xff</script>};

record(['--trace', '--wakers', 'linked', '-o', 'trace.data'], program('figure1'), '--seconds', 3)->{status} == 0
	or BAIL_OUT('no recording');
record(['-o', 'sampled.data'], program('figure1'), '--seconds', 3);
record(['--trace', '-o', 'hostile.data'], 'perl', '-e',
	'$0 = shift; select undef, undef, undef, 0.01 for 1 .. 9', $hostile);
my @recordings = qw(trace.data sampled.data hostile.data);

# The environment keeps go from the home folder and from the network.
my $has_go = grep { -x "$_/go" } split /:/, $ENV{PATH};
my %go = (PPROF_TMPDIR => $DIR, GOCACHE => "$DIR/go", GOPROXY => 'off', HOME => $DIR);

sub export {
	my ($format, $file, @options) = @_;
	my $result = run({seconds => 120}, $DWELL, 'export', '--format', $format, '-i', $file, @options);
	is($result->{status}, 0, "$format of $file") or diag($result->{err});
	return $result;
}

# ns by "tid class" of the report's rows.
sub times_of {
	my ($file, @options) = @_;
	my $report = decode(run($DWELL, 'report', '--json', '--sort', 'tid,class', '-i', $file, @options)->{out});
	my %ns;
	$ns{"$_->{tid} $_->{class}"} += $_->{self_ns} for @{$report->{rows}};
	return \%ns;
}

sub pprof {
	my @arguments = @_;
	my $result = run({seconds => 120, env => \%go}, 'go', 'tool', 'pprof', @arguments);
	is($result->{status}, 0, "go tool pprof @arguments") or diag($result->{err});
	return $result->{out};
}

# Samples of `go tool pprof -raw`: {values, labels}.
sub raw_samples {
	my @samples;
	for my $line (split /\n/, shift) {
		last if $line eq 'Locations';
		if ($line =~ /^\s*(\d+)\s+(\d+)\s+(\d+):/) {
			push @samples, {values => [$1, $2, $3], labels => ''};
		} elsif (@samples) {
			$samples[-1]{labels} .= "$line\n";
		}
	}
	return @samples;
}

# Numbers of pprof's values by class.
my %value_of = (io => 0, lock => 0, other => 0, stopped => 0, sched => 1, cpu => 2);

sub pprof_times {
	my ($raw) = @_;
	my (%ns, $wrong);
	for my $sample (raw_samples($raw)) {
		my ($class) = $sample->{labels} =~ /^\s*class:\[(\w+)\]/m;
		my ($tid) = $sample->{labels} =~ / tid:\[(\d+)/;
		my $ns = splice @{$sample->{values}}, $value_of{$class}, 1;
		$wrong++ if sum0(@{$sample->{values}});
		$ns{"$tid $class"} += $ns;
	}
	is($wrong, undef, 'each sample has the value of its class only');
	return \%ns;
}

sub speedscope_times {
	my ($document) = @_;
	my $frames = $document->{shared}{frames};
	my (%ns, $bad);
	for my $profile (@{$document->{profiles}}) {
		my ($tid) = $profile->{name} =~ /tid (\d+)\)$/;
		my ($samples, $weights) = @{$profile}{qw(samples weights)};
		$bad .= "lengths of $profile->{name}, " if @$samples != @$weights;
		$bad .= "total of $profile->{name}, "
			if $profile->{startValue} != 0 || $profile->{endValue} != sum0(@$weights);
		$bad .= "type of $profile->{name}, "
			if $profile->{type} ne 'sampled' || $profile->{unit} ne 'nanoseconds';
		for my $i (0 .. $#$samples) {
			my @stack = @{$samples->[$i]};
			$bad .= "frames of $profile->{name}, " if grep { $_ > $#$frames } @stack;
			my ($class) = @stack ? $frames->[$stack[-1]]{name} =~ /^\[(io|lock|sched|other|stopped)\] ./ : ();
			$ns{join ' ', $tid, $class // 'cpu'} += $weights->[$i];
		}
	}
	is($bad, undef, 'samples, weights and frames fit together');
	return \%ns;
}

sub check_dictionary {
	my ($tables, $strings) = @_;
	my @mappings = map { message($_) } @{$tables->{1}};
	my @locations = map { message($_) } @{$tables->{2}};
	is_deeply([map { $tables->{$_}[0] } 1, 2, 3, 5, 6, 7], [('') x 6], 'element 0 of each table is the zero value');
	my $n = @{$tables->{3}};
	is(scalar(grep { !$_->{1}[0] || $_->{1}[0] >= $n } map { message($_) } map { @{$_->{3} // []} } @locations), 0,
		'lines have functions');
	is(scalar(grep { my $m = $mappings[$_->{1}[0] // 0]; $_->{1}[0] && !($m->{1}[0] <= $_->{2}[0] && $_->{2}[0] < $m->{2}[0]) }
		@locations[1 .. $#locations]), 0, 'addresses lie in their mappings');
	is(scalar(grep { !$_ || $_ > $#locations } map { packed(message($_)->{1}[0]) } @{$tables->{7}}), 0,
		'stacks have locations');
	my %seen;
	is(scalar(grep { $seen{$_}++ } @$strings), 0, 'strings are there once');
	is(scalar(grep { !utf8::decode(my $copy = $_) } @$strings), 0, 'and are UTF-8');
}

# Attributes of the dictionary: [key, value].
sub attributes {
	my ($tables, $strings) = @_;
	return map {
		my $attribute = message($_);
		my $value = message($attribute->{2}[0] // '');
		[$strings->[$attribute->{1}[0] // 0], $value->{1} ? $value->{1}[0] : $value->{3}[0]];
	} @{$tables->{6}};
}

sub otlp_times {
	my ($bytes) = @_;
	my $data = message($bytes);
	my $tables = message($data->{2}[0]);
	my @strings = @{$tables->{5}};
	my @attributes = attributes($tables, \@strings);
	my $scope = message(message($data->{1}[0])->{2}[0]);
	my (%ns, $wrong);
	check_dictionary($tables, \@strings);
	for my $profile (map { message($_) } @{$scope->{2}}) {
		my $type = message($profile->{1}[0]);
		my $value = {off_cpu => 0, run_queue => 1, cpu => 2}->{$strings[$type->{1}[0]]};
		is($strings[$type->{2}[0]], 'nanoseconds', "$strings[$type->{1}[0]] in ns");
		is(length $profile->{7}[0], 16, 'it has an id');
		for my $sample (map { message($_) } @{$profile->{2}}) {
			my %label = map { @{$attributes[$_]} } packed($sample->{2}[0]);
			my ($class) = $label{'dwell.class'};
			$wrong++ if $value_of{$class} != $value || $sample->{1}[0] >= @{$tables->{7}};
			$ns{"$label{'thread.id'} $class"} += sum0(packed($sample->{4}[0]));
		}
	}
	is($wrong, undef, 'classes are in the profile of their type');
	return (\%ns, \@strings);
}

subtest 'pprof' => sub {
	need_command('go');
	for my $file (@recordings) {
		export('pprof', $file, '-o', 'x.pb.gz');
		my $raw = pprof('-raw', 'x.pb.gz');
		is_deeply(pprof_times($raw), times_of($file, '--idle'), "$file: the time of the report");
		is((stat 'x.pb.gz')[7] < 4e6, 1, 'it is small');
	}
	like(pprof('-raw', 'x.pb.gz'), qr/thread:\[\Q$escaped\E\]/, 'names that are no text are escaped');
};

subtest 'pprof: what its users do' => sub {
	need_command('go');
	export('pprof', 'trace.data', '-o', 'trace.pb.gz');
	my $raw = pprof('-raw', 'trace.pb.gz');
	is(($raw =~ /^Samples:\n(.*)/m)[0], 'off_cpu/nanoseconds run_queue/nanoseconds cpu/nanoseconds[dflt]', 'sample types');
	my ($id) = run('readelf', '-n', program('figure1'))->{out} =~ /Build ID: (\w+)/;
	is((split ' ', $raw =~ /^Mappings\n(.*)/m ? $1 : '')[3], $id, 'the program with its build id is the first mapping');
	ok($raw =~ / M=1 main \S*figure1\.c:\d+/, 'functions have source lines');

	my $times = times_of('trace.data', '--idle');
	my %class_ns;
	$class_ns{(split)[1]} += $times->{$_} for keys %$times;
	my @all = ('-top', '-unit=ns', '-nodefraction=0', '-nodecount=1000000');
	for (['cpu'], ['off_cpu', 'io'], ['off_cpu', 'lock'], ['run_queue', 'sched']) {
		my ($index, $class) = @$_;
		my $top = pprof(@all, "-sample_index=$index", $class ? "-tagfocus=class=$class" : (), 'trace.pb.gz');
		my ($shown) = $top =~ /Showing nodes accounting for (\d+)(?:ns)?,/;
		is($shown, $class_ns{$class // 'cpu'} // 0, join ' ', '-sample_index', @$_);
	}
	my ($tid) = map { $_->{tid} } grep { $_->{comm} eq 'T1' }
		@{decode(run($DWELL, 'report', '--json', '-i', 'trace.data')->{out})->{threads}};
	my ($shown) = pprof(@all, '-sample_index=cpu', "-tagfocus=tid=$tid", 'trace.pb.gz') =~ /accounting for (\d+)ns,/;
	is($shown, $times->{"$tid cpu"}, 'a thread by its tid');
};

subtest 'speedscope' => sub {
	for my $file (@recordings) {
		export('speedscope', $file, '-o', 'x.json');
		my $document = decode(slurp('x.json'));
		is($document->{'$schema'}, 'https://www.speedscope.app/file-format-schema.json', 'the schema');
		is_deeply(speedscope_times($document), times_of($file, '--idle'), "$file: the time of the report");
		cmp_ok($document->{activeProfileIndex}, '<', scalar @{$document->{profiles}}, 'one is shown first');
		ok((grep { $_->{name} eq 'main' } @{$document->{shared}{frames}}), 'main is there') if $file !~ /hostile/;
	}
	my $document = decode(slurp('x.json'));
	ok((grep { $_->{name} =~ /^\Q$escaped\E \(/ } @{$document->{profiles}}), 'names that are no text are escaped');
};

subtest 'otlp' => sub {
	for my $file (@recordings) {
		export('otlp', $file, '-o', 'x.otlp');
		my ($times, $strings) = otlp_times(slurp('x.otlp'));
		is_deeply($times, times_of($file, '--idle'), "$file: the time of the report");
		ok((grep { $_ eq $escaped } @$strings), 'names that are no text are escaped') if $file =~ /hostile/;
	}
};

subtest 'filters' => sub {
	my @options = ('--time', '1,3', '--class', 'io,lock,other');
	my $expected = times_of('trace.data', @options);
	export('speedscope', 'trace.data', '-o', 'x.json', '--idle=hide', @options);
	is_deeply(speedscope_times(decode(slurp('x.json'))), $expected, 'speedscope, without idle waits');
	export('otlp', 'trace.data', '-o', 'x.otlp', '--idle=hide', @options);
	is_deeply((otlp_times(slurp('x.otlp')))[0], $expected, 'otlp');
	export('pprof', 'trace.data', '-o', 'x.pb.gz', '--idle=hide', @options);
	!$has_go or is_deeply(pprof_times(pprof('-raw', 'x.pb.gz')), $expected, 'pprof');
};

subtest 'no samples' => sub {
	record(['-o', 'true.data'], 'true');
	for my $options ([], ['--class', 'lock']) {
		export('speedscope', 'true.data', '-o', 'x.json', @$options);
		my $document = decode(slurp('x.json'));
		is(@$options ? scalar @{$document->{profiles}} : 1, 1, 'speedscope has a profile in any case');
		speedscope_times($document);
		export('otlp', 'true.data', '-o', 'x.otlp', @$options);
		otlp_times(slurp('x.otlp'));
		export('pprof', 'true.data', '-o', 'x.pb.gz', @$options);
	}
	!$has_go or is(scalar(raw_samples(pprof('-raw', 'x.pb.gz'))), 0, 'nor has pprof');
};

subtest 'standard output' => sub {
	for my $format (@formats) {
		export($format, 'trace.data', '-o', 'same');
		is(export($format, 'trace.data', '-o', '-')->{out}, slurp('same'), "$format is the same");
	}
};

sub fails {
	my ($what, $error, @arguments) = @_;
	my $result = run($DWELL, 'export', @arguments);
	isnt($result->{status}, 0, "$what: it fails");
	like($result->{err}, $error, "$what: and says why");
	is(scalar(() = $result->{err} =~ /$error/g), 1, "$what: once");
	unlike($result->{err}, qr/wrote|sent/, "$what: and nothing else");
}

subtest 'what cannot be done' => sub {
	fails('no format', qr/no format is given.*\n  Formats are folded, .*speedscope/, '-i', 'trace.data');
	fails('an unknown format', qr/no format 'jpeg'\n  Formats are folded, .*speedscope/, '-f', 'jpeg', '-i', 'trace.data');
	fails("$_: a full disk", qr/No space left/, '-f', $_, '-i', 'trace.data', '-o', '/dev/full') for @formats;
	fails('a file and a URL', qr/--to and -o/, '-f', 'otlp', '--to', 'http://localhost', '-o', 'x', '-i', 'trace.data');
	fails('another format', qr/--to cannot be used with the format pprof/, '-f', 'pprof', '--to', 'localhost', '-i', 'trace.data');
	fails('another scheme', qr/neither an http nor an https URL/, '-f', 'otlp', '--to', 'ftp://localhost', '-i', 'trace.data');
	fails('no host', qr/has no host/, '-f', 'otlp', '--to', 'http:///v1', '-i', 'trace.data');
	is("@{[grep({ -e } 'jpeg', 'x'), glob '.dwell-*']}", '', 'nothing is left behind');
};

subtest 'help and completion name all formats' => sub {
	my ($all) = run($DWELL, 'export', '-f', 'jpeg')->{err} =~ /Formats are (.*)\./;
	my ($help) = run($DWELL, 'export', '--help')->{out} =~ /\nFormats:\n(.*)/s;
	my $names = join ', ', $help =~ /^  (\w+) +\S/mg;
	is($names, $all, 'help');
	my ($offered) = run($DWELL, 'completion', 'bash')->{out} =~ /(folded[\w |]*)/;
	is(join(' ', sort split /[ |]+/, $offered), join(' ', sort split /, /, $all), 'completion');
};

# Answers one request after another by the path, on loopback; its first line of output is the port.
my $server = <<'SERVER';
use IO::Socket::INET;
my $socket = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1") or die;
my $why = "there is no receiver for profiles of this kind";
$| = 1;
print $socket->sockport, "\n";
while (my $client = $socket->accept) {
	my ($head, $body) = ("", "");
	while (defined(my $line = <$client>) && $head !~ /\r\n\r\n$/) {
		$head .= $line;
		last if $head =~ /\r\n\r\n$/;
	}
	my ($n) = $head =~ /^Content-Length: (\d+)/mi;
	read $client, $body, $n;
	open my $file, ">", "request" or die;
	print $file $head, $body;
	close $file;
	print $client $head =~ m{ /gone } ? "HTTP/1.1 404 Not Found\r\n\r\nno such\e[2J service\nsecond line\n"
		: $head =~ m{ /status } ? "HTTP/1.1 400 Bad Request\r\n\r\n" . "\x08\x03\x12" . chr(length $why) . $why
		: $head =~ m{ /busy } ? "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
		: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	close $client;
}
SERVER

subtest 'to a server' => sub {
	my $pid = start({name => 'server'}, 'perl', '-e', $server);
	ok(wait_for(180, sub { slurp('server.out') =~ /\n/ }), 'a server') or return;
	my ($port) = slurp('server.out') =~ /(\d+)/;
	export('otlp', 'trace.data', '-o', 'trace.otlp');
	for (['', '/v1development/profiles'], ['/', '/v1development/profiles'], ['/other?a=b', '/other?a=b']) {
		my ($given, $path) = @$_;
		my $result = export('otlp', 'trace.data', '--to', "http://127.0.0.1:$port$given");
		like($result->{err}, qr{sent \d+ bytes to http://127\.0\.0\.1:$port\Q$path\E$}m, 'it says so');
		my ($head, $body) = split /\r\n\r\n/, slurp('request'), 2;
		like($head, qr{^POST \Q$path\E HTTP/1\.\d\r\n}, "'$given' is path $path");
		like($head, qr{^Content-Type: application/x-protobuf\r?$}m, 'the type');
		is($body eq slurp('trace.otlp'), 1, 'what is sent is the file');
	}
	fails('not found', qr/HTTP status 404: no such\\x1b\[2J service\n/, '-f', 'otlp', '--to', "localhost:$port/gone", '-i', 'trace.data');
	fails('a status in protobuf', qr/HTTP status 400: there is no receiver for profiles of this kind\n/, '-f', 'otlp', '--to', "localhost:$port/status", '-i', 'trace.data');
	fails('busy', qr/HTTP status 503\n/, '-f', 'otlp', '--to', "http://127.0.0.1:$port/busy", '-i', 'trace.data');
	stop($pid);
	fails('nobody there', qr/cannot send to .*(refused|connect to)/i, '-f', 'otlp', '--to', "http://127.0.0.1:$port", '-i', 'trace.data');
	mkdir 'lib';
	spew("lib/$_", '') for 'libcurl.so.4', 'libcurl-gnutls.so.4';
	local $ENV{LD_LIBRARY_PATH} = "$DIR/lib";
	fails('no libcurl', qr/cannot load libcurl: .*\n  Install it: libcurl4 /, '-f', 'otlp', '--to', "http://127.0.0.1:$port", '-i', 'trace.data');
	unlike(run('readelf', '-d', $DWELL)->{out}, qr/curl/, 'dwell is not linked with libcurl');
};

done_testing();
