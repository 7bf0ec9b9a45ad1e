// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/pprof/gzip_stream.h"

#include <errno.h>

#define GZIP_HEADER    16 /* added to the window size: see deflateInit2() */
#define DEFAULT_MEMORY 8
#define LARGEST_PIECE  (1U << 30)

int gzip_stream__begin(struct gzip_stream *stream, FILE *to)
{
	stream->to = to;
	stream->zlib = (z_stream){};
	return deflateInit2(&stream->zlib, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + GZIP_HEADER,
			    DEFAULT_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK
		       ? 0
		       : -ENOMEM;
}

/* Compresses the input until all of it was taken; with Z_FINISH, until all was written. */
static void compress_input(struct gzip_stream *stream, int flush)
{
	do {
		stream->zlib.next_out = stream->out;
		stream->zlib.avail_out = sizeof(stream->out);
		deflate(&stream->zlib, flush);
		fwrite(stream->out, 1, sizeof(stream->out) - stream->zlib.avail_out, stream->to);
	} while (!stream->zlib.avail_out);
}

void gzip_stream__put(struct gzip_stream *stream, const void *data, size_t n)
{
	const uint8_t *at = data;

	while (n) {
		size_t piece = n < LARGEST_PIECE ? n : LARGEST_PIECE;

		stream->zlib.next_in = (Bytef *)at;
		stream->zlib.avail_in = (uInt)piece;
		compress_input(stream, Z_NO_FLUSH);
		at += piece;
		n -= piece;
	}
}

void gzip_stream__end(struct gzip_stream *stream)
{
	stream->zlib.avail_in = 0;
	compress_input(stream, Z_FINISH);
	deflateEnd(&stream->zlib);
}
