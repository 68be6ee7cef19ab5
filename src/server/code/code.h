/* code.h - images, functions, launches and linking in the worker. */
#pragma once

#include "server/session/message.h"

/* Replaces the handles in launch attributes by objects.  False: one is unknown, or of a kind that cannot travel. */
bool attributes_in(struct msg *m, CUlaunchAttribute *a, unsigned count);

/* ---- images.c: the session's images, by hash ---- */

/* The bytes of an image, with a NUL behind them; NULL: the worker does not have it. */
const void *images_find(struct session *s, const struct wire_image *name);

/* Adds bytes that came with a frame.  0, -ENOMEM, or -EINVAL: their hash is not the one in the name. */
int images_add(struct session *s, const struct wire_image *name, const void *bytes);

/* ---- image_store.c: images kept for later sessions, in a folder of the server's user ---- */

#define IMAGE_FOLDER_UNOPENED (-2)

void *image_store_find(struct session *s, const struct wire_image *name); /* mapped, with a NUL behind; or NULL */
void image_store_add(struct session *s, const struct wire_image *name, const void *bytes);

/* ---- variables.c ---- */

void variables_wrap(struct cuda_ops *table);

/* ---- jit_options.c: options of a load or link ---- */

struct jit_options {
	unsigned count;
	CUjit_option option[WIRE_JIT_OPTIONS];
	void *value[WIRE_JIT_OPTIONS];
	char *info, *error;             /* logs; NULL: the client did not ask for one */
	uint32_t info_size, error_size; /* their size in bytes */
};

/* Unpacks the options.  False: an option cannot travel, or there is no memory; the message says which. */
bool jit_options_init(struct msg *m, struct jit_options *j, unsigned count);
void jit_options_finish(struct jit_options *j);

/* The largest size of values and logs in a reply; and packing them after the call, returning the end. */
size_t jit_options_reply_size(const struct jit_options *j);
uint8_t *jit_options_reply(const struct jit_options *j, uint8_t *to, uint32_t *info, uint32_t *error);
