/*
 * Whatever the frames of a client hold, the server takes them apart without harm: random arguments, live and
 * forged handles and addresses, for every call there is, over the null device.
 *
 *	fuzz_server SECONDS [SEED]
 *
 * Each round is a process with a session of its own, so that one may block (a stream can be told to wait for
 * ever) and be ended; dying is what fails.  The round's number is the seed to run it again: SECONDS 0.
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
#include "backend/plugin.h"
#include "chance.h"
#include "server/msg.h"
#include "server/nvml.h"
#include "transport/private.h"
#include "wire/nvml.h"

#define FRAMES	 4000 /* a round */
#define ROUND_MS 3000
#define LONGEST	 6000

static char folder[128]; /* empty, and stays so: a client writes no files here */
static struct session session;
static struct msg m;
static unsigned char known[WIRE_NVML_END];
static unsigned ops[2048], nops;
static struct tally {
	unsigned long frames, broken, made, worked;
	unsigned char worked_op[WIRE_NVML_END];
} *tally; /* shared with the rounds */

static CUresult unsupported(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static void no_storage(CUcontext ctx)
{
	(void)ctx;
}

static const struct cuda_ops *open_null(void)
{
	static struct cuda_ops table;
	char why[512] = "";
	const struct backend *b = plugin_backend("null", why, sizeof why);
	CUresult (**f)(void) = (CUresult (**)(void))&table;

	if (!b || b->open("null", &table, no_storage, why, sizeof why)) {
		printf("no null device: %s\n", why);
		exit(77);
	}
	for (int i = 0; i < cuda_OP_COUNT; i++)
		if (!f[i])
			f[i] = unsupported;
	table.cuInit(0);
	return &table;
}

/* A link to ourselves: the other end is a thread that does nothing but be there. */
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
	if (link_new_lane(session.link, 0)) /* the client's first frame would have made it */
		abort();
	session.ops = open_null();
	if (session_start(&session))
		abort();
}

static void list_ops(void)
{
	for (unsigned op = 0; op < WIRE_NVML_END; op++)
		if (serve_find(op) && !known[op] && nops < sizeof ops / sizeof *ops)
			known[op] = 1, ops[nops++] = op;
}

static void remember(enum handle_kind kind, void *real)
{
	chance_remember(handles_give(session.handles, kind, real));
}

/* Something to work with: the rest comes from the calls' own answers. */
static void make_objects(void)
{
	const struct cuda_ops *o = session.ops;
	CUcontext ctx = NULL;
	CUstream stream = NULL;
	CUevent event = NULL;
	CUmemoryPool pool = NULL;
	CUdeviceptr p = 0;

	if (o->cuDevicePrimaryCtxRetain(&ctx, 0) || o->cuCtxSetCurrent(ctx))
		abort();
	session.context = ctx;
	nvml_device("null");
	chance_remember((uintptr_t)NVML_HANDLE(0));
	for (int i = 0; i < 4; i++)
		remember(HANDLE_CUcontext, ctx);
	o->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	o->cuEventCreate(&event, 0);
	o->cuDeviceGetDefaultMemPool(&pool, 0);
	remember(HANDLE_CUstream, stream);
	remember(HANDLE_CUevent, event);
	remember(HANDLE_CUmemoryPool, pool);
	for (int i = 0; i < 4; i++)
		if (!o->cuMemAlloc_v2(&p, 65536))
			chance_remember(p);
}

static void one(void)
{
	uint8_t payload[LONGEST];
	unsigned op = roll() % 16 ? ops[roll() % nops] : (unsigned)roll() % 1100;
	uint32_t size = roll() % 32 ? 8 + roll() % 256 : roll() % LONGEST, all = ~0u;
	struct frame f = {.op = op, .size = size, .payload = payload, .lane = session.link->lanes[0], .npieces = roll() % 3};
	const struct served *call = serve_find(op);

	odd_bytes(payload, size);
	if (roll() % 4 && size >= 8)
		memcpy(payload, &chance_seen[0], 8); /* the right context */
	if (roll() % 2 && size >= 12)
		memcpy(payload + 8, &all, 4); /* every pointer is there */
	for (unsigned i = 0; i < f.npieces; i++)
		f.pieces[i] = (struct piece){roll() % 256 * 4096, roll() % 4096};
	if (!call || !msg_init(&m, &session, &f))
		return;
	tally->frames++;
	m.error = session_enter(&session, m.context);
	call->serve(session.ops, &m);
	tally->broken += m.broken;
	tally->made += !m.broken && !m.error;
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
	connect_session();
	list_ops();
	make_objects();
	if (chdir(folder))
		abort();
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_AS, &memory); /* a client may ask for all there is */
#else
	(void)memory;
#endif
	for (int i = 0; i < FRAMES; i++)
		one();
	fflush(NULL);
	_exit(0);
}

/* 0: it ended, 1: it was stuck and ended by us, 2: it died. */
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
			return printf("a session died: fuzz_server 0 %llu\n", (unsigned long long)seed), 1;
		stuck += r;
		rounds++;
		seed++;
	} while (time(NULL) < end);
	if (rmdir(folder))
		return printf("a session has written files: %s\n", folder), 1;
	unsigned calls = 0;
	for (unsigned op = 0; op < WIRE_NVML_END; op++)
		calls += tally->worked_op[op];
	printf("%u rounds, %u of them stuck; %lu frames: %lu broken, %lu calls made, %lu worked, of %u kinds\n", rounds, stuck,
		tally->frames, tally->broken, tally->made, tally->worked, calls);
	return 0;
}
