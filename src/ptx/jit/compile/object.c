/* The optimisation pipeline, and machine code as an object file. */
#include "ptx/jit/compile/compile.h"

#include <errno.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The vectorisers of LLVM are not among them: code is vectors already, and scalars are better left alone. */
static const char passes[] = "sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,simplifycfg,early-cse";

static LLVMTargetMachineRef create_machine(const struct compiler *c, const char *triple)
{
	LLVMTargetRef target;
	char *message = NULL;

	LLVMInitializeX86TargetInfo();
	LLVMInitializeX86Target();
	LLVMInitializeX86TargetMC();
	LLVMInitializeX86AsmPrinter();
	if (LLVMGetTargetFromTriple(triple, &target, &message)) {
		LLVMDisposeMessage(message);
		return NULL;
	}
	return LLVMCreateTargetMachine(target, triple, c->request->cpu, c->request->features, LLVMCodeGenLevelLess,
		LLVMRelocPIC, LLVMCodeModelSmall);
}

static int run_passes(struct compiler *c, LLVMTargetMachineRef machine)
{
	LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
	LLVMErrorRef e = LLVMRunPasses(c->module, passes, machine, o);
	char *text;
	int err = 0;

	LLVMDisposePassBuilderOptions(o);
	if (e) {
		text = LLVMGetErrorMessage(e);
		err = compile_fail(c, -EINVAL, "LLVM: %s", text);
		LLVMDisposeErrorMessage(text);
	}
	return err;
}

static int copy_object(struct compiler *c, LLVMMemoryBufferRef buffer, struct jit_object *out)
{
	out->size = LLVMGetBufferSize(buffer);
	out->bytes = malloc(out->size);
	if (!out->bytes)
		return -ENOMEM;
	memcpy(out->bytes, LLVMGetBufferStart(buffer), out->size);
	out->entries = c->entries;
	out->nentries = c->nentries;
	out->nsites = c->nsites;
	c->entries = NULL;
	return 0;
}

/* GANGWAY_JIT_DUMP, a folder: for people who work on the compiler. */
static void dump_module(const struct compiler *c, LLVMTargetMachineRef machine, const char *stage)
{
	const char *folder = secure_getenv("GANGWAY_JIT_DUMP");
	char path[512], *message = NULL;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%s.%s.ll", folder, c->f->name, stage);
	if (LLVMPrintModuleToFile(c->module, path, &message))
		LLVMDisposeMessage(message);
	if (strcmp(stage, "2") != 0)
		return;
	snprintf(path, sizeof(path), "%s/%s.s", folder, c->f->name);
	if (LLVMTargetMachineEmitToFile(machine, c->module, path, LLVMAssemblyFile, &message))
		LLVMDisposeMessage(message);
}

int compile_object(struct compiler *c, struct jit_object *out)
{
	static const char triple[] = "x86_64-unknown-linux-gnu";
	LLVMTargetMachineRef machine = create_machine(c, triple);
	LLVMMemoryBufferRef buffer = NULL;
	LLVMTargetDataRef layout;
	char *message = NULL;
	int err;

	if (!machine)
		return compile_fail(c, -ENOTSUP, "LLVM knows no x86-64");
	LLVMSetTarget(c->module, triple);
	layout = LLVMCreateTargetDataLayout(machine);
	LLVMSetModuleDataLayout(c->module, layout);
	LLVMDisposeTargetData(layout);
	dump_module(c, machine, "1");
#ifndef NDEBUG
	if (LLVMVerifyModule(c->module, LLVMReturnStatusAction, &message)) {
		err = compile_fail(c, -EINVAL, "invalid code: %.120s", message);
		LLVMDisposeMessage(message);
		LLVMDisposeTargetMachine(machine);
		return err;
	}
	LLVMDisposeMessage(message);
	message = NULL;
#endif
	err = run_passes(c, machine);
	dump_module(c, machine, "2");
	if (!err && LLVMTargetMachineEmitToMemoryBuffer(machine, c->module, LLVMObjectFile, &message, &buffer)) {
		err = compile_fail(c, -EINVAL, "LLVM: %s", message);
		LLVMDisposeMessage(message);
	}
	if (!err)
		err = copy_object(c, buffer, out);
	if (buffer)
		LLVMDisposeMemoryBuffer(buffer);
	LLVMDisposeTargetMachine(machine);
	return err;
}
