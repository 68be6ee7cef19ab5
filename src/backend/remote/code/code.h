/*
 * code.h - modules, libraries, functions and launches.
 *
 * The parameters and attributes of a function are asked for once, and each occupancy query once.  Handles of libraries
 * are the client's own, so that a library which is loaded lazily costs nothing.
 */
#pragma once

#include "backend/remote/session/remote.h"
#include "backend/remote/session/records.h"
#include "image/image.h"

/* ---- upload.c: images and the options they are loaded with ---- */

struct jit_options {
	unsigned count;
	const CUjit_option *option;
	void **value;
};

/* Loads an image.  *id: the server's number of the module or library; *silent: its kernels do not print. */
CUresult image_load(
	const struct image *im, enum wire_loads library, const struct jit_options *o, uint64_t *id, bool *silent);
/* Tells the trace and the user why the image has no code for the device. */
void image_explain_mismatch(const struct image *im);
/* Sends bytes to the server, which then knows them by *name. */
CUresult image_upload(const void *bytes, size_t size, struct wire_image *name);
/* The options in wire format; false: too many. */
bool jit_options_pack(const struct jit_options *o, struct wire_jit *out);
/* Stores the values and logs of a reply where the options say.  False: the reply is malformed. */
bool jit_options_store_results(
	const struct jit_options *o, const uint8_t *rest, size_t size, uint32_t info, uint32_t error);

/* Reads a whole file and appends a NUL; the caller frees it. */
CUresult file_read(const char *path, void **bytes, size_t *size);

/* ---- function.c ---- */

/* A context was reset: its functions and variables are gone. */
void code_note_reset(void);
/* Enters a kernel of a former client's under its old handle. */
CUresult function_carry(uint64_t id);
void function_finish(void *function); /* frees what a record points to */

/* Properties of a function; constant, except for some attributes. */
struct function_info {
	CUdevice device; /* of the context in which it was asked for */
	struct wire_function head;
	struct wire_param param[];
};

struct occupancy_answer;
struct legacy_launch;

struct function {
	struct recycled recycled;
	uint64_t id;
	bool kernel;                          /* a CUkernel, not a CUfunction */
	_Atomic(bool) silent;                 /* does not print */
	_Atomic(bool) gone;                   /* its owner was unloaded */
	_Atomic(struct function_info *) info; /* NULL: not yet asked */
	_Atomic(char *) name;
	struct context *home;  /* the context of its module; NULL: a kernel */
	uint32_t home_ended;   /* home->times_ended when the module was loaded */
	uint64_t owner;        /* its library's handle or its module's id; 0: not known */
	struct function *next; /* of the same owner */
	/* A kernel has a function in each context: all of them, and the one found last. */
	struct function *functions, *next_function;
	_Atomic(struct function *) counterpart; /* of a kernel: the function found last; of a function: its kernel */
	_Atomic(uint64_t) counterpart_context;  /* in which that function was found */
	_Atomic(uint32_t) counterpart_resets;   /* code_state.resets then */
	_Atomic(uint32_t) generation;           /* changes of attributes: earlier occupancy answers are void */
	_Atomic(struct occupancy_answer *) answers; /* occupancy.c */
	_Atomic(struct legacy_launch *) legacy;     /* legacy_launch.c */
};

/* The record of a function or kernel, created if there is none; NULL: the handle is neither, or no memory. */
struct function *function_find_or_create(uint64_t id);
/* The record with its info; NULL: *why. */
struct function *function_find(CUfunction f, CUresult *why);
/* Enters a function that the server has found by name into the list of its module or library. */
CUresult function_note_name(uint64_t id, const char *name, uint64_t owner, bool silent, struct function **list);
/* The function belongs to a module of this context. */
void function_set_home(uint64_t id, struct context *home, uint32_t ended);
/* Whether the function can run in this context. */
static inline bool function_fits(const struct function *f, const struct context *c)
{
	return !f->home || (f->home == c && f->home_ended == c->times_ended);
}

/* The owner of the list is unloaded. */
void functions_drop(struct function **list);

/* ---- library.c ---- */

/* The client takes over the libraries of a former client, and loads those that were in use, with their kernels. */
void libraries_carry(struct client *former);

/* ---- occupancy.c ---- */

void occupancy_answers_free(struct occupancy_answer *list);

/* ---- globals.c: variables of a module or library ---- */

struct global;

/* Finds a variable in the owner's list, or with `ask` in the server.  managed: the variable must be managed. */
CUresult global_find(struct global **list, bool managed, uint64_t owner, const char *name, CUdeviceptr *address,
	size_t *size, CUresult (*ask)(CUdeviceptr *address, size_t *size, uint64_t owner, const char *name));
void globals_drop(struct global **list);
/*
 * After a worker's death: finds the managed variables of `was`, which is freed, again.  False: one of them has moved, or is
 * missing, and the application may have its address.
 */
bool globals_renew(struct global **list, struct global *was, uint64_t owner,
	CUresult (*ask)(CUdeviceptr *address, size_t *size, uint64_t owner, const char *name));
/* Notes the range of a variable that is not kept by name; passes r on. */
CUresult global_note(CUresult r, const CUdeviceptr *address, const size_t *size);

/* ---- launch.c ---- */

/* Packs kernelParams, or the buffer in extra, into `to`, which has space for the parameters of the function. */
bool launch_pack(const struct function_info *i, void **params, void **extra, uint8_t *to, uint32_t *size);
