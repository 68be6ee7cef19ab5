/*
 * life_link.h - the parties of the lifetime fuzzer and their frames.
 *
 * A party is a hostile client: it writes frames itself and follows no rule of our client. Its worker is a thread of this
 * process with the CPU device, so that a coverage-guided fuzzer sees what the worker does; or, if the variable
 * LIFETIME_SERVER names the gangway program, a worker of a real server, and then there are two parties.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include "backend/plugin.h"
#include "served.h"
#include "server/quota/account.h"
#include "server/session/message.h"
#include "transport/wait.h"
#include "util/futex.h"
#include "wire/protocol.h"

#define PARTIES  2
#define CONTEXTS 3      /* of a party: the primary context and two others */
#define STREAMS  3      /* of a context */
#define STUCK_MS 240000 /* a machine with ten other busy processes is slow */
#define WAKE_MS  20     /* a thread of our client posts WIRE_WAKE before it sleeps */
#define ARENA    (1u << 20)

struct life_stream {
	uint64_t id; /* 0: none */
	bool capturing;
};

struct life_context {
	uint64_t id; /* 0: none */
	unsigned word;
	uint32_t seen;  /* of the word: errors reported so far */
	uint32_t epoch; /* counts the lives of this slot */
	struct life_stream stream[STREAMS];
};

struct party {
	struct link *link;
	struct lane *lane, *events;
	struct life_context context[CONTEXTS];
	unsigned sync_word;
	uint32_t sync_value;
	struct piece up, down, page;
	bool holding;   /* events are not answered: streams wait for a host function */
	uint64_t place; /* addresses for host memory; 0: not chosen yet */
	unsigned refusals, inputs;
	uint64_t ids;
	pid_t pid;
};

static struct party parties[PARTIES];
static unsigned nparties = 1;
static bool life_verbose;
static struct {
	unsigned long sequences, operations, sessions;
} life_played;

/* ---- Reporting ---- */

static void life_note(const char *format, ...)
{
	va_list a;

	if (!life_verbose)
		return;
	va_start(a, format);
	vfprintf(stderr, format, a);
	va_end(a);
	fputc('\n', stderr);
}

static _Noreturn void life_fail(const char *format, ...)
{
	va_list a;

	fprintf(stderr, "ERROR: lifetime: ");
	va_start(a, format);
	vfprintf(stderr, format, a);
	va_end(a);
	fputc('\n', stderr);
	if (served.pid)
		served_complaints(), fflush(stdout);
	if (getenv("LIFETIME_HOLD"))
		pause();
	abort();
}

/* ---- The worker in this process ---- */

static struct {
	struct cuda_ops table;
	struct stats stats;
	struct account *account;
	struct session *session; /* never freed, as in a worker */
	int listener, client;
	char address[128], folder[96];
	pthread_t thread;
} inside;

static CUresult life_unsupported(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static void life_storage(CUcontext ctx)
{
	(void)ctx;
}

static void inside_open_device(void)
{
	CUresult (**f)(void) = (CUresult (**)(void))&inside.table;
	char why[512] = "";
	size_t memory = 0;

	setenv("GANGWAY_DEVICE_MEMORY", "256M", 1);
	const struct backend *b = plugin_backend("cpu", why, sizeof why);
	if (!b || b->open("cpu", &inside.table, life_storage, why, sizeof why))
		life_fail("no CPU device: %s", why);
	for (int i = 0; i < cuda_OP_COUNT; i++)
		if (!f[i])
			f[i] = life_unsupported;
	if (inside.table.cuInit(0) || inside.table.cuDeviceTotalMem_v2(&memory, 0))
		life_fail("cuInit");
	inside.stats.info[0].memory = memory;
	inside.stats.ndevices = 1;
}

static void inside_listen(void)
{
	const char *tmp = getenv("TMPDIR");
	char error[LINK_ERROR_TEXT];

	snprintf(inside.folder, sizeof inside.folder, "%s/gangway-XXXXXX", tmp && strlen(tmp) < 60 ? tmp : P_tmpdir);
	if (!mkdtemp(inside.folder))
		life_fail("mkdtemp: %s", strerror(errno));
	if (getenv("LIFETIME_TCP"))
		snprintf(inside.address, sizeof inside.address, "tcp://127.0.0.1:0");
	else
		snprintf(inside.address, sizeof inside.address, "unix:%s/socket", inside.folder);
	inside.listener = link_listen(inside.address, 0600, error);
	if (inside.listener < 0 || link_address(inside.listener, inside.address, sizeof inside.address))
		life_fail("%s", error);
}

static void *inside_worker(void *arg)
{
	struct link_config config = link_defaults(true);
	char error[LINK_ERROR_TEXT];
	struct session *s = arg;

	config.spin_us = 0;
	config.protocol = wire_protocol();
	if (link_serve(&s->link, link_accept(inside.listener), &config, error))
		life_fail("%s", error);
	if (session_start(s))
		life_fail("session_start");
	int r = session_run(s);
	if (r)
		life_fail("the worker ended the session at call %u: %s", s->op, strerror(-r));
	return NULL;
}

static void inside_start(void)
{
	if (!inside.account) {
		inside_open_device();
		inside_listen();
	}
	inside.session = calloc(1, sizeof *inside.session);
	if (!inside.session)
		life_fail("no memory");
	session_init(inside.session);
	if (!inside.account)
		inside.account = account_create(&inside.table, &inside.stats);
	inside.session->account = inside.account;
	inside.session->ops = &inside.table;
	inside.session->context = NULL;
	if (!inside.account || pthread_create(&inside.thread, NULL, inside_worker, inside.session))
		life_fail("cannot start a worker");
}

/* ---- Events: host functions that the worker waits for ---- */

static void event_answer(struct party *p, const struct wire_event *v)
{
	uint32_t *words = (uint32_t *)((char *)bulk_base(p->link, BULK_UP, NULL) + p->page.offset);
	struct wire_called called = {v->slot, v->value};
	void *room;

	if (!v->value || v->slot >= WIRE_SLOTS)
		return;
	if (link_peer(p->link)->local) {
		__atomic_store_n(&words[v->slot], v->value, __ATOMIC_RELEASE);
		futex_wake_shared(&words[v->slot]);
	} else if (!lane_reserve(p->events, 8 + sizeof called, &room)) {
		memset(room, 0, 8);
		memcpy((char *)room + 8, &called, sizeof called);
		lane_post(p->events, WIRE_CALLED, 8 + sizeof called, NULL, 0, NULL);
	}
}

/* Answers the events that have arrived. */
static void events_answer(struct party *p)
{
	struct wire_event v;
	struct frame f;

	while (!p->holding && !lane_wait_reply(p->events, &f, 0)) {
		memset(&v, 0, sizeof v);
		if (f.size >= sizeof v)
			memcpy(&v, f.payload, sizeof v);
		lane_release(p->events);
		event_answer(p, &v);
	}
}

/* ---- Calls ---- */

static uint64_t life_now_ms(void)
{
	return wait_now() / 1000000;
}

static void lane_must_reply(struct party *p, struct lane *lane, struct frame *reply, unsigned op)
{
	uint64_t end = life_now_ms() + STUCK_MS;
	int r;

	while ((r = lane_wait_reply(lane, reply, 3)) == -ETIMEDOUT) {
		p->holding = false; /* the dispatcher may be blocked until a host function has run */
		events_answer(p);
		if (life_now_ms() > end)
			life_fail("call %u is not answered", op);
	}
	if (r)
		life_fail("the worker ended the session at call %u: %s", op, strerror(-r));
}

static void *frame_reserve(struct party *p, uint64_t context, size_t size)
{
	void *room;

	if (lane_reserve(p->lane, (uint32_t)(8 + wire_pad(size)), &room))
		life_fail("the link is broken: %s", strerror(-link_error(p->link, NULL)));
	memcpy(room, &context, 8);
	return (char *)room + 8;
}

/* Sends a call and waits: its result, and `room` bytes of the reply behind its head. */
static CUresult ask_with(struct party *p, uint64_t context, unsigned op, const void *args, size_t size,
	const struct piece *pieces, unsigned n, void *out, size_t room)
{
	void *to = frame_reserve(p, context, size);
	struct wire_reply head = {.result = 999};
	struct frame reply;

	if (size)
		memcpy(to, args, size);
	if (lane_call(p->lane, op, (uint32_t)(8 + wire_pad(size)), pieces, n, NULL))
		life_fail("the link broke at call %u", op);
	lane_must_reply(p, p->lane, &reply, op);
	if (reply.size < sizeof head)
		life_fail("a short reply to call %u", op);
	memcpy(&head, reply.payload, sizeof head);
	if (out && !head.result && reply.size >= sizeof head + room)
		memcpy(out, (const char *)reply.payload + sizeof head, room);
	else if (out)
		memset(out, 0, room);
	lane_release(p->lane);
	return head.result;
}

static CUresult ask(
	struct party *p, uint64_t context, unsigned op, const void *args, size_t size, void *out, size_t room)
{
	return ask_with(p, context, op, args, size, NULL, 0, out, room);
}

/* The newest error reported for the context, or 0. */
static CUresult context_error(struct party *p, struct life_context *c)
{
	uint32_t now = __atomic_load_n(word_address(p->link, c->word), __ATOMIC_ACQUIRE);
	CUresult r = now != c->seen ? (CUresult)(now & 0xffff) : CUDA_SUCCESS;

	c->seen = now;
	return r;
}

static void post_only(struct party *p, uint64_t context, unsigned op, const void *args, size_t size,
	const struct piece *pieces, unsigned n)
{
	void *to = frame_reserve(p, context, size);

	if (size)
		memcpy(to, args, size);
	if (lane_post(p->lane, op, (uint32_t)(8 + wire_pad(size)), pieces, n, NULL))
		life_fail("the link broke at call %u", op);
}

/* Posts a call; its result, once the worker has made it. */
static CUresult post(struct party *p, struct life_context *c, unsigned op, const void *args, size_t size,
	const struct piece *pieces, unsigned n)
{
	context_error(p, c);
	post_only(p, c->id, op, args, size, pieces, n);
	ask(p, c->id, WIRE_FLUSH, NULL, 0, NULL, 0);
	return context_error(p, c);
}

/* ---- Waiting for streams ---- */

static void stream_settle(struct party *p, struct life_context *c, uint64_t stream)
{
	struct wire_sync a = {.kind = WIRE_SYNC_STREAM, .word = p->sync_word, .value = ++p->sync_value, .what = stream};
	uint64_t wake = life_now_ms() + WAKE_MS, end = wake + STUCK_MS;

	post_only(p, c->id, WIRE_SYNC, &a, sizeof a, NULL, 0);
	ask(p, c->id, WIRE_FLUSH, NULL, 0, NULL, 0);
	while (!word_reached(p->link, a.word, a.value)) {
		events_answer(p);
		if (word_reached(p->link, a.word, a.value))
			break;
		usleep(20);
		if (life_now_ms() > wake) { /* a device that has failed does not write the word */
			post_only(p, c->id, WIRE_WAKE, &a, sizeof a, NULL, 0);
			ask(p, c->id, WIRE_FLUSH, NULL, 0, NULL, 0);
			wake = end;
		}
		if (life_now_ms() > end)
			life_fail("stream %llu does not finish", (unsigned long long)stream);
	}
}

/* cuMemFree waits for all streams of the context, also for those that were destroyed or are being captured. */
static void context_drain(struct party *p, struct life_context *c)
{
	struct wire_cuMemAlloc_v2 a = {.present = 1, .bytesize = 64};
	struct wire_cuMemFree_v2 f = {0};

	if (ask(p, c->id, NR_cuMemAlloc_v2, &a, sizeof a, &f.dptr, sizeof f.dptr))
		return; /* a sticky error: nothing runs any more */
	post_only(p, c->id, NR_cuMemFree_v2, &f, sizeof f, NULL, 0);
	ask(p, c->id, WIRE_FLUSH, NULL, 0, NULL, 0);
}

/* Waits for all work of the context. The result is its sticky error. */
static CUresult context_settle(struct party *p, struct life_context *c)
{
	p->holding = false;
	context_error(p, c);
	for (int i = 0; i < STREAMS; i++)
		if (c->stream[i].id && !c->stream[i].capturing)
			stream_settle(p, c, c->stream[i].id);
	context_drain(p, c);
	stream_settle(p, c, 0); /* a sticky error shows at the next call */
	CUresult r = context_error(p, c);
	struct wire_cuMemGetInfo_v2 a = {0};
	return r ? r : ask(p, c->id, NR_cuMemGetInfo_v2, &a, sizeof a, NULL, 0);
}

/* ---- Connecting ---- */

static void party_connect(struct party *p, const char *address)
{
	struct link_config config = link_defaults(false);
	char error[LINK_ERROR_TEXT];
	uint32_t value;
	unsigned word;

	config.protocol = wire_protocol();
	config.up_size = config.down_size = ARENA;
	config.spin_us = 20;
	if (link_connect(&p->link, address, &config, error))
		life_fail("cannot connect to %s: %s", address, error);
	if (word_alloc(p->link, &word, &value) || word_alloc(p->link, &word, &value) ||
		word_alloc(p->link, &p->sync_word, &p->sync_value))
		life_fail("no words");
	for (int i = 0; i < CONTEXTS; i++)
		if (word_alloc(p->link, &p->context[i].word, &p->context[i].seen))
			life_fail("no words");
	if (lane_open(p->link, &p->lane) || lane_open(p->link, &p->events))
		life_fail("no lanes");
	if (bulk_alloc(p->link, BULK_UP, WIRE_SLOTS * 4, &p->page) || bulk_alloc(p->link, BULK_UP, 65536, &p->up) ||
		bulk_alloc(p->link, BULK_DOWN, 65536, &p->down))
		life_fail("no pieces");
	memset((char *)bulk_base(p->link, BULK_UP, NULL) + p->page.offset, 0, p->page.size);
	p->pid = link_peer(p->link)->pid;
}

static void party_listen(struct party *p)
{
	struct frame reply;
	void *room;

	if (lane_reserve(p->events, 8, &room))
		life_fail("no lane");
	memset(room, 0, 8);
	if (lane_call(p->events, WIRE_LISTEN, 8, &p->page, 1, NULL) || lane_wait_reply(p->events, &reply, STUCK_MS))
		life_fail("WIRE_LISTEN is not answered");
	lane_release(p->events);
}

static void party_start(struct party *p)
{
	const char *program = getenv("LIFETIME_SERVER");

	if (program && !served.pid && !served_start(program, "cpu"))
		life_fail("the server does not start: %s", served.log);
	if (!program)
		inside_start();
	memset(p, 0, sizeof *p);
	life_played.sessions++;
	party_connect(p, program ? served.address[getenv("LIFETIME_TCP") != NULL] : inside.address);
	party_listen(p);
}

/* All objects are gone. The worker's link stays: threads of the worker may still use it. */
static void party_end(struct party *p)
{
	link_shutdown(p->link);
	if (!getenv("LIFETIME_SERVER"))
		pthread_join(inside.thread, NULL);
	link_destroy(p->link);
	memset(p, 0, sizeof *p);
}
