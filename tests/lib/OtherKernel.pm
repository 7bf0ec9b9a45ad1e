# SPDX-License-Identifier: BSD-2-Clause
#
# Makes dwell believe that the kernel is another one: other types than the kernel's own are mounted where it
# reads them (tests/programs/other_types.c).
package OtherKernel;

use strict;
use warnings;

use Exporter 'import';
use Dwell;

our @EXPORT = qw($TYPES @AS_5_15 @FEXIT_OF_SCHEDULE make_types in_types);

our $TYPES = '/sys/kernel/btf/vmlinux';

# What later kernels have, and 5.15 does not, as far as dwell looks for it. wake_cpu is nearly always the CPU.
our @AS_5_15 = ('bpf_loop=none', 'bpf_copy_from_user_task=none', 'btf_trace_contention_begin=none',
	'btf_trace_contention_end=none', 'sock.sk_rx_dst_ifindex=none', 'thread_info.cpu=none', 'task_struct.wake_cpu=cpu');

# Compilers split finish_task_switch(), to which the rung fexit attaches. schedule() returns after it, in the same
# thread; only a thread that is preempted in the kernel does not go through it.
our @FEXIT_OF_SCHEDULE = ((-r $TYPES && slurp($TYPES) =~ /\0finish_task_switch\0/ ? 'finish_task_switch=split' : ()),
	'schedule=finish_task_switch'); # the types of 7.2 have the split one, by its old name

# Writes the kernel's types with these changes to a file in the test's directory; returns its path.
sub make_types {
	my ($name, @changes) = @_;
	my $made = run({seconds => 60}, program('other_types'), "$DIR/$name", @changes);
	die $made->{err} if $made->{status};
	return "$DIR/$name";
}

# The words in front of a command that is to find the types in $file, in mounts of its own.
sub in_types {
	my ($file) = @_;
	return ('unshare', '--mount', '--propagation', 'private', 'sh', '-c',
		"mount --bind \"\$0\" $TYPES && exec \"\$@\"", $file);
}

1;
