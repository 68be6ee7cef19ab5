/*
 * Two clients of one server, one after the other or at the same time: no memory that a client gets contains bytes of
 * another client.
 *
 *	tenants fill	fills every kind of memory with a pattern, prints "ready" and waits for a line on stdin
 *	tenants look	looks for the pattern in memory that it has not written: device memory, pools, pinned and managed
 *			memory, arrays, and everything that it shares with its worker
 *	tenants ipc	a client that keeps memory of another one open sees nothing of what that one allocates later
 */
#include <sys/wait.h>
#include <unistd.h>
#include "application.h"
#include "test/fork.h"

#define MB          ((size_t)1 << 20)
#define SMALL       64 /* blocks of SMALL_BYTES */
#define SMALL_BYTES 5000
#define LARGE       (32 * MB)

/* Not a constant, so that the program itself does not contain the pattern. */
static uint64_t pattern(void)
{
	volatile uint64_t half = 0x5ec4e7;

	return half << 40 | half << 12 | 0xabc;
}

static void pattern_fill(void *p, size_t size)
{
	uint64_t *word = p;

	for (size_t i = 0; i < size / 8; i++)
		word[i] = pattern();
}

static int pattern_found(const void *p, size_t size, const char *where)
{
	const uint64_t *word = p;

	for (size_t i = 0; i < size / 8; i++)
		if (word[i] == pattern()) {
			fprintf(stderr, "%s: the pattern of another client at byte %zu\n", where, 8 * i);
			failures++;
			return 1;
		}
	return 0;
}

static CUdeviceptr blocks[SMALL], large, pooled, managed;
static void *pinned;
static CUarray array;
static char *buffer;

static void allocate(void)
{
	CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1};

	buffer = malloc(LARGE);
	if (!buffer)
		exit(1);
	for (int i = 0; i < SMALL; i++)
		OK(cuMemAlloc_v2(&blocks[i], SMALL_BYTES));
	OK(cuMemAlloc_v2(&large, LARGE));
	OK(cuMemAllocAsync(&pooled, LARGE, NULL));
	OK(cuMemAllocManaged(&managed, MB, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemHostAlloc(&pinned, MB, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuArrayCreate_v2(&array, &d));
	OK(cuCtxSynchronize());
}

/* Uploads go through the staging arena, downloads come back through the other one. */
static void fill(void)
{
	CUDA_MEMCPY2D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcPitch = 4096,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.WidthInBytes = 4096,
		.Height = 1024};
	char line[8];

	allocate();
	pattern_fill(buffer, LARGE);
	for (int i = 0; i < SMALL; i++)
		OK(cuMemcpyHtoD_v2(blocks[i], buffer, SMALL_BYTES));
	OK(cuMemcpyHtoD_v2(large, buffer, LARGE));
	OK(cuMemcpyHtoD_v2(pooled, buffer, LARGE));
	OK(cuMemcpyDtoH_v2(buffer, large, LARGE));
	up.srcHost = buffer;
	up.dstArray = array;
	OK(cuMemcpy2D_v2(&up));
	pattern_fill((void *)(uintptr_t)managed, MB);
	pattern_fill(pinned, MB);
	OK(cuCtxSynchronize());
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		exit(1);
}

/* Everything that this process shares with the worker. */
static void look_at_shared(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512], mode[8];
	int seen = 0;

	while (maps && fgets(line, sizeof line, maps)) {
		if (!strstr(line, "memfd:") || sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || mode[0] != 'r')
			continue;
		seen++;
		pattern_found((const void *)from, to - from, line);
	}
	if (maps)
		fclose(maps);
	CHECK(seen || !check_shares());
}

static void look(void)
{
	CUDA_MEMCPY2D down = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstPitch = 4096,
		.WidthInBytes = 4096,
		.Height = 1024};

	look_at_shared();
	allocate();
	look_at_shared();
	for (int i = 0; i < SMALL; i++) {
		OK(cuMemcpyDtoH_v2(buffer, blocks[i], SMALL_BYTES));
		pattern_found(buffer, SMALL_BYTES, "a small block");
	}
	OK(cuMemcpyDtoH_v2(buffer, large, LARGE));
	pattern_found(buffer, LARGE, "a large block");
	OK(cuMemcpyDtoH_v2(buffer, pooled, LARGE));
	pattern_found(buffer, LARGE, "memory of a pool");
	pattern_found((const void *)(uintptr_t)managed, MB, "managed memory");
	pattern_found(pinned, MB, "pinned memory");
	memset(buffer, 0, LARGE);
	down.srcArray = array;
	down.dstHost = buffer;
	OK(cuMemcpy2D_v2(&down));
	pattern_found(buffer, 4 * MB, "an array");
}

/* ---- IPC ---- */

/* Opens what it is sent, says so, and looks at it again when the other side has gone on. */
static int importer(int in, int out)
{
	CUipcMemHandle handle[2];
	CUdeviceptr p[2];
	char seen[SMALL_BYTES], byte = 0;

	check_start();
	CHECK(read(in, handle, sizeof handle) == sizeof handle);
	for (int i = 0; i < 2; i++) {
		OK(cuIpcOpenMemHandle_v2(&p[i], handle[i], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
		CHECK_EQ(p[i] % 4096, 0); /* it shares no page with another allocation */
		OK(cuMemcpyDtoH_v2(seen, p[i], 8));
		CHECK_EQ(seen[0], i + 1);
	}
	CHECK(write(out, &byte, 1) == 1 && read(in, &byte, 1) == 1);
	for (int i = 0; i < 2; i++) {
		memset(seen, 0, sizeof seen);
		CUresult r = cuMemcpyDtoH_v2(seen, p[i], sizeof seen);
		CHECK(!r || r == CUDA_ERROR_INVALID_VALUE);
		pattern_found(seen, sizeof seen, "memory that was freed by its owner");
		OK(cuMemsetD8_v2(p[i], 0x77, SMALL_BYTES)); /* nor does it change what the owner has there now */
	}
	OK(cuCtxSynchronize());
	CHECK(write(out, &byte, 1) == 1);
	return RESULT();
}

static void exporter(int out, int in)
{
	CUipcMemHandle handle[2];
	CUdeviceptr p[2], more[SMALL];
	char byte = 0;

	check_start();
	buffer = malloc(MB);
	if (!buffer)
		exit(1);
	pattern_fill(buffer, MB);
	for (int i = 0; i < 2; i++) {
		OK(cuMemAlloc_v2(&p[i], SMALL_BYTES));
		OK(cuMemsetD8_v2(p[i], i + 1, SMALL_BYTES));
		OK(cuIpcGetMemHandle(&handle[i], p[i]));
	}
	OK(cuCtxSynchronize());
	CHECK(write(out, handle, sizeof handle) == sizeof handle && read(in, &byte, 1) == 1);
	for (int i = 0; i < 2; i++)
		OK(cuMemFree_v2(p[i]));
	for (int i = 0; i < SMALL; i++) {
		OK(cuMemAlloc_v2(&more[i], SMALL_BYTES));
		OK(cuMemcpyHtoD_v2(more[i], buffer, SMALL_BYTES));
	}
	OK(cuCtxSynchronize());
	CHECK(write(out, &byte, 1) == 1 && read(in, &byte, 1) == 1);
	for (int i = 0; i < SMALL; i++) {
		char now[SMALL_BYTES];
		OK(cuMemcpyDtoH_v2(now, more[i], SMALL_BYTES));
		CHECK_EQ(memcmp(now, buffer, SMALL_BYTES), 0);
	}
}

static void ipc(void)
{
	int down[2], up[2], status = 0;
	pid_t pid;

	if (pipe(down) || pipe(up))
		exit(1);
	pid = calm_fork();
	if (!pid)
		exit(importer(down[0], up[1]));
	exporter(down[1], up[0]);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (!strcmp(verb, "ipc")) {
		ipc();
		return RESULT();
	}
	check_start();
	if (!strcmp(verb, "fill"))
		fill();
	else
		look();
	return RESULT();
}
