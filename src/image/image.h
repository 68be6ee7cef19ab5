/*
 * image.h - what a CUDA program hands to the driver as code: wrappers, fatbins, cubins, PTX text.
 *
 *	wrapper ──► fatbin | fatbin | ...	part 0; a version 2 wrapper (device-linked) has the
 *	        └─► fatbin, fatbin, NULL	pre-link fatbins as parts 1, 2, ...
 *	fatbin  =   header | entry | entry | ...
 *	entry   =   header | options | payload: PTX or cubin, plain, LZ4 or zstd
 *	set     =   a fatbin whose only entry holds fatbins, the parts 1, 2, ... of an image whose part 0 has
 *	            no code: what image_set_write makes, our own form of "linked, but not compiled yet"
 *
 * Reading takes three steps, each more expensive than the one before: image_init finds the parts, image_next walks
 * their entries without unpacking them, image_payload unpacks one entry, for image_cubin_read or for src/ptx.
 *
 * Trust: nothing. Every access is checked against the size given, and a lie gets -EINVAL. The one exception
 *is image_init_local, for a pointer that the application hands over in its own process and without a size:
 *there the extent is computed from the headers first (as a driver must), and all that follows is bounded by
 *it.
 *
 * An image borrows the bytes it was made from; so do entries, and payloads that needed no unpacking. All
 *functions are thread-safe as long as no two threads share one struct. Errors are 0 or -errno: -EINVAL
 *malformed, -ENOTSUP well-formed but not something we read, -ENOENT nothing suitable, -ENOMEM, -E2BIG beyond
 *our limits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum image_kind {
	IMAGE_PTX, /* anything that is nothing else */
	IMAGE_CUBIN,
	IMAGE_FATBIN,
	IMAGE_WRAPPER, /* holds pointers of this process: never from a file or a peer */
	IMAGE_ARCHIVE,
};

/* Tell by the magic. Reads no further than the first byte that decides, so SIZE_MAX is a fine size for text.
 */
enum image_kind image_sniff(const void *data, size_t size);

struct image_span {
	const void *data;
	size_t size;
};

struct image {
	enum image_kind kind; /* of what was passed in */
	unsigned nparts;
	struct image_span *parts; /* part 0 is the one to use; others are what it was linked from */
	struct image_span one;
};

int image_init(struct image *image, const void *data, size_t size); /* hostile bytes */
int image_init_local(struct image *image, const void *data);        /* this process's own memory */
void image_finish(struct image *image);

/*
 * May hostile bytes be given to a driver that is not told their size?  They hold no pointers, and by what their
 * headers say they end in time; text has a NUL behind it, which the caller sees to.
 */
bool image_within(const void *data, size_t size);

/*
 * Bytes, malloc'ed, that mean "these, linked": cuLinkComplete's answer. They say their own length, as every
 * fatbin does, hold no pointers, and image_init reads them back as parts. A cubin or text goes in as a fatbin
 * of one entry, a fatbin as it is. 0, -EINVAL for other things, -E2BIG, -ENOMEM.
 */
int image_set_write(const struct image_span *parts, unsigned n, void **data, size_t *size);

/*
 * Calls found() for each fatbin in a host object file or an archive of them; stops at the first that answers
 * something but 0, and returns it. -EINVAL: malformed, or neither.
 */
typedef int image_found_fn(void *arg, const struct image_span *fatbin);
int image_objects(const void *data, size_t size, image_found_fn *found, void *arg);

/* One piece of code in an image. A bare cubin or PTX text is its own only entry. */
enum image_entry_kind {
	IMAGE_ENTRY_OTHER, /* a kind we do not know: skip it */
	IMAGE_ENTRY_PTX,
	IMAGE_ENTRY_CUBIN,
	IMAGE_ENTRY_LTO,
	IMAGE_ENTRY_SET, /* fatbins to be linked */
};

enum image_packing {
	IMAGE_PLAIN,
	IMAGE_LZ4,
	IMAGE_ZSTD,
	IMAGE_PACKING_UNKNOWN,
};

struct image_entry {
	enum image_entry_kind kind;
	enum image_packing packing;
	unsigned sm;        /* 90 for sm_90 and compute_90 */
	bool arch_specific; /* "sm_90a": this architecture only */
	bool family;        /* "sm_100f": this one and its later siblings */
	bool debug;
	bool relocatable; /* PTX only: compiled to be linked (-rdc); a driver that loads it alone finds no
			     names */
	unsigned version_major, version_minor; /* PTX ISA, meaningful for PTX only */
	uint64_t flags;                        /* as stored */
	const void *payload;
	size_t stored_size;        /* of payload, as it lies there */
	size_t raw_size;           /* after unpacking; what the header claims */
	struct image_span options; /* text for the PTX assembler, not terminated; size 0: none */
};

struct image_iter {
	struct image_span left;   /* of this part */
	struct image_span fatbin; /* left of the fatbin we are in */
	int error;
};

void image_iter_init(struct image_iter *it, const struct image *image, unsigned part);
bool image_next(struct image_iter *it, struct image_entry *entry); /* false: at the end, or it->error is set */

/*
 * Which entry a device of compute capability major.minor would run: the best cubin, else the best PTX.
 * -ENOENT: none; image_describe then says what there is.
 *
 * Part 0 is what one wants. When a linked program has nothing suitable there (a linked fatbin has no PTX),
 * the caller may select from each of the other parts and link the results.
 */
enum {
	IMAGE_WANT_CUBIN = 1,
	IMAGE_WANT_PTX = 2,
};

struct image_want {
	unsigned major, minor;
	unsigned kinds; /* IMAGE_WANT_* */
};

int image_select(const struct image *image, unsigned part, const struct image_want *want, struct image_entry *entry);

/* "cubin sm_80 sm_90a, PTX 8.0 compute_75" into text; always terminated, cut if it does not fit. Returns
 * text. */
char *image_describe(const struct image *image, char *text, size_t size);

/*
 * A sentence about an image that has nothing for a device; `needs`: what the device takes; `kernels`: their names, or
 * NULL where nobody has looked.  Returns text.
 */
char *image_explain(const struct image *image, const char *device, int major, int minor, const char *needs,
	const char *kernels, char *text, size_t size);

/* Kernels of the first cubin that has any: the others are the same for other devices.  It unpacks.  Returns text. */
char *image_kernel_names(const struct image *image, char *text, size_t size);

/*
 * An entry's bytes, unpacked. PTX is NUL-terminated at data[size], and has no NUL before. data is borrowed
 * from the image unless it had to be made, and then is `owned`; image_blob_finish frees what is owned.
 */
struct image_blob {
	const void *data;
	size_t size;
	void *owned;
};

int image_payload(const struct image_entry *entry, struct image_blob *blob);
void image_blob_finish(struct image_blob *blob);

/*
 * The kernels and variables of a cubin or a PTX program, in one form for both. A number that the code does not state
 * is 0. image_cubin_read fills this form from a cubin; PTX is read by src/ptx, and backend/soft/code/ptx_code.h
 * converts its modules.
 */
struct image_param {
	uint32_t offset, size; /* bytes in the parameter buffer */
};

struct image_kernel {
	const char *name;
	struct image_param *params;
	uint32_t nparams;
	uint32_t param_bytes;    /* size of the parameter buffer */
	uint32_t regs;           /* per thread; cubin only */
	uint32_t shared_bytes;   /* static shared memory of a block */
	uint32_t local_bytes;    /* per thread */
	uint32_t max_threads[3]; /* .maxntid, __launch_bounds__ */
	uint32_t req_threads[3]; /* .reqntid */
	uint32_t min_blocks;     /* .minnctapersm; PTX only */
	uint32_t max_regs;       /* .maxnreg */
	uint32_t cluster[3];     /* .reqnctapercluster, __cluster_dims__ */
	uint32_t max_cluster_rank;
	uint32_t barriers;
	bool explicit_cluster;    /* a launch must come in clusters */
	bool blocks_are_clusters; /* the grid counts clusters */
	bool local;               /* bound to its file: static */
	bool unmeasured;          /* PTX: shared_bytes and local_bytes are not known before the body is parsed */
	uint32_t piece;           /* which of the linked pieces it came from */
};

enum image_space {
	IMAGE_SPACE_GLOBAL,
	IMAGE_SPACE_CONST,
};

struct image_global {
	const char *name;
	uint64_t size;
	uint32_t align;   /* 0: not stated */
	uint64_t offset;  /* cubin: in its section, so that neighbours can stay neighbours */
	const void *init; /* cubin: size bytes inside what was read, NULL: zeroes; PTX: NULL, see struct ptx_var */
	enum image_space space;
	bool managed;
	bool external; /* declared, defined elsewhere */
	bool local;
	bool opaque;    /* PTX: a texture, sampler or surface reference, for the driver to bind */
	uint32_t piece; /* as with kernels */
};

struct image_code {
	enum image_kind kind; /* IMAGE_CUBIN or IMAGE_PTX */
	unsigned sm;
	bool relocatable;     /* cubin: has to be linked, unless it names nothing outside itself */
	uint64_t const_bytes; /* user constants altogether */
	struct image_kernel *kernels;
	size_t nkernels; /* sorted by name */
	struct image_global *globals;
	size_t nglobals;           /* sorted by name */
	struct image_arena *arena; /* holds the arrays, and a cubin's names */
};

struct image_error {
	char text[160];
};

/* Reads a cubin. err may be NULL. The code keeps pointers into data only in image_global.init. */
int image_cubin_read(struct image_code **code, const void *data, size_t size, struct image_error *err);

/*
 * For other readers: an empty code, whose arrays the reader allocates with image_code_alloc, fills and sorts. Memory
 * from image_code_alloc is zeroed; NULL: out of memory, n * size overflows, or the code exceeds its budget of bytes.
 */
struct image_code *image_code_create(enum image_kind kind, size_t budget);
void *image_code_alloc(struct image_code *code, size_t n, size_t size);
void image_code_sort(struct image_code *code);
void image_code_destroy(struct image_code *code); /* NULL is fine */

/*
 * The code of a program linked from n pieces: the first definition of each visible name, and all static ones. The
 * code borrows names and initial values from the pieces.
 */
int image_code_join(struct image_code **code, struct image_code *const *pieces, unsigned n);

const struct image_kernel *image_code_kernel(const struct image_code *code, const char *name); /* or NULL */
const struct image_global *image_code_global(const struct image_code *code, const char *name);
