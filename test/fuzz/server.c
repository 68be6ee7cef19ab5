/*
 * The server parses any frame of a client without harm: random arguments, live and forged handles and addresses, for
 * every call, on the null device.
 *
 *	fuzz_server SECONDS [SEED]
 *
 * Each round is a process with its own session, so that a blocked round (a stream can wait for ever) can be killed; a
 * round fails only if it dies. Every other round has a quota, which it never exceeds. The round's number is the seed to
 * repeat it: SECONDS 0.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "backend/nvml/backend.h"
#include "chance.h"
#include "server/session/message.h"
#include "server/nvml/nvml.h"
#include "test/null_device.h"
#include "transport/private.h"
#include "wire/nvml.h"

#define FRAMES   4000 /* per round */
#define AGAIN    250
#define ROUND_MS 3000
#define LONGEST  6000
#define QUOTA    (96ull << 20)

static char folder[128]; /* stays empty: a client writes no files here */
static struct session session;
static struct msg m;
static unsigned char known[WIRE_NVML_END];
static unsigned ops[2048], nops;
static struct stats stats;
static uint64_t home; /* handle of the context that always exists */
static struct tally {
	unsigned long frames, broken, made, worked;
	unsigned char made_op[WIRE_NVML_END], worked_op[WIRE_NVML_END];
} *tally; /* shared with the rounds */

/* A link to this process: the other end is an idle thread. */
static void *client(void *arg)
{
	struct link_config config = link_defaults(false);
	struct lane *lane;
	struct link *l;

	config.up_size = config.down_size = 1 << 20;
	if (link_connect(&l, arg, &config, NULL) || lane_open(l, &lane))
		abort();
	return l;
}

static void connect_session(void)
{
	struct link_config config = link_defaults(true);
	char address[64], error[LINK_ERROR_TEXT];
	pthread_t thread;
	int listener = link_listen("tcp://127.0.0.1:0", 0, error);

	config.spin_us = 0;
	if (listener < 0 || link_address(listener, address, sizeof address))
		abort();
	pthread_create(&thread, NULL, client, address);
	if (link_serve(&session.link, link_accept(listener), &config, error))
		abort();
	pthread_join(thread, NULL);
	close(listener);
	if (link_new_lane(session.link, 0)) /* normally created by the client's first frame */
		abort();
	null_session_init(&session, &stats);
	if (session_start(&session))
		abort();
}

static void list_ops(void)
{
	for (unsigned op = 0; op < WIRE_NVML_END; op++)
		if (serve_find(op) && !known[op] && nops < sizeof ops / sizeof *ops)
			known[op] = 1, ops[nops++] = op;
}

static void keep(enum handle_kind kind, void *real)
{
	chance_keep(handles_give(session.handles, kind, real));
}

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .b8 g[300];\n"
			  ".global .texref t;\n.visible .entry k(.param .u64 p, .param .u32 n)\n{ ret; }\n";

static void make_code(const struct cuda_ops *o)
{
	CUmodule module = NULL;
	CUfunction function = NULL;
	CUlibrary library = NULL;
	CUkernel kernel = NULL;
	CUtexref texture = NULL;

	if (!o->cuModuleLoadData(&module, ptx)) {
		o->cuModuleGetFunction(&function, module, "k");
		o->cuModuleGetTexRef(&texture, module, "t");
	}
	if (!o->cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0))
		o->cuLibraryGetKernel(&kernel, library, "k");
	keep(HANDLE_CUmodule, module);
	keep(HANDLE_CUfunction, function);
	keep(HANDLE_CUlibrary, library);
	keep(HANDLE_CUkernel, kernel);
	keep(HANDLE_CUtexref, texture);
}

static void make_graph(const struct cuda_ops *o, CUcontext ctx, CUdeviceptr p)
{
	CUDA_MEMSET_NODE_PARAMS set = {.dst = p, .elementSize = 1, .width = 16, .height = 1};
	CUgraphNode first = NULL, second = NULL;
	CUgraphExec exec = NULL;
	CUgraph graph = NULL;

	if (o->cuGraphCreate(&graph, 0))
		return;
	o->cuGraphAddEmptyNode(&first, graph, NULL, 0);
	o->cuGraphAddMemsetNode(&second, graph, &first, first != NULL, &set, ctx);
	o->cuGraphInstantiateWithFlags(&exec, graph, 0);
	keep(HANDLE_CUgraph, graph);
	keep(HANDLE_CUgraphNode, first);
	keep(HANDLE_CUgraphNode, second);
	keep(HANDLE_CUgraphExec, exec);
}

static void make_memory(const struct cuda_ops *o, CUcontext ctx)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = {64, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0};
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle block = 0;
	CUmipmappedArray levels = NULL;
	CUmemoryPool pool = NULL;
	CUarray array = NULL;
	CUdeviceptr p = 0;

	o->cuArray3DCreate_v2(&array, &shape);
	o->cuMipmappedArrayCreate(&levels, &shape, 3);
	o->cuDeviceGetDefaultMemPool(&pool, 0);
	o->cuMemCreate(&block, 2 << 20, &prop, 0);
	keep(HANDLE_CUarray, array);
	keep(HANDLE_CUmipmappedArray, levels);
	keep(HANDLE_CUmemoryPool, pool);
	keep(HANDLE_CUmemGenericAllocationHandle, (void *)(uintptr_t)block);
	for (int i = 0; i < 2; i++)
		if (!o->cuMemAlloc_v2(&p, 65536))
			chance_keep(p);
	make_graph(o, ctx, p);
}

/* Objects to work with, created again after calls destroy them. Replies add more. */
static void make_objects(void)
{
	const struct cuda_ops *o = session.ops;
	CUcontext ctx = NULL;
	CUstream stream = NULL;
	CUevent event = NULL;

	if (o->cuDevicePrimaryCtxRetain(&ctx, 0) || o->cuCtxSetCurrent(ctx))
		return;
	session.context = ctx;
	handles_enter(session.handles, ctx);
	home = handles_give(session.handles, HANDLE_CUcontext, ctx);
	for (int i = 0; i < 2; i++) {
		o->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
		o->cuEventCreate(&event, 0);
		keep(HANDLE_CUcontext, ctx);
		keep(HANDLE_CUstream, stream);
		keep(HANDLE_CUevent, event);
	}
	make_code(o);
	make_memory(o, ctx);
	chance_keep((uintptr_t)NVML_HANDLE(0));
}

/* A batch of queries in one frame: most are valid, so that the first one does not end the batch. */
static uint32_t questions(uint8_t *payload)
{
	uint32_t size = sizeof(struct wire_request), n = roll() % 8 ? 1 + roll() % 32 : roll() % 100;

	for (uint32_t i = 0; i < n; i++) {
		struct wire_nvml_query one = {.op = WIRE_NVML + NR_nvmlDeviceGetTemperature, .size = 24};
		struct wire_nvmlDeviceGetClock args = {.present = ~0u, .device = (uintptr_t)NVML_HANDLE(roll() % 2)};
		args.clockType = (nvmlClockType_t)odd_value();
		one.op = roll() % 4 ? one.op : WIRE_NVML + NR_nvmlDeviceGetClock;
		one.op = roll() % 256 ? one.op : ops[roll() % nops];
		one.size = roll() % 256 ? one.size : (uint32_t)odd_value();
		args.device = roll() % 256 ? args.device : odd_value();
		memcpy(payload + size, &one, sizeof one);
		memcpy(payload + size + sizeof one, &args, sizeof args);
		size += (uint32_t)(sizeof one + sizeof args);
	}
	return roll() % 64 ? size : roll() % size;
}

static void one(void)
{
	uint8_t payload[LONGEST];
	unsigned op = roll() % 64 == 0 ? WIRE_NVML_BATCH : roll() % 16 ? ops[roll() % nops] : (unsigned)roll() % 1100;
	uint32_t size = roll() % 32 ? 8 + roll() % 256 : roll() % LONGEST, all = ~0u;
	struct frame f = {
		.op = op, .size = size, .payload = payload, .lane = session.link->lanes[0], .npieces = roll() % 3};
	const struct served *call = serve_find(op);

	odd_bytes(payload, size);
	if (roll() % 4 && size >= 8)
		memcpy(payload, &home, 8); /* the correct context */
	if (roll() % 2 && size >= 12)
		memcpy(payload + 8, &all, 4); /* every pointer is present */
	if (op == WIRE_NVML_BATCH && roll() % 8)
		f.size = questions(payload);
	for (unsigned i = 0; i < f.npieces; i++)
		f.pieces[i] = (struct piece){roll() % 256 * 4096, roll() % 4096};
	if (!call || !msg_init(&m, &session, &f))
		return;
	tally->frames++;
	m.error = session_enter(&session, m.context);
	call->serve(session.ops, &m);
	tally->broken += m.broken;
	tally->made += !m.broken && !m.error;
	tally->made_op[op] |= !m.broken && !m.error;
	if (!m.broken && !m.error && !m.result)
		tally->worked++, tally->worked_op[op] = 1;
	if (!m.broken && !m.result && m.out_used >= 16)
		for (unsigned i = 8; i + 8 <= m.out_used && i < 40; i += 8) {
			uint64_t v;
			memcpy(&v, m.out + i, 8);
			chance_remember(v);
		}
	msg_finish(&m, false);
	session.ops->cuCtxGetCurrent(&session.context);
}

static void play(uint64_t seed)
{
	struct rlimit memory = {3ull << 30, 3ull << 30};

	chance_state = seed * 0x9e3779b97f4a7c15 | 1;
	stats.info[0].quota = seed % 2 ? 0 : QUOTA;
	connect_session();
	list_ops();
	if (!nvml_init(&session, "null"))
		abort();
	if (chdir(folder))
		abort();
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_AS, &memory); /* a client may request all memory */
#else
	(void)memory;
#endif
	for (int i = 0; i < FRAMES; i++) {
		if (i % AGAIN == 0)
			make_objects();
		one();
		if (stats.info[0].quota && stats_read(&stats.device[0].memory) > QUOTA) {
			printf("%llu bytes are held after call %u\n",
				(unsigned long long)stats_read(&stats.device[0].memory), m.frame.op);
			fflush(NULL);
			abort();
		}
	}
	fflush(NULL);
	_exit(0);
}

/* 0: the round ended; 1: it was stuck and was killed; 2: it died. */
static int watch(pid_t pid)
{
	int status;

	for (int ms = 0; ms < ROUND_MS; ms += 5) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status ? printf("status %x\n", (unsigned)status), 2 : 0;
		usleep(5000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return 1;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) << 8;
	unsigned rounds = 0, stuck = 0;

	const char *tmp = getenv("TMPDIR");
	snprintf(folder, sizeof folder, "%s/gangway-XXXXXX", tmp ? tmp : P_tmpdir);
	if (!mkdtemp(folder))
		return 1;
	tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		return 1;
	do {
		fflush(NULL);
		pid_t pid = fork();
		if (!pid)
			play(seed);
		int r = watch(pid);
		if (r == 2)
			return printf("a session crashed; repeat with: fuzz_server 0 %llu\n", (unsigned long long)seed),
			       1;
		stuck += r;
		rounds++;
		seed++;
	} while (time(NULL) < end);
	if (rmdir(folder))
		return printf("a session has written files: %s\n", folder), 1;
	unsigned kinds = 0, made = 0, worked = 0;
	for (unsigned op = 0; op < WIRE_NVML_END; op++) {
		kinds += serve_find(op) != NULL;
		made += tally->made_op[op];
		worked += tally->worked_op[op];
		if (getenv("LIST") && serve_find(op) && !tally->made_op[op])
			printf("operation %u was never called\n", op);
	}
	printf("%u rounds, %u of them blocked; %lu frames: %lu malformed, %lu calls made, %lu successful; of %u "
	       "operations "
	       "%u were called and %u succeeded\n",
		rounds, stuck, tally->frames, tally->broken, tally->made, tally->worked, kinds, made, worked);
	return 0;
}
