/*
 * code.h - functions, callbacks, captures and nodes, as the client knows them.
 *
 * What a function needs and can is asked once; occupancies are asked once per question.  Libraries have
 * handles of our own making, so that loading one lazily costs nothing.
 */
#pragma once

#include "backend/remote/session/remote.h"
#include "backend/remote/session/records.h"
#include "image/image.h"

/* ---- upload.c: images and the options they are loaded with ---- */

struct options {
	unsigned count;
	const CUjit_option *option;
	void **value;
};

/* The server's number for it. */
/* *silent: nothing in it prints. */
CUresult upload_load(
	const struct image *im, enum wire_loads library, const struct options *o, uint64_t *id, bool *silent);
/* Why there is no code for the device in it: for the trace, and for the user. */
void upload_explain(const struct image *im);
/* Bytes that the server has when this returns, and their name. */
CUresult upload_bytes(const void *bytes, size_t size, struct wire_image *name);
/* Options as they travel; false: one of them cannot. */
bool upload_options(const struct options *o, struct wire_jit *out);
/* What came back: the values, and the logs into the application's buffers.  False: not as expected. */
bool upload_results(const struct options *o, const uint8_t *rest, size_t size, uint32_t info, uint32_t error);

/* A whole file with a NUL behind it; the caller frees it. */
CUresult upload_file(const char *path, void **bytes, size_t *size);

/* ---- function.c ---- */

/* How often a context has been emptied: what was found in it before is not there any more. */
extern _Atomic(uint32_t) code_epoch;

struct info {
	CUdevice device; /* asked on */
	struct wire_function head;
	struct wire_param param[];
};

struct answer;
struct old_launch;

struct function {
	struct recycled recycled;
	uint64_t id;
	bool kernel;
	_Atomic(bool) silent; /* it does not print */
	_Atomic(bool) gone;
	_Atomic(struct info *) info; /* NULL: not yet asked */
	_Atomic(char *) name;
	struct context *home; /* of its module, when that had ended so often; NULL: a kernel */
	uint32_t home_ended;
	uint64_t owner;                     /* its library's handle, or module's number; 0: not known */
	struct function *next;              /* of the same owner */
	struct function *twins, *next_twin; /* a kernel's functions */
	_Atomic(struct function *) twin;    /* a kernel's function in a context, and back */
	_Atomic(uint64_t) twin_context;
	_Atomic(uint32_t) twin_epoch;
	_Atomic(uint32_t) generation;     /* answers before a change are not used any more */
	_Atomic(struct answer *) answers; /* occupancy.c */
	_Atomic(struct old_launch *) old; /* old.c */
};

/* A function's or kernel's record, made if there is none; NULL: it is neither, or no memory. */
struct function *function_record(uint64_t id);
/* With its info; NULL: *why. */
struct function *function_find(CUfunction f, CUresult *why);
/* One that its module or library (which prints, or not) has just named; it belongs to the owner's list. */
CUresult function_named(uint64_t id, const char *name, uint64_t owner, bool silent, struct function **list);
void function_lives(uint64_t id, struct context *home, uint32_t ended);
/* It can run there. */
static inline bool function_fits(const struct function *f, const struct context *c)
{
	return !f->home || (f->home == c && f->home_ended == c->times_ended);
}

/* The owner is gone. */
void functions_drop(struct function **list);

/* ---- occupancy.c ---- */

void answers_free(struct answer *list);

/* ---- globals.c: variables of a module or library ---- */

struct global;

/* Known from before?  Else it is asked for with `ask` and remembered.  managed: no other will do. */
CUresult global_find(struct global **list, bool managed, uint64_t owner, const char *name, CUdeviceptr *address,
	size_t *size, CUresult (*ask)(CUdeviceptr *address, size_t *size, uint64_t owner, const char *name));
void globals_drop(struct global **list);
/* One that is not remembered by name is the device's nevertheless. */
CUresult global_noted(CUresult r, const CUdeviceptr *address, const size_t *size);

/* ---- launch.c ---- */

/* kernelParams, or the buffer in extra; into `to`, which has room for the function's bytes. */
bool launch_pack(const struct info *i, void **params, void **extra, uint8_t *to, uint32_t *size);
