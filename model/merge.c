// SPDX-License-Identifier: BSD-2-Clause
/*
 * A recorder writes DSOs and objects again, with new numbers, that it has not used for long
 * (recording/record_stream.h): in the model they are one.
 */
#include "model/loader.h"

static bool are_same_dso(const struct model_dso *a, const struct model_dso *b)
{
	return a->path == b->path && a->build_id == b->build_id && a->kind == b->kind &&
	       a->deleted == b->deleted && a->pid == b->pid;
}

uint32_t model_loader__merge_dso(struct model_loader *loader, const struct model_dso *dso)
{
	struct model *model = loader->model;
	uint64_t key = hash__add(hash__add(dso->path, dso->build_id), dso->kind);
	uint64_t *index;

	/* Keys are hashes: linear probing on collisions. */
	for (key = hash__add(hash__add(key, dso->deleted), dso->pid);; key++) {
		index = map64__put(&loader->dsos_by_hash, key, model->dsos.n);
		if (!index || *index == model->dsos.n)
			break;
		if (are_same_dso(&model->dsos.data[*index], dso))
			return (uint32_t)*index;
	}
	return index && !array__push(&model->dsos, *dso) ? (uint32_t)*index : 0;
}

static bool are_same_object(const struct model_object *a, const struct model_object *b)
{
	return a->type == b->type && a->id == b->id && a->extra == b->extra && a->mode == b->mode &&
	       a->family == b->family && a->protocol == b->protocol && a->side == b->side &&
	       a->name == b->name && a->local == b->local && a->hold == b->hold &&
	       a->owner_pid == b->owner_pid && a->owner == b->owner;
}

static uint64_t object_hash(const struct model_object *object)
{
	uint64_t hash = hash__add(hash__add(object->type, object->id), object->extra);

	hash = hash__add(hash__add(hash, object->mode), object->side);
	hash = hash__add(hash, (uint64_t)object->owner_pid << 8 | object->hold);
	return hash__add(hash__add(hash, object->name), object->local);
}

uint32_t model_loader__merge_object(struct model_loader *loader, const struct model_object *object)
{
	struct model *model = loader->model;
	uint64_t *index;

	for (uint64_t key = object_hash(object);; key++) {
		index = map64__put(&loader->objects_by_hash, key, model->objects.n);
		if (!index || *index == model->objects.n)
			break;
		if (are_same_object(&model->objects.data[*index], object))
			return (uint32_t)*index;
	}
	return index && !array__push(&model->objects, *object) ? (uint32_t)*index : 0;
}
