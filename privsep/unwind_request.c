// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/unwind_request.h"

#include <errno.h>
#include <unistd.h>

#include "privsep/parser_wire.h"

int unwind_request__send(struct parser *parser, const struct parser_request *request,
			 size_t max_rows)
{
	struct parser_request full = *request;
	struct buffer what = {};
	int err = -ENOMEM;

	buffer__varint(&what, request->fd < 0 ? PARSER_VDSO_TABLE : PARSER_UNWIND_TABLE);
	buffer__varint(&what, max_rows);
	full.what = &what;
	full.has_result = true;
	if (!what.failed)
		err = parser__request(parser, &full);
	buffer__free(&what);
	return err;
}

/* Linked addresses are below 4 GiB, as those of rows. */
static void decode_segment(struct cursor *fields, struct unwind_segment *segment)
{
	uint64_t address;

	segment->offset = wire__number(fields, INT64_MAX);
	segment->size = wire__number(fields, UINT32_MAX);
	segment->bias = wire__signed(fields);
	address = segment->offset + (uint64_t)segment->bias;
	if (!segment->size || address > UINT32_MAX || segment->size > UINT32_MAX - address)
		fields->bad = true;
}

int unwind_answer__decode(struct cursor *fields, size_t max_rows, struct unwind_answer *answer)
{
	answer->n_rows = wire__number(fields, max_rows);
	answer->n_segments = wire__number(fields, UNWIND_MAX_SEGMENTS);
	for (size_t i = 0; i < answer->n_segments; i++)
		decode_segment(fields, &answer->segments[i]);
	return fields->bad || cursor__left(fields) || !answer->n_rows || !answer->n_segments
		       ? -EPROTO
		       : 0;
}

bool unwind_answer__is_valid(const struct unwind_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((i && rows[i].pc <= rows[i - 1].pc) ||
		    UNWIND_CFA(&rows[i]) > UNWIND_CFA_FP_SWITCH ||
		    UNWIND_FP(&rows[i]) > UNWIND_FP_FRAME)
			return false;
	return true;
}

int unwind_answer__read_rows(int result, struct unwind_row *rows, size_t n)
{
	size_t size = n * sizeof(*rows), done = 0;

	while (done < size) {
		ssize_t got = pread(result, (char *)rows + done, size - done, (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -EIO : -EPROTO;
		done += (size_t)got;
	}
	return unwind_answer__is_valid(rows, n) ? 0 : -EPROTO;
}
