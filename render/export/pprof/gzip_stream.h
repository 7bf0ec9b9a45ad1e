/* SPDX-License-Identifier: BSD-2-Clause */
/* A gzip file that is written piece by piece. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

struct gzip_stream {
	FILE *to; /* stays the caller's; errors of it stay in it */
	z_stream zlib;
	uint8_t out[1 << 15];
};

/* Returns 0 or -ENOMEM; then gzip_stream__end() is not needed. */
int gzip_stream__begin(struct gzip_stream *stream, FILE *to);
void gzip_stream__put(struct gzip_stream *stream, const void *data, size_t n);

/* Writes what is left, and frees @stream. */
void gzip_stream__end(struct gzip_stream *stream);
