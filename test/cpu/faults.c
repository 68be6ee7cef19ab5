/*
 * Kernels that fail: each error has its own code, is sticky in its context and in no other, prints what CUDA prints,
 * and leaves the process and the device usable.
 */
#include <fcntl.h>
#include <unistd.h>
#include "test/cpu/device.h"

#define SIMPLE(name, body) \
	".visible .entry " name "(.param .u64 at)\n{ .reg .u64 %a; .reg .u32 %v; .reg .pred %p;\n" \
	"ld.param.u64 %a, [at];\n" body "ret; }\n"

/* clang-format off */
static const char text[] = PTX
	".extern .func __assertfail(.param .b64 e, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);\n"
	".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
	".extern .func (.param .b64 r) malloc(.param .b64 s);\n"
	".extern .func free(.param .b64 p);\n"
	".global .align 1 .b8 what[6] = {119, 97, 116, 101, 114, 0};\n"
	".global .align 1 .b8 line[7] = {108, 105, 110, 101, 33, 10, 0};\n"
	SIMPLE("put", "st.global.u32 [%a], 7;\n")
	SIMPLE("get", "ld.global.u32 %v, [%a]; setp.eq.u32 %p, %v, 12345; @%p st.global.u32 [%a], 1;\n")
	SIMPLE("trap", "trap;\n")
	SIMPLE("odd", "add.u64 %a, %a, 2; st.global.u32 [%a], 7;\n")
	SIMPLE("endless", "AGAIN: ld.volatile.global.u32 %v, [%a]; setp.ne.u32 %p, %v, 999; @%p bra AGAIN;\n")
	SIMPLE("stuck", "AGAIN: bra AGAIN;\n")
	/* assert("water") in line 42 of the file "water", function "water" */
	SIMPLE("check", "{ .reg .u64 %s; .param .b64 e; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c;\n"
			"mov.u64 %s, what; cvta.global.u64 %s, %s;\n"
			"st.param.b64 [e], %s; st.param.b64 [f], %s; st.param.b32 [l], 42; st.param.b64 [n], %s;\n"
			"st.param.b64 [c], 1; call.uni __assertfail, (e, f, l, n, c); }\n")
	SIMPLE("flood", "{ .reg .u64 %s; .reg .u32 %i; .param .b64 f; .param .b64 g; .param .b32 r;\n"
			"mov.u64 %s, line; cvta.global.u64 %s, %s; mov.u32 %i, 0;\n"
			"MORE: { st.param.b64 [f], %s; st.param.b64 [g], 0; call.uni (r), vprintf, (f, g); }\n"
			"add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 100; @%p bra MORE; }\n")
	/* Allocates 1 MiB blocks until malloc fails; writes their number. */
	SIMPLE("hoard", "{ .reg .u64 %m; .param .b64 s; .param .b64 r; mov.u32 %v, 0;\n"
			"MORE: st.param.b64 [s], 1048576; call.uni (r), malloc, (s); ld.param.b64 %m, [r];\n"
			"setp.eq.u64 %p, %m, 0; @%p bra NONE; st.u32 [%m], %v; add.u32 %v, %v, 1; bra MORE;\n"
			"NONE: st.global.u32 [%a], %v; }\n")
	/* Frees three blocks, the middle one first: then almost the whole heap is available again as one block. */
	SIMPLE("merge", "{ .reg .u64 %x, %y, %z; .param .b64 s; .param .b64 r;\n"
			"st.param.b64 [s], 2000000; call.uni (r), malloc, (s); ld.param.b64 %x, [r];\n"
			"st.param.b64 [s], 2000000; call.uni (r), malloc, (s); ld.param.b64 %y, [r];\n"
			"st.param.b64 [s], 2000000; call.uni (r), malloc, (s); ld.param.b64 %z, [r];\n"
			"st.param.b64 [s], %y; call.uni free, (s); st.param.b64 [s], %x; call.uni free, (s);\n"
			"st.param.b64 [s], %z; call.uni free, (s); st.param.b64 [s], %z; call.uni free, (s);\n"
			"st.param.b64 [s], 8000000; call.uni (r), malloc, (s); ld.param.b64 %x, [r];\n"
			"setp.ne.u64 %p, %x, 0; selp.u32 %v, 1, 0, %p; st.global.u32 [%a], %v; }\n")
	".func (.param .b32 r) deep(.param .b32 n)\n"
	"{ .reg .u32 %n, %k; .reg .u64 %l; .local .align 8 .b8 room[256]; .param .b32 x; .param .b32 y;\n"
	"ld.param.u32 %n, [n]; mov.u64 %l, room; st.local.u32 [%l], %n; add.u32 %k, %n, 1;\n"
	"st.param.b32 [x], %k; call.uni (y), deep, (x); ld.param.b32 %k, [y]; ld.local.u32 %n, [%l];\n"
	"add.u32 %k, %k, %n; st.param.b32 [r], %k; ret; }\n"
	SIMPLE("recurse", "{ .param .b32 x; .param .b32 y; st.param.b32 [x], 1; call.uni (y), deep, (x);\n"
			  "ld.param.b32 %v, [y]; st.global.u32 [%a], %v; }\n");
/* clang-format on */

static CUcontext other; /* a context in which no kernel fails */
static CUdeviceptr other_cell;
static CUfunction other_put;

static void other_context_works(void)
{
	CUcontext old;
	void *args[] = {&other_cell};
	unsigned value = 0;

	OK(cuCtxPushCurrent_v2(other));
	OK(cuMemsetD32_v2(other_cell, 0, 1));
	OK(device_launch(other_put, 1, 1, NULL, args));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH_v2(&value, other_cell, 4));
	CHECK_EQ(value, 7);
	OK(cuCtxPopCurrent_v2(&old));
}

/* Run a kernel on a cell (or `at`) in a new context; returns the result of cuCtxSynchronize. */
static CUresult run_at(const char *name, unsigned grid, unsigned block, CUdeviceptr at, unsigned *value)
{
	CUdeviceptr cell = 0, more = 0;
	CUcontext ctx = device_start();
	CUfunction f = device_kernel(text, name);
	CUresult r;
	unsigned v = 0;

	OK(cuMemAlloc_v2(&cell, 64));
	OK(cuMemsetD8_v2(cell, 0, 64));
	if (!at)
		at = cell;
	void *args[] = {&at};
	OK(device_launch(f, grid, block, NULL, args));
	r = cuCtxSynchronize();
	if (r) { /* sticky in this context */
		CHECK_EQ(cuCtxSynchronize(), r);
		CHECK_EQ(cuMemAlloc_v2(&more, 64), r);
		CHECK_EQ(cuMemcpyDtoH_v2(&v, cell, 4), r);
		CHECK_EQ(device_launch(f, 1, 1, NULL, args), r);
		CHECK_EQ(cuStreamSynchronize(NULL), r);
	} else {
		OK(cuMemcpyDtoH_v2(&v, cell, 4));
	}
	other_context_works();
	OK(cuCtxDestroy_v2(ctx));
	if (value)
		*value = v;
	return r;
}

static CUresult run(const char *name)
{
	return run_at(name, 1, 1, 0, NULL);
}

/* Run a kernel with descriptor fd redirected to a file; returns the start and the size of the file. */
static CUresult run_captured(
	int fd, const char *name, unsigned grid, unsigned block, char *said, size_t room, long *size)
{
	char path[] = "said.XXXXXX";
	int file = mkstemp(path), keep = dup(fd);
	ssize_t n;

	unlink(path);
	fflush(stdout);
	dup2(file, fd);
	CUresult r = run_at(name, grid, block, 0, NULL);
	fflush(stdout);
	dup2(keep, fd);
	close(keep);
	*size = (long)lseek(file, 0, SEEK_END);
	n = pread(file, said, room - 1, 0);
	said[n > 0 ? n : 0] = 0;
	close(file);
	return r;
}

static void wild_pointers(void)
{
	CUdeviceptr freed;
	int host = 0;

	CHECK_EQ(run_at("put", 1, 1, 16, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(run_at("get", 4, 64, 0xdeadbeef0000, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(run_at("put", 1, 1, UINT64_MAX - 3, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(run_at("put", 1, 1, 1ull << 63, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(run_at("put", 1, 1, (CUdeviceptr)(uintptr_t)&host, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(run_at("put", 1, 1, (CUdeviceptr)(uintptr_t)text, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(host, 0);
	OK(cuMemAlloc_v2(&freed, 64 << 20));
	OK(cuMemFree_v2(freed));
	CHECK_EQ(run_at("put", 1, 1, freed + (32 << 20), NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void messages(void)
{
	char said[512];
	long size;

	CHECK_EQ(run_captured(2, "check", 1, 1, said, sizeof said, &size), CUDA_ERROR_ASSERT);
	CHECK(strstr(said, "water:42: water: block: [0,0,0], thread: [0,0,0] Assertion `water` failed."));
	OK(run_captured(1, "flood", 8, 32, said, sizeof said, &size));
	CHECK(!strncmp(said, "line!\nline!\n", 12));
	CHECK(size > 0 && size % 6 == 0);
}

static void limits(void)
{
	unsigned blocks = 0, again = 0, merged = 0;

	OK(run_at("hoard", 1, 1, 0, &blocks));
	CHECK(blocks > 0 && blocks <= 8);     /* the default CU_LIMIT_MALLOC_HEAP_SIZE is 8 MiB */
	OK(run_at("hoard", 1, 1, 0, &again)); /* another context has its own heap */
	CHECK_EQ(again, blocks);
	OK(run_at("merge", 1, 1, 0, &merged));
	CHECK_EQ(merged, 1);
	CHECK_EQ(run("recurse"), CUDA_ERROR_ILLEGAL_ADDRESS); /* as on an H200 */
}

/* A reset makes the primary context usable again. */
static void reset(void)
{
	CUdeviceptr wild = 64, cell;
	void *bad[] = {&wild}, *good[] = {&cell};
	CUcontext ctx;
	unsigned value = 0;

	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	OK(device_launch(device_kernel(text, "put"), 1, 1, NULL, bad));
	CHECK_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	OK(cuDevicePrimaryCtxReset_v2(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	OK(cuMemAlloc_v2(&cell, 4));
	OK(device_launch(device_kernel(text, "put"), 1, 1, NULL, good));
	OK(cuMemcpyDtoH_v2(&value, cell, 4));
	CHECK_EQ(value, 7);
	OK(cuDevicePrimaryCtxRelease_v2(0));
}

int main(void)
{
	setenv("GANGWAY_WATCHDOG_MS", "1000", 0);
	other = device_start();
	other_put = device_kernel(text, "put");
	OK(cuMemAlloc_v2(&other_cell, 4));

	OK(run("put"));
	wild_pointers();
	CHECK_EQ(run("trap"), CUDA_ERROR_LAUNCH_FAILED);
	CHECK_EQ(run("odd"), CUDA_ERROR_MISALIGNED_ADDRESS);
	CHECK_EQ(run("endless"), CUDA_ERROR_LAUNCH_TIMEOUT);
	CHECK_EQ(run("stuck"), CUDA_ERROR_LAUNCH_TIMEOUT);
	CHECK_EQ(run_at("stuck", 100, 256, 0, NULL), CUDA_ERROR_LAUNCH_TIMEOUT);
	messages();
	limits();
	reset();
	return RESULT();
}
