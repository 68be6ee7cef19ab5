/*
 * Managed memory and managed variables: a kernel reads the values that the host wrote before the launch, and the host
 * reads the kernel's values after any kind of synchronisation.  The host does not touch the memory while the kernel
 * runs: not every device supports concurrent access.
 */
#include <stdbool.h>
#include "driver.h"

enum { WORDS = (3 << 20) / 4 + 77 };

static const char text[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .global .attribute(.managed) .align 4 .u32 number = 11;\n"
	".visible .global .attribute(.managed) .align 8 .b8 table[20000];\n"
	/* number += by; table[4 i] = number for some i */
	".visible .entry turn(.param .u32 by)\n"
	"{ .reg .u32 %n, %b; ld.param.u32 %b, [by]; ld.global.u32 %n, [number]; add.u32 %n, %n, %b;\n"
	"  st.global.u32 [number], %n; st.global.u32 [table], %n; st.global.u32 [table+19996], %n; ret; }\n";

static volatile unsigned *words;
static CUdeviceptr memory_at;
static CUstream s;

static void launch_fill(unsigned value, unsigned from, unsigned n)
{
	CUdeviceptr p = memory_at + 4 * from;
	void *params[] = {&p, &value, &n};

	OK(cuLaunchKernel(fill, (n + 127) / 128, 1, 1, 128, 1, 1, 0, s, params, NULL));
}

static unsigned wrong(unsigned from, unsigned n, unsigned value)
{
	unsigned bad = 0;

	for (unsigned i = from; i < from + n; i++)
		bad += words[i] != value;
	return bad;
}

static void allocated(void)
{
	unsigned *back = malloc(WORDS * 4);
	CUevent e;

	OK(cuMemAllocManaged(&memory_at, WORDS * 4, CU_MEM_ATTACH_GLOBAL));
	words = (unsigned *)(uintptr_t)memory_at;
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = i;
	OK(cuMemcpyDtoH_v2(back, memory_at, WORDS * 4)); /* as device memory */
	CHECK(!memcmp(back, (void *)words, WORDS * 4));
	for (unsigned round = 1; round < 4 && results(); round++) { /* each kernel fills a part, next to a host word */
		words[round - 1] = 100 + round;
		launch_fill(round, 1000 * round, 500);
		OK(cuStreamSynchronize(s));
		CHECK_EQ(wrong(1000 * round, 500, round), 0);
		CHECK(words[1000 * round - 1] == 1000 * round - 1 && words[1000 * round + 500] == 1000 * round + 500);
		CHECK_EQ(words[round - 1], 100 + round);
	}
	OK(cuEventCreate(&e, 0));
	if (results()) {
		launch_fill(9, WORDS - 300, 300);
		OK(cuEventRecord(e, s));
		OK(cuEventSynchronize(e));
		CHECK_EQ(wrong(WORDS - 300, 300, 9), 0);
		launch_fill(10, 0, WORDS);
		OK(cuEventRecord(e, s));
		while (cuEventQuery(e) == CUDA_ERROR_NOT_READY)
			usleep(100);
		CHECK_EQ(wrong(0, WORDS, 10), 0);
		launch_fill(11, 5, 1);
		while (cuStreamQuery(s) == CUDA_ERROR_NOT_READY)
			usleep(100);
		CHECK_EQ(words[5], 11);
		launch_fill(12, 6, 1);
		OK(cuCtxSynchronize());
		CHECK_EQ(words[6], 12);
	}
	OK(cuEventDestroy_v2(e));
	free(back);
}

/* Copies and memsets that use managed memory as host memory and as device memory. */
static void copied(void)
{
	unsigned in[256], out[256];
	CUdeviceptr p = memory(1024);

	for (unsigned i = 0; i < 256; i++)
		in[i] = 7 * i;
	OK(cuMemcpyHtoD_v2(memory_at, in, 1024));
	CHECK(!memcmp((void *)words, in, 1024));
	words[3] = 1;
	OK(cuMemcpyDtoD_v2(p, memory_at, 1024));
	OK(cuMemcpyDtoH_v2(out, p, 1024));
	CHECK(out[3] == 1 && out[4] == 28);
	words[4] = 2;
	OK(cuMemcpyHtoD_v2(p, (void *)words, 1024));
	OK(cuMemsetD32_v2(memory_at, 5, 256));
	CHECK_EQ(wrong(0, 256, 5), 0);
	OK(cuMemcpy(memory_at, p, 1024));
	CHECK(words[4] == 2 && words[5] == 35);
	OK(cuMemcpyDtoHAsync_v2((void *)words, p, 8, s));
	OK(cuMemsetD32Async(memory_at + 8, 6, 2, s));
	OK(cuStreamSynchronize(s));
	CHECK(words[0] == 0 && words[1] == 7 && words[2] == 6 && words[3] == 6 && words[4] == 2);
	OK(cuMemFree_v2(p));
}

/* The host may write memory attached to the host while kernels run; then the test attaches it globally. */
static void attached(void)
{
	CUdeviceptr other;
	volatile unsigned *mine;
	unsigned out = 0;

	OK(cuMemAllocManaged(&other, 4096, CU_MEM_ATTACH_HOST));
	mine = (unsigned *)(uintptr_t)other;
	launch_fill(1, 0, 4096);
	for (unsigned i = 0; i < 1024; i++)
		mine[i] = i;
	OK(cuStreamAttachMemAsync(s, other, 0, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemcpyDtoDAsync_v2(memory_at, other, 4096, s));
	OK(cuStreamSynchronize(s));
	CHECK(words[1023] == 1023 && words[0] == 0);
	OK(cuMemcpyDtoH_v2(&out, other + 400, 4));
	CHECK_EQ(out, 100);
	OK(cuMemFree_v2(other));
}

static void linger(void *arg)
{
	(void)arg;
	usleep(20000);
}

/* Synchronising one stream must not hide the later writes of another. */
static void two_streams(CUfunction turn, volatile unsigned *number)
{
	unsigned by = 1000, none = 0, was = *number;
	CUstream slow;

	OK(cuStreamCreate(&slow, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(slow, linger, NULL));
	OK(cuLaunchKernel(turn, 1, 1, 1, 1, 1, 1, 0, slow, (void *[]){&by}, NULL));
	OK(cuStreamSynchronize(s));
	OK(cuStreamSynchronize(slow));
	CHECK_EQ(*number, was + by);
	OK(cuLaunchKernel(turn, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){&none}, NULL));
	OK(cuStreamSynchronize(s));
	CHECK_EQ(*number, was + by);
	OK(cuStreamDestroy_v2(slow));
}

static volatile unsigned *shown;
static unsigned found[64];

/* Host function between two kernels: reads the first one's value and writes a value for the second. */
static void between(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	found[i] = *shown;
	*shown = 1000 * (i + 1);
}

/* In odd rounds the worker blocks in cuMemFree, which waits for the host function. */
static void functions(CUfunction turn, volatile unsigned *number, volatile unsigned *table)
{
	unsigned by = 3;

	shown = number;
	for (unsigned i = 0; i < 20; i++) {
		CUdeviceptr p = memory(64);

		*number = 100 + i;
		OK(cuLaunchKernel(turn, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){&by}, NULL));
		OK(cuLaunchHostFunc(s, between, (void *)(uintptr_t)i));
		OK(cuLaunchKernel(turn, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){&by}, NULL));
		if (i % 2)
			OK(cuMemFree_v2(p));
		OK(cuStreamSynchronize(s));
		CHECK_EQ(found[i], 103 + i);
		CHECK_EQ(*number, 1000 * (i + 1) + 3);
		CHECK_EQ(table[4999], *number);
	}
}

static void once(void *arg)
{
	++*(unsigned *)arg;
}

/* The process's first host function, after the first managed variable was unloaded. */
static void before_all(void)
{
	CUdeviceptr n = 0, p = memory(64);
	unsigned ran = 0;
	size_t size;
	CUmodule m;

	OK(cuModuleLoadData(&m, text));
	OK(cuModuleGetGlobal_v2(&n, &size, m, "number"));
	OK(cuModuleUnload(m));
	OK(cuLaunchHostFunc(s, linger, NULL));
	OK(cuLaunchHostFunc(s, once, &ran));
	OK(cuMemFree_v2(p)); /* waits for the stream */
	OK(cuStreamSynchronize(s));
	CHECK_EQ(ran, 1);
}

static void variables(bool library)
{
	volatile unsigned *number, *table;
	CUdeviceptr n = 0, t = 0;
	unsigned by = 5, managed = 0, out = 0;
	void *params[] = {&by};
	CUfunction turn;
	CUlibrary lib;
	CUmodule m;
	size_t size;

	if (library) {
		OK(cuLibraryLoadData(&lib, text, NULL, NULL, 0, NULL, NULL, 0));
		OK(cuLibraryGetManaged(&n, &size, lib, "number"));
		CHECK_EQ(size, 4);
		OK(cuLibraryGetManaged(&t, &size, lib, "table"));
		OK(cuLibraryGetKernel((CUkernel *)&turn, lib, "turn"));
	} else {
		OK(cuModuleLoadData(&m, text));
		OK(cuModuleGetGlobal_v2(&n, &size, m, "number"));
		OK(cuModuleGetGlobal_v2(&t, &size, m, "table"));
		OK(cuModuleGetFunction(&turn, m, "turn"));
	}
	CHECK_EQ(size, 20000);
	OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, n));
	CHECK_EQ(managed, 1);
	number = (unsigned *)(uintptr_t)n;
	table = (unsigned *)(uintptr_t)t;
	if (!n || !t)
		return;
	if (results())
		CHECK_EQ(*number, 11);
	table[2] = 17;
	*number = 30;
	for (unsigned i = 1; i <= 3 && results(); i++) {
		OK(cuLaunchKernel(turn, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
		OK(cuStreamSynchronize(s));
		CHECK(*number == 30 + 6 * i - 1 && table[0] == *number && table[4999] == *number && table[2] == 17);
		++*number;
	}
	if (results())
		two_streams(turn, number);
	if (results())
		functions(turn, number, table);
	*number = 99;
	OK(cuMemcpyDtoH_v2(&out, n, 4));
	CHECK_EQ(out, 99);
	if (library)
		OK(cuLibraryUnload(lib));
	else
		OK(cuModuleUnload(m));
}

int main(void)
{
	start();
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	before_all();
	allocated();
	copied();
	attached();
	OK(cuMemFree_v2(memory_at));
	for (int i = 0; i < 3; i++) {
		variables(false);
		variables(true);
	}
	OK(cuStreamDestroy_v2(s));
	return RESULT();
}
