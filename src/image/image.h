/*
 * image.h - the forms in which a CUDA program hands code to the driver: wrappers, fatbins, cubins, PTX text.
 *
 *	wrapper ──► fatbin | fatbin | ...	part 0; a version 2 wrapper (device-linked) has the
 *	        └─► fatbin, fatbin, NULL	pre-link fatbins as parts 1, 2, ...
 *	fatbin  =   header | entry | entry | ...
 *	entry   =   header | options | payload: PTX or cubin, plain, LZ4 or zstd
 *	link set =  a fatbin with a single entry, whose payload is a sequence of fatbins: parts 1, 2, ... of an image
 *	            without code in part 0. Gangway's own format of a linked but uncompiled program (image_set_write).
 *
 * Reading takes three steps, each more expensive than the one before: image_init finds the parts, image_next walks
 * their entries without unpacking them, image_payload unpacks one entry, for image_cubin_read or for src/ptx.
 *
 * Images are untrusted: every access is checked against the given size, and inconsistent sizes get -EINVAL. The one
 * exception is image_init_local, for a pointer without a size that the application passes in its own process: the
 * extent is first computed from the headers, as every driver must do, and bounds all later accesses.
 *
 * An image borrows the bytes that it describes; so do entries, and payloads that are stored uncompressed. All functions
 * are thread-safe as long as no two threads share one struct. Functions return 0 or -errno: -EINVAL malformed,
 * -ENOTSUP well-formed but unsupported, -ENOENT nothing suitable, -ENOMEM, -E2BIG beyond our limits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum image_kind {
	IMAGE_PTX, /* everything without a known magic number */
	IMAGE_CUBIN,
	IMAGE_FATBIN,
	IMAGE_WRAPPER, /* holds pointers of this process, so never valid from a file or a peer */
	IMAGE_ARCHIVE,
};

/* The kind according to the magic number. Stops at the first byte that differs, so SIZE_MAX is valid for a C string. */
enum image_kind image_sniff(const void *data, size_t size);

struct image_span {
	const void *data;
	size_t size;
};

struct image {
	enum image_kind kind; /* of the bytes that image_init got */
	unsigned nparts;
	struct image_span *parts; /* part 0 is the program; the others are the fatbins that it is linked from */
	struct image_span one;
};

int image_init(struct image *image, const void *data, size_t size); /* untrusted bytes */
int image_init_local(struct image *image, const void *data);        /* this process's own memory */
void image_finish(struct image *image);

/*
 * Whether untrusted bytes may be passed to a driver function that takes no size: they hold no pointers and end within
 * `size` according to their own headers. The caller puts a NUL behind text.
 */
bool image_within(const void *data, size_t size);

/*
 * Writes a link set, malloc'ed: the result of cuLinkComplete. Like every fatbin it states its own length and holds no
 * pointers; image_init reads its members back as parts. Cubins and texts are stored as fatbins with one entry, fatbins
 * unchanged. 0, -EINVAL for other kinds, -E2BIG, -ENOMEM.
 */
int image_set_write(const struct image_span *parts, unsigned n, void **data, size_t *size);

/* Writes a cubin or PTX text as a fatbin with one entry, malloc'ed. Every CUDA driver accepts it. Errors: as above. */
int image_fatbin_write(const struct image_span *part, void **data, size_t *size);

/*
 * Calls found() for each fatbin in a host object file or an archive of object files. The first value other than 0 that
 * found() returns ends the walk and is returned. -EINVAL: malformed, or neither an object nor an archive.
 */
typedef int image_found_fn(void *arg, const struct image_span *fatbin);
int image_objects(const void *data, size_t size, image_found_fn *found, void *arg);

/* One piece of code in an image. A bare cubin or PTX text is its own only entry. */
enum image_entry_kind {
	IMAGE_ENTRY_OTHER, /* an unknown kind: skip it */
	IMAGE_ENTRY_PTX,
	IMAGE_ENTRY_CUBIN,
	IMAGE_ENTRY_LTO,
	IMAGE_ENTRY_SET, /* the payload of a link set */
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
	bool arch_specific; /* "sm_90a": runs on this architecture only */
	bool family;        /* "sm_100f": runs on this architecture and later ones of its family */
	bool debug;
	bool relocatable; /* PTX compiled with -rdc: has to be linked before its names can be looked up */
	unsigned version_major, version_minor; /* PTX ISA; PTX only */
	uint64_t flags;                        /* as stored */
	const void *payload;
	size_t stored_size;        /* of the payload as stored */
	size_t raw_size;           /* after unpacking, according to the header */
	struct image_span options; /* options for the PTX assembler, not NUL-terminated; size 0: none */
};

struct image_iter {
	struct image_span left;   /* rest of the part, behind the current fatbin */
	struct image_span fatbin; /* rest of the current fatbin */
	int error;
};

void image_iter_init(struct image_iter *it, const struct image *image, unsigned part);
bool image_next(struct image_iter *it, struct image_entry *entry); /* false: end of the part, or it->error is set */

/*
 * Selects the entry that a device of compute capability major.minor runs: the best cubin, else the best PTX, else with
 * IMAGE_WANT_OTHER_PTX the first entry of image_select_other. -ENOENT: no entry suits; image_describe lists those that
 * exist.
 *
 * Callers select from part 0 first. If a linked program has nothing suitable there (a linked fatbin has no PTX), the
 * caller may select from each of the other parts and link the results.
 */
enum {
	IMAGE_WANT_CUBIN = 1,
	IMAGE_WANT_PTX = 2,
	IMAGE_WANT_OTHER_PTX =
		4, /* a GPU refuses PTX for a newer device; an engine that knows its instructions need not */
};

struct image_want {
	unsigned major, minor;
	unsigned kinds; /* IMAGE_WANT_* */
};

int image_select(const struct image *image, unsigned part, const struct image_want *want, struct image_entry *entry);

/*
 * Selects from the PTX that a GPU of this compute capability refuses: the oldest architecture first, and variants for
 * one architecture or family (sm_90a, sm_100f) behind all others. `previous` is the result of the last call, or NULL for
 * the first entry in this order. -ENOENT: no entry is left.
 */
int image_select_other(const struct image *image, unsigned part, const struct image_want *want,
	const struct image_entry *previous, struct image_entry *entry);

/* Formats "cubin sm_80 sm_90a, PTX 8.0 compute_75" into text, truncated to size. Returns text. */
char *image_describe(const struct image *image, char *text, size_t size);

/*
 * Formats an error message for an image without code for a device. `needs`: the kinds of code that the device takes;
 * `kernels`: from image_kernel_names, or NULL if unknown. Returns text.
 */
char *image_explain(const struct image *image, const char *device, int major, int minor, const char *needs,
	const char *kernels, char *text, size_t size);

/*
 * Formats a kernel's name for people: of a mangled C++ name, namespaces and function without template arguments and
 * parameters; long names are cut. Returns text.
 */
char *image_kernel_readable(const char *name, char *text, size_t size);

/*
 * Formats the first kernel's name and the number of the others, "axpy and 3 more", for the first cubin that has kernels:
 * the other cubins have the same kernels for other devices. Unpacks the cubin. Returns text.
 */
char *image_kernel_names(const struct image *image, char *text, size_t size);

/*
 * The unpacked bytes of an entry. PTX is NUL-terminated at data[size] and has no NUL before that. data is borrowed from
 * the image, or allocated and then also in `owned`, which image_blob_finish frees.
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
	bool explicit_cluster;    /* a launch must specify clusters */
	bool blocks_are_clusters; /* grid dimensions are in clusters */
	bool local;               /* static: visible in its own piece only */
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
	uint32_t align;  /* 0: not stated */
	uint64_t offset; /* cubin: in its section */
	const void *
		init; /* cubin: initial value, inside the bytes that were read; NULL: zeroes. PTX: see struct ptx_var */
	enum image_space space;
	bool managed;
	bool external; /* declared here, defined elsewhere */
	bool local;
	bool opaque;    /* PTX: a texture, sampler or surface reference, which the driver binds */
	uint32_t piece; /* see struct image_kernel */
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
