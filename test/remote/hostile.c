/*
 * A hostile client: the server answers forged addresses, sizes, offsets, handles and windows with an error, or ends the
 * session.  No such request reaches the server's own memory.  The test writes the frames itself, without libcuda.so.1.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "abi/fatbin.h"
#include "backend/remote/hostmem/mirror.h"
#include "backend/remote/session/call.h"
#include "test/check.h"
#include "wire/protocol.h"
#include "wire/trace.h"

#define OP(name) NR_##name

uint64_t call_stream(CUstream stream, bool work)
{
	(void)work;
	return (uintptr_t)stream;
}

bool call_posted(void)
{
	return true;
}

void mirror_push(bool kernel)
{
	(void)kernel;
}

void trace_note(const char *format, ...)
{
	(void)format;
}

static struct client hostile_client;
static _Atomic(uint64_t) current; /* context of all calls */

static void start(void)
{
	struct link_config config = link_defaults(false);
	char error[LINK_ERROR_TEXT];
	struct link *link;

	config.build = "hostile";
	config.protocol = wire_protocol();
	if (link_connect(&link, getenv("GANGWAY_DEVICE"), &config, error)) {
		printf("%s\n", error);
		exit(1);
	}
	client = &hostile_client;
	call_attach(client, link);
}

static CUresult ask(unsigned op, const void *args, size_t size, void *out, size_t room)
{
	return call_sync(op, args, size, NULL, 0, &(struct wire_piece){out, room}, out != NULL);
}

/* Posts a call and asks a harmless one.  Returns the posted call's async error, or 999 if the session has ended. */
static CUresult post(unsigned op, const void *args, size_t size, const struct piece *pieces, unsigned n)
{
	struct lane *lane = call_lane();
	void *room = call_reserve(lane, size);
	size_t info[2];

	if (!room)
		return 999;
	memcpy(room, args, size);
	if (call_send(lane, op, size, pieces, n) ||
		ask(OP(cuMemGetInfo_v2), &(struct wire_cuMemGetInfo_v2){.present = 0},
			sizeof(struct wire_cuMemGetInfo_v2), NULL, 0))
		return 999;
	(void)info;
	return async_error_take();
}

static uint64_t device_memory(size_t size)
{
	struct wire_cuMemAlloc_v2 a = {.present = 1, .bytesize = size};
	uint64_t at = 0;

	CHECK(!ask(OP(cuMemAlloc_v2), &a, sizeof a, &at, sizeof at));
	return at;
}

/* Addresses outside the client's own memory; some are mapped in every process. */
static const uint64_t wild[] = {1, 4096, 0x400000, 0x7fff00000000, 0x7fffffffe000, 0xffffffff81000000, UINT64_MAX - 3};

#define WILD (sizeof wild / sizeof *wild)

/* A range that begins and ends in device memory and has an unallocated hole in the middle. */
static void span_with_hole(uint64_t d)
{
	const uint64_t size = 8 << 20;
	uint64_t at[3] = {device_memory(size), device_memory(size), device_memory(size)}, low = at[0], high = at[0];

	for (int i = 1; i < 3; i++) {
		low = at[i] < low ? at[i] : low;
		high = at[i] > high ? at[i] : high;
	}
	for (int i = 0; i < 3; i++)
		if (at[i] != low && at[i] != high)
			CHECK(!post(OP(cuMemFree_v2), &(struct wire_cuMemFree_v2){.dptr = at[i]},
				sizeof(struct wire_cuMemFree_v2), NULL, 0));
	struct wire_cuMemcpyAsync span = {.dst = low, .src = low, .ByteCount = high + size - low};
	CHECK(post(OP(cuMemcpyAsync), &span, sizeof span, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
	span = (struct wire_cuMemcpyAsync){.dst = low, .src = low, .ByteCount = size};
	CHECK(post(OP(cuMemcpyAsync), &span, sizeof span, NULL, 0) == CUDA_SUCCESS);
	(void)d;
}

static void copies(uint64_t d)
{
	struct piece piece = {0, 64};

	for (size_t i = 0; i < WILD; i++) {
		struct wire_copy up = {.device = d, .host = wild[i], .size = 64};
		CHECK(post(WIRE_COPY_UP, &up, sizeof up, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
		CHECK(post(WIRE_COPY_DOWN, &up, sizeof up, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
		up = (struct wire_copy){.device = wild[i], .size = 64};
		CHECK(post(WIRE_COPY_UP, &up, sizeof up, &piece, 1) == CUDA_ERROR_INVALID_VALUE);
		struct wire_cuMemcpyAsync any = {.dst = d, .src = wild[i], .ByteCount = 64};
		CHECK(post(OP(cuMemcpyAsync), &any, sizeof any, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
		any = (struct wire_cuMemcpyAsync){.dst = wild[i], .src = d, .ByteCount = 64};
		CHECK(post(OP(cuMemcpyAsync), &any, sizeof any, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
	}
	struct wire_copy far = {.device = d, .size = 64, .stream = 0x1230};
	CHECK(post(WIRE_COPY_UP, &far, sizeof far, &piece, 1) == CUDA_ERROR_INVALID_HANDLE);
	span_with_hole(d);
	/* the worker ignores an invalid word number */
	far = (struct wire_copy){.done = {1u << 30, 1}, .device = d, .size = 64};
	CHECK(post(WIRE_COPY_UP, &far, sizeof far, &piece, 1) == CUDA_SUCCESS);
}

static void blocks(uint64_t d)
{
	struct wire_block fine = {.src = {.kind = WIRE_SIDE_DEVICE, .what = d, .pitch = 16, .height = 4},
		.dst = {.kind = WIRE_SIDE_DEVICE, .what = d + 2048, .pitch = 16, .height = 4},
		.width = 16,
		.height = 4,
		.depth = 1};

	struct wire_side later = {.kind = WIRE_SIDE_LATER, .what = 4096, .pitch = 16, .height = 4};
	struct wire_block up = fine, down = fine;

	CHECK(post(WIRE_BLOCK, &fine, sizeof fine, NULL, 0) == CUDA_SUCCESS);
	up.src = down.dst = later;
	CHECK(post(WIRE_BLOCK, &up, sizeof up, NULL, 0) == CUDA_SUCCESS);
	CHECK(post(WIRE_BLOCK, &down, sizeof down, NULL, 0) == CUDA_SUCCESS);
	for (size_t i = 0; i < WILD; i++)
		for (int k = 0; k < 4; k++) {
			struct wire_block b = fine;
			struct wire_side *s = k & 1 ? &b.src : &b.dst;
			s->what = wild[i];
			s->kind = k & 2 ? WIRE_SIDE_SHARED : WIRE_SIDE_DEVICE;
			CHECK(post(WIRE_BLOCK, &b, sizeof b, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
			b = fine;
			s->z = wild[i];
			s->height = wild[WILD - 1 - i];
			CHECK(post(WIRE_BLOCK, &b, sizeof b, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
			b = fine;
			s->pitch = wild[i] | 1ull << 50;
			CHECK(post(WIRE_BLOCK, &b, sizeof b, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
			b = fine;
			b.height = wild[i] | 1ull << 50;
			CHECK(post(WIRE_BLOCK, &b, sizeof b, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
			b = fine;
			s->kind = WIRE_SIDE_ARRAY;
			CHECK(post(WIRE_BLOCK, &b, sizeof b, NULL, 0) == CUDA_ERROR_INVALID_HANDLE);
		}
}

/* Receives the next event, reports its function as done, and returns the event's id; 0 on failure. */
static uint64_t event(struct lane *events)
{
	struct wire_called *called;
	struct wire_event v;
	struct frame f;

	if (lane_wait_reply(events, &f, 10000) || f.size < sizeof v)
		return 0;
	memcpy(&v, f.payload, sizeof v);
	lane_release(events);
	called = call_reserve(events, sizeof *called);
	if (!called)
		return 0;
	*called = (struct wire_called){v.slot, v.value};
	return call_send(events, WIRE_CALLED, sizeof *called, NULL, 0) ? 0 : v.id;
}

/* Host functions that carry a range of an arena. */
static void host_calls(void)
{
	struct wire_host_call a = {.id = 77, .kind = WIRE_EVENT_HOST, .size = 16};
	struct wire_cuStreamCreate create = {.present = 1, .Flags = CU_STREAM_NON_BLOCKING};
	struct wire_cuStreamBeginCapture_v2 begin = {.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
	struct lane *events;
	struct piece page;
	struct frame f;

	CHECK(post(WIRE_HOST_CALL, &a, sizeof a, NULL, 0) == CUDA_ERROR_INVALID_VALUE); /* no callback thread yet */
	CHECK(!lane_open(client->link, &events) &&
		!bulk_alloc(client->link, BULK_UP, WIRE_SLOTS * sizeof(uint32_t), &page));
	memset((char *)bulk_base(client->link, BULK_UP, NULL) + page.offset, 0, page.size);
	CHECK(call_reserve(events, 0) && !call_ask(events, WIRE_LISTEN, 0, &page, 1, &f));
	call_release_reply(events);
	for (size_t i = 0; i < WILD; i++) {
		a.offset = (uint32_t)wild[i] | 1u << 31;
		CHECK(post(WIRE_HOST_CALL, &a, sizeof a, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
	}
	a.offset = 16;
	a.size = UINT32_MAX;
	CHECK(post(WIRE_HOST_CALL, &a, sizeof a, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
	a.size = 16;
	CHECK(post(WIRE_HOST_CALL, &a, sizeof a, NULL, 0) == CUDA_SUCCESS);
	CHECK(event(events) == 77);
	CHECK(!ask(OP(cuStreamCreate), &create, sizeof create, &a.stream, sizeof a.stream));
	begin.hStream = a.stream;
	CHECK(!ask(OP(cuStreamBeginCapture_v2), &begin, sizeof begin, NULL, 0));
	CHECK(post(WIRE_HOST_CALL, &a, sizeof a, NULL, 0) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

static int sealed(size_t size, int seals)
{
	int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (ftruncate(fd, size) || (seals && fcntl(fd, F_ADD_SEALS, seals)))
		exit(1);
	return fd;
}

static CUresult map(uint64_t address, uint64_t size, int fd)
{
	static uint64_t ids = 1000;
	struct wire_host a = {.address = address, .size = size, .id = ++ids};

	if (fd >= 0 && link_send_fd(client->link, a.id, fd))
		return 999;
	return ask(WIRE_HOST_MAP, &a, sizeof a, NULL, 0);
}

#ifdef __SANITIZE_THREAD__ /* ThreadSanitizer reserves most addresses */
#define WINDOW      0x1000000000
#define WINDOW_SIZE (1ull << 36)
#define OUTSIDE     0x2800000000
#else
#define WINDOW      0x300000000000
#define WINDOW_SIZE (1ull << 40)
#define OUTSIDE     0x280000000000
#endif

/* Is the whole range mapped in the worker?  Also true if /proc/PID/maps of the worker is not readable. */
static bool worker_has_mapped(uint64_t from, uint64_t to)
{
	char path[64], line[512];
	unsigned long long start, end;
	FILE *maps;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)link_peer(client->link)->pid);
	maps = fopen(path, "r");
	if (!maps)
		return true;
	while (fgets(line, sizeof line, maps))
		if (sscanf(line, "%llx-%llx", &start, &end) == 2 && start <= from && end > from)
			from = end;
	fclose(maps);
	return from >= to;
}

/*
 * The worker keeps unmapped client addresses reserved, even after it refuses a new mapping that overlaps them.
 * Otherwise the worker's own memory could land there, and a graph that still uses the address would reach it.
 */
static void vacated_stays_mapped(int good)
{
	const uint64_t at = WINDOW - (1 << 20);
	struct wire_host w = {.address = at};

	CHECK(map(at, 1 << 20, good) == CUDA_SUCCESS);
	CHECK(ask(WIRE_HOST_UNMAP, &w, sizeof w, NULL, 0) == CUDA_SUCCESS);
	CHECK(worker_has_mapped(at, WINDOW));
	CHECK(map(at + 4096, 1 << 20, good) != CUDA_SUCCESS); /* overlaps the window */
	CHECK(worker_has_mapped(at, WINDOW));
	CHECK(map(at, 1 << 20, good) == CUDA_SUCCESS); /* the client can still map it */
	CHECK(ask(WIRE_HOST_UNMAP, &w, sizeof w, NULL, 0) == CUDA_SUCCESS);
}

static void windows(uint64_t d)
{
	const uint64_t window = WINDOW;
	struct wire_host w = {.address = window, .size = WINDOW_SIZE};
	int good = sealed(1 << 20, F_SEAL_SHRINK | F_SEAL_GROW), loose = sealed(1 << 20, 0);

	CHECK(ask(WIRE_WINDOW, &(struct wire_host){.size = w.size}, sizeof w, NULL, 0) ==
		CUDA_ERROR_INVALID_VALUE); /* address 0 */
	CHECK(ask(WIRE_WINDOW, &w, sizeof w, NULL, 0) == CUDA_SUCCESS);
	CHECK(ask(WIRE_WINDOW, &w, sizeof w, NULL, 0) != CUDA_SUCCESS); /* the session has a window already */
	CHECK(map(window, 1 << 20, loose) != CUDA_SUCCESS);             /* the client could truncate the file */
	CHECK(map(window, 2 << 20, good) != CUDA_SUCCESS);              /* the file is shorter */
	CHECK(map(window + 1, 1 << 20, good) != CUDA_SUCCESS);
	CHECK(map(window, 4095, good) != CUDA_SUCCESS);
	CHECK(map(window, 0, good) != CUDA_SUCCESS);
	CHECK(map(window + WINDOW_SIZE - 4096, 8192, good) != CUDA_SUCCESS); /* exceeds the window */
	CHECK(map(window, 1 << 20, good) == CUDA_SUCCESS);
	CHECK(map(window, 1 << 20, good) != CUDA_SUCCESS);
	CHECK(map(window + 4096, 4096, good) != CUDA_SUCCESS);
	CHECK(map(window - 4096, 8192, good) != CUDA_SUCCESS);
	for (size_t i = 0; i < WILD; i++)
		if (wild[i] % 4096 || wild[i] >> 47)
			CHECK(map(wild[i], 4096, good) != CUDA_SUCCESS);
	struct wire_copy over = {.device = d, .host = window + (1 << 20) - 32, .size = 64};
	CHECK(post(WIRE_COPY_UP, &over, sizeof over, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
	over.size = UINT64_MAX - 16;
	CHECK(post(WIRE_COPY_UP, &over, sizeof over, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
	over = (struct wire_copy){.device = d, .host = window + 4096, .size = 64};
	CHECK(post(WIRE_COPY_UP, &over, sizeof over, NULL, 0) == CUDA_SUCCESS);
	CHECK(ask(WIRE_HOST_UNMAP, &(struct wire_host){.address = window + 4096}, sizeof w, NULL, 0) != CUDA_SUCCESS);
	CHECK(ask(WIRE_HOST_UNMAP, &(struct wire_host){.address = 4096}, sizeof w, NULL, 0) != CUDA_SUCCESS);
	CHECK(ask(WIRE_HOST_UNMAP, &(struct wire_host){.address = window}, sizeof w, NULL, 0) == CUDA_SUCCESS);
	CHECK(post(WIRE_COPY_UP, &over, sizeof over, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
	/* outside the window: the client can map its addresses again, whole or in part */
	for (int i = 0; i < 4; i++) {
		uint64_t at = OUTSIDE + i % 3 * 65536, size = i % 2 ? 1 << 20 : 1 << 19;
		over = (struct wire_copy){.device = d, .host = at, .size = 64};
		CHECK(post(WIRE_COPY_UP, &over, sizeof over, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
		CHECK(map(at, size, good) == CUDA_SUCCESS);
		CHECK(post(WIRE_COPY_UP, &over, sizeof over, NULL, 0) == CUDA_SUCCESS);
		CHECK(ask(WIRE_HOST_UNMAP, &(struct wire_host){.address = at}, sizeof w, NULL, 0) == CUDA_SUCCESS);
	}
	vacated_stays_mapped(good);
	close(good);
	close(loose);
}

static CUresult change(uint64_t address, uint64_t size)
{
	struct {
		struct wire_mirror head;
		char bytes[64];
	} up = {{.address = address, .size = size}, "changed"};

	return post(WIRE_MIRROR_UP, &up, sizeof up.head + wire_pad(size), NULL, 0);
}

static CUresult mirror(uint64_t address, uint64_t size, bool variable)
{
	struct wire_mirror a = {.address = address, .size = size, .variable = variable};

	return ask(WIRE_MIRROR, &a, sizeof a, NULL, 0);
}

/* Mirrors: the worker accepts only ranges mapped for a mirror, and ignores a change outside of a registered mirror. */
static void mirrors(uint64_t d)
{
	const uint64_t window = WINDOW, at = window + (8 << 20);
	struct wire_host w = {.address = window, .size = WINDOW_SIZE}, own = {.address = at, .size = 1 << 16};
	struct wire_mirrored changed = {.runs = 1};

	ask(WIRE_WINDOW, &w, sizeof w, NULL, 0); /* fails if windows() has made one */
	for (size_t i = 0; i < WILD; i++) {
		CHECK(mirror(wild[i], 64, false) != CUDA_SUCCESS && mirror(wild[i], 64, true) != CUDA_SUCCESS);
		CHECK(change(wild[i], 64) == CUDA_SUCCESS);
	}
	CHECK(mirror(d, 64, false) != CUDA_SUCCESS && mirror(d, 64, true) != CUDA_SUCCESS);
	own.address = OUTSIDE;
	CHECK_EQ(ask(WIRE_HOST_MAP, &own, sizeof own, NULL, 0) == CUDA_SUCCESS, !client->local);
	if (!client->local) /* registered memory over TCP: only where the worker has nothing */
		CHECK(ask(WIRE_HOST_MAP, &own, sizeof own, NULL, 0) != CUDA_SUCCESS &&
			mirror(OUTSIDE + 8, 1 << 16, false) != CUDA_SUCCESS);
	own.address = at;
	CHECK(ask(WIRE_HOST_MAP, &own, sizeof own, NULL, 0) == CUDA_SUCCESS);
	CHECK(mirror(at, (1 << 16) + 1, false) != CUDA_SUCCESS && mirror(at, 0, false) != CUDA_SUCCESS);
	CHECK(mirror(at, UINT64_MAX - at + 1, false) != CUDA_SUCCESS && mirror(at, 64, true) != CUDA_SUCCESS);
	CHECK(change(at, 64) == CUDA_SUCCESS);
	CHECK(mirror(at + 4096, 4096, false) == CUDA_SUCCESS);
	CHECK(mirror(at, 8192, false) != CUDA_SUCCESS && mirror(at + 8191, 1, false) != CUDA_SUCCESS);
	CHECK(change(at + 4096, 64) == CUDA_SUCCESS && change(at + 8192 - 64, 64) == CUDA_SUCCESS);
	CHECK(change(at + 4095, 64) == CUDA_SUCCESS && change(at + 8192 - 63, 64) == CUDA_SUCCESS);
	CHECK(mirror(at, 4096, false) == CUDA_SUCCESS && mirror(at + 8192, 4096, false) == CUDA_SUCCESS);
	CHECK(ask(WIRE_MIRROR_DOWN, &at, sizeof at, &changed, sizeof changed) == CUDA_SUCCESS && !changed.runs);
	CHECK(ask(WIRE_HOST_UNMAP, &own, sizeof own, NULL, 0) == CUDA_SUCCESS);
	CHECK(change(at + 4096, 64) == CUDA_SUCCESS);
}

/*
 * The registration of host memory ends with its context. A graph must not name the memory from then on: nobody would
 * notice that the client takes it back before the graph runs.
 */
static void pageable_in_graph(uint64_t d)
{
	const uint64_t at = WINDOW + (16 << 20);
	struct wire_host own = {.address = at, .size = 1 << 16};
	struct wire_cuCtxCreate_v2 create = {.present = 1};
	struct wire_cuStreamCreate stream = {.present = 1, .Flags = CU_STREAM_NON_BLOCKING};
	struct wire_cuStreamBeginCapture_v2 begin = {.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
	struct wire_cuCtxDestroy_v2 destroy = {0};
	struct wire_cuGraphCreate graph = {.present = 1};
	uint64_t context = 0, primary = current;
	struct wire_node_made made;
	struct wire_node n = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

	CHECK(!ask(OP(cuCtxCreate_v2), &create, sizeof create, &context, sizeof context));
	current = context;
	CHECK(ask(WIRE_HOST_MAP, &own, sizeof own, NULL, 0) == CUDA_SUCCESS);
	destroy.ctx = context;
	current = primary;
	CHECK(!ask(OP(cuCtxDestroy_v2), &destroy, sizeof destroy, NULL, 0));
	CHECK(!ask(OP(cuStreamCreate), &stream, sizeof stream, &begin.hStream, sizeof begin.hStream));
	CHECK(!ask(OP(cuStreamBeginCapture_v2), &begin, sizeof begin, NULL, 0));
	struct wire_copy up = {.device = d, .host = at, .size = 64, .stream = begin.hStream};
	struct wire_cuMemcpyAsync any = {.dst = d, .src = at, .ByteCount = 64, .hStream = begin.hStream};
	CHECK(post(WIRE_COPY_UP, &up, sizeof up, NULL, 0) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK(post(WIRE_COPY_DOWN, &up, sizeof up, NULL, 0) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK(post(OP(cuMemcpyAsync), &any, sizeof any, NULL, 0) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK(!ask(OP(cuGraphCreate), &graph, sizeof graph, &n.graph, sizeof n.graph));
	n.u.copy.copy = (CUDA_MEMCPY3D){.srcHost = (void *)(uintptr_t)at,
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = d,
		.WidthInBytes = 64,
		.Height = 1,
		.Depth = 1};
	CHECK(ask(WIRE_NODE, &n, sizeof n, &made, sizeof made) == CUDA_ERROR_INVALID_VALUE);
	up.stream = 0;
	CHECK(post(WIRE_COPY_UP, &up, sizeof up, NULL, 0) == CUDA_SUCCESS); /* a plain copy may */
	ask(WIRE_HOST_UNMAP, &own, sizeof own, NULL, 0);
}

/* Handles of an earlier session: a client gives only its own contexts and kernels other names, and none before others exist. */
static void renewals(void)
{
	struct wire_cuStreamCreate create = {.present = 1};
	uint64_t stream = 0;
	struct wire_renew late = {.generation = 1u << 16};
	uint64_t own = call_context_id(), former = own | 1ull << 58;
	struct wire_alias a;

	CHECK(!ask(OP(cuStreamCreate), &create, sizeof create, &stream, sizeof stream));
	CHECK(ask(WIRE_RENEW, &late, sizeof late, NULL, 0) == CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < WILD; i++) {
		a = (struct wire_alias){former, wild[i]};
		CHECK(ask(WIRE_ALIAS, &a, sizeof a, NULL, 0) == CUDA_ERROR_INVALID_HANDLE);
		a = (struct wire_alias){wild[i], stream};
		CHECK(ask(WIRE_ALIAS, &a, sizeof a, NULL, 0) == CUDA_ERROR_INVALID_HANDLE);
	}
	a = (struct wire_alias){own, own}; /* a handle of this session is no former one */
	CHECK(ask(WIRE_ALIAS, &a, sizeof a, NULL, 0) == CUDA_ERROR_INVALID_HANDLE);
	a = (struct wire_alias){stream | 1ull << 58, stream};
	CHECK(ask(WIRE_ALIAS, &a, sizeof a, NULL, 0) == CUDA_ERROR_INVALID_HANDLE);
	a = (struct wire_alias){former, own};
	CHECK(ask(WIRE_ALIAS, &a, sizeof a, NULL, 0) == CUDA_SUCCESS);
}

/* Graph nodes that copy from and to an arena, and arena ranges that go with an event. */
static void nodes(uint64_t d)
{
	static const uint64_t beyond[] = {64u << 20, (64u << 20) - 63, UINT64_MAX - 16, UINT64_MAX, 1ull << 63};
	struct wire_cuGraphCreate create = {.present = 1};
	struct wire_node_made made;
	struct wire_node n;
	uint64_t graph = 0;

	CHECK(!ask(OP(cuGraphCreate), &create, sizeof create, &graph, sizeof graph));
	for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
		CUDA_MEMCPY3D c = {.srcHost = (void *)(uintptr_t)beyond[i],
			.dstMemoryType = CU_MEMORYTYPE_DEVICE,
			.dstDevice = d,
			.WidthInBytes = 64,
			.Height = 1,
			.Depth = 1};
		n = (struct wire_node){.type = CU_GRAPH_NODE_TYPE_MEMCPY, .graph = graph};
		n.u.copy = (struct wire_copy_node){.copy = c, .bulk = WIRE_COPY_FROM_BULK};
		CHECK(ask(WIRE_NODE, &n, sizeof n, &made, sizeof made) == CUDA_ERROR_INVALID_VALUE);
		c = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			.srcDevice = d,
			.dstHost = (void *)(uintptr_t)beyond[i],
			.WidthInBytes = 64,
			.Height = 1,
			.Depth = 1};
		n.u.copy = (struct wire_copy_node){.copy = c, .bulk = WIRE_COPY_TO_BULK};
		CHECK(ask(WIRE_NODE, &n, sizeof n, &made, sizeof made) == CUDA_ERROR_INVALID_VALUE);
		n.u.copy.bulk = WIRE_COPY_PLAIN;
		CHECK(ask(WIRE_NODE, &n, sizeof n, &made, sizeof made) == CUDA_ERROR_INVALID_VALUE);
		n = (struct wire_node){.type = CU_GRAPH_NODE_TYPE_HOST, .graph = graph};
		n.u.host = (struct wire_host_node){.id = 1, .offset = (uint32_t)beyond[i], .size = 64};
		CHECK(ask(WIRE_NODE, &n, sizeof n, &made, sizeof made) == CUDA_ERROR_INVALID_VALUE);
	}
}

static void objects(void)
{
	struct wire_texture t = {.resource.resType = CU_RESOURCE_TYPE_ARRAY};
	struct wire_share out = {.object = 0x1230, .type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
	struct wire_pool pool = {.pool = 0x1230, .attribute = 4}, back;
	CUDA_RESOURCE_DESC desc;
	uint64_t value = 0;

	for (size_t i = 0; i < WILD; i++) {
		uint64_t which[2] = {wild[i], i & 1};
		struct wire_cuTexObjectDestroy end = {.texObject = wild[i]};
		struct wire_cuMemRelease release = {.handle = wild[i]};
		struct wire_pointer p;
		t.resource.res.array.hArray = (CUarray)(uintptr_t)wild[i];
		CHECK(ask(WIRE_TEXTURE, &t, sizeof t, &value, sizeof value) != CUDA_SUCCESS);
		CHECK(ask(WIRE_RESOURCE, which, sizeof which, &desc, sizeof desc) != CUDA_SUCCESS);
		CHECK(ask(OP(cuTexObjectDestroy), &end, sizeof end, NULL, 0) != CUDA_SUCCESS);
		CHECK(ask(OP(cuMemRelease), &release, sizeof release, NULL, 0) != CUDA_SUCCESS);
		CHECK(ask(WIRE_RETAIN, &wild[i], sizeof wild[i], &value, sizeof value) != CUDA_SUCCESS);
		CHECK(ask(WIRE_POINTER, &(struct wire_pointer_ask){.address = wild[i]}, sizeof(struct wire_pointer_ask),
			      &p, sizeof p) == CUDA_SUCCESS &&
			p.result[CU_POINTER_ATTRIBUTE_MEMORY_TYPE]);
	}
	t.resource.resType = CU_RESOURCE_TYPE_LINEAR;
	t.resource.res.linear.devPtr = 4096;
	t.resource.res.linear.sizeInBytes = 1 << 20;
	CHECK(ask(WIRE_TEXTURE, &t, sizeof t, &value, sizeof value) != CUDA_SUCCESS);
	CHECK(ask(WIRE_SHARE_OUT, &out, sizeof out, NULL, 0) != CUDA_SUCCESS);
	out.pool = 1;
	CHECK(ask(WIRE_SHARE_OUT, &out, sizeof out, NULL, 0) != CUDA_SUCCESS);
	CHECK(ask(WIRE_POOL, &pool, sizeof pool, &back, sizeof back) != CUDA_SUCCESS);
	if (link_peer(client->link)->local) {
		struct wire_share in = {.id = 77, .type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
		int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		CHECK(!link_send_fd(client->link, in.id, fd));
		CHECK(ask(WIRE_SHARE_IN, &in, sizeof in, &value, sizeof value) != CUDA_SUCCESS);
		close(fd);
	}
}

/* Loads one small image, sent along with its frame; *id (may be NULL) receives the module. */
static CUresult load_module(const void *bytes, uint32_t size, const struct wire_jit *options, unsigned n, uint64_t *id)
{
	struct {
		struct wire_load head;
		struct wire_image name;
		struct wire_jit option[4];
	} a = {.head = {.parts = 1, .options = n}};
	struct lane *lane = call_lane();
	size_t used = sizeof a.head + sizeof a.name + n * sizeof *options, room;
	struct wire_loaded done = {.result = 999};
	struct piece piece;
	struct frame reply;
	void *to;

	a.name.size = size;
	hash_of(bytes, size, a.name.hash);
	if (n)
		memcpy(a.option, options, n * sizeof *options);
	if (bulk_alloc(client->link, BULK_UP, size, &piece))
		return 999;
	memcpy((char *)bulk_base(client->link, BULK_UP, &room) + piece.offset, bytes, size);
	to = call_reserve(lane, used);
	if (!to)
		return 999;
	memcpy(to, &a, used);
	CUresult r = call_ask(lane, WIRE_LOAD, used, &piece, 1, &reply);
	if (!r && reply.size >= sizeof(struct wire_reply) + sizeof done)
		memcpy(&done, (const char *)reply.payload + sizeof(struct wire_reply), sizeof done);
	call_release_reply(lane);
	bulk_free(client->link, BULK_UP, piece);
	if (id)
		*id = done.id;
	return r ? r : (CUresult)done.result;
}

static CUresult load(const void *bytes, uint32_t size, const struct wire_jit *options, unsigned n)
{
	return load_module(bytes, size, options, n, NULL);
}

static uint64_t variable_address(uint64_t module, const char *name)
{
	struct {
		struct wire_cuModuleGetGlobal_v2 head;
		char name[8];
	} a = {.head = {.present = 0xb, .hmod = module, .name_size = 6}};
	uint64_t found[2] = {0};

	memcpy(a.name, name, 6);
	CHECK(ask(OP(cuModuleGetGlobal_v2), &a, sizeof a, found, sizeof found) == CUDA_SUCCESS && found[1] == 65536);
	return found[0];
}

static void unload(uint64_t module)
{
	struct wire_cuModuleUnload a = {.hmod = module};

	CHECK(!ask(OP(cuModuleUnload), &a, sizeof a, NULL, 0));
}

/* A variable can be mirrored only while its module is loaded, and only after a lookup gave its address out. */
static void variables(void)
{
	static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				   ".visible .global .attribute(.managed) .align 8 .b8 table[65536];\n"
				   ".visible .global .attribute(.managed) .align 8 .b8 other[65536];\n"
				   ".visible .entry f() { ret; }\n";
	uint64_t module = 0, at, other, cursor = 0;
	struct wire_mirrored changed = {.runs = 0};
	struct wire_mirror gone = {0};

	CHECK(load_module(text, sizeof text - 1, NULL, 0, &module) == CUDA_SUCCESS);
	at = variable_address(module, "table");
	other = variable_address(module, "other") - at;
	unload(module);
	CHECK(load_module(text, sizeof text - 1, NULL, 0, &module) == CUDA_SUCCESS);
	at = variable_address(module, "table");
	/* The other variable is managed memory, too, but this module has not given it out. */
	CHECK(mirror(at + other, 64, true) != CUDA_SUCCESS);
	CHECK(mirror(at, 65537, true) != CUDA_SUCCESS);
	/* The variable belongs to its module, not to the client. */
	CHECK(post(OP(cuMemFree_v2), &(struct wire_cuMemFree_v2){.dptr = at}, sizeof(struct wire_cuMemFree_v2), NULL,
		      0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(mirror(at, 65536, true) == CUDA_SUCCESS);
	CHECK(change(at + 4096, 64) == CUDA_SUCCESS);
	unload(module);
	/* The mirror went with its module: there is none to drop. */
	gone.address = at;
	CHECK(ask(WIRE_MIRROR_DROP, &gone, sizeof gone, NULL, 0) != CUDA_SUCCESS);
	/* The worker may have reused the address: it must neither read nor write there. */
	CHECK(change(at + 4096, 64) == CUDA_SUCCESS);
	CHECK(ask(WIRE_MIRROR_DOWN, &cursor, sizeof cursor, &changed, sizeof changed) == CUDA_SUCCESS && !changed.runs);
	CHECK(mirror(at, 64, true) != CUDA_SUCCESS);
}

/* Sends an image and adds it to a linker. */
static CUresult link_with(const void *bytes, uint32_t size, unsigned type)
{
	struct wire_upload up = {.image.size = size};
	struct wire_link_create create = {0};
	struct wire_linked made = {0}, done = {.result = 999};
	struct lane *lane = call_lane();
	struct wire_link_add a = {.type = type};
	struct piece piece;
	struct frame reply;
	size_t room;
	void *to;

	hash_of(bytes, size, up.image.hash);
	if (ask(WIRE_LINK_CREATE, &create, sizeof create, &made, sizeof made) ||
		bulk_alloc(client->link, BULK_UP, size, &piece))
		return 999;
	memcpy((char *)bulk_base(client->link, BULK_UP, &room) + piece.offset, bytes, size);
	to = call_reserve(lane, sizeof up);
	if (!to)
		return 999;
	memcpy(to, &up, sizeof up);
	CUresult r = call_ask(lane, WIRE_IMAGE, sizeof up, &piece, 1, &reply);
	call_release_reply(lane);
	bulk_free(client->link, BULK_UP, piece);
	a.state = made.id;
	a.image = up.image;
	if (!r)
		r = ask(WIRE_LINK_ADD, &a, sizeof a, &done, sizeof done);
	return r ? r : (CUresult)done.result;
}

/* Images that point into the server's memory, or claim more bytes than they have. */
static void images(void)
{
	static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f() { ret; }\n";
	struct wire_jit logs[] = {{CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, 65536}, {CU_JIT_INFO_LOG_BUFFER, 0},
		{CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, 1}, {CU_JIT_ERROR_LOG_BUFFER, 4096}};

	CHECK(load(text, sizeof text - 1, NULL, 0) == CUDA_SUCCESS);
	CHECK(load(text, sizeof text - 1, logs, 4) == CUDA_SUCCESS);
	CHECK(load("\177ELF", 4, NULL, 0) == CUDA_ERROR_INVALID_IMAGE);
	CHECK(load("!<arch>\n", 8, NULL, 0) == CUDA_ERROR_INVALID_IMAGE);
	CHECK(link_with(text, sizeof text - 1, CU_JIT_INPUT_PTX) == CUDA_SUCCESS);
	for (size_t i = 0; i < WILD; i++) {
		struct fatbin_wrapper wrapper = {
			FATBIN_WRAPPER_MAGIC, FATBIN_WRAPPER_PLAIN, (void *)(uintptr_t)wild[i], NULL};
		struct fatbin_header fatbin = {
			.magic = FATBIN_MAGIC, .version = 1, .header_size = sizeof fatbin, .size = wild[i]};
		Elf64_Ehdr elf = {.e_ident = "\177ELF\2\1\1",
			.e_shoff = wild[i],
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3};
		CHECK(load(&wrapper, sizeof wrapper, NULL, 0) == CUDA_ERROR_INVALID_IMAGE);
		CHECK(link_with(&wrapper, sizeof wrapper, CU_JIT_INPUT_FATBINARY) == CUDA_ERROR_INVALID_IMAGE);
		CHECK(link_with(&fatbin, sizeof fatbin, CU_JIT_INPUT_FATBINARY) == CUDA_ERROR_INVALID_IMAGE);
		CHECK(link_with(&elf, sizeof elf, CU_JIT_INPUT_CUBIN) == CUDA_ERROR_INVALID_IMAGE);
		CHECK(load(&fatbin, sizeof fatbin, NULL, 0) == CUDA_ERROR_INVALID_IMAGE);
		CHECK(load(&elf, sizeof elf, NULL, 0) == CUDA_ERROR_INVALID_IMAGE);
	}
}

/* A protocol error ends the session of this client, and no other. */
/* Makes the lane of this thread's calls the callback lane: threads of the driver write to it from now on. */
static void listen_on_call_lane(void)
{
	struct piece page;
	struct frame f;

	CHECK(!bulk_alloc(client->link, BULK_UP, WIRE_SLOTS * sizeof(uint32_t), &page));
	CHECK(call_reserve(call_lane(), 0) && !call_ask(call_lane(), WIRE_LISTEN, 0, &page, 1, &f));
	call_release_reply(call_lane());
}

static void nonsense(int which, uint64_t d)
{
	uint64_t cursor = 0;
	struct wire_copy copy = {.device = d, .size = 1ull << 40};
	struct wire_block b = {.src = {.kind = WIRE_SIDE_BULK, .pitch = 16, .height = 4},
		.dst = {.kind = WIRE_SIDE_DEVICE, .what = d, .pitch = 16, .height = 4},
		.width = 16,
		.height = 4,
		.depth = 1};
	struct piece piece = {0, 32};
	const uint64_t unserved[] = {
		0, d, d, 4}; /* arguments of cuMemcpy, an entry point of class hand: no client sends this op */

	switch (which) {
	case 0:
		CHECK(post(WIRE_COPY_UP, &copy, sizeof copy, &piece, 1) == 999);
		break;
	case 1:
		CHECK(post(WIRE_COPY_DOWN, &copy, sizeof copy, NULL, 0) == 999);
		break;
	case 2:
		CHECK(post(WIRE_BLOCK, &b, sizeof b, &piece, 1) == 999);
		break;
	case 3:
		b.src.pitch = 15;
		CHECK(post(WIRE_BLOCK, &b, sizeof b, &piece, 1) == 999);
		break;
	case 4:
		b.depth = 0;
		CHECK(post(WIRE_BLOCK, &b, sizeof b, NULL, 0) == 999);
		break;
	case 5:
		b.dst.kind = 77;
		CHECK(post(WIRE_BLOCK, &b, sizeof b, &piece, 1) == 999);
		break;
	case 6:
		CHECK(post(OP(cuMemcpy), unserved, sizeof unserved, NULL, 0) == 999);
		break;
	case 7:
		CHECK(post(WIRE_BLOCK, &b, 16, NULL, 0) == 999);
		break;
	case 8:
		b.src.kind = WIRE_SIDE_LATER;
		b.src.what = 1ull << 40;
		CHECK(post(WIRE_BLOCK, &b, sizeof b, NULL, 0) == 999);
		break;
	case 9:
		b.dst = b.src;
		b.dst.kind = WIRE_SIDE_LATER;
		b.src = (struct wire_side){.kind = WIRE_SIDE_DEVICE, .what = d, .pitch = 16, .height = 4};
		b.dst.what = UINT32_MAX;
		CHECK(post(WIRE_BLOCK, &b, sizeof b, NULL, 0) == 999);
		break;
	case 10:
		listen_on_call_lane();
		CHECK(post(WIRE_CALLED, &(struct wire_called){0, 1}, sizeof(struct wire_called), NULL, 0) == 999);
		break;
	case 11:
		listen_on_call_lane();
		CHECK(ask(WIRE_MIRROR_DOWN, &cursor, sizeof cursor, NULL, 0) == CUDA_ERROR_DEVICE_UNAVAILABLE);
		break;
	default:
		CHECK(post(WIRE_OPS_END, &b, sizeof b, NULL, 0) == 999);
	}
}

int main(int argc, char **argv)
{
	struct wire_cuDevicePrimaryCtxRetain retain = {.present = 1};
	uint64_t d, context = 0;

	start();
	CHECK(!ask(OP(cuDevicePrimaryCtxRetain), &retain, sizeof retain, &context, sizeof context));
	current = context;
	call_context = &current;
	CHECK(!post(WIRE_CONTEXT, &(struct wire_context){.context = context, .word = WIRE_ERROR_WORD},
		sizeof(struct wire_context), NULL, 0));
	d = device_memory(4096);
	if (argc > 1) {
		nonsense(atoi(argv[1]), d);
		return failures != 0;
	}
	copies(d);
	blocks(d);
	if (link_peer(client->link)->local)
		windows(d);
	mirrors(d);
	pageable_in_graph(d);
	renewals();
	nodes(d);
	objects();
	host_calls();
	images();
	variables();
	for (int i = 0; i < 13; i++) { /* one process and session for each protocol error */
		char line[512];
		snprintf(line, sizeof line, "%s %d", argv[0], i);
		CHECK(system(line) == 0);
	}
	printf("hostile: %s\n", failures ? "FAILED" : "passed");
	return failures != 0;
}
