// SPDX-License-Identifier: BSD-2-Clause
#include "recording/foreign.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/format.h"

#define MEND_RECORD "Name a file written by: dwell record -o FILE -- COMMAND"
#define MEND_UNPACK "If a recording is inside, unpack it first."

#define FOREIGN(magic, what, mend)                                                                 \
	{                                                                                          \
		(magic), sizeof(magic) - 1, (what), (mend)                                         \
	}

/* A longer magic stands before a shorter one that begins alike. */
static const struct foreign foreigners[] = {
	FOREIGN(FORMAT_SYNC, "one with damaged first bytes, as after a transfer as text",
		"Transfer it again, as binary."),
	FOREIGN("PERFILE2", "a perf.data file of perf", "Read it with: perf report -i FILE"),
	FOREIGN("2ELIFREP", "a perf.data file of perf, from a machine of the other byte order",
		"Read it with: perf report -i FILE"),
	FOREIGN("\x17\x08\x44tracing", "a trace.dat file of trace-cmd",
		"Read it with: trace-cmd report FILE"),
	FOREIGN("Ftrace!", "a recording of uftrace", "Read it with: uftrace replay"),
	FOREIGN("FLR\0", "a recording of Java Flight Recorder", "Read it with: jfr summary FILE"),
	FOREIGN("\xc1\x1f\xfc\xc1", "an LTTng (CTF) trace", "Read it with: babeltrace2"),
	FOREIGN("\x1f\x8b", "compressed with gzip (a pprof profile is, too)", MEND_UNPACK),
	FOREIGN("\x28\xb5\x2f\xfd", "compressed with zstd", MEND_UNPACK),
	FOREIGN("\xfd"
		"7zXZ\0",
		"compressed with xz", MEND_UNPACK),
	FOREIGN("BZh", "compressed with bzip2", MEND_UNPACK),
	FOREIGN("\x04\x22\x4d\x18", "compressed with lz4", MEND_UNPACK),
	FOREIGN("PK\x03\x04", "a zip archive", MEND_UNPACK),
	FOREIGN("\x7f"
		"ELF",
		"a program, library or core dump (ELF)", MEND_RECORD),
	FOREIGN("\xd4\xc3\xb2\xa1", "a network capture (pcap)", MEND_RECORD),
	FOREIGN("\xa1\xb2\xc3\xd4", "a network capture (pcap)", MEND_RECORD),
	FOREIGN("\x4d\x3c\xb2\xa1", "a network capture (pcap)", MEND_RECORD),
	FOREIGN("\x0a\x0d\x0d\x0a", "a capture of Wireshark (pcapng) or sysdig", MEND_RECORD),
	FOREIGN("SQLite format 3", "an SQLite database", MEND_RECORD),
	FOREIGN("!<arch>\n", "a static library", MEND_RECORD),
	FOREIGN("{\"type\":\"run\",\"version\":", "a causal profile",
		"Read it with: dwell causal report FILE"),
	FOREIGN("{", "a JSON document", "Views are made from the recording, not from its exports."),
	FOREIGN("[", "a JSON document", "Views are made from the recording, not from its exports."),
	FOREIGN("<", "an HTML or XML document",
		"Views are made from the recording, not from its exports."),
	FOREIGN("#!", "a script", "To record it: dwell record -- FILE"),
};

static const struct foreign text = {
	.what = "a text file",
	.mend = MEND_RECORD,
};

static bool bytes__text(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] < 0x20 && !strchr("\t\n\r\f\x1b", bytes[i] ? bytes[i] : 1))
			return false;
	return true;
}

const struct foreign *foreign__recognize(const void *head, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(foreigners); i++)
		if (size >= foreigners[i].size &&
		    !memcmp(head, foreigners[i].bytes, foreigners[i].size))
			return &foreigners[i];
	return bytes__text(head, size) ? &text : NULL;
}
