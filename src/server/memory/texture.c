/*
 * Texture and surface objects.  Kernels use their values directly, so the client gets the driver's own; a value that
 * comes back is looked up among the objects of this session before the driver sees it.
 */
#include "server/memory/texture.h"

#include <stdlib.h>
#include "server/quota/account.h"
#include "server/session/message.h"

struct texture_object {
	struct map_node node; /* key: the driver's value */
	bool surface;
	CUcontext context;
};

static void texture_forget(struct session *s, struct texture_object *o)
{
	map_remove(&s->textures, &o->node);
	account_objects(s->account, -1);
	free(o);
}

void textures_context_ended(struct session *s, CUcontext context)
{
	struct map_node *n;

	for (uint64_t from = 0; (n = map_above(&s->textures, from));) {
		struct texture_object *o = (struct texture_object *)n;

		from = n->key + 1;
		if (o->context == context)
			texture_forget(s, o);
	}
}

static struct texture_object *texture_find(struct msg *m, uint64_t value, bool surface)
{
	struct texture_object *o = (struct texture_object *)map_find(&m->session->textures, value);

	if (o && o->surface == surface)
		return o;
	m->error = CUDA_ERROR_INVALID_VALUE;
	return NULL;
}

/* Replaces handles in a description by the driver's objects; resource_handles_out() does the reverse. */
static void resource_handles_in(struct msg *m, CUDA_RESOURCE_DESC *d)
{
	if (d->resType == CU_RESOURCE_TYPE_ARRAY)
		d->res.array.hArray = msg_handle(m, HANDLE_CUarray, (uintptr_t)d->res.array.hArray);
	else if (d->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		d->res.mipmap.hMipmappedArray =
			msg_handle(m, HANDLE_CUmipmappedArray, (uintptr_t)d->res.mipmap.hMipmappedArray);
}

static void resource_handles_out(struct msg *m, CUDA_RESOURCE_DESC *d)
{
	struct handles *h = m->session->handles;

	if (d->resType == CU_RESOURCE_TYPE_ARRAY)
		d->res.array.hArray = (CUarray)(uintptr_t)handles_give(h, HANDLE_CUarray, d->res.array.hArray);
	else if (d->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		d->res.mipmap.hMipmappedArray = (CUmipmappedArray)(uintptr_t)handles_give(
			h, HANDLE_CUmipmappedArray, d->res.mipmap.hMipmappedArray);
}

void serve_texture(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_texture a;
	struct texture_object *o;

	msg_args(m, &a, sizeof a);
	uint64_t *out = msg_out(m, true, sizeof *out);
	resource_handles_in(m, &a.resource);
	if (msg_bad(m))
		return;
	o = calloc(1, sizeof *o);
	if (!o)
		msg_result(m, CUDA_ERROR_OUT_OF_MEMORY);
	else if (a.surface)
		msg_result(m, ops->cuSurfObjectCreate((CUsurfObject *)out, &a.resource));
	else
		msg_result(m, ops->cuTexObjectCreate(
				      (CUtexObject *)out, &a.resource, &a.texture, a.has_view ? &a.view : NULL));
	if (m->result) {
		free(o);
		return;
	}
	struct map_node *same = map_find(&m->session->textures, *out);
	if (same) /* the driver has reused the value of an object that ended with its context */
		texture_forget(m->session, (struct texture_object *)same);
	o->node.key = *out;
	o->surface = a.surface;
	o->context = m->session->context;
	map_insert(&m->session->textures, &o->node);
	account_objects(m->session->account, 1);
}

static void texture_destroy(struct msg *m, CUresult (*destroy)(unsigned long long value), bool surface)
{
	uint64_t value;
	struct wire_cuTexObjectDestroy a;

	msg_args(m, &a, sizeof a);
	value = a.texObject;
	struct texture_object *o =
		m->broken || !value ? NULL : texture_find(m, value, surface); /* the driver itself answers for 0 */
	if (msg_bad(m))
		return;
	msg_result(m, destroy(value));
	if (!m->result && o)
		texture_forget(m->session, o);
}

void serve_cuTexObjectDestroy(const struct cuda_ops *ops, struct msg *m)
{
	texture_destroy(m, ops->cuTexObjectDestroy, false);
}

void serve_cuSurfObjectDestroy(const struct cuda_ops *ops, struct msg *m)
{
	_Static_assert(sizeof(struct wire_cuSurfObjectDestroy) == sizeof(struct wire_cuTexObjectDestroy),
		"texture_destroy() unpacks both");
	texture_destroy(m, ops->cuSurfObjectDestroy, true);
}

void serve_resource(const struct cuda_ops *ops, struct msg *m)
{
	struct {
		uint64_t object;
		uint64_t surface;
	} a;

	msg_args(m, &a, sizeof a);
	CUDA_RESOURCE_DESC *out = msg_out(m, true, sizeof *out);
	if (!m->broken)
		texture_find(m, a.object, a.surface);
	if (msg_bad(m))
		return;
	msg_result(m, a.surface ? ops->cuSurfObjectGetResourceDesc(out, a.object)
				: ops->cuTexObjectGetResourceDesc(out, a.object));
	if (!m->result)
		resource_handles_out(m, out);
}

void serve_cuTexObjectGetTextureDesc(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cuTexObjectGetTextureDesc a;

	msg_args(m, &a, sizeof a);
	CUDA_TEXTURE_DESC *out = msg_out(m, true, sizeof *out);
	if (!m->broken)
		texture_find(m, a.texObject, false);
	if (!msg_bad(m))
		msg_result(m, ops->cuTexObjectGetTextureDesc(out, a.texObject));
}

void serve_cuTexObjectGetResourceViewDesc(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cuTexObjectGetResourceViewDesc a;

	msg_args(m, &a, sizeof a);
	CUDA_RESOURCE_VIEW_DESC *out = msg_out(m, true, sizeof *out);
	if (!m->broken)
		texture_find(m, a.texObject, false);
	if (!msg_bad(m))
		msg_result(m, ops->cuTexObjectGetResourceViewDesc(out, a.texObject));
}
