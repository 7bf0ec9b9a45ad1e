#include "render/export/protobuf.h"
#include <string.h>
void protobuf__varint(struct protobuf *p, uint32_t f, uint64_t v) { buffer__varint(&p->out, f << 3); buffer__varint(&p->out, v); }
void protobuf__fixed64(struct protobuf *p, uint32_t f, uint64_t v) { buffer__varint(&p->out, f << 3 | 1); buffer__put(&p->out, &v, 8); }
void protobuf__double(struct protobuf *p, uint32_t f, double v) { buffer__varint(&p->out, f << 3 | 1); buffer__put(&p->out, &v, 8); }
void protobuf__bytes(struct protobuf *p, uint32_t f, const void *d, size_t n) { buffer__varint(&p->out, f << 3 | 2); buffer__varint(&p->out, n); buffer__put(&p->out, d, n); }
void protobuf__string(struct protobuf *p, uint32_t f, const char *s) { protobuf__bytes(p, f, s, strlen(s)); }
size_t protobuf__begin(struct protobuf *p, uint32_t f) { buffer__varint(&p->out, f << 3 | 2); buffer__put(&p->out, "", 1); return p->out.n; }
void protobuf__end(struct protobuf *p, size_t mark)
{
	size_t n = p->out.n - mark; struct buffer len = {};
	if (p->out.failed) return;
	buffer__varint(&len, n);
	buffer__put(&p->out, "\0\0\0\0\0\0\0\0\0\0", len.n - 1);
	memmove(p->out.data + mark + len.n - 1, p->out.data + mark, n);
	memcpy(p->out.data + mark - 1, len.data, len.n);
	buffer__free(&len);
}
