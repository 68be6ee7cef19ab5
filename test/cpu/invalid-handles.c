/*
 * Destroyed handles, handles of another kind, and forged handles: every call refuses them with CUDA's error code, and
 * valid objects remain usable.
 */
#include "test/cpu/device.h"

static const char text[] = PTX ".visible .global .u32 g;\n.visible .entry put(.param .u64 to)\n"
			       "{ .reg .u64 %a; ld.param.u64 %a, [to]; st.global.u32 [%a], 7; ret; }\n";

/* One object of each kind.  The test creates two sets, and destroys the first. */
struct handles {
	CUstream stream;
	CUevent event;
	CUmodule module;
	CUfunction function;
	CUlibrary library;
	CUkernel kernel;
	CUarray array;
	CUmipmappedArray levels;
	CUtexObject texture;
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;
	CUmemoryPool pool;
	CUlinkState link;
	CUuserObject user;
	CUdeviceptr memory;
	void *host;
};

static void nothing(void *arg)
{
	(void)arg;
}

static void create_all(struct handles *s)
{
	CUDA_ARRAY3D_DESCRIPTOR deep = {16, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0};
	CUDA_ARRAY_DESCRIPTOR flat = {16, 16, CU_AD_FORMAT_FLOAT, 1};
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUDA_RESOURCE_DESC res = {.resType = CU_RESOURCE_TYPE_ARRAY};
	CUDA_TEXTURE_DESC desc = {0};

	OK(cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&s->event, 0));
	OK(cuModuleLoadData(&s->module, text));
	OK(cuModuleGetFunction(&s->function, s->module, "put"));
	OK(cuLibraryLoadData(&s->library, text, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&s->kernel, s->library, "put"));
	OK(cuArrayCreate_v2(&s->array, &flat));
	OK(cuMipmappedArrayCreate(&s->levels, &deep, 2));
	res.res.array.hArray = s->array;
	OK(cuTexObjectCreate(&s->texture, &res, &desc, NULL));
	OK(cuGraphCreate(&s->graph, 0));
	OK(cuGraphAddEmptyNode(&s->node, s->graph, NULL, 0));
	OK(cuGraphInstantiateWithFlags(&s->exec, s->graph, 0));
	OK(cuMemPoolCreate(&s->pool, &props));
	OK(cuLinkCreate_v2(0, NULL, NULL, &s->link));
	OK(cuUserObjectCreate(&s->user, &props, nothing, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	OK(cuMemAlloc_v2(&s->memory, 4096));
	OK(cuMemAllocHost_v2(&s->host, 4096));
}

/* The first destruction succeeds, the second fails. */
static void destroy_all(const struct handles *s, CUresult wanted, CUresult memory)
{
	CHECK_EQ(cuGraphExecDestroy(s->exec), wanted ? CUDA_ERROR_INVALID_VALUE : 0);
	CHECK_EQ(cuGraphDestroy(s->graph), wanted ? CUDA_ERROR_INVALID_VALUE : 0);
	CHECK_EQ(cuTexObjectDestroy(s->texture), wanted ? CUDA_ERROR_INVALID_VALUE : 0);
	CHECK_EQ(cuArrayDestroy(s->array), wanted);
	CHECK_EQ(cuMipmappedArrayDestroy(s->levels), wanted);
	CHECK_EQ(cuLibraryUnload(s->library), wanted);
	CHECK_EQ(cuModuleUnload(s->module), wanted);
	CHECK_EQ(cuEventDestroy_v2(s->event), wanted);
	CHECK_EQ(cuStreamDestroy_v2(s->stream), wanted);
	CHECK_EQ(cuMemPoolDestroy(s->pool), wanted ? CUDA_ERROR_INVALID_VALUE : 0);
	CHECK_EQ(cuLinkDestroy(s->link), wanted);
	CHECK_EQ(cuUserObjectRelease(s->user, 1), wanted ? CUDA_ERROR_INVALID_VALUE : 0);
	CHECK_EQ(cuMemFree_v2(s->memory), memory);
	CHECK_EQ(cuMemFreeHost(s->host), memory);
}

#define REFUSED(call) \
	do { \
		CUresult refused_r = (call); \
		if (refused_r != CUDA_ERROR_INVALID_HANDLE && refused_r != CUDA_ERROR_INVALID_VALUE && \
			refused_r != CUDA_ERROR_INVALID_CONTEXT && refused_r != CUDA_ERROR_CONTEXT_IS_DESTROYED) \
			fprintf(stderr, \
				"%s:%d: with %s: " #call " returned %d, expected an error for invalid handles\n", \
				__FILE__, __LINE__, what, refused_r), \
				failures++; \
	} while (0)

/* Every call refuses the handles of s; the other arguments are from `good`. */
static void check_refused(const char *what, const struct handles *s, const struct handles *good)
{
	CUDA_ARRAY_DESCRIPTOR flat;
	CUDA_RESOURCE_DESC res;
	CUdeviceptr p = 0, at = good->memory;
	CUgraphExec exec;
	CUgraphNode node;
	CUfunction f;
	CUmodule m;
	CUgraph graph;
	CUarray level;
	size_t size = 0;
	int value;
	float ms;
	void *args[] = {&at}, *image;

	REFUSED(cuStreamSynchronize(s->stream));
	REFUSED(cuStreamQuery(s->stream));
	REFUSED(cuStreamWaitEvent(s->stream, good->event, 0));
	REFUSED(cuStreamWaitEvent(good->stream, s->event, 0));
	REFUSED(cuStreamBeginCapture_v2(s->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	REFUSED(cuMemcpyDtoDAsync_v2(good->memory, good->memory + 2048, 4, s->stream));
	REFUSED(cuMemsetD8Async(good->memory, 1, 4, s->stream));
	REFUSED(cuLaunchHostFunc(s->stream, nothing, NULL));
	REFUSED(cuMemAllocAsync(&p, 4096, s->stream));
	REFUSED(cuEventRecord(s->event, good->stream));
	REFUSED(cuEventRecord(good->event, s->stream));
	REFUSED(cuEventQuery(s->event));
	REFUSED(cuEventSynchronize(s->event));
	REFUSED(cuEventElapsedTime(&ms, s->event, good->event));
	REFUSED(cuModuleGetFunction(&f, s->module, "put"));
	REFUSED(cuModuleGetGlobal_v2(&p, &size, s->module, "g"));
	REFUSED(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, s->function));
	REFUSED(device_launch(s->function, 1, 1, good->stream, args));
	REFUSED(device_launch(good->function, 1, 1, s->stream, args));
	REFUSED(cuLibraryGetModule(&m, s->library));
	REFUSED(cuKernelGetFunction(&f, s->kernel));
	REFUSED(cuArrayGetDescriptor_v2(&flat, s->array));
	REFUSED(cuMemcpyAtoD_v2(good->memory, s->array, 0, 4));
	REFUSED(cuMipmappedArrayGetLevel(&level, s->levels, 0));
	REFUSED(cuTexObjectGetResourceDesc(&res, s->texture));
	REFUSED(cuGraphInstantiateWithFlags(&exec, s->graph, 0));
	REFUSED(cuGraphClone(&graph, s->graph));
	REFUSED(cuGraphAddEmptyNode(&node, s->graph, NULL, 0));
	REFUSED(cuGraphAddEmptyNode(&node, good->graph, &s->node, 1));
	REFUSED(cuGraphDestroyNode(s->node));
	REFUSED(cuGraphLaunch(s->exec, good->stream));
	REFUSED(cuGraphLaunch(good->exec, s->stream));
	REFUSED(cuMemAllocFromPoolAsync(&p, 4096, s->pool, good->stream));
	REFUSED(cuMemPoolTrimTo(s->pool, 0));
	REFUSED(cuLinkAddData_v2(s->link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, sizeof text, "x", 0, NULL, NULL));
	REFUSED(cuLinkComplete(s->link, &image, &size));
	REFUSED(cuUserObjectRetain(s->user, 1));
}

/* Permute the handles of a set so that none is of the right kind. */
static void shuffle(struct handles *s, const struct handles *good)
{
	s->stream = (CUstream)good->event;
	s->event = (CUevent)good->stream;
	s->module = (CUmodule)good->library;
	s->function = (CUfunction)good->array;
	s->library = (CUlibrary)good->module;
	s->kernel = (CUkernel)good->stream;
	s->array = (CUarray)good->levels;
	s->levels = (CUmipmappedArray)good->array;
	s->texture = (CUtexObject)(uintptr_t)good->graph;
	s->graph = (CUgraph)good->exec;
	s->node = (CUgraphNode)good->graph;
	s->exec = (CUgraphExec)good->graph;
	s->pool = (CUmemoryPool)good->stream;
	s->link = (CUlinkState)good->user;
	s->user = (CUuserObject)good->link;
}

/* Set all handles to one number. */
static void forge(struct handles *s, uintptr_t number)
{
	s->stream = (CUstream)number;
	s->event = (CUevent)number;
	s->module = (CUmodule)number;
	s->function = (CUfunction)number;
	s->library = (CUlibrary)number;
	s->kernel = (CUkernel)number;
	s->array = (CUarray)number;
	s->levels = (CUmipmappedArray)number;
	s->texture = (CUtexObject)number;
	s->graph = (CUgraph)number;
	s->node = (CUgraphNode)number;
	s->exec = (CUgraphExec)number;
	s->pool = (CUmemoryPool)number;
	s->link = (CUlinkState)number;
	s->user = (CUuserObject)number;
}

static void still_works(const struct handles *good)
{
	CUdeviceptr at = good->memory;
	void *args[] = {&at};
	unsigned value = 0;

	OK(cuMemsetD32Async(at, 0, 1, good->stream));
	OK(device_launch(good->function, 1, 1, good->stream, args));
	OK(cuEventRecord(good->event, good->stream));
	OK(cuEventSynchronize(good->event));
	OK(cuGraphLaunch(good->exec, good->stream));
	OK(cuStreamSynchronize(good->stream));
	OK(cuMemcpyDtoH_v2(&value, at, 4));
	CHECK_EQ(value, 7);
}

int main(void)
{
	static const uintptr_t numbers[] = {3, 0x12345678, 0xdeadbeef00, (uintptr_t)1 << 63, UINTPTR_MAX};
	CUcontext ctx = device_start(), second;
	struct handles gone, good, bad;

	create_all(&gone);
	create_all(&good);
	destroy_all(&gone, CUDA_SUCCESS, CUDA_SUCCESS);
	destroy_all(&gone, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE);
	check_refused("destroyed handles", &gone, &good);
	still_works(&good);
	shuffle(&bad, &good);
	check_refused("handles of another kind", &bad, &good);
	still_works(&good);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		forge(&bad, numbers[i]);
		check_refused("forged handles", &bad, &good);
	}
	forge(&bad, (uintptr_t)&gone); /* an address of the application */
	check_refused("addresses", &bad, &good);
	still_works(&good);

	/* Objects closed with their context. */
	OK(cuCtxCreate_v2(&second, 0, 0));
	create_all(&gone);
	OK(cuUserObjectRelease(gone.user, 1)); /* the following objects belong to no context */
	OK(cuGraphExecDestroy(gone.exec));
	OK(cuGraphDestroy(gone.graph));
	OK(cuMemPoolDestroy(gone.pool));
	OK(cuLinkDestroy(gone.link));
	OK(cuLibraryUnload(gone.library));
	OK(cuCtxDestroy_v2(second));
	OK(cuCtxSetCurrent(ctx));
	check_refused("handles of a destroyed context", &gone, &good);
	still_works(&good);
	destroy_all(&good, CUDA_SUCCESS, CUDA_SUCCESS);
	OK(cuCtxDestroy_v2(ctx));
	return RESULT();
}
