/*
 * A client of a server with small limits for host memory and objects: each kind of object and of host memory is refused
 * at the limit with CUDA_ERROR_OUT_OF_MEMORY, and comes back completely when it is freed, unloaded, destroyed, or ends
 * with its context.
 *
 *	accounts objects	with --objects 300
 *	accounts host		with --host-memory 320M and --memory 64M; the link itself takes 128 MiB
 *	accounts images		with --host-memory 168M
 *	accounts images-pass	loads and unloads thirty images
 *	accounts hold		holds 16 MiB of pinned memory and 5 events until a line on stdin
 */
#include <unistd.h>
#include "application.h"

#define MB       ((size_t)1 << 20)
#define LIMIT    300
#define TOO_MANY 2000

static CUcontext context;
static CUgraph graph;
static CUarray texture_array;

static const char code[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry none() { ret; }\n";

/* ---- objects ---- */

static CUresult event_make(unsigned long long *it)
{
	return cuEventCreate((CUevent *)it, CU_EVENT_DISABLE_TIMING);
}

static CUresult event_end(unsigned long long it)
{
	return cuEventDestroy_v2((CUevent)(uintptr_t)it);
}

static CUresult stream_make(unsigned long long *it)
{
	return cuStreamCreate((CUstream *)it, CU_STREAM_NON_BLOCKING);
}

static CUresult stream_end(unsigned long long it)
{
	return cuStreamDestroy_v2((CUstream)(uintptr_t)it);
}

static CUresult byte_make(unsigned long long *it)
{
	return cuMemAlloc_v2(it, 1);
}

static CUresult byte_end(unsigned long long it)
{
	return cuMemFree_v2(it);
}

static CUresult async_make(unsigned long long *it)
{
	return cuMemAllocAsync(it, 1, NULL);
}

static CUresult async_end(unsigned long long it)
{
	return cuMemFreeAsync(it, NULL);
}

/* With the handle of a function. */
static CUresult module_make(unsigned long long *it)
{
	CUresult r = cuModuleLoadData((CUmodule *)it, code);
	CUfunction f;

	if (!r)
		OK(cuModuleGetFunction(&f, (CUmodule)(uintptr_t)*it, "none"));
	return r;
}

static CUresult module_end(unsigned long long it)
{
	return cuModuleUnload((CUmodule)(uintptr_t)it);
}

static CUresult library_make(unsigned long long *it)
{
	CUresult r = cuLibraryLoadData((CUlibrary *)it, code, NULL, NULL, 0, NULL, NULL, 0);
	CUfunction f;
	CUkernel k;

	if (!r) {
		OK(cuLibraryGetKernel(&k, (CUlibrary)(uintptr_t)*it, "none"));
		OK(cuKernelGetFunction(&f, k));
	}
	return r;
}

static CUresult library_end(unsigned long long it)
{
	return cuLibraryUnload((CUlibrary)(uintptr_t)it);
}

/* With a node. */
static CUresult graph_make(unsigned long long *it)
{
	CUresult r = cuGraphCreate((CUgraph *)it, 0);
	CUgraphNode node;

	return r ? r : cuGraphAddEmptyNode(&node, (CUgraph)(uintptr_t)*it, NULL, 0);
}

static CUresult graph_end(unsigned long long it)
{
	return cuGraphDestroy((CUgraph)(uintptr_t)it);
}

static CUresult node_make(unsigned long long *it)
{
	return cuGraphAddEmptyNode((CUgraphNode *)it, graph, NULL, 0);
}

static CUresult node_end(unsigned long long it)
{
	return cuGraphDestroyNode((CUgraphNode)(uintptr_t)it);
}

static CUresult exec_make(unsigned long long *it)
{
	return cuGraphInstantiateWithFlags((CUgraphExec *)it, graph, 0);
}

static CUresult exec_end(unsigned long long it)
{
	return cuGraphExecDestroy((CUgraphExec)(uintptr_t)it);
}

static CUresult array_make(unsigned long long *it)
{
	CUDA_ARRAY_DESCRIPTOR d = {.Width = 4, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};

	return cuArrayCreate_v2((CUarray *)it, &d);
}

static CUresult array_end(unsigned long long it)
{
	return cuArrayDestroy((CUarray)(uintptr_t)it);
}

static CUresult texture_make(unsigned long long *it)
{
	CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = texture_array};
	CUDA_TEXTURE_DESC t = {.flags = 0};

	return cuTexObjectCreate(it, &r, &t, NULL);
}

static CUresult texture_end(unsigned long long it)
{
	return cuTexObjectDestroy(it);
}

static CUresult pool_make(unsigned long long *it)
{
	CUmemPoolProps p = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

	return cuMemPoolCreate((CUmemoryPool *)it, &p);
}

static CUresult pool_end(unsigned long long it)
{
	return cuMemPoolDestroy((CUmemoryPool)(uintptr_t)it);
}

static CUresult reservation_make(unsigned long long *it)
{
	return cuMemAddressReserve(it, 2 * MB, 0, 0, 0);
}

static CUresult reservation_end(unsigned long long it)
{
	return cuMemAddressFree(it, 2 * MB);
}

static CUresult physical_make(unsigned long long *it)
{
	CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

	return cuMemCreate(it, 2 * MB, &p, 0);
}

static CUresult physical_end(unsigned long long it)
{
	return cuMemRelease(it);
}

static CUresult link_make(unsigned long long *it)
{
	return cuLinkCreate_v2(0, NULL, NULL, (CUlinkState *)it);
}

static CUresult link_end(unsigned long long it)
{
	return cuLinkDestroy((CUlinkState)(uintptr_t)it);
}

static CUresult mapped_make(unsigned long long *it)
{
	return cuMemHostAlloc((void **)it, 4096, CU_MEMHOSTALLOC_DEVICEMAP);
}

static CUresult mapped_end(unsigned long long it)
{
	return cuMemFreeHost((void *)(uintptr_t)it);
}

static const struct kind {
	const char *name;
	CUresult (*make)(unsigned long long *it);
	CUresult (*end)(unsigned long long it);
	int in_context; /* ends with its context */
} kinds[] = {
	{"event", event_make, event_end, 1},
	{"stream", stream_make, stream_end, 1},
	{"cuMemAlloc", byte_make, byte_end, 1},
	{"cuMemAllocAsync", async_make, async_end, 0},
	{"module", module_make, module_end, 1},
	{"library", library_make, library_end, 0},
	{"graph", graph_make, graph_end, 0},
	{"graph node", node_make, node_end, 0},
	{"executable graph", exec_make, exec_end, 0},
	{"array", array_make, array_end, 1},
	{"texture", texture_make, texture_end, 0},
	{"pool", pool_make, pool_end, 0},
	{"reservation", reservation_make, reservation_end, 0},
	{"physical memory", physical_make, physical_end, 0},
	{"linker state", link_make, link_end, 0},
	{"mapped host memory", mapped_make, mapped_end, 0},
};

static unsigned long long objects[TOO_MANY];

/* Makes objects until one is refused: their number. */
static int fill(const struct kind *k)
{
	int n = 0;
	CUresult r = CUDA_SUCCESS;

	while (n < TOO_MANY && !(r = k->make(&objects[n])))
		n++;
	CHECK_EQ(r, CUDA_ERROR_OUT_OF_MEMORY);
	return n;
}

static void empty(const struct kind *k, int n)
{
	while (n--)
		OK(k->end(objects[n]));
	OK(cuCtxSynchronize());
}

static void one_kind(const struct kind *k)
{
	int before = failures, first = fill(k), second;
	CUevent other;

	CHECK(first > 10 && first < LIMIT);
	CHECK_EQ(cuEventCreate(&other, 0), CUDA_ERROR_OUT_OF_MEMORY);
	empty(k, first);
	second = fill(k);
	CHECK_EQ(second, first);
	empty(k, second);
	if (failures != before)
		fprintf(stderr, "that was %s\n", k->name);
}

/* Objects come back with the end of their context, created or primary. */
static void one_kind_ends(const struct kind *k)
{
	int before = failures, first = 0, n;
	CUcontext other;

	for (int i = 0; i < 3; i++) {
		OK(cuCtxCreate_v2(&other, 0, 0));
		n = fill(k);
		CHECK(n > 10 && n < LIMIT);
		CHECK(!i || n == first);
		first = n;
		OK(cuCtxDestroy_v2(other));
		OK(cuCtxSetCurrent(context));
	}
	if (failures != before)
		fprintf(stderr, "that was %s, ended with its context\n", k->name);
}

static void objects_all(void)
{
	OK(cuGraphCreate(&graph, 0));
	OK(array_make((unsigned long long *)&texture_array));
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		one_kind(&kinds[i]);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].in_context)
			one_kind_ends(&kinds[i]);
	for (int i = 0; i < 3; i++) {
		CHECK(fill(&kinds[0]) > 10);
		OK(cuDevicePrimaryCtxReset_v2(0));
		OK(cuDevicePrimaryCtxRetain(&context, 0));
		OK(cuCtxSetCurrent(context));
	}
}

/* ---- host memory ---- */

static CUresult managed_take(unsigned long long *it)
{
	return cuMemAllocManaged(it, 8 * MB, CU_MEM_ATTACH_GLOBAL);
}

static CUresult managed_give(unsigned long long it)
{
	return cuMemFree_v2(it);
}

static CUresult pinned_take(unsigned long long *it)
{
	return cuMemHostAlloc((void **)it, 8 * MB, CU_MEMHOSTALLOC_DEVICEMAP);
}

static CUresult physical_take(unsigned long long *it)
{
	CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_HOST, 0}};

	return cuMemCreate(it, 8 * MB, &p, 0);
}

static CUmemoryPool host_pool;

static CUresult host_pool_take(unsigned long long *it)
{
	return cuMemAllocFromPoolAsync(it, 32 * MB, host_pool, NULL);
}

static CUresult host_pool_give(unsigned long long it)
{
	return cuMemFreeAsync(it, NULL);
}

static const struct kind host_kinds[] = {
	{"managed memory", managed_take, managed_give, 0},
	{"pinned memory", pinned_take, mapped_end, 0},
	{"physical memory of the host", physical_take, physical_end, 0},
	{"a pool of host memory", host_pool_take, host_pool_give, 0},
};

static void one_host_kind(const struct kind *k, int at_least)
{
	int before = failures, first = fill(k), second;
	unsigned long long more;

	CHECK(first >= at_least && first <= 24);
	CHECK_EQ(managed_take(&more), CUDA_ERROR_OUT_OF_MEMORY);
	empty(k, first);
	second = fill(k);
	CHECK_EQ(second, first);
	empty(k, second);
	if (failures != before)
		fprintf(stderr, "that was %s\n", k->name);
}

static void host_all(void)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_HOST, 0}};
	CUmemAllocationProp host = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_HOST, 0}};
	CUdeviceptr p;
	void *h;

	CHECK_EQ(cuMemAllocManaged(&p, 2048 * MB, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cuMemHostAlloc(&h, 2048 * MB, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_ERROR_OUT_OF_MEMORY);
	one_host_kind(&host_kinds[0], 8);
	one_host_kind(&host_kinds[1], 8);
	if (cuMemCreate(&p, 2 * MB, &host, 0) != CUDA_ERROR_NOT_SUPPORTED) /* through a server it is not */
		one_host_kind(&host_kinds[2], 20);
	if (!cuMemPoolCreate(&host_pool, &props)) {
		one_host_kind(&host_kinds[3], 4);
		OK(cuMemPoolDestroy(host_pool));
	}
	/* Memory that a pool keeps counts, and the worker gives it back before it refuses anything. */
	unsigned long long keep = ~0ull, it[8];
	if (!cuMemPoolCreate(&host_pool, &props)) {
		OK(cuMemPoolSetAttribute(host_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
		int n = fill(&host_kinds[3]);
		empty(&host_kinds[3], n);
		OK(managed_take(&it[0]));
		OK(managed_give(it[0]));
		OK(cuMemPoolDestroy(host_pool));
	}
}

/* ---- images ---- */

#define IMAGE (8 * MB)

static char *image;

/* Code of 8 MiB, different for each number. */
static CUresult image_load(int number, unsigned long long *it)
{
	if (!image) {
		image = malloc(IMAGE);
		if (!image)
			exit(1);
		memset(image, 'x', IMAGE);
		memcpy(image, code, strlen(code));
		memcpy(image + strlen(code), "//", 2);
		memcpy(image + IMAGE - 2, "\n", 2);
	}
	snprintf(image + strlen(code) + 2, 16, "%015d", number);
	image[strlen(code) + 17] = 'x';
	return cuModuleLoadData((CUmodule *)it, image);
}

static int images_fill(int from)
{
	CUresult r = CUDA_SUCCESS;
	int n = 0;

	while (n < 10 && !(r = image_load(from + n, &objects[n])))
		n++;
	CHECK_EQ(r, CUDA_ERROR_OUT_OF_MEMORY);
	return n;
}

/* Thirty images, one after another. */
static void images_pass(void)
{
	for (int i = 0; i < 30; i++) {
		OK(image_load(i, objects));
		OK(cuModuleUnload((CUmodule)(uintptr_t)objects[0]));
	}
}

static void images_all(void)
{
	int first, second;
	CUcontext other;

	images_pass();
	first = images_fill(100);
	CHECK(first >= 3 && first <= 5);
	for (int i = 0; i < first; i++)
		OK(cuModuleUnload((CUmodule)(uintptr_t)objects[i]));
	OK(cuCtxCreate_v2(&other, 0, 0));
	second = images_fill(200);
	CHECK_EQ(second, first);
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
	CHECK_EQ(images_fill(300), first);
}

static void hold(void)
{
	unsigned long long it[5];
	char line[8];
	void *p;

	OK(cuMemHostAlloc(&p, 16 * MB, CU_MEMHOSTALLOC_DEVICEMAP));
	for (int i = 0; i < 5; i++)
		OK(event_make(&it[i]));
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		exit(1);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	context = check_start();
	if (!strcmp(verb, "objects"))
		objects_all();
	else if (!strcmp(verb, "host"))
		host_all();
	else if (!strcmp(verb, "images"))
		images_all();
	else if (!strcmp(verb, "images-pass"))
		images_pass();
	else if (!strcmp(verb, "hold"))
		hold();
	else
		return 2;
	return RESULT();
}
