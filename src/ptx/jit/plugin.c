/* The one symbol of libgangway-jit.so, and the function copies that the compiler works on. */
#include <errno.h>
#include <stdio.h>

#include "ptx/arena.h"
#include "ptx/jit/jit.h"
#include "ptx/ptx.h"
#include "util/build_note.h"

/*
 * Compiles on a private copy of the function.  The shapes differ between variants, and the pass that computes them
 * takes memory from the module's arena, which other threads use to parse other functions of the module meanwhile.
 */
static int plugin_compile(const struct jit_request *request, struct jit_object *out, char *why, size_t size)
{
	struct ptx_module module = *request->f->module;
	struct ptx_function function = *request->f;
	struct jit_request r = *request;
	int err = 0;

	*out = (struct jit_object){0};
	module.arena = arena_create();
	if (!module.arena)
		return -ENOMEM;
	function.module = &module;
	r.f = &function;
	if (request->variant == JIT_FULL_HALVES) {
		/* In 16 lanes %tid.x is affine and the other components are uniform. */
		err = ptx_function_shapes(&function, true);
		r.halves = function.shapes;
	}
	if (!err)
		err = ptx_function_shapes(&function, request->variant == JIT_FULL_AFFINE);
	if (err)
		snprintf(why, size, "the analysis of %s failed", function.name);
	else
		err = jit_compile(&r, out, why, size);
	arena_destroy(module.arena);
	return err;
}

extern const struct jit_compiler gangway_jit;
__attribute__((visibility("default")))
const struct jit_compiler gangway_jit = {build_note_text, GANGWAY_LLVM_VERSION, plugin_compile};

/*
 * LLVM's and the C++ library's static objects register their destructors here.  They must not run when the process
 * exits, because a compilation may be in progress on another thread.  This definition is private to the plug-in.
 */
int __cxa_atexit(void (*destroy)(void *), void *object, void *library);
int __cxa_atexit(void (*destroy)(void *), void *object, void *library)
{
	(void)destroy, (void)object, (void)library;
	return 0;
}
