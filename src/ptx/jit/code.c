/* Code in memory, made from an object. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ptx/jit/jit.h"
#include "ptx/jit/object.h"

/* The code entries by decoded instruction; NULL: no memory, or the object names an instruction that does not exist. */
static uint32_t *index_entries(const struct jit_object *o, uint32_t ninsts)
{
	uint32_t *at = malloc((ninsts + 1u) * sizeof *at);

	if (!at)
		return NULL;
	for (uint32_t i = 0; i <= ninsts; i++)
		at[i] = JIT_NO_ENTRY;
	for (uint32_t i = 0; i < o->nentries; i++) {
		if (o->entries[i] >= ninsts) {
			free(at);
			return NULL;
		}
		at[o->entries[i]] = i;
	}
	return at;
}

int jit_code_create(const struct jit_object *o, uint32_t ninsts, struct jit_code **code, char *why, size_t size)
{
	struct jit_code *c = calloc(1, sizeof *c);
	struct object_image image;
	int err;

	*code = NULL;
	snprintf(why, size, "out of memory");
	if (!c)
		return -ENOMEM;
	err = object_load(o->bytes, o->size, "kernel", &image, why, size);
	if (err) {
		free(c);
		return err;
	}
	*c = (struct jit_code){.run = (jit_fn)(uintptr_t)image.entry,
		.entry_of = index_entries(o, ninsts),
		.ninsts = ninsts,
		.nentries = o->nentries,
		.nsites = o->nsites,
		.memory = image.memory,
		.size = image.size,
		.text = image.text};
	if (!c->entry_of) {
		snprintf(why, size, "a code entry of the object is not in the kernel");
		jit_code_destroy(c);
		return -EINVAL;
	}
	*code = c;
	return 0;
}

void jit_code_destroy(struct jit_code *c)
{
	if (!c)
		return;
	object_unload(&(struct object_image){.memory = c->memory, .size = c->size});
	free(c->entry_of);
	free(c);
}
