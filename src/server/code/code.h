/* code.h - images, functions, launches and linking in the worker. */
#pragma once

#include "server/session/message.h"

/* Replaces the handles in launch attributes by objects.  False: one is unknown, or of a kind that cannot travel. */
bool attributes_in(struct msg *m, CUlaunchAttribute *a, unsigned count);

/* ---- images.c: the session's images, by hash ---- */

struct session_image;

/*
 * An image with one more use; NULL: the worker does not have it.  An image that has been used and no longer is may be
 * forgotten; the client then sends it again.
 */
struct session_image *images_use(struct session *s, const struct wire_image *name);
void images_release(struct session *s, struct session_image *i);
const void *image_bytes(const struct session_image *i); /* with a NUL behind them */

/*
 * Adds bytes that came with a frame.  CUDA_ERROR_INVALID_IMAGE: their hash is not the one in the name;
 * CUDA_ERROR_OUT_OF_MEMORY.
 */
CUresult images_add(struct session *s, const struct wire_image *name, const void *bytes);

/* Forgets all images that are not in use, to make room. */
void images_trim(struct session *s);

/* ---- loaded.c: which images a module or library was made from ---- */

/*
 * Room for a library or module of `count` images, which takes over their uses.  NULL: no memory.  Then either
 * loaded_add() after a load that succeeded, with the context that ends it (NULL for libraries), or loaded_destroy().
 */
struct loaded_code;
struct loaded_code *loaded_create(struct session_image *const *images, unsigned count);
const void *loaded_image(struct loaded_code *l); /* what the driver loads */
void loaded_add(struct session *s, struct loaded_code *l, void *real, CUcontext context);
void loaded_destroy(struct session *s, struct loaded_code *l);

/* If `r` is CUDA_SUCCESS: the module or library is gone, and with it its images and handles.  The result is `r`. */
CUresult code_unloaded(struct session *s, CUresult r, void *real);
void loaded_context_ended(struct session *s, CUcontext context);

/* ---- image_store.c: images kept for later sessions, in a folder of the server's user ---- */

#define IMAGE_FOLDER_UNOPENED (-2)

#define IMAGE_STORE_SHARE 16 /* one client may fill this part of the store */

/*
 * The bytes, on the heap, with a NUL behind: image->size + 1 bytes.  Their hash is the image's name, even if another worker has
 * changed the folder.  NULL: not stored, damaged, or no memory.  The cost is that of one copy and one hash, once for each
 * image and session.
 */
uint8_t *image_store_find(struct session *s, const struct wire_image *name);
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
