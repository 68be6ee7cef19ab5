/*
 * Copies of pageable memory in graphs: bytes move when the graph runs, also in rows and slices and in more bytes than a
 * piece holds; host functions see them; graphs are cloned and changed; and all pieces are freed in the end.
 */
#include <stdbool.h>
#include "driver.h"

enum { LARGE = (9 << 20) + 12345 };

static CUstream s;

static CUDA_MEMCPY3D up(CUdeviceptr to, const void *from, size_t bytes)
{
	return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = from,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = to,
		.WidthInBytes = bytes,
		.Height = 1,
		.Depth = 1};
}

static CUDA_MEMCPY3D down(void *to, CUdeviceptr from, size_t bytes)
{
	return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = from,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = to,
		.WidthInBytes = bytes,
		.Height = 1,
		.Depth = 1};
}

static void fill_pattern(unsigned char *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (i * 31 + i / 251 + seed) & 0xff;
}

static void launch_and_wait(CUgraphExec x)
{
	OK(cuGraphLaunch(x, s));
	OK(cuStreamSynchronize(s));
}

static void test_large(void)
{
	unsigned char *in = malloc(LARGE), *out = calloc(1, LARGE);
	CUdeviceptr p = memory(LARGE);
	CUDA_MEMCPY3D a = up(p, in, LARGE), b = down(out, p, LARGE), params;
	CUgraphNodeType type;
	CUgraphNode n, m, both[4];
	size_t count = 4;
	CUgraphExec x;
	CUgraph g;

	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddMemcpyNode(&n, g, NULL, 0, &a, context));
	OK(cuGraphAddMemcpyNode(&m, g, &n, 1, &b, context));
	OK(cuGraphGetNodes(g, both, &count));
	CHECK(count == 2 && both[0] == n && both[1] == m);
	OK(cuGraphNodeGetType(n, &type));
	CHECK_EQ(type, CU_GRAPH_NODE_TYPE_MEMCPY);
	OK(cuGraphMemcpyNodeGetParams(m, &params));
	CHECK(params.dstHost == out && params.srcDevice == p && params.WidthInBytes == LARGE);
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	for (unsigned i = 0; i < 3; i++) {
		fill_pattern(in, LARGE, i);
		launch_and_wait(x);
		CHECK(!memcmp(in, out, LARGE));
	}
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));
	OK(cuMemFree_v2(p));
	free(in);
	free(out);
}

/* Row pitch 100 on the host and 128 on the device, from the third byte of the second row of the second slice on. */
static void test_rows(bool captured)
{
	enum { PITCH = 100, ROWS = 7, SLICES = 3, DEVICE = 128 };
	static unsigned char in[PITCH * ROWS * SLICES], out[PITCH * ROWS * SLICES];
	CUdeviceptr p = memory(DEVICE * ROWS * SLICES);
	CUDA_MEMCPY3D a = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = in,
		.srcXInBytes = 3,
		.srcY = 1,
		.srcZ = 1,
		.srcPitch = PITCH,
		.srcHeight = ROWS,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = p,
		.dstPitch = DEVICE,
		.dstHeight = ROWS,
		.WidthInBytes = 90,
		.Height = 5,
		.Depth = 2};
	CUDA_MEMCPY3D b = {.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = (uintptr_t)out,
		.dstXInBytes = 3,
		.dstY = 1,
		.dstZ = 1,
		.dstPitch = PITCH,
		.dstHeight = ROWS,
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = p,
		.srcPitch = DEVICE,
		.srcHeight = ROWS,
		.WidthInBytes = 90,
		.Height = 5,
		.Depth = 2};
	unsigned wrong = 0;
	CUgraphNode n, m;
	CUgraphExec x;
	CUgraph g;

	fill_pattern(in, sizeof in, 7);
	memset(out, 0xee, sizeof out);
	if (captured) {
		OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
		OK(cuMemcpy3DAsync_v2(&a, s));
		OK(cuMemcpy3DAsync_v2(&b, s));
		OK(cuStreamEndCapture(s, &g));
	} else {
		OK(cuGraphCreate(&g, 0));
		OK(cuGraphAddMemcpyNode(&n, g, NULL, 0, &a, context));
		OK(cuGraphAddMemcpyNode(&m, g, &n, 1, &b, context));
	}
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	launch_and_wait(x);
	for (int z = 0; z < SLICES; z++)
		for (int y = 0; y < ROWS; y++)
			for (int i = 0; i < PITCH; i++) {
				int at = (z * ROWS + y) * PITCH + i;
				bool inside = z >= 1 && y >= 1 && y < 6 && i >= 3 && i < 93;
				wrong += out[at] != (inside ? in[at] : 0xee);
			}
	CHECK_EQ(wrong, 0);
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));
	OK(cuMemFree_v2(p));
}

static struct seen {
	unsigned in[4], out[4], middle[4], got;
} seen;

static void before(void *arg)
{
	struct seen *v = arg;

	v->in[0]++;
}

static void after(void *arg)
{
	struct seen *v = arg;

	v->got = v->out[0];
}

/* A host function writes the source of a copy up, another reads the target of a copy down; one copy is host to host. */
static void test_host_functions(void)
{
	CUdeviceptr p = memory(64);
	CUgraphExec x;
	CUgraph g;

	seen = (struct seen){.in = {40}};
	OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuLaunchHostFunc(s, before, &seen));
	OK(cuMemcpyAsync((uintptr_t)seen.middle, (uintptr_t)seen.in, sizeof seen.in, s));
	OK(cuMemcpyHtoDAsync_v2(p, seen.middle, sizeof seen.in, s));
	OK(cuMemcpyDtoHAsync_v2(seen.out, p, sizeof seen.out, s));
	OK(cuLaunchHostFunc(s, after, &seen));
	OK(cuStreamEndCapture(s, &g));
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	launch_and_wait(x);
	CHECK_EQ(seen.got, 41);
	launch_and_wait(x);
	CHECK_EQ(seen.got, 42);
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));
	OK(cuMemFree_v2(p));
}

static void test_changes(void)
{
	unsigned char one[300], two[300], three[300], out[300] = {0};
	CUdeviceptr p = memory(300);
	CUDA_MEMCPY3D a = up(p, one, 300), params;
	CUgraphNode n, twin;
	CUgraphNodeType type;
	CUgraph g, clone;
	CUgraphExec x, y;

	fill_pattern(one, 300, 1);
	fill_pattern(two, 300, 2);
	fill_pattern(three, 300, 3);
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddMemcpyNode(&n, g, NULL, 0, &a, context));
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	OK(cuGraphClone(&clone, g));
	OK(cuGraphNodeFindInClone(&twin, n, clone));
	OK(cuGraphNodeGetType(twin, &type));
	CHECK_EQ(type, CU_GRAPH_NODE_TYPE_MEMCPY);
	a.srcHost = two;
	OK(cuGraphMemcpyNodeSetParams(n, &a));
	OK(cuGraphMemcpyNodeGetParams(n, &params));
	CHECK(params.srcHost == two);
	OK(cuGraphMemcpyNodeGetParams(twin, &params));
	CHECK(params.srcHost == one);
	OK(cuGraphInstantiateWithFlags(&y, g, 0));
	launch_and_wait(x);
	OK(cuMemcpyDtoH_v2(out, p, 300));
	CHECK(!memcmp(out, one, 300));
	launch_and_wait(y);
	OK(cuMemcpyDtoH_v2(out, p, 300));
	CHECK(!memcmp(out, two, 300));
	a.srcHost = three;
	OK(cuGraphExecMemcpyNodeSetParams(y, n, &a, context));
	launch_and_wait(y);
	OK(cuMemcpyDtoH_v2(out, p, 300));
	CHECK(!memcmp(out, three, 300));
	OK(cuGraphExecMemcpyNodeSetParams(x, n, &a, context)); /* instantiated before the node was changed */
	OK(cuMemsetD8_v2(p, 0, 300));
	launch_and_wait(x);
	OK(cuMemcpyDtoH_v2(out, p, 300));
	CHECK(!memcmp(out, three, 300));
	OK(cuGraphExecDestroy(x));
	OK(cuGraphInstantiateWithFlags(&x, clone, 0));
	OK(cuGraphDestroy(g));
	OK(cuGraphDestroy(clone));
	launch_and_wait(x); /* its pieces live as long as the executable graph */
	OK(cuMemcpyDtoH_v2(out, p, 300));
	CHECK(!memcmp(out, one, 300));
	OK(cuGraphExecDestroy(x));
	OK(cuGraphExecDestroy(y));
	OK(cuMemFree_v2(p));
}

/* In several parts, both ways; an executable graph cannot be changed to a size that needs another number of nodes. */
static void test_large_changes(void)
{
	unsigned char *in = malloc(LARGE), *out = calloc(2, LARGE);
	CUdeviceptr p = memory(LARGE);
	CUDA_MEMCPY3D a = up(p, out, LARGE), b = down(out, p, LARGE);
	CUgraphNode n, m;
	CUgraphExec x;
	CUgraph g;

	fill_pattern(in, LARGE, 7);
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddMemcpyNode(&n, g, NULL, 0, &a, context));
	OK(cuGraphAddMemcpyNode(&m, g, &n, 1, &b, context));
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	a.srcHost = in;
	b.dstHost = out + LARGE;
	OK(cuGraphExecMemcpyNodeSetParams(x, n, &a, context));
	OK(cuGraphExecMemcpyNodeSetParams(x, m, &b, context));
	launch_and_wait(x);
	CHECK(!memcmp(in, out + LARGE, LARGE) && !out[1]);
	OK(cuGraphExecDestroy(x));
	b.WidthInBytes = 500;
	b.dstHost = out;
	OK(cuGraphMemcpyNodeSetParams(m, &b));
	OK(cuGraphMemcpyNodeSetParams(n, &a));
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	launch_and_wait(x);
	CHECK(!memcmp(in, out, 500) && !out[500]);
	memset(out, 0, 500);
	a.srcHost = out; /* the target of the last copy */
	OK(cuGraphExecMemcpyNodeSetParams(x, n, &a, context));
	launch_and_wait(x);
	CHECK(!out[1] && !out[499]);
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));
	OK(cuMemFree_v2(p));
	free(in);
	free(out);
}

/* More bytes in all than the arena has: the pieces of destroyed graphs are freed. */
static void test_pieces_freed(void)
{
	enum { SIZE = 3 << 20, TIMES = 60 };
	unsigned char *in = malloc(SIZE);
	CUdeviceptr p = memory(SIZE);
	CUDA_MEMCPY3D a = up(p, in, SIZE);
	unsigned char last = 0;

	memset(in, TIMES, SIZE);
	for (int i = 0; i < TIMES; i++) {
		CUgraphExec x;
		CUgraphNode n;
		CUgraph g;
		CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

		OK(cuGraphCreate(&g, 0));
		for (int k = 0; k < 10000 && r == CUDA_ERROR_OUT_OF_MEMORY;
			k++) { /* destructors run on another thread, perhaps late */
			r = cuGraphAddMemcpyNode(&n, g, NULL, 0, &a, context);
			if (r == CUDA_ERROR_OUT_OF_MEMORY)
				usleep(10000);
		}
		OK(r);
		OK(cuGraphInstantiateWithFlags(&x, g, 0));
		OK(cuGraphLaunch(x, s));
		OK(cuGraphExecDestroy(x));
		OK(cuGraphDestroy(g));
	}
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH_v2(&last, p + SIZE - 1, 1));
	CHECK_EQ(last, TIMES);
	OK(cuMemFree_v2(p));
	free(in);
}

/* The piece of an executable graph's former parameters is freed once the graph has run with the new ones. */
static void test_exec_pieces_freed(void)
{
	enum { SIZE = 3 << 20, TIMES = 60 };
	unsigned char *in = malloc(SIZE), last = 0;
	CUdeviceptr p = memory(SIZE);
	CUDA_MEMCPY3D a = up(p, in, SIZE);
	CUgraphExec x;
	CUgraphNode n;
	CUgraph g;

	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddMemcpyNode(&n, g, NULL, 0, &a, context));
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	for (int i = 0; i < TIMES; i++) {
		in[SIZE - 1] = i + 1;
		OK(cuGraphExecMemcpyNodeSetParams(x, n, &a, context));
		launch_and_wait(x);
		OK(cuMemcpyDtoH_v2(&last, p + SIZE - 1, 1));
		CHECK_EQ(last, i + 1);
	}
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));
	OK(cuMemFree_v2(p));
	free(in);
}

/* More bytes in one graph than the arena has; then one of the copies is changed. */
static void test_many_nodes(void)
{
	enum { SIZE = 3 << 20, NODES = 50 };
	unsigned char *in = malloc(SIZE), *other = malloc(SIZE), *out = malloc(SIZE);
	CUdeviceptr p = memory(SIZE);
	CUgraphNode n = NULL, last;
	CUDA_MEMCPY3D a;
	CUgraphExec x;
	CUgraph g;

	fill_pattern(in, SIZE, 5);
	fill_pattern(other, SIZE, 6);
	OK(cuGraphCreate(&g, 0));
	for (int i = 0; i < NODES; i++) {
		a = up(p, in, SIZE);
		last = n;
		OK(cuGraphAddMemcpyNode(&n, g, &last, i > 0, &a, context));
	}
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	launch_and_wait(x);
	OK(cuMemcpyDtoH_v2(out, p, SIZE));
	CHECK(!memcmp(in, out, SIZE));
	a.srcHost = other;
	OK(cuGraphExecMemcpyNodeSetParams(x, n, &a, context));
	launch_and_wait(x);
	OK(cuMemcpyDtoH_v2(out, p, SIZE));
	CHECK(!memcmp(other, out, SIZE));
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));
	OK(cuMemFree_v2(p));
	free(in);
	free(other);
	free(out);
}

int main(void)
{
	start();
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	test_large();
	test_rows(false);
	test_rows(true);
	test_host_functions();
	test_changes();
	test_large_changes();
	test_pieces_freed();
	test_exec_pieces_freed();
	test_many_nodes();
	OK(cuStreamDestroy_v2(s));
	return RESULT();
}
