/* STUB - replaced */
#pragma once
#include "base/buffer.h"
struct protobuf { struct buffer out; };
void protobuf__varint(struct protobuf *p, uint32_t field, uint64_t v);
void protobuf__fixed64(struct protobuf *p, uint32_t field, uint64_t v);
void protobuf__double(struct protobuf *p, uint32_t field, double v);
void protobuf__bytes(struct protobuf *p, uint32_t field, const void *d, size_t n);
void protobuf__string(struct protobuf *p, uint32_t field, const char *s);
size_t protobuf__begin(struct protobuf *p, uint32_t field);
void protobuf__end(struct protobuf *p, size_t mark);
