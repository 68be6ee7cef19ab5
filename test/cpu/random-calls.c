/*
 * Random legal calls from 16 threads of one context, every result checked: kernels, copies, fills, events between
 * streams, host functions, memory of all kinds, graphs from captures (with a fork and a join) and built by hand.
 *
 *	random-calls [SECONDS [SEED [ACTIONS]]]
 *
 * ACTIONS is a bit mask of the table `actions`, to find out which of them a failure needs.
 *
 * Each thread owns its streams and buffers.  A buffer has a model, the words that it must hold once all submitted work
 * is done: each operation is applied to the model when it is submitted, and buffers are compared now and then.  A
 * thread orders its own streams by events; threads do not wait for each other.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "test/cpu/device.h"

enum { THREADS = 16, STREAMS = 3, BUFFERS = 6, WORDS = 192, GRAPH_OPS = 8, DEFAULT_SECONDS = 2, MAX_ERRORS = 20 };

/* add(p, v): p[i] += v; mix(p, q): p[i] = p[i] * 3 + q[i]. One block of WORDS threads. */
static const char text[] =
	PTX ".visible .entry add(.param .u64 p, .param .u32 v)\n"
	    "{ .reg .b32 %r<4>; .reg .b64 %a<3>; ld.param.u64 %a1, [p]; ld.param.u32 %r1, [v]; mov.u32 %r2, %tid.x;\n"
	    "mul.wide.u32 %a2, %r2, 4; add.u64 %a1, %a1, %a2; ld.global.u32 %r3, [%a1]; add.u32 %r3, %r3, %r1;\n"
	    "st.global.u32 [%a1], %r3; ret; }\n"
	    ".visible .entry mix(.param .u64 p, .param .u64 q)\n"
	    "{ .reg .b32 %r<4>; .reg .b64 %a<4>; ld.param.u64 %a1, [p]; ld.param.u64 %a2, [q]; mov.u32 %r2, %tid.x;\n"
	    "mul.wide.u32 %a3, %r2, 4; add.u64 %a1, %a1, %a3; add.u64 %a2, %a2, %a3; ld.global.u32 %r3, [%a1];\n"
	    "ld.global.u32 %r1, [%a2]; mad.lo.u32 %r3, %r3, 3, %r1; st.global.u32 [%a1], %r3; ret; }\n";

enum memory_kind { PLAIN, ORDERED, POOLED, MEMORY_KINDS };

struct buffer {
	CUdeviceptr at;
	enum memory_kind kind;
	unsigned stream; /* the last work on it is in this stream of the thread */
	uint32_t model[WORDS];
};

enum op_kind { OP_FILL, OP_ADD, OP_MIX, OP_COPY, OP_KINDS };

struct op {
	enum op_kind kind;
	unsigned dst, src; /* buffers */
	uint32_t value;
};

struct caller {
	pthread_t thread;
	unsigned number;
	uint64_t seed, rounds;
	CUcontext ctx;
	CUfunction add, mix;
	CUmodule module;
	CUmemoryPool pool;
	CUstream streams[STREAMS];
	CUevent events[STREAMS];
	struct buffer buffers[BUFFERS];
	uint32_t *pinned;
	_Atomic unsigned calls; /* by host functions */
};

static atomic_uint errors;
static uint64_t end_ns;
static unsigned long mask;

#define TRY(call) \
	do { \
		CUresult r_ = call; \
		if (r_ && atomic_fetch_add(&errors, 1) < MAX_ERRORS) \
			fprintf(stderr, "%s:%d: thread %u, round %llu: %s is %d\n", __FILE__, __LINE__, t->number, \
				(unsigned long long)t->rounds, #call, r_); \
	} while (0)

#define SAME(got, want) \
	do { \
		unsigned long long got_ = (got), want_ = (want); \
		if (got_ != want_ && atomic_fetch_add(&errors, 1) < MAX_ERRORS) \
			fprintf(stderr, "%s:%d: thread %u, round %llu: %s is %llu, not %llu\n", __FILE__, __LINE__, \
				t->number, (unsigned long long)t->rounds, #got, got_, want_); \
	} while (0)

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static unsigned random_below(struct caller *t, unsigned n)
{
	t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(t->seed >> 33) % n;
}

/* ---- operations ------------------------------------------------------------------------------------- */

static void op_apply(struct caller *t, const struct op *o)
{
	uint32_t *d = t->buffers[o->dst].model;
	const uint32_t *s = t->buffers[o->src].model;

	for (unsigned i = 0; i < WORDS; i++)
		d[i] = o->kind == OP_FILL  ? o->value
		       : o->kind == OP_ADD ? d[i] + o->value
		       : o->kind == OP_MIX ? d[i] * 3 + s[i]
					   : s[i];
}

static void op_submit(struct caller *t, const struct op *o, CUstream s)
{
	CUdeviceptr dst = t->buffers[o->dst].at, src = t->buffers[o->src].at;
	uint32_t value = o->value;
	void *add[] = {&dst, &value}, *mix[] = {&dst, &src};

	switch (o->kind) {
	case OP_FILL:
		TRY(cuMemsetD32Async(dst, value, WORDS, s));
		break;
	case OP_ADD:
		TRY(device_launch(t->add, 1, WORDS, s, add));
		break;
	case OP_MIX:
		TRY(device_launch(t->mix, 1, WORDS, s, mix));
		break;
	default:
		TRY(cuMemcpyDtoDAsync_v2(dst, src, WORDS * 4, s));
	}
}

/* Work in a stream waits for the last work on the buffer. */
static void buffer_move(struct caller *t, unsigned b, unsigned to)
{
	unsigned from = t->buffers[b].stream;

	if (from != to) {
		TRY(cuEventRecord(t->events[from], t->streams[from]));
		TRY(cuStreamWaitEvent(t->streams[to], t->events[from], 0));
	}
	t->buffers[b].stream = to;
}

/* An operation on buffers [first, first + n), with different operands if it has two. */
static struct op op_random(struct caller *t, unsigned first, unsigned n)
{
	struct op o = {.kind = random_below(t, OP_KINDS), .value = (uint32_t)random_below(t, 1000)};

	o.dst = first + random_below(t, n);
	o.src = first + (o.dst - first + 1 + random_below(t, n - 1)) % n;
	return o;
}

static void do_operation(struct caller *t)
{
	struct op o = op_random(t, 0, BUFFERS);
	unsigned s = random_below(t, STREAMS);

	buffer_move(t, o.dst, s);
	/* The source moves as well: its next writer must wait for this reader. */
	buffer_move(t, o.src, s);
	op_submit(t, &o, t->streams[s]);
	op_apply(t, &o);
}

/* ---- checks ----------------------------------------------------------------------------------------- */

static void buffer_compare(struct caller *t, const struct buffer *b, const uint32_t *got)
{
	unsigned wrong = 0, first = 0;

	for (unsigned i = WORDS; i-- > 0;)
		if (got[i] != b->model[i]) {
			wrong++;
			first = i;
		}
	if (wrong && atomic_fetch_add(&errors, 1) < MAX_ERRORS)
		fprintf(stderr, "thread %u, round %llu: %u words of buffer %u are wrong: word %u is %u, not %u\n",
			t->number, (unsigned long long)t->rounds, wrong, (unsigned)(b - t->buffers), first, got[first],
			b->model[first]);
}

static void do_check(struct caller *t)
{
	struct buffer *b = &t->buffers[random_below(t, BUFFERS)];
	CUstream s = t->streams[b->stream];
	uint32_t pageable[WORDS];

	switch (random_below(t, 3)) {
	case 0:
		TRY(cuMemcpyDtoHAsync_v2(t->pinned, b->at, WORDS * 4, s));
		TRY(cuStreamSynchronize(s));
		buffer_compare(t, b, t->pinned);
		break;
	case 1: /* the copy waits: its target is pageable */
		TRY(cuMemcpyDtoHAsync_v2(pageable, b->at, WORDS * 4, s));
		TRY(cuStreamSynchronize(s));
		buffer_compare(t, b, pageable);
		break;
	default:
		TRY(cuStreamSynchronize(s));
		TRY(cuMemcpyDtoH_v2(pageable, b->at, WORDS * 4));
		buffer_compare(t, b, pageable);
	}
}

/* An event of a stream is complete once the stream is synchronized, and then orders nothing any more. */
static void do_event(struct caller *t)
{
	unsigned s = random_below(t, STREAMS);
	CUevent first, second;
	CUresult r;
	float ms = -1;

	TRY(cuEventCreate(&first, random_below(t, 2) ? CU_EVENT_BLOCKING_SYNC : CU_EVENT_DEFAULT));
	TRY(cuEventCreate(&second, CU_EVENT_DEFAULT));
	TRY(cuEventRecord(first, t->streams[s]));
	do_operation(t);
	TRY(cuEventRecord(second, t->streams[s]));
	r = cuEventQuery(second);
	if (r != CUDA_ERROR_NOT_READY)
		TRY(r);
	if (random_below(t, 2))
		TRY(cuEventSynchronize(second));
	else
		TRY(cuStreamSynchronize(t->streams[s]));
	TRY(cuEventQuery(first));
	TRY(cuEventQuery(second));
	TRY(cuEventElapsedTime(&ms, first, second));
	SAME(ms >= 0, true);
	TRY(cuEventDestroy_v2(first));
	TRY(cuEventDestroy_v2(second));
}

static void count_call(void *calls)
{
	atomic_fetch_add((_Atomic unsigned *)calls, 1);
}

static void do_host_function(struct caller *t)
{
	unsigned s = random_below(t, STREAMS), n = 1 + random_below(t, 3), before = atomic_load(&t->calls);

	for (unsigned i = 0; i < n; i++)
		TRY(cuLaunchHostFunc(t->streams[s], count_call, &t->calls));
	TRY(cuStreamSynchronize(t->streams[s]));
	SAME(atomic_load(&t->calls) - before, n);
}

/* ---- memory ----------------------------------------------------------------------------------------- */

/* Allocates the buffer in its stream's order, and gives it known contents. */
static void buffer_create(struct caller *t, struct buffer *b)
{
	CUstream s = t->streams[b->stream];
	struct op fill = {.kind = OP_FILL, .dst = (unsigned)(b - t->buffers), .value = random_below(t, 1000)};

	b->kind = random_below(t, MEMORY_KINDS);
	if (b->kind == PLAIN)
		TRY(cuMemAlloc_v2(&b->at, WORDS * 4));
	else if (b->kind == ORDERED)
		TRY(cuMemAllocAsync(&b->at, WORDS * 4, s));
	else
		TRY(cuMemAllocFromPoolAsync(&b->at, WORDS * 4, t->pool, s));
	op_submit(t, &fill, s);
	op_apply(t, &fill);
}

static void buffer_destroy(struct caller *t, struct buffer *b)
{
	if (b->kind != PLAIN) {
		TRY(cuMemFreeAsync(b->at, t->streams[b->stream]));
		return;
	}
	TRY(cuStreamSynchronize(t->streams[b->stream]));
	TRY(cuMemFree_v2(b->at));
}

static void do_memory(struct caller *t)
{
	struct buffer *b = &t->buffers[random_below(t, BUFFERS)];
	CUdeviceptr base = 0;
	size_t size = 0;

	TRY(cuMemGetAddressRange_v2(&base, &size, b->at + 4));
	SAME(base, b->at);
	SAME(size, WORDS * 4);
	buffer_destroy(t, b);
	buffer_create(t, b);
}

/* New contents from the host: staged by the driver, or from pinned memory, which must not change until it was read. */
static void do_upload(struct caller *t)
{
	struct buffer *b = &t->buffers[random_below(t, BUFFERS)];
	CUstream s = t->streams[b->stream];

	for (unsigned i = 0; i < WORDS; i++)
		b->model[i] = random_below(t, 1u << 30);
	if (random_below(t, 2)) {
		memcpy(t->pinned, b->model, WORDS * 4);
		TRY(cuMemcpyHtoDAsync_v2(b->at, t->pinned, WORDS * 4, s));
		TRY(cuStreamSynchronize(s));
	} else {
		TRY(cuMemcpyHtoDAsync_v2(b->at, b->model, WORDS * 4, s));
	}
}

/* ---- graphs ----------------------------------------------------------------------------------------- */

static void graph_run(struct caller *t, CUgraph g, const struct op *ops, unsigned n)
{
	unsigned s = random_below(t, STREAMS), times = 1 + random_below(t, 3);
	CUgraphExec exec;
	size_t nodes = 0;

	TRY(cuGraphGetNodes(g, NULL, &nodes));
	SAME(nodes, n);
	TRY(cuGraphInstantiateWithFlags(&exec, g, 0));
	for (unsigned i = 0; i < BUFFERS; i++)
		buffer_move(t, i, s);
	for (unsigned k = 0; k < times; k++) {
		TRY(cuGraphLaunch(exec, t->streams[s]));
		for (unsigned i = 0; i < n; i++)
			op_apply(t, &ops[i]);
	}
	/* Both may be destroyed while the graph runs. */
	TRY(cuGraphExecDestroy(exec));
	TRY(cuGraphDestroy(g));
}

/* A fork to a second stream, which works on the upper half of the buffers, and a join. */
static void do_capture(struct caller *t)
{
	static const CUstreamCaptureMode modes[] = {
		CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED};
	unsigned n = 2 + random_below(t, GRAPH_OPS - 1), half = BUFFERS / 2;
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	struct op ops[GRAPH_OPS];
	CUevent fork, join;
	CUgraph g = NULL;

	TRY(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	TRY(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	TRY(cuStreamBeginCapture_v2(t->streams[0], modes[random_below(t, 2)]));
	TRY(cuEventRecord(fork, t->streams[0]));
	TRY(cuStreamWaitEvent(t->streams[1], fork, 0));
	for (unsigned i = 0; i < n; i++) {
		unsigned branch = i % 2;

		ops[i] = op_random(t, branch * half, half);
		op_submit(t, &ops[i], t->streams[branch]);
	}
	TRY(cuStreamIsCapturing(t->streams[1], &status));
	SAME(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	TRY(cuEventRecord(join, t->streams[1]));
	TRY(cuStreamWaitEvent(t->streams[0], join, 0));
	TRY(cuStreamEndCapture(t->streams[0], &g));
	TRY(cuEventDestroy_v2(fork));
	TRY(cuEventDestroy_v2(join));
	if (g)
		graph_run(t, g, ops, n);
}

/* A chain of fills and kernels, made with the calls for nodes. */
static void do_graph(struct caller *t)
{
	unsigned n = 1 + random_below(t, GRAPH_OPS);
	CUgraphNode last = NULL, node = NULL;
	struct op ops[GRAPH_OPS];
	CUgraph g;

	TRY(cuGraphCreate(&g, 0));
	for (unsigned i = 0; i < n; i++, last = node) {
		struct op *o = &ops[i];

		*o = op_random(t, 0, BUFFERS);
		CUdeviceptr dst = t->buffers[o->dst].at, src = t->buffers[o->src].at;
		void *add[] = {&dst, &o->value}, *mix[] = {&dst, &src};
		CUDA_MEMSET_NODE_PARAMS fill = {
			.dst = dst, .value = o->value, .elementSize = 4, .width = WORDS, .height = 1};
		CUDA_KERNEL_NODE_PARAMS kernel = {.func = o->kind == OP_ADD ? t->add : t->mix,
			.gridDimX = 1,
			.gridDimY = 1,
			.gridDimZ = 1,
			.blockDimX = WORDS,
			.blockDimY = 1,
			.blockDimZ = 1,
			.kernelParams = o->kind == OP_ADD ? add : mix};

		if (o->kind == OP_COPY)
			o->kind = OP_MIX;
		if (o->kind == OP_FILL)
			TRY(cuGraphAddMemsetNode(&node, g, last ? &last : NULL, last ? 1 : 0, &fill, t->ctx));
		else
			TRY(cuGraphAddKernelNode_v2(&node, g, last ? &last : NULL, last ? 1 : 0, &kernel));
	}
	graph_run(t, g, ops, n);
}

/* ---- streams, modules ------------------------------------------------------------------------------- */

/* The stream may be destroyed with work pending, which goes on. */
static void do_stream(struct caller *t)
{
	unsigned s = random_below(t, STREAMS), to = (s + 1) % STREAMS;
	CUresult r = cuStreamQuery(t->streams[s]);

	if (r != CUDA_ERROR_NOT_READY)
		TRY(r);
	for (unsigned i = 0; i < BUFFERS; i++)
		if (t->buffers[i].stream == s)
			buffer_move(t, i, to);
	TRY(cuStreamDestroy_v2(t->streams[s]));
	TRY(cuStreamCreateWithPriority(&t->streams[s], CU_STREAM_NON_BLOCKING, -(int)random_below(t, 2)));
}

static void module_load(struct caller *t)
{
	TRY(cuModuleLoadData(&t->module, text));
	TRY(cuModuleGetFunction(&t->add, t->module, "add"));
	TRY(cuModuleGetFunction(&t->mix, t->module, "mix"));
}

static void do_module(struct caller *t)
{
	for (unsigned s = 0; s < STREAMS; s++)
		TRY(cuStreamSynchronize(t->streams[s]));
	TRY(cuModuleUnload(t->module));
	module_load(t);
}

/* ---- a thread --------------------------------------------------------------------------------------- */

static const struct {
	void (*run)(struct caller *t);
	unsigned weight;
} actions[] = {
	{do_operation, 40},
	{do_check, 12},
	{do_upload, 6},
	{do_memory, 8},
	{do_event, 6},
	{do_host_function, 3},
	{do_capture, 8},
	{do_graph, 5},
	{do_stream, 3},
	{do_module, 1},
};

static void act(struct caller *t)
{
	unsigned total = 0, pick, i = 0;

	for (size_t k = 0; k < sizeof actions / sizeof *actions; k++)
		total += mask >> k & 1 ? actions[k].weight : 0;
	pick = random_below(t, total);
	for (; !(mask >> i & 1) || pick >= actions[i].weight; i++)
		pick -= mask >> i & 1 ? actions[i].weight : 0;
	actions[i].run(t);
}

static void caller_start(struct caller *t)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};

	TRY(cuCtxSetCurrent(t->ctx));
	module_load(t);
	TRY(cuMemPoolCreate(&t->pool, &props));
	TRY(cuMemHostAlloc((void **)&t->pinned, WORDS * 4, 0));
	for (unsigned i = 0; i < STREAMS; i++) {
		TRY(cuStreamCreate(&t->streams[i], CU_STREAM_NON_BLOCKING));
		TRY(cuEventCreate(&t->events[i], CU_EVENT_DISABLE_TIMING));
	}
	for (unsigned i = 0; i < BUFFERS; i++) {
		t->buffers[i].stream = i % STREAMS;
		buffer_create(t, &t->buffers[i]);
	}
}

static void caller_finish(struct caller *t)
{
	for (unsigned i = 0; i < BUFFERS; i++) {
		struct buffer *b = &t->buffers[i];

		TRY(cuMemcpyDtoHAsync_v2(t->pinned, b->at, WORDS * 4, t->streams[b->stream]));
		TRY(cuStreamSynchronize(t->streams[b->stream]));
		buffer_compare(t, b, t->pinned);
		buffer_destroy(t, b);
	}
	for (unsigned i = 0; i < STREAMS; i++) {
		TRY(cuStreamSynchronize(t->streams[i]));
		TRY(cuStreamDestroy_v2(t->streams[i]));
		TRY(cuEventDestroy_v2(t->events[i]));
	}
	TRY(cuMemPoolDestroy(t->pool));
	TRY(cuMemFreeHost(t->pinned));
	TRY(cuModuleUnload(t->module));
}

static void *caller_run(void *arg)
{
	struct caller *t = arg;

	caller_start(t);
	for (; atomic_load(&errors) < MAX_ERRORS && now_ns() < end_ns; t->rounds++)
		act(t);
	caller_finish(t);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct caller callers[THREADS];
	unsigned long seconds = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_SECONDS;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : now_ns(), rounds = 0;
	CUcontext ctx = device_start();

	mask = argc > 3 ? strtoul(argv[3], NULL, 0) : ~0ul;
	printf("seed %llu\n", (unsigned long long)seed);
	end_ns = now_ns() + seconds * 1000000000u;
	for (unsigned i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){.number = i, .seed = seed + i * 0x9e3779b97f4a7c15u, .ctx = ctx};
		if (pthread_create(&callers[i].thread, NULL, caller_run, &callers[i]))
			return 1;
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(callers[i].thread, NULL);
		rounds += callers[i].rounds;
	}
	OK(cuCtxDestroy_v2(ctx));
	printf("%llu calls\n", (unsigned long long)rounds);
	return RESULT() || atomic_load(&errors);
}
