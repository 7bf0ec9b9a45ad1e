// SPDX-License-Identifier: BSD-2-Clause
#include "recording/file_type.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/format.h"

#define HINT_RECORD "Name a file written by: dwell record -o FILE -- COMMAND"
#define HINT_UNPACK "If a recording is inside, unpack it first."

#define FILE_TYPE(magic, what, hint)                                                               \
	{                                                                                          \
		(magic), sizeof(magic) - 1, (what), (hint)                                         \
	}

/* In order of preference: longer magic numbers come before their prefixes. */
static const struct file_type file_types[] = {
	FILE_TYPE(FORMAT_SYNC, "one with damaged first bytes, as after a transfer as text",
		  "Transfer it again, as binary."),
	FILE_TYPE("PERFILE2", "a perf.data file of perf", "Read it with: perf report -i FILE"),
	FILE_TYPE("2ELIFREP", "a perf.data file of perf, from a machine of the other byte order",
		  "Read it with: perf report -i FILE"),
	FILE_TYPE("\x17\x08\x44tracing", "a trace.dat file of trace-cmd",
		  "Read it with: trace-cmd report FILE"),
	FILE_TYPE("Ftrace!", "a recording of uftrace", "Read it with: uftrace replay"),
	FILE_TYPE("FLR\0", "a recording of Java Flight Recorder", "Read it with: jfr summary FILE"),
	FILE_TYPE("\xc1\x1f\xfc\xc1", "an LTTng (CTF) trace", "Read it with: babeltrace2"),
	FILE_TYPE("\x1f\x8b", "compressed with gzip (a pprof profile is, too)", HINT_UNPACK),
	FILE_TYPE("\x28\xb5\x2f\xfd", "compressed with zstd", HINT_UNPACK),
	FILE_TYPE("\xfd"
		  "7zXZ\0",
		  "compressed with xz", HINT_UNPACK),
	FILE_TYPE("BZh", "compressed with bzip2", HINT_UNPACK),
	FILE_TYPE("\x04\x22\x4d\x18", "compressed with lz4", HINT_UNPACK),
	FILE_TYPE("PK\x03\x04", "a zip archive", HINT_UNPACK),
	FILE_TYPE("\x7f"
		  "ELF",
		  "a program, library or core dump (ELF)", HINT_RECORD),
	FILE_TYPE("\xd4\xc3\xb2\xa1", "a network capture (pcap)", HINT_RECORD),
	FILE_TYPE("\xa1\xb2\xc3\xd4", "a network capture (pcap)", HINT_RECORD),
	FILE_TYPE("\x4d\x3c\xb2\xa1", "a network capture (pcap)", HINT_RECORD),
	FILE_TYPE("\x0a\x0d\x0d\x0a", "a capture of Wireshark (pcapng) or sysdig", HINT_RECORD),
	FILE_TYPE("SQLite format 3", "an SQLite database", HINT_RECORD),
	FILE_TYPE("!<arch>\n", "a static library", HINT_RECORD),
	FILE_TYPE("{\"type\":\"run\",\"version\":", "a causal profile",
		  "Read it with: dwell causal report FILE"),
	FILE_TYPE("{", "a JSON document",
		  "Views are made from the recording, not from its exports."),
	FILE_TYPE("[", "a JSON document",
		  "Views are made from the recording, not from its exports."),
	FILE_TYPE("<", "an HTML or XML document",
		  "Views are made from the recording, not from its exports."),
	FILE_TYPE("#!", "a script", "To record it: dwell record -- FILE"),
};

static const struct file_type text = {
	.what = "a text file",
	.hint = HINT_RECORD,
};

static bool is_text(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] < 0x20 && !strchr("\t\n\r\f\x1b", bytes[i] ? bytes[i] : 1))
			return false;
	return true;
}

const struct file_type *file_type__recognize(const void *head, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(file_types); i++)
		if (size >= file_types[i].size &&
		    !memcmp(head, file_types[i].bytes, file_types[i].size))
			return &file_types[i];
	return is_text(head, size) ? &text : NULL;
}
