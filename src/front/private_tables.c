/*
 * cuGetExportTable: private tables of functions that NVIDIA's own libraries request from a driver.
 *
 * A table is an array of words; the first is its size in bytes, except for context-local storage.  Every slot is
 * callable: slots that no known library uses return CUDA_ERROR_NOT_SUPPORTED.  doc/private-tables.md lists which
 * library uses which slot.
 */
#include <string.h>
#include "front/front.h"
#include "wire/trace.h"

#define WORD(n)     ((const void *)(uintptr_t)(n))
#define SIZE(n)     WORD((n) * sizeof(void *))
#define STUB        ((const void *)unknown_slot)
#define STUBS(a, b) [a... b] = STUB

static CUresult unknown_slot(void)
{
	trace_note("the program called an unknown slot of a private table: CUDA_ERROR_NOT_SUPPORTED");
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult return_success(void)
{
	return CUDA_SUCCESS;
}

/* ---- The runtime: modules, primary contexts, launches ---- */

static CUresult load_wrapper(CUmodule *module, const void *wrapper)
{
	return front_device()->cuModuleLoadData(module, wrapper);
}

static CUresult load_fatbin(const void *fatbin, CUmodule *module)
{
	return front_device()->cuModuleLoadData(module, fatbin);
}

static CUresult primary_context(CUcontext *ctx, CUdevice dev)
{
	return ctx ? front_backend()->primary(dev, ctx) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult launch_packed(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	unsigned bz, unsigned shared, CUstream stream, void **extra)
{
	return front_device()->cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, NULL, extra);
}

const void *const front_runtime_table[] = {
	SIZE(13),
	load_wrapper,
	primary_context,
	STUB,
	STUB,
	STUB,
	load_wrapper,
	return_success,
	load_fatbin,
	launch_packed,
	STUB,
	STUB,
	return_success,
};

/* ---- Hooks of profilers: the flags stay zero, so that no hook is called ---- */

static uint32_t call_flags[4096], event_flags[64];

static void get_call_flags(uint32_t **flags, size_t *count)
{
	*flags = call_flags;
	*count = sizeof call_flags / sizeof *call_flags;
}

static void get_event_flags(uint32_t **flags, size_t *count)
{
	*flags = event_flags;
	*count = sizeof event_flags / sizeof *event_flags;
}

static const void *const hooks_table[] = {SIZE(7), STUB, get_call_flags, STUB, STUB, STUB, get_event_flags};

/* ---- The current context, for tools ---- */

static CUresult thread_context(CUcontext *ctx)
{
	CUresult r = ctx ? front_device()->cuCtxGetCurrent(ctx) : CUDA_ERROR_INVALID_VALUE;

	return r ? r : *ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static const void *const thread_table[] = {SIZE(4), STUB, thread_context, STUB};

static const void *const storage_table[] = {front_storage_put, front_storage_delete, front_storage_get, NULL};

/* ---- Does a context wrap another one?  Ours never do ---- */

static CUresult context_is_wrapped(CUcontext ctx, uint32_t *wrapped, CUcontext *inner)
{
	(void)ctx, (void)inner;
	if (wrapped)
		*wrapped = 0;
	return CUDA_SUCCESS;
}

static uint32_t return_zero(void)
{
	return 0;
}

static const void *const check_table[] = {SIZE(17), STUB, context_is_wrapped, return_zero, STUBS(4, 16)};

const void *const front_integrity_table[] = {SIZE(3), front_integrity_answer, return_success};

/* ---- Messages of the runtime about mistakes of its caller: they go to the trace ---- */

static void log_message(const char *domain, int level, const char *format, va_list args)
{
	(void)level;
	trace_vnote(domain, format, args);
}

/* Several tables in a row, each begins with its size. */
static const void *const log_table[] = {
	[0] = WORD(0x18),
	log_message,
	STUB,
	STUB,
	[4] = WORD(0x10),
	STUB,
	[6] = WORD(0x20),
	STUB,
	STUB,
	STUB,
	[10] = WORD(0x10),
	STUB,
	STUB,
	STUB,
	[14] = WORD(0x38),
	STUBS(15, 21),
	[22] = SIZE(15),
	STUBS(23, 24),
	[25] = return_success,
	STUBS(26, 36),
};

/* ---- Identities of contexts and streams: cuBLAS and cuFFT ---- */

static CUresult context_id(CUcontext ctx, unsigned long long *id)
{
	return front_device()->cuCtxGetId(ctx, id);
}

/* Libraries use the internal stream object only to get its identity, so the identity stands in for the object. */
static CUresult stream_internal(CUcontext ctx, CUstream stream, void **internal, int per_thread)
{
	unsigned long long id;

	if (!internal)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream && per_thread)
		stream = CU_STREAM_PER_THREAD;
	CUresult r = front_backend()->stream_id(ctx, stream, &id);
	if (!r)
		*internal = (void *)(uintptr_t)(id + 1);
	return r;
}

static CUresult stream_identity(CUcontext ctx, const void *internal, uint64_t *identity)
{
	(void)ctx;
	if (!internal || !identity)
		return CUDA_ERROR_INVALID_VALUE;
	*identity = (uintptr_t)internal;
	return CUDA_SUCCESS;
}

static const void *const context_table[] = {
	SIZE(95),
	STUBS(1, 3),
	context_id,
	STUBS(5, 38),
	[39] = stream_identity,
	STUBS(40, 50),
	[51] = stream_internal,
	STUBS(52, 94),
};

/* ---- The functions of a module: cuFFT loads one kernel without knowing its name ---- */

static size_t module_each_function(
	CUcontext ctx, CUmodule module, void (*visit)(void *user, CUfunction f, void *owner), void *user)
{
	CUfunction functions[64];
	unsigned count = 0;

	(void)ctx;
	if (front_device()->cuModuleGetFunctionCount(&count, module) || count > sizeof functions / sizeof *functions ||
		front_device()->cuModuleEnumerateFunctions(functions, count, module))
		return 0;
	/* A function that was enumerated, not looked up, is not loaded under lazy loading, and cuFFT does not load it. */
	for (unsigned i = 0; i < count; i++)
		if (front_device()->cuFuncLoad(functions[i]))
			return 0;
	for (unsigned i = 0; i < count && visit; i++)
		visit(user, functions[i], NULL);
	return count;
}

static const void *const module_table[] = {SIZE(99), STUBS(1, 6), module_each_function, STUBS(8, 98)};

/* ---- cuBLASLt requests this list for half precision on compute capability 9.0: it is empty ---- */

static CUresult return_empty_list(void **array, size_t *count)
{
	if (array)
		*array = NULL;
	if (count)
		*count = 0;
	return CUDA_SUCCESS;
}

static const void *const half_table[] = {SIZE(17), STUBS(1, 3), return_empty_list, STUBS(5, 16)};

/* ---- PhysX creates a context without the runtime ---- */

static CUresult create_context(CUcontext *ctx, unsigned flags, CUdevice dev)
{
	return front_device()->cuCtxCreate_v2(ctx, flags, dev);
}

static const void *const bypass_table[] = {SIZE(2), create_context};

static const struct private_table {
	unsigned char id[16];
	const void *const *table;
} private_tables[] = {
	{"\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9", front_runtime_table},
	{"\xa0\x94\x79\x8c\x2e\x74\x2e\x74\x93\xf2\x08\x00\x20\x0c\x0a\x66", hooks_table},
	{"\x42\xd8\x5a\x81\x23\xf6\xcb\x47\x82\x98\xf6\xe7\x8a\x3a\xec\xdc", thread_table},
	{"\xc6\x93\x33\x6e\x11\x21\xdf\x11\xa8\xc3\x68\xf3\x55\xd8\x95\x93", storage_table},
	{"\x26\x3e\x88\x60\x7c\xd2\x61\x43\x92\xf6\xbb\xd5\x00\x6d\xfa\x7e", check_table},
	{"\xd4\x08\x20\x55\xbd\xe6\x70\x4b\x8d\x34\xba\x12\x3c\x66\xe1\xf2", front_integrity_table},
	{"\xf8\xcf\xf9\x51\x21\x46\x8b\x4e\xb9\xe2\xfb\x46\x9e\x7c\x0d\xd9", log_table},
	{"\x21\x31\x8c\x60\x97\x14\x32\x48\x8c\xa6\x41\xff\x73\x24\xc8\xf2", context_table},
	{"\x6e\x16\x3f\xbe\xb9\x58\x44\x4d\x83\x5c\xe1\x82\xaf\xf1\x99\x1e", module_table},
	{"\x17\x34\xdc\x26\x80\x0d\x47\x45\x87\x26\xc0\xf1\xe7\xdd\x8b\xca", half_table},
	{"\x0c\xa5\x0b\x8c\x10\x04\x92\x9a\x89\xa7\xd0\xdf\x10\xe7\x72\x86", bypass_table},
};

static void trace_table(const CUuuid *id, bool known)
{
	const unsigned char *b = (const unsigned char *)id->bytes;

	trace_note("private table %02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x%s", b[0], b[1],
		b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15],
		known ? "" : ": unknown");
}

CUresult front_cuGetExportTable(const void **table, const CUuuid *id)
{
	if (!table)
		return CUDA_ERROR_INVALID_VALUE;
	*table = NULL;
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof private_tables / sizeof *private_tables; i++) {
		if (memcmp(private_tables[i].id, id->bytes, 16))
			continue;
		*table = private_tables[i].table;
		trace_table(id, true);
		return CUDA_SUCCESS;
	}
	trace_table(id, false);
	return CUDA_ERROR_INVALID_VALUE;
}
