/*
 * The plug-in works beside other LLVMs in one process, and they beside it: two_llvms PLUGIN [first]
 *
 * The others are Debian's shared libraries, of the same and of older versions, with all their symbols visible to all, as
 * an application may load them.  Each side compiles before and after the other; the object code must stay the same.
 * With "first", the others are loaded before the plug-in.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "ptx/interp/core.h"
#include "ptx/jit/cache.h"
#include "ptx/jit/target.h"

static const char kernel_text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				  ".visible .entry kernel(.param .u64 p)\n{\n"
				  "\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n\t.reg .f32 %f<4>;\n"
				  "\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd2, %r1, 4;\n"
				  "\tadd.u64 %rd3, %rd1, %rd2;\n\tld.global.f32 %f1, [%rd3];\n"
				  "\tfma.rn.f32 %f2, %f1, %f1, %f1;\n\tst.global.f32 [%rd3], %f2;\n\tret;\n}\n";
static const char ir[] = "define i32 @twice(i32 %x) {\n  %y = mul i32 %x, 17\n  ret i32 %y\n}\n";

/* ---- another LLVM, by its C interface --------------------------------------------------------------- */

struct other {
	void *library;
	void *first;
	size_t first_size;
};

#define FUNCTION(type, name, ...) type (*name)(__VA_ARGS__) = (type(*)(__VA_ARGS__))dlsym(o->library, #name)

/* Compiles the function above; the caller frees the object. NULL: failed. */
static void *other_compile(const struct other *o, size_t *size)
{
	static const char triple[] = "x86_64-pc-linux-gnu";
	FUNCTION(void, LLVMInitializeX86TargetInfo, void);
	FUNCTION(void, LLVMInitializeX86Target, void);
	FUNCTION(void, LLVMInitializeX86TargetMC, void);
	FUNCTION(void, LLVMInitializeX86AsmPrinter, void);
	FUNCTION(void *, LLVMContextCreate, void);
	FUNCTION(void, LLVMContextDispose, void *);
	FUNCTION(void *, LLVMCreateMemoryBufferWithMemoryRangeCopy, const char *, size_t, const char *);
	FUNCTION(int, LLVMParseIRInContext, void *, void *, void **, char **);
	FUNCTION(int, LLVMGetTargetFromTriple, const char *, void **, char **);
	FUNCTION(void *, LLVMCreateTargetMachine, void *, const char *, const char *, const char *, int, int, int);
	FUNCTION(void, LLVMDisposeTargetMachine, void *);
	FUNCTION(int, LLVMTargetMachineEmitToMemoryBuffer, void *, void *, int, char **, void **);
	FUNCTION(const char *, LLVMGetBufferStart, void *);
	FUNCTION(size_t, LLVMGetBufferSize, void *);
	FUNCTION(void, LLVMDisposeMemoryBuffer, void *);
	FUNCTION(void, LLVMDisposeModule, void *);
	void *module, *target, *machine, *buffer, *copy = NULL, *context = LLVMContextCreate();
	char *why;

	LLVMInitializeX86TargetInfo();
	LLVMInitializeX86Target();
	LLVMInitializeX86TargetMC();
	LLVMInitializeX86AsmPrinter();
	if (!LLVMParseIRInContext(
		    context, LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, strlen(ir), "ir"), &module, &why)) {
		if (!LLVMGetTargetFromTriple(triple, &target, &why)) {
			machine = LLVMCreateTargetMachine(target, triple, "x86-64-v3", "", 2, 2, 3);
			if (!LLVMTargetMachineEmitToMemoryBuffer(machine, module, 1, &why, &buffer)) {
				*size = LLVMGetBufferSize(buffer);
				copy = malloc(*size);
				if (copy)
					memcpy(copy, LLVMGetBufferStart(buffer), *size);
				LLVMDisposeMemoryBuffer(buffer);
			}
			LLVMDisposeTargetMachine(machine);
		}
		LLVMDisposeModule(module);
	}
	LLVMContextDispose(context);
	return copy;
}

static void other_check(struct other *o)
{
	size_t size = 0;
	void *object = other_compile(o, &size);

	CHECK(object && size > 100);
	if (!o->first) {
		o->first = object;
		o->first_size = size;
		return;
	}
	CHECK(size == o->first_size && object && !memcmp(object, o->first, size));
	free(object);
}

static unsigned others_load(struct other *others)
{
	static const char *const names[] = {
		"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so", "libLLVM-15.so.1", "libLLVM-14.so.1"};
	unsigned n = 0;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
		bool known = false;

		for (unsigned k = 0; k < n; k++)
			known |= others[k].library == library;
		if (!library || known)
			continue;
		printf("beside %s\n", names[i]);
		others[n++] = (struct other){.library = library};
	}
	return n;
}

/* ---- ours ------------------------------------------------------------------------------------------- */

static struct jit_object first;

static void ours_check(const struct jit_compiler *c, const struct interp_kernel *k)
{
	struct jit_target t;
	struct jit_request r = {.f = k->entry->fn, .k = k, .variant = JIT_FULL_AFFINE, .isa = JIT_ISA_V3};
	struct jit_object o;
	struct jit_code *code;
	char why[512] = "";

	jit_target_describe(r.isa, &t);
	r.cpu = t.cpu;
	r.features = t.features;
	CHECK_EQ(c->compile(&r, &o, why, sizeof why), 0);
	if (*why)
		printf("%s\n", why);
	CHECK_EQ(jit_code_create(&o, k->entry->ninsts, &code, why, sizeof why), 0);
	jit_code_destroy(code);
	if (!first.bytes) {
		first = o;
		return;
	}
	CHECK(o.size == first.size && !memcmp(o.bytes, first.bytes, o.size));
	jit_object_free(&o);
}

int main(int argc, char **argv)
{
	struct ptx_module *m = ptx_module_create(kernel_text, strlen(kernel_text));
	struct interp_program *p = interp_create(m);
	struct other others[5];
	struct interp_kernel *k;
	unsigned n = 0;
	char why[512];

	if (argc < 2)
		return 1;
	CHECK_EQ(interp_kernel(p, ptx_function_find(m, "kernel"), &k, why, sizeof why), 0);
	if (argc > 2)
		n = others_load(others);
	void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	const struct jit_compiler *c = plugin ? dlsym(plugin, "gangway_jit") : NULL;
	if (!c)
		return printf("%s\n", dlerror()), 1;
	if (argc == 2) {
		ours_check(c, k);
		n = others_load(others);
	}
	if (!n)
		return printf("skipped: no shared libLLVM is installed\n"), SKIP;
	for (int round = 0; round < 2; round++) {
		for (unsigned i = 0; i < n; i++) {
			other_check(&others[i]);
			ours_check(c, k);
		}
	}
	for (unsigned i = 0; i < n; i++)
		free(others[i].first);
	jit_object_free(&first);
	interp_destroy(p);
	ptx_module_destroy(m);
	return RESULT();
}
