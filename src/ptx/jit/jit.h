/*
 * jit.h - compiled kernels: the contract between the interpreter, the compiler, the cache and the loader.
 *
 *	interpreter ── jit_launch ──► tiers ─┬─► cache (files) ─┬─► object.c: bytes ─► executable memory ─► jit_code
 *	                                     └─► plug-in (LLVM) ┘
 *
 * The compiler is a library of its own, libgangway-jit.so, which contains LLVM; it is loaded when a kernel is compiled
 * for the first time.  All other parts belong to the interpreter's library and need libc alone, so a kernel from the
 * cache runs without LLVM.
 *
 * The compiler writes one relocatable ELF object for each variant of a kernel.  The object contains no address of the
 * process: its code reaches helpers and tables through pointers in the structures of the warp and the grid, so its only
 * relocations are between its own sections, and any process of the same build can use it.
 *
 * Trust: PTX is hostile, and the compiler must survive it.  An object that the compiler wrote is trusted as the
 * compiler is; an object from a file is used only if nobody but the user can write it and its hash is right (cache.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct warp;
struct ptx_function;
struct interp_kernel;

/* Instruction sets that code is made for, each a superset of those before: target.h has the facts about each. */
enum jit_isa { JIT_ISA_V2, JIT_ISA_V3, JIT_ISA_V4, JIT_ISAS };

/* The assumptions of a variant of a kernel about the warp that enters it. */
enum jit_variant {
	JIT_ANY,         /* nothing */
	JIT_FULL,        /* all 32 lanes are live at the kernel's start */
	JIT_FULL_HALVES, /* ... and blockDim.x is a multiple of 16 */
	JIT_FULL_AFFINE, /* JIT_FULL, and blockDim.x is a multiple of 32 */
	JIT_VARIANTS
};

/*
 * Runs the lanes of the current split from a code entry until they have exited, wait, must yield or have failed.
 * Returns enum compiled_status (interp/compiled.h).
 */
typedef uint32_t (*jit_fn)(struct warp *w, uint32_t entry);

#define JIT_NO_ENTRY UINT32_MAX

/* ---- the compiler, in the plug-in ------------------------------------------------------------------- */

struct jit_request {
	/*
	 * The kernel's function, analysed; immutable during the call.  The plug-in replaces it by a private copy that
	 * has the shapes of this variant, before it calls jit_compile.
	 */
	struct ptx_function *f;
	const struct interp_kernel *k; /* the decoded form */
	enum jit_variant variant;
	enum jit_isa isa;
	const char *cpu, *features; /* LLVM's names for the target */
	/* JIT_FULL_HALVES: the shapes of registers in each half of a warp, as if that were a warp; else NULL. */
	const struct ptx_shape *halves;
	uint32_t block[3]; /* block shape to specialise on; 0: any */
};

/* The result. The caller frees bytes and entries. */
struct jit_object {
	void *bytes; /* a relocatable ELF object with the function "kernel" (jit_fn) */
	size_t size;
	uint32_t *entries; /* decoded instruction of each code entry; entries[0] is 0, the kernel's start */
	uint32_t nentries;
	uint32_t nsites; /* access sites: each grid thread has a struct access_site for each of them */
};

/* The compiler itself, src/ptx/jit/compile: as jit_compiler.compile, with a private copy of the function. */
int jit_compile(const struct jit_request *r, struct jit_object *out, char *why, size_t size);

/* The one symbol of the plug-in: gangway_jit. */
struct jit_compiler {
	const char *build; /* must equal build_note_text */
	const char *llvm;  /* version, for people */
	/*
	 * Compiles one variant of a kernel.  Several threads may call it at once.  Returns 0, or with a sentence in
	 * `why` -ENOTSUP (not possible), -E2BIG (too large) or -ENOMEM.
	 */
	int (*compile)(const struct jit_request *r, struct jit_object *out, char *why, size_t size);
};

/* ---- compiled code, ready to run -------------------------------------------------------------------- */

/* Code in executable memory. The kernel owns it, until its program is destroyed. */
struct jit_code {
	jit_fn run;
	uint32_t *entry_of; /* by index of the decoded instruction: its code entry, or JIT_NO_ENTRY */
	uint32_t ninsts;
	uint32_t nentries;
	uint32_t nsites;
	void *memory; /* the mapping of `size` bytes, of which the first `text` are the code */
	size_t size, text;
};

/*
 * Loads an object into memory: write, then make executable.  ninsts: decoded instructions of the kernel's function.
 * Returns 0, or with a sentence in `why` -EINVAL (not an object that the compiler writes), -ENOMEM, or -EPERM
 * (executable memory is not allowed here).
 */
int jit_code_create(const struct jit_object *o, uint32_t ninsts, struct jit_code **code, char *why, size_t size);
void jit_code_destroy(struct jit_code *code); /* NULL is fine */
