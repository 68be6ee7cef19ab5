/*
 * libcuda.so.1 with a server that changes its replies, words, events, mirrors and descriptors: whatever it sends, the
 * process survives, writes only into buffers that it was given, and returns from each call once the worker is gone.
 *
 *	input	two bytes: the length of the lies; the lies (reply_lies.h); the calls, one byte for each choice
 *
 * REPLIES_TCP: over TCP.
 */
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "reply_lies.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((visibility("default"))) const char *__asan_default_options(void);

#define KEPT       8  /* objects of each kind */
#define LIFE       12 /* inputs between two workers */
#define PATIENCE_S 2  /* a false word may let a call wait; then the worker is killed */
#define STUCK_S    60

/* The clients of earlier connections stay while their threads run. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0:allocator_may_return_null=1";
}

static const uint8_t *calls_at, *calls_end;

static unsigned choose(unsigned n)
{
	return calls_at < calls_end ? *calls_at++ % n : 0;
}

/* ---- Objects, which may be false ---- */

static struct {
	CUcontext ctx;
	CUstream stream[KEPT];
	CUevent event[KEPT];
	CUdeviceptr memory[KEPT], virtual_memory[KEPT];
	CUmodule module[KEPT];
	CUlibrary library[KEPT];
	CUfunction function[KEPT];
	CUgraph graph[KEPT];
	CUgraphExec exec[KEPT];
	CUarray array[KEPT];
	CUmemoryPool pool[KEPT];
	void *pinned[KEPT];
	CUdeviceptr managed[KEPT];
} have;

#define SOME(kind) have.kind[choose(KEPT)]

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			  ".visible .global .attribute(.managed) .align 8 .b8 both[8192];\n"
			  ".visible .global .align 8 .b8 only[5000];\n"
			  ".visible .entry k(.param .u64 p, .param .u32 n) { ret; }\n";

static void host_function(void *arg)
{
	++*(_Atomic int *)arg;
}

static _Atomic int host_calls;

/* ---- Calls ---- */

static void memory_calls(void)
{
	size_t size = 1 + choose(256) * 300u, a = 0, b = 0;
	void *buffer = malloc(size); /* a block of its own, so that a sanitizer detects an overrun */
	CUdeviceptr base;
	CUipcMemHandle *handle;

	memset(buffer, 1, size);
	switch (choose(12)) {
	case 0:
		cuMemAlloc_v2(&SOME(memory), size);
		break;
	case 1:
		cuMemFree_v2(SOME(memory));
		break;
	case 2:
		cuMemcpyHtoD_v2(SOME(memory), buffer, size);
		break;
	case 3:
		cuMemcpyDtoH_v2(buffer, SOME(memory), size);
		break;
	case 4:
		cuMemcpyDtoHAsync_v2(buffer, SOME(memory), size, SOME(stream));
		cuStreamSynchronize(have.stream[0]);
		cuCtxSynchronize(); /* the buffer is freed below */
		break;
	case 5:
		cuMemcpyDtoD_v2(SOME(memory), SOME(memory), size);
		break;
	case 6:
		cuMemsetD8_v2(SOME(memory), 3, size);
		break;
	case 7:
		cuMemGetInfo_v2(&a, &b);
		cuMemGetAddressRange_v2(&base, &a, SOME(memory));
		break;
	case 8:
		cuMemAllocAsync(&SOME(memory), size, SOME(stream));
		break;
	case 9:
		cuMemFreeAsync(SOME(memory), SOME(stream));
		break;
	case 10:
		handle = malloc(sizeof *handle);
		cuIpcGetMemHandle(handle, SOME(memory));
		cuIpcOpenMemHandle_v2(&SOME(memory), *handle, 1);
		free(handle);
		break;
	default:
		if (!cuMemHostRegister_v2(buffer, size, 0))
			cuMemHostUnregister(buffer);
	}
	free(buffer);
}

static void host_memory_calls(void)
{
	void **pinned = &SOME(pinned);
	CUdeviceptr *managed = &SOME(managed), at;
	size_t size = 1 + choose(64) * 1000u;

	switch (choose(6)) {
	case 0:
		if (!*pinned && !cuMemHostAlloc(pinned, size, 2))
			memset(*pinned, 1, size);
		break;
	case 1:
		if (*pinned)
			cuMemFreeHost(*pinned);
		*pinned = NULL;
		break;
	case 2:
		if (!*managed && !cuMemAllocManaged(managed, size, 1))
			memset((void *)(uintptr_t)*managed, 1, size);
		break;
	case 3:
		if (*managed)
			cuMemFree_v2(*managed);
		*managed = 0;
		break;
	case 4:
		if (*pinned)
			cuMemHostGetDevicePointer_v2(&at, *pinned, 0);
		break;
	default:
		if (*pinned)
			cuMemcpyHtoDAsync_v2(SOME(memory), *pinned, 1, SOME(stream));
		if (*managed)
			cuMemsetD8Async(*managed, 1, 1, SOME(stream));
	}
}

static void pointer_calls(void)
{
	CUpointer_attribute kinds[3] = {
		CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
	uint64_t *values = malloc(sizeof *values * 3);
	void *to[3] = {&values[0], &values[1], &values[2]};

	cuPointerGetAttributes(3, kinds, to, SOME(memory));
	cuPointerGetAttribute(values, CU_POINTER_ATTRIBUTE_BUFFER_ID, SOME(memory));
	free(values);
}

static void stream_calls(void)
{
	CUstreamCaptureStatus status;
	float ms;

	switch (choose(11)) {
	case 0:
		cuStreamCreate(&SOME(stream), choose(2));
		break;
	case 1:
		cuStreamDestroy_v2(SOME(stream));
		break;
	case 2:
		cuStreamSynchronize(SOME(stream));
		break;
	case 3:
		cuStreamQuery(SOME(stream));
		break;
	case 4:
		cuEventCreate(&SOME(event), 0);
		break;
	case 5:
		cuEventRecord(SOME(event), SOME(stream));
		break;
	case 6:
		cuEventSynchronize(SOME(event));
		break;
	case 7:
		cuEventElapsedTime(&ms, SOME(event), SOME(event));
		cuEventQuery(SOME(event));
		break;
	case 8:
		cuStreamWaitEvent(SOME(stream), SOME(event), 0);
		break;
	case 9:
		cuLaunchHostFunc(SOME(stream), host_function, &host_calls);
		break;
	default:
		cuStreamIsCapturing(SOME(stream), &status);
		cuEventDestroy_v2(SOME(event));
	}
}

static void code_calls(void)
{
	char *name = NULL, text[64];
	CUdeviceptr at, p = have.memory[0];
	unsigned n = 5;
	size_t size;
	int value;
	void *params[] = {&p, &n};
	CUkernel kernels[4];
	CUfunction f = SOME(function);

	switch (choose(10)) {
	case 0:
		cuModuleLoadData(&SOME(module), ptx);
		break;
	case 1:
		cuModuleGetFunction(&SOME(function), SOME(module), "k");
		break;
	case 2:
		cuModuleGetGlobal_v2(&at, &size, SOME(module), choose(2) ? "both" : "only");
		break;
	case 3:
		cuModuleUnload(SOME(module));
		break;
	case 4:
		cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, SOME(stream), params, NULL);
		break;
	case 5:
		cuFuncGetAttribute(&value, (CUfunction_attribute)choose(10), f);
		cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 64, 0);
		break;
	case 6:
		cuLibraryLoadData(&SOME(library), ptx, NULL, NULL, 0, NULL, NULL, 0);
		break;
	case 7:
		cuLibraryGetKernelCount(&n, SOME(library));
		cuLibraryEnumerateKernels(kernels, 4, SOME(library));
		break;
	case 8:
		if (!cuFuncGetName((const char **)&name, f) && name)
			snprintf(text, sizeof text, "%s", name);
		break;
	default:
		cuLibraryUnload(SOME(library));
	}
}

static void link_calls(void)
{
	CUlinkState state;
	void *cubin = NULL;
	size_t size = 0;

	if (cuLinkCreate_v2(0, NULL, NULL, &state))
		return;
	cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)ptx, sizeof ptx, "ptx", 0, NULL, NULL);
	if (!cuLinkComplete(state, &cubin, &size) && cubin && size)
		chance_remember(((volatile uint8_t *)cubin)[size - 1]);
	cuLinkDestroy(state);
}

static void graph_calls(void)
{
	CUgraphNode *nodes, node;
	size_t n = 4;
	CUDA_KERNEL_NODE_PARAMS kernel = {0};
	CUDA_MEMSET_NODE_PARAMS fill = {.dst = have.memory[0], .elementSize = 1, .width = 16, .height = 1};
	CUgraphNodeType type;
	CUstream s = SOME(stream);

	switch (choose(9)) {
	case 0:
		cuGraphCreate(&SOME(graph), 0);
		break;
	case 1:
		cuGraphAddMemsetNode(&node, SOME(graph), NULL, 0, &fill, have.ctx);
		break;
	case 2:
		if (cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED))
			break;
		cuMemsetD8Async(have.memory[0], 1, 16, s);
		cuLaunchHostFunc(s, host_function, &host_calls);
		cuStreamEndCapture(s, &SOME(graph));
		break;
	case 3:
		nodes = malloc(4 * sizeof *nodes);
		if (!cuGraphGetNodes(SOME(graph), nodes, &n) && n) {
			cuGraphNodeGetType(nodes[0], &type);
			cuGraphKernelNodeGetParams_v2(nodes[0], (CUDA_KERNEL_NODE_PARAMS *)&kernel);
			cuGraphMemsetNodeGetParams(nodes[0], &fill);
		}
		free(nodes);
		break;
	case 4:
		cuGraphInstantiateWithFlags(&SOME(exec), SOME(graph), 0);
		break;
	case 5:
		cuGraphLaunch(SOME(exec), s);
		break;
	case 6:
		cuGraphExecDestroy(SOME(exec));
		break;
	case 7:
		cuGraphClone(&SOME(graph), SOME(graph));
		break;
	default:
		cuGraphDestroy(SOME(graph));
	}
}

static void other_calls(void)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = {64, 16, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle memory;
	char *text = malloc(32);
	int fd = -1, value;
	size_t size;

	switch (choose(7)) {
	case 0:
		cuArray3DCreate_v2(&SOME(array), &shape);
		break;
	case 1:
		cuArray3DGetDescriptor_v2(&shape, SOME(array));
		cuArrayDestroy(SOME(array));
		break;
	case 2:
		if (!cuMemCreate(&memory, 2 << 20, &prop, 0)) {
			if (!cuMemExportToShareableHandle(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) &&
				fd >= 0)
				close(fd);
			cuMemRelease(memory);
		}
		break;
	case 3:
		cuMemAddressReserve(&SOME(virtual_memory), 2 << 20, 0, 0, 0);
		break;
	case 4:
		cuDeviceGetName(text, 32, 0);
		cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0);
		break;
	case 5:
		cuDeviceGetDefaultMemPool(&SOME(pool), 0);
		cuMemPoolTrimTo(SOME(pool), 0);
		break;
	default:
		cuCtxGetLimit(&size, CU_LIMIT_PRINTF_FIFO_SIZE);
		cuCtxSynchronize();
	}
	free(text);
}

/* ---- Sequences ---- */

static _Atomic time_t began; /* of the present input; 0: none */

/* A false word may let a call wait for ever, as a busy device would. It must return when the worker is dead. */
static void *watch(void *arg)
{
	struct timespec pause = {.tv_nsec = 100000000};

	for (;;) {
		nanosleep(&pause, NULL);
		time_t since = began, now = time(NULL);
		if (since && now - since > PATIENCE_S)
			kill(atomic_load(&lies->worker), SIGKILL);
		if (since && now - since > STUCK_S) {
			fprintf(stderr, "ERROR: replies: a call does not return after its worker's death\n");
			abort();
		}
	}
	return arg;
}

static void replies_exit(void)
{
	printf("%lu lies: %lu bytes, %lu results, %lu sizes, %lu words, %lu descriptors, %lu repeated; %d host calls\n",
		lies->told, lies->kinds[LIE_BYTES], lies->kinds[LIE_RESULT], lies->kinds[LIE_SIZE],
		lies->kinds[LIE_WORD], lies->kinds[LIE_DESCRIPTOR], lies->kinds[LIE_AGAIN], host_calls);
}

static void replies_start(void)
{
	char error[LINK_ERROR_TEXT], address[128], folder[] = "/tmp/gangway-replies-XXXXXX";
	pthread_t thread;
	int listener;

	if (!mkdtemp(folder))
		abort();
	snprintf(address, sizeof address, "unix:%s/socket", folder);
	listener = link_listen(getenv("REPLIES_TCP") ? "tcp://127.0.0.1:0" : address, 0600, error);
	if (listener < 0 || link_address(listener, address, sizeof address))
		fprintf(stderr, "%s\n", error), abort();
	setenv("GANGWAY_USAGE", "0", 1);
	setenv("GANGWAY_DEVICE_MEMORY", "256M", 1);
	lies_start(listener);
	setenv("GANGWAY_DEVICE", address, 1);
	if (cuInit(0))
		fprintf(stderr, "cuInit failed\n"), abort();
	if (address[0] == 'u')
		chmod(folder, 0700);
	pthread_create(&thread, NULL, watch, NULL);
	atexit(replies_exit);
}

/* An honest start, with a new worker if the old one is gone. */
static void session_begin(void)
{
	CUresult r = CUDA_ERROR_UNKNOWN;

	memset(&have, 0, sizeof have);
	for (int tries = 0; r && tries < 5; tries++) {
		if (tries)
			kill(atomic_load(&lies->worker), SIGKILL);
		cuDevicePrimaryCtxReset_v2(0);
		r = cuDevicePrimaryCtxRetain(&have.ctx, 0);
		r = r ? r : cuCtxSetCurrent(have.ctx);
		r = r ? r : cuStreamCreate(&have.stream[0], CU_STREAM_NON_BLOCKING);
		r = r ? r : cuMemAlloc_v2(&have.memory[0], 65536);
	}
	if (r)
		fprintf(stderr, "ERROR: replies: no new session: %d\n", r), abort();
}

static void session_end(void)
{
	static unsigned inputs;

	atomic_store(&lies->lying, false);
	for (int i = 0; i < KEPT; i++) {
		if (have.pinned[i])
			cuMemFreeHost(have.pinned[i]);
		if (have.managed[i])
			cuMemFree_v2(have.managed[i]);
	}
	if (++inputs % LIFE == 0)
		kill(atomic_load(&lies->worker), SIGKILL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const calls[])(void) = {memory_calls, memory_calls, host_memory_calls, pointer_calls,
		stream_calls, stream_calls, code_calls, code_calls, graph_calls, other_calls, link_calls};
	size_t n;

	if (!lies)
		replies_start();
	if (size < 4)
		return 0;
	n = (data[0] | (size_t)data[1] << 8) % (size - 2);
	n = n < LIES ? n : LIES;
	began = time(NULL);
	session_begin();
	memcpy(lies->data, data + 2, n);
	lies->size = (uint32_t)n;
	atomic_store(&lies->at, 0);
	atomic_store(&lies->lying, true);
	calls_at = data + 2 + n;
	calls_end = data + size;
	for (int i = 0; calls_at < calls_end && i < 200; i++)
		calls[choose(sizeof calls / sizeof *calls)]();
	session_end();
	began = 0;
	return 0;
}
