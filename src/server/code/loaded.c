/* Keeps the images of loaded code for as long as the driver may read them, and no longer. */
#include <stdlib.h>
#include "abi/fatbin.h"
#include "server/code/code.h"

struct loaded_code {
	struct map_node node; /* key: the driver's module or library */
	CUcontext context;
	struct fatbin_wrapper *wrapper; /* of the parts of a linked program; NULL: one image */
	unsigned count;
	struct session_image *images[];
};

/* A wrapper around the parts of a linked program, as the driver expects it. */
static struct fatbin_wrapper *parts_wrap(struct session_image *const *parts, unsigned count)
{
	struct fatbin_wrapper *w = malloc(sizeof *w + count * sizeof(void *));
	const void **more = (const void **)(w + 1);

	if (!w)
		return NULL;
	for (unsigned i = 1; i < count; i++)
		more[i - 1] = image_bytes(parts[i]);
	more[count - 1] = NULL;
	*w = (struct fatbin_wrapper){FATBIN_WRAPPER_MAGIC, FATBIN_WRAPPER_LINKED, image_bytes(parts[0]), more};
	return w;
}

struct loaded_code *loaded_create(struct session_image *const *images, unsigned count)
{
	struct loaded_code *l = calloc(1, sizeof *l + count * sizeof *images);

	if (l && count > 1)
		l->wrapper = parts_wrap(images, count);
	if (!l || (count > 1 && !l->wrapper)) {
		free(l);
		return NULL;
	}
	l->count = count;
	memcpy(l->images, images, count * sizeof *images);
	return l;
}

const void *loaded_image(struct loaded_code *l)
{
	return l->wrapper ? (const void *)l->wrapper : image_bytes(l->images[0]);
}

void loaded_destroy(struct session *s, struct loaded_code *l)
{
	for (unsigned i = 0; i < l->count; i++)
		images_release(s, l->images[i]);
	free(l->wrapper);
	free(l);
}

static void loaded_remove(struct session *s, struct loaded_code *l)
{
	map_remove(&s->loaded, &l->node);
	loaded_destroy(s, l);
}

void loaded_add(struct session *s, struct loaded_code *l, void *real, CUcontext context)
{
	struct loaded_code *old = (struct loaded_code *)map_find(&s->loaded, (uintptr_t)real);

	if (old) /* the driver has reused the address of code that ended unseen */
		loaded_remove(s, old);
	l->node.key = (uintptr_t)real;
	l->context = context;
	map_insert(&s->loaded, &l->node);
}

CUresult code_unloaded(struct session *s, CUresult r, void *real)
{
	struct loaded_code *l = r ? NULL : (struct loaded_code *)map_find(&s->loaded, (uintptr_t)real);

	if (l)
		loaded_remove(s, l);
	if (!r)
		handles_owner_ended(s->handles, real);
	return r;
}

void loaded_context_ended(struct session *s, CUcontext context)
{
	struct map_node *n;

	for (uint64_t from = 0; context && (n = map_above(&s->loaded, from));) {
		struct loaded_code *l = (struct loaded_code *)n;

		from = n->key + 1;
		if (l->context == context)
			loaded_remove(s, l);
	}
}
