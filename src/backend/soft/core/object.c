/* Objects: handles, references, and the list of objects that a context owns. */
#include "backend/soft/core/soft.h"

#include <errno.h>

static void object_release(void *object)
{
	struct driver_object *o = object;
	struct context *ctx = o->ctx;

	o->release(object);
	object_put(ctx);
}

/* A context that has ended accepts no object, because it would never close the object. */
static int object_join_context(struct driver_object *o, struct context *ctx, bool held)
{
	int err = 0;

	pthread_mutex_lock(&ctx->lock);
	if (atomic_load(&ctx->closed))
		err = -ECANCELED;
	else
		o->handle = handle_create(&soft.handles, o->kind, o, object_release);
	if (o->handle) {
		object_ref(ctx);
		list_append(&ctx->objects, &o->link);
		if (held)
			object_ref(o);
	}
	pthread_mutex_unlock(&ctx->lock);
	return err;
}

static int object_init_with(
	struct driver_object *o, enum object_kind kind, struct context *ctx, void (*release)(void *object), bool held)
{
	int err = 0;

	o->kind = kind;
	o->release = release;
	o->ctx = ctx;
	list_init(&o->link);
	if (ctx)
		err = object_join_context(o, ctx, held);
	else
		o->handle = handle_create(&soft.handles, kind, o, object_release);
	if (!ctx && held && o->handle)
		object_ref(o); /* no other thread knows the handle yet */
	return err ? err : o->handle ? 0 : -ENOMEM;
}

int object_init(struct driver_object *o, enum object_kind kind, struct context *ctx, void (*release)(void *object))
{
	return object_init_with(o, kind, ctx, release, false);
}

int object_init_held(struct driver_object *o, enum object_kind kind, struct context *ctx, void (*release)(void *object))
{
	return object_init_with(o, kind, ctx, release, true);
}

void *object_find64(uint64_t handle, enum object_kind kind)
{
	return handle_get(&soft.handles, handle, kind);
}

void *object_find(const void *handle, enum object_kind kind)
{
	return object_find64((uintptr_t)handle, kind);
}

void object_ref(void *object)
{
	handle_ref(&soft.handles, ((struct driver_object *)object)->handle);
}

void object_put(void *object)
{
	if (object)
		handle_put(&soft.handles, ((struct driver_object *)object)->handle);
}

/* The caller holds its own reference. */
bool object_close(void *object)
{
	struct driver_object *o = object;

	if (o->ctx) {
		pthread_mutex_lock(&o->ctx->lock);
		list_remove(&o->link);
		pthread_mutex_unlock(&o->ctx->lock);
	}
	return handle_close(&soft.handles, o->handle, o->kind);
}
