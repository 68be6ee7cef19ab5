/*
 * Hostile servers, one false answer each: the application gets an error or a harmless value, and does not crash.
 *
 *	remote-liar [NAME]
 */
#include "liar.h"
#include <limits.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define LOST CUDA_ERROR_DEVICE_UNAVAILABLE

static const char code[] = ".version 7.0\n.target sm_50\n.address_size 64\n";

/* An address inside the application: the server knows it because the application is a fork of the server. */
static char elsewhere[64];

static CUfunction function(void)
{
	CUmodule module;
	CUfunction f = NULL;

	check_start();
	OK(cuModuleLoadData(&module, code));
	OK(cuModuleGetFunction(&f, module, "f"));
	return f;
}

/* ---- unterminated strings ---- */

static bool endless_names(struct server *s, const struct frame *f)
{
	(void)s;
	if (f->op == WIRE_DEVICES)
		give_devices(f, 'A');
	return f->op == WIRE_DEVICES;
}

static void ask_names(void)
{
	char text[512];
	CUdevice d;

	OK(cuInit(0));
	OK(cuDeviceGetName(text, sizeof text, 0));
	CHECK(strlen(text) < 256);
	OK(cuDeviceGetPCIBusId(text, sizeof text, 0));
	CHECK(strlen(text) < 32);
	OK(cuDeviceGetByPCIBusId(&d, text));
}

/* ---- a link with too few resources ---- */

static void no_device(void)
{
	CHECK(cuInit(0) != CUDA_SUCCESS);
}

/* ---- handles of the wrong kind ---- */

static bool other_kinds(struct server *s, const struct frame *f)
{
	(void)s;
	if (f->op != NR_cuStreamCreateWithPriority)
		return false;
	GIVE(f, number_of(HANDLE_CUevent, 3));
	return true;
}

static void use_stream(void)
{
	CUstream stream = NULL;

	check_start();
	CHECK(cuStreamCreate(&stream, 0) != CUDA_SUCCESS);
	CHECK(cuEventQuery((CUevent)stream) != CUDA_SUCCESS);
	CHECK(cuStreamQuery(stream) != CUDA_SUCCESS);
}

static void context_nowhere(void)
{
	CUcontext ctx;

	OK(cuInit(0));
	CHECK_EQ(cuCtxCreate_v2(&ctx, 0, 5), CUDA_ERROR_INVALID_DEVICE);
}

/* ---- memory ---- */

static bool no_address(struct server *s, const struct frame *f)
{
	(void)s;
	if (f->op == NR_cuMemAlloc_v2)
		GIVE(f, 0);
	return f->op == NR_cuMemAlloc_v2;
}

static void get_nothing(void)
{
	CUdeviceptr p;

	check_start();
	CHECK_EQ(cuMemAlloc_v2(&p, 4096), LOST);
}

/* The second allocation overlaps the beginning of the first. */
static bool twice_the_same(struct server *s, const struct frame *f)
{
	if (f->op == NR_cuMemAlloc_v2)
		GIVE(f, DEVICE_AT + (s->asked++ ? 0 : 2048));
	return f->op == NR_cuMemAlloc_v2;
}

static void use_both(void)
{
	CUdeviceptr first, second;
	char here[16];

	check_start();
	OK(cuMemAlloc_v2(&first, 4096));
	OK(cuMemAlloc_v2(&second, 4096));
	CHECK(cuMemcpy((uintptr_t)here, first + 4000, sizeof here) != CUDA_SUCCESS); /* not host memory */
}

static bool far_rows(struct server *s, const struct frame *f)
{
	(void)s;
	if (f->op == NR_cuMemAllocPitch_v2)
		GIVE(f, DEVICE_AT, 1ull << 60);
	return f->op == NR_cuMemAllocPitch_v2;
}

static void get_rows(void)
{
	CUdeviceptr p;
	size_t pitch;

	check_start();
	CHECK_EQ(cuMemAllocPitch_v2(&p, &pitch, 64, 64, 4), LOST);
}

static bool foreign_nowhere(struct server *s, const struct frame *f)
{
	(void)s;
	if (f->op == NR_cuIpcOpenMemHandle_v2)
		GIVE(f, 7);
	if (f->op == NR_cuMemGetAddressRange_v2)
		reply(f, CUDA_ERROR_NOT_FOUND, NULL, 0);
	return f->op == NR_cuIpcOpenMemHandle_v2 || f->op == NR_cuMemGetAddressRange_v2;
}

static void open_foreign(void)
{
	CUipcMemHandle handle = {0};
	CUdeviceptr p;

	check_start();
	CHECK(cuIpcOpenMemHandle_v2(&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS);
}

static void map_again(void)
{
	CUdeviceptr p;

	check_start();
	OK(cuMemAddressReserve(&p, 1u << 21, 0, 0, 0));
	for (int i = 0; i < 64; i++)
		OK(cuMemMap(p, 1u << 21, 0, 0x100000010, 0));
	OK(cuMemUnmap(p, 1u << 21));
	for (int i = 0; i < 64; i++)
		OK(cuMemMap(p + (i % 2 << 20), 1u << 20, 0, 0x100000010, 0));
}

/* The server calls device memory host memory. */
static bool touch_it(struct server *s, const struct frame *f)
{
	struct wire_pointer p = {0};

	(void)s;
	p.value[CU_POINTER_ATTRIBUTE_MEMORY_TYPE] = CU_MEMORYTYPE_HOST;
	p.value[CU_POINTER_ATTRIBUTE_HOST_POINTER] = (uintptr_t)elsewhere;
	p.value[CU_POINTER_ATTRIBUTE_IS_MANAGED] = 1;
	if (f->op == WIRE_POINTER)
		reply(f, CUDA_SUCCESS, &p, sizeof p);
	return f->op == WIRE_POINTER;
}

static void where_is_it(void)
{
	unsigned type = 0, managed = 1;
	void *host = NULL;
	CUdeviceptr p;

	check_start();
	OK(cuMemAlloc_v2(&p, 4096));
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
	CHECK(type == CU_MEMORYTYPE_DEVICE);
	OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
	CHECK(!managed);
	CHECK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, p) != CUDA_SUCCESS && !host);
}

/* The server claims larger texels than the array has; the client must not copy more bytes than the array has. */
static bool wide_texels(struct server *s, const struct frame *f)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 64, .Height = 1, .NumChannels = 1u << 20, .Format = CU_AD_FORMAT_FLOAT};
	struct wire_block a;

	if (f->op == NR_cuArray3DGetDescriptor_v2) {
		reply(f, CUDA_SUCCESS, &d, sizeof d);
		return true;
	}
	if (f->op == NR_cuArray3DCreate_v2 || f->op == NR_cuStreamCreateWithPriority) {
		GIVE(f, number_of(f->op == NR_cuArray3DCreate_v2 ? HANDLE_CUarray : HANDLE_CUstream, 7));
		return true;
	}
	if (f->op != WIRE_BLOCK)
		return false;
	memcpy(&a, (const uint8_t *)f->payload + sizeof(struct wire_request), sizeof a);
	word_set(s->link, a.done.word, a.done.value, NULL, 0);
	return true;
}

static void copy_texels(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 64, .Height = 1, .NumChannels = 1, .Format = CU_AD_FORMAT_UNSIGNED_INT8};
	CUDA_MEMCPY3D_BATCH_OP op = {.src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY,
		.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
		.extent = {64, 1, 1},
		.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	char *here = malloc(64);
	CUstream stream;
	size_t fail;

	check_start();
	OK(cuArray3DCreate_v2(&op.src.op.array.array, &d));
	OK(cuStreamCreate(&stream, 0));
	op.dst.op.ptr.ptr = (uintptr_t)here;
	cuMemcpy3DBatchAsync(1, &op, &fail, 0, stream); /* any result is valid */
	free(here);
}

/* ---- managed variables ---- */

static bool in_the_stack(struct server *s, const struct frame *f)
{
	if (f->op != NR_cuModuleGetGlobal_v2)
		return touch_it(s, f);
	GIVE(f, (getauxval(AT_RANDOM) - (1u << 20)) & -4096ull, 64); /* in the child's stack, too */
	return true;
}

static void use_variable(void)
{
	CUmodule module;
	CUdeviceptr p;

	check_start();
	OK(cuModuleLoadData(&module, code));
	CHECK_EQ(cuModuleGetGlobal_v2(&p, NULL, module, "v"), CUDA_ERROR_NOT_SUPPORTED);
}

static bool never_through(struct server *s, const struct frame *f)
{
	if (f->op == WIRE_MIRROR_DOWN) {
		reply(f, CUDA_SUCCESS, &(struct wire_mirrored){.cursor = DEVICE_AT + 1, .more = 1},
			sizeof(struct wire_mirrored));
		return true;
	}
	return touch_it(s, f);
}

static void fetch_variable(void)
{
	CUmodule module;
	CUdeviceptr p;

	check_start();
	OK(cuModuleLoadData(&module, code));
	CHECK_EQ(cuModuleGetGlobal_v2(&p, NULL, module, "v"), LOST);
}

/* ---- registered memory: the server may use the bytes of the range, and no others of its first and last page ---- */

#define REGISTERED_AT   100u
#define REGISTERED_SIZE (1u << 20)
#define REGISTERED_ROOM ((1u << 20) + 4096)

static bool scribble(struct server *s, const struct frame *f)
{
	static uint8_t *shared; /* the server's view of the pages */
	struct wire_host a;
	bool seen = false;

	(void)s;
	if (f->op == WIRE_HOST_MAP) {
		memcpy(&a, (const char *)f->payload + sizeof(struct wire_request), sizeof a);
		int fd = link_recv_fd(s->link, a.id, PATIENCE_MS);
		shared = mmap(NULL, a.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		reply(f, a.size == REGISTERED_ROOM ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, NULL, 0);
		return true;
	}
	if (f->op != NR_cuMemAlloc_v2)
		return false;
	for (unsigned i = 0; i < REGISTERED_ROOM; i++)
		seen |= (i < REGISTERED_AT || i >= REGISTERED_AT + REGISTERED_SIZE) && shared[i];
	memset(shared, 0xee, REGISTERED_ROOM);
	GIVE(f, seen ? 0 : DEVICE_AT); /* an address of 0 ends the link */
	return true;
}

static void register_range(void)
{
	uint8_t *room = mmap(NULL, REGISTERED_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool changed = false;
	CUdeviceptr p;

	check_start();
	memset(room, 1, REGISTERED_ROOM);
	OK(cuMemHostRegister_v2(room + REGISTERED_AT, REGISTERED_SIZE, 0));
	OK(cuMemAlloc_v2(&p, 4096)); /* the server writes now */
	for (int k = 0; k < 2; k++) {
		for (unsigned i = 0; i < REGISTERED_ROOM; i++)
			changed |= (i < REGISTERED_AT || i >= REGISTERED_AT + REGISTERED_SIZE) && room[i] != 1;
		OK(k ? 0 : cuMemHostUnregister(room + REGISTERED_AT));
	}
	CHECK(!changed);
	CHECK(room[REGISTERED_AT] == 0xee && room[REGISTERED_AT + REGISTERED_SIZE - 1] == 0xee);
}

/* ---- code ---- */

static bool long_log(struct server *s, const struct frame *f)
{
	struct {
		struct wire_loaded head;
		uint64_t value[2];
		char log[8];
	} a = {.head = {.id = number_of(HANDLE_CUmodule, 1), .info = 8}, .value = {0, 1u << 30}, .log = "ABCDEFG"};

	(void)s;
	if (f->op == WIRE_LOAD)
		reply(f, CUDA_SUCCESS, &a, sizeof a);
	return f->op == WIRE_LOAD;
}

static void load_with_log(void)
{
	CUjit_option option[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
	char log[6];
	void *value[] = {log, (void *)sizeof log};
	CUmodule module;

	check_start();
	OK(cuModuleLoadDataEx(&module, code, 2, option, value));
	CHECK((uintptr_t)value[1] <= sizeof log && !strcmp(log, "ABCDE"));
}

static bool overlapping_params(struct server *s, const struct frame *f)
{
	struct {
		struct wire_function head;
		struct wire_param param[2];
	} a = {.head = {.params = 2, .bytes = 16}, .param = {{0, 16}, {8, 8}}};

	(void)s;
	if (f->op == WIRE_FUNCTION)
		reply(f, CUDA_SUCCESS, &a, sizeof a);
	return f->op == WIRE_FUNCTION;
}

static void launch(void)
{
	uint64_t a = 0, b = 0;
	void *params[] = {&a, &b};
	CUfunction f = function();

	CHECK_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), LOST);
}

static bool huge_occupancy(struct server *s, const struct frame *f)
{
	struct wire_function head = {.known = {1}, .attribute = {INT_MAX}};

	(void)s;
	if (f->op == WIRE_FUNCTION)
		reply(f, CUDA_SUCCESS, &head, sizeof head);
	if (f->op == NR_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
		GIVE(f, INT_MAX);
	return f->op == WIRE_FUNCTION || f->op == NR_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags;
}

static void occupancy(void)
{
	CUfunction f = function();
	int grid, block;

	CHECK_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0), LOST);
}

/* ---- graphs ---- */

static bool many_nodes(struct server *s, const struct frame *f)
{
	(void)s;
	if (f->op == NR_cuGraphGetNodes)
		GIVE(f, 1000, 0, 0, 0, 0);
	return f->op == NR_cuGraphGetNodes;
}

static void get_nodes(void)
{
	CUgraphNode nodes[4];
	size_t n = 4;
	CUgraph graph;

	check_start();
	OK(cuGraphCreate(&graph, 0));
	CHECK_EQ(cuGraphGetNodes(graph, nodes, &n), LOST);
	CHECK(n <= 4);
}

/* Each answer names another function with more parameters. */
static bool growing_node(struct server *s, const struct frame *f)
{
	struct {
		struct wire_node node;
		uint8_t params[512];
	} a = {.node.u.kernel = {.function = number_of(HANDLE_CUfunction, 1 + s->asked)}};

	if (f->op == WIRE_FUNCTION)
		give_function(f, 1 + 20 * (s->asked - 1));
	if (f->op == WIRE_NODE_GET)
		s->asked++, reply(f, CUDA_SUCCESS, &a, sizeof a);
	return f->op == WIRE_FUNCTION || f->op == WIRE_NODE_GET;
}

static void look_at_node(void)
{
	CUgraphNode node = (CUgraphNode)number_of(HANDLE_CUgraphNode, 1);
	CUDA_KERNEL_NODE_PARAMS first, next;

	check_start();
	OK(cuGraphKernelNodeGetParams_v2(node, &first));
	for (int i = 0; i < 3; i++)
		OK(cuGraphKernelNodeGetParams_v2(node, &next));
	CHECK(*(volatile uint64_t *)first.kernelParams[0] == 0);
}

static bool copy_of_ours(struct server *s, const struct frame *f)
{
	struct wire_node a = {.u.copy.copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = elsewhere}};

	(void)s;
	if (f->op == WIRE_NODE_GET)
		reply(f, CUDA_SUCCESS, &a, sizeof a);
	return f->op == WIRE_NODE_GET;
}

static void look_at_copy(void)
{
	CUDA_MEMCPY3D p;

	check_start();
	CHECK_EQ(cuGraphMemcpyNodeGetParams((CUgraphNode)number_of(HANDLE_CUgraphNode, 1), &p), LOST);
}

/* The server destroys a user object while the client adds it to a graph. */
static bool early_end(struct server *s, const struct frame *f)
{
	struct wire_object a;

	if (f->op != WIRE_OBJECT)
		return false;
	memcpy(&a, (const uint8_t *)f->payload + sizeof(struct wire_request), sizeof a);
	send_event(s, (struct wire_event){.kind = WIRE_EVENT_DESTROY, .id = a.id});
	send_event(s, (struct wire_event){.kind = WIRE_EVENT_DESTROY, .id = a.id});
	events_done(s);
	if (s->asked++)
		reply(f, CUDA_ERROR_OUT_OF_MEMORY, NULL, 0);
	else
		GIVE(f, number_of(HANDLE_CUuserObject, 1));
	return true;
}

static void copy_in_graph(void)
{
	static char here[64];
	CUDA_MEMCPY3D p = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = here,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = DEVICE_AT,
		.WidthInBytes = sizeof here,
		.Height = 1,
		.Depth = 1};
	CUcontext ctx = check_start();
	CUgraphNode node;
	CUdeviceptr at;
	CUgraph graph;

	OK(cuMemAlloc_v2(&at, 4096));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &p, ctx));
	CHECK_EQ(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &p, ctx), CUDA_ERROR_OUT_OF_MEMORY);
}

/* A malformed event ends the callback thread; the client must then close the link. */
static bool no_event(struct server *s, const struct frame *f)
{
	void *room;

	if (f->op != WIRE_OBJECT)
		return false;
	if (!lane_reply_reserve(s->events, 4, &room) && !lane_reply(s->events, WIRE_LISTEN, 0, 4, NULL, 0))
		while (!link_error(s->link, NULL))
			usleep(1000);
	return true;
}

static void nothing(void *unused)
{
	(void)unused;
}

static void wait_for_events(void)
{
	CUuserObject object;

	check_start();
	CHECK_EQ(cuUserObjectCreate(&object, NULL, nothing, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), LOST);
}

static const struct lie lies[] = {
	{"names", ask_names, endless_names, {0}},
	{"words", no_device, NULL, {.words = 1}},
	{"arena", no_device, NULL, {.up_size = 4096}},
	{"kinds", use_stream, other_kinds, {0}},
	{"device", context_nowhere, NULL, {0}},
	{"null", get_nothing, no_address, {0}},
	{"overlap", use_both, twice_the_same, {0}},
	{"pitch", get_rows, far_rows, {0}},
	{"foreign", open_foreign, foreign_nowhere, {0}},
	{"mapped", map_again, NULL, {0}},
	{"pointer", where_is_it, touch_it, {0}},
	{"texels", copy_texels, wide_texels, {0}},
	{"stack", use_variable, in_the_stack, {0}},
	{"endless", fetch_variable, never_through, {0}},
	{"register", register_range, scribble, {0}},
	{"log", load_with_log, long_log, {0}},
	{"params", launch, overlapping_params, {0}},
	{"occupancy", occupancy, huge_occupancy, {0}},
	{"count", get_nodes, many_nodes, {0}},
	{"grows", look_at_node, growing_node, {0}},
	{"copy", look_at_copy, copy_of_ours, {0}},
	{"event", wait_for_events, no_event, {0}},
	{"early", copy_in_graph, early_end, {0}},
};

int main(int argc, char **argv)
{
	char folder[] = "/tmp/gangway-liar-XXXXXX", address[64], error[LINK_ERROR_TEXT];
	int listener, bad = 0;

	if (!mkdtemp(folder))
		return 1;
	snprintf(address, sizeof address, "unix:%s/socket", folder);
	listener = link_listen(address, 0600, error);
	if (listener < 0)
		return printf("%s\n", error), 1;
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		int status = argc < 2 || !strcmp(argv[1], lies[i].name) ? tell(&lies[i], listener, address) : 0;
		if (status)
			printf("%s: %s\n", lies[i].name,
				status < 0 ? "the client crashed or hangs" : "the client accepts the false reply");
		bad |= status;
	}
	unlink(address + 5);
	rmdir(folder);
	return bad != 0;
}
