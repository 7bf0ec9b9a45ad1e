// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/perfetto/perfetto_packets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SEQUENCE 1 /* of all packets: any number but 0 */

/* TracePacket.SequenceFlags */
#define STATE_CLEARED 1
#define NEEDS_STATE   2

#define CLOCK_ID_MONOTONIC 3 /* of BuiltinClock */

/* Messages { iid, text } of InternedData: its field, and theirs of the text. */
static const struct {
	uint32_t field;
	uint32_t text;
} interned_fields[INTERNED_COUNT] = {
	[INTERNED_CATEGORY] = {1, 2},	     [INTERNED_EVENT_NAME] = {2, 2},
	[INTERNED_ANNOTATION_NAME] = {3, 2}, [INTERNED_ANNOTATION_VALUE] = {29, 2},
	[INTERNED_FUNCTION] = {5, 2},	     [INTERNED_SOURCE] = {18, 2},
	[INTERNED_PATH] = {17, 2},	     [INTERNED_KERNEL_SYMBOL] = {26, 2},
};

void perfetto_packets__free(struct perfetto_writer *writer)
{
	for (int i = 0; i < INTERNED_COUNT; i++)
		intern__free(&writer->strings[i]);
	map64__free(&writer->sent_stacks);
	map64__free(&writer->sent_dsos);
	chain_tree__free(&writer->tree);
	buffer__free(&writer->event.out);
	buffer__free(&writer->interned.out);
	buffer__free(&writer->packet.out);
	buffer__free(&writer->text);
	buffer__free(&writer->waker);
}

int perfetto__error(const struct perfetto_writer *writer)
{
	if (writer->failed || writer->event.out.failed || writer->interned.out.failed ||
	    writer->packet.out.failed || writer->text.failed || writer->waker.failed)
		return -ENOMEM;
	return ferror(writer->to) ? -EIO : 0;
}

/* What holds for all packets after the first one. */
static void put_defaults(struct protobuf *packet)
{
	size_t defaults = protobuf__begin(packet, 59), samples, descriptor;

	protobuf__varint(packet, 58, CLOCK_ID_MONOTONIC); /* timestamp_clock_id */
	samples = protobuf__begin(packet, 100);		  /* stack_sample_defaults */
	protobuf__string(packet, 1, "dwell");		  /* source */
	descriptor = protobuf__begin(packet, 2);	  /* primary_descriptor */
	protobuf__string(packet, 2, "cpu-time");
	protobuf__varint(packet, 3, 1); /* UNIT_NANOSECONDS */
	protobuf__end(packet, descriptor);
	protobuf__end(packet, samples);
	protobuf__end(packet, defaults);
}

void perfetto__packet(struct perfetto_writer *writer, enum perfetto_payload payload, uint64_t time)
{
	struct protobuf *packet = &writer->packet;
	struct buffer head = {};

	packet->out.n = 0;
	if (time)
		protobuf__varint(packet, 8, time);
	protobuf__varint(packet, 10, SEQUENCE);
	protobuf__varint(packet, 13, writer->began ? NEEDS_STATE : STATE_CLEARED);
	if (!writer->began)
		put_defaults(packet);
	if (writer->interned.out.n)
		protobuf__bytes(packet, 12, writer->interned.out.data, writer->interned.out.n);
	protobuf__bytes(packet, payload, writer->event.out.data, writer->event.out.n);
	writer->began = true;
	writer->interned.out.n = 0;
	writer->event.out.n = 0;
	/* Trace.packet */
	buffer__varint(&head, 1 << 3 | 2);
	buffer__varint(&head, packet->out.n);
	if (head.failed || packet->out.failed)
		writer->failed = true;
	else {
		fwrite(head.data, 1, head.n, writer->to);
		fwrite(packet->out.data, 1, packet->out.n, writer->to);
	}
	buffer__free(&head);
}

uint64_t perfetto__intern(struct perfetto_writer *writer, enum perfetto_interned kind,
			  const char *text)
{
	bool fresh = false;
	int64_t id = intern__id(&writer->strings[kind], text, strlen(text), &fresh);
	size_t entry;

	if (id < 0) {
		writer->failed = true;
		return 0;
	}
	if (fresh) {
		entry = protobuf__begin(&writer->interned, interned_fields[kind].field);
		protobuf__varint(&writer->interned, 1, (uint64_t)id + 1);
		protobuf__string(&writer->interned, interned_fields[kind].text, text);
		protobuf__end(&writer->interned, entry);
	}
	return (uint64_t)id + 1;
}

static bool is_first(struct perfetto_writer *writer, struct map64 *sent, uint64_t key)
{
	size_t n = sent->n;

	if (!map64__put(sent, key, 1))
		writer->failed = true;
	return sent->n > n;
}

/* A mapping of the whole file stands for all of its mappings. */
static uint64_t mapping_of(struct perfetto_writer *writer, uint32_t dso)
{
	const struct model *model = writer->model;
	struct protobuf *interned = &writer->interned;
	uint64_t path;
	size_t mark;

	if (!is_first(writer, &writer->sent_dsos, dso))
		return dso + 1;
	path = perfetto__intern(
		writer, INTERNED_PATH,
		export_text(&writer->text, model__string(model, dso ? model->dsos.data[dso].path
								    : model->dsos.data[0].name)));
	mark = protobuf__begin(interned, 19);
	protobuf__varint(interned, 1, dso + 1);
	protobuf__varint(interned, 7, path);
	protobuf__end(interned, mark);
	return dso + 1;
}

static void send_frame(struct perfetto_writer *writer, size_t index)
{
	const struct chain_frame *frame = &writer->tree.frames.data[index];
	struct protobuf *interned = &writer->interned;
	uint64_t mapping = mapping_of(writer, frame->dso);
	uint64_t name, file = 0;
	char address[24];
	size_t mark;

	name = perfetto__intern(
		writer, INTERNED_FUNCTION,
		export_text(&writer->text, chain_frame__text(frame, writer->model, address)));
	if (frame->file)
		file = perfetto__intern(
			writer, INTERNED_SOURCE,
			export_text(&writer->text, model__string(writer->model, frame->file)));
	mark = protobuf__begin(interned, 6);
	protobuf__varint(interned, 1, index + 1);
	protobuf__varint(interned, 2, name);
	protobuf__varint(interned, 3, mapping);
	protobuf__varint(interned, 4, frame->address); /* rel_pc */
	if (file)
		protobuf__varint(interned, 5, file);
	if (frame->line)
		protobuf__varint(interned, 6, frame->line);
	protobuf__varint(interned, 7, frame->kernel ? 2 : 1); /* KIND_KERNEL, KIND_NATIVE */
	protobuf__end(interned, mark);
}

/* Frame ids are outermost first. */
static void put_frames(struct perfetto_writer *writer, uint32_t node)
{
	const struct chain_tree *tree = &writer->tree;
	uint32_t depth = 0;

	for (uint32_t at = node; at; at = tree->nodes.data[at].parent)
		depth++;
	for (uint32_t i = depth; i--;) {
		uint32_t at = node;

		for (uint32_t up = 0; up < i; up++)
			at = tree->nodes.data[at].parent;
		protobuf__varint(&writer->interned, 2, tree->nodes.data[at].frame + 1);
	}
}

uint64_t perfetto__callstack(struct perfetto_writer *writer, uint32_t kernel, uint32_t user,
			     bool off_cpu)
{
	int64_t node = chain_tree__add(&writer->tree, writer->model, kernel, user, off_cpu);
	size_t mark;

	if (node < 0)
		writer->failed = true;
	if (node <= 0)
		return 0;
	for (; writer->sent_frames < writer->tree.frames.n; writer->sent_frames++)
		send_frame(writer, writer->sent_frames);
	if (is_first(writer, &writer->sent_stacks, (uint64_t)node)) {
		mark = protobuf__begin(&writer->interned, 7);
		protobuf__varint(&writer->interned, 1, (uint64_t)node);
		put_frames(writer, (uint32_t)node);
		protobuf__end(&writer->interned, mark);
	}
	return (uint64_t)node;
}

uint64_t perfetto__track(enum perfetto_track track, uint32_t index)
{
	return (uint64_t)track << 32 | index;
}

void perfetto__begin_event(struct perfetto_writer *writer, enum perfetto_event type, uint64_t track)
{
	protobuf__varint(&writer->event, 9, type);
	protobuf__varint(&writer->event, 11, track);
}

void perfetto__put_name(struct perfetto_writer *writer, const char *name)
{
	protobuf__varint(&writer->event, 10, perfetto__intern(writer, INTERNED_EVENT_NAME, name));
}

void perfetto__put_category(struct perfetto_writer *writer, const char *category)
{
	protobuf__varint(&writer->event, 3, perfetto__intern(writer, INTERNED_CATEGORY, category));
}

void perfetto__put_annotation(struct perfetto_writer *writer, const char *name, const char *value)
{
	uint64_t name_id = perfetto__intern(writer, INTERNED_ANNOTATION_NAME, name);
	uint64_t value_id = perfetto__intern(writer, INTERNED_ANNOTATION_VALUE, value);
	size_t mark = protobuf__begin(&writer->event, 4);

	protobuf__varint(&writer->event, 1, name_id);
	protobuf__varint(&writer->event, 17, value_id);
	protobuf__end(&writer->event, mark);
}

void perfetto__put_number(struct perfetto_writer *writer, const char *name, uint64_t value)
{
	uint64_t name_id = perfetto__intern(writer, INTERNED_ANNOTATION_NAME, name);
	size_t mark = protobuf__begin(&writer->event, 4);

	protobuf__varint(&writer->event, 1, name_id);
	protobuf__varint(&writer->event, 3, value);
	protobuf__end(&writer->event, mark);
}

void perfetto__slice_begin(struct perfetto_writer *writer, uint64_t track, uint64_t time,
			   const char *name, const char *category)
{
	perfetto__begin_event(writer, PERFETTO_BEGIN, track);
	perfetto__put_name(writer, name);
	perfetto__put_category(writer, category);
	perfetto__packet(writer, PERFETTO_TRACK_EVENT, time);
}

void perfetto__slice_end(struct perfetto_writer *writer, uint64_t track, uint64_t time)
{
	perfetto__begin_event(writer, PERFETTO_END, track);
	perfetto__packet(writer, PERFETTO_TRACK_EVENT, time);
}
