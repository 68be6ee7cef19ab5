/*
 * liar.h - a hostile server that gives one false answer.  Its default answers let an application get that far.
 *
 * The application is the child process and uses only libcuda.so.1.  The server is this process and writes the frames
 * itself.
 */
#pragma once

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>
#include "application.h"
#include "transport/private.h"
#include "util/build_note.h"
#include "backend/remote/session/call.h"
#include "wire/devices.h"
#include "wire/protocol.h"

#define PATIENCE_MS 60000
#define DEVICE_AT   0x500000000000ull

struct server {
	struct link *link;
	struct lane *events; /* lane of the client's callback thread */
	uint32_t *words;     /* words that the callback thread sets after each event */
	unsigned asked;      /* number of false answers so far */
};

struct lie {
	const char *name;
	void (*application)(void);
	bool (*answer)(struct server *s, const struct frame *f); /* returns false to leave the answer to honest() */
	struct link_config config;                               /* replaces the defaults, where not 0 */
};

static inline uint64_t number_of(enum handle_kind kind, unsigned index)
{
	return 1ull << 36 | (uint64_t)kind << 28 | (uint64_t)index << 4;
}

static void reply(const struct frame *f, CUresult result, const void *bytes, size_t size)
{
	struct wire_reply head = {.result = result};
	uint8_t *room;

	if (lane_reply_reserve(f->lane, (uint32_t)(sizeof head + wire_pad(size)), (void **)&room))
		return;
	memset(room, 0, sizeof head + wire_pad(size));
	memcpy(room, &head, sizeof head);
	if (size)
		memcpy(room + sizeof head, bytes, size);
	lane_reply(f->lane, f->op, f->ticket, (uint32_t)(sizeof head + wire_pad(size)), NULL, 0);
}

#define GIVE(f, ...) reply(f, CUDA_SUCCESS, (uint64_t[]){__VA_ARGS__}, sizeof(uint64_t[]){__VA_ARGS__})

static void send_event(struct server *s, struct wire_event v)
{
	void *room;

	if (!lane_reply_reserve(s->events, sizeof v, &room)) {
		memcpy(room, &v, sizeof v);
		lane_reply(s->events, WIRE_LISTEN, 0, sizeof v, NULL, 0);
	}
}

/* Waits until the client has handled all events sent so far. */
static void events_done(struct server *s)
{
	send_event(s, (struct wire_event){.kind = WIRE_EVENT_NOTIFY, .slot = 1, .value = 1});
	while (__atomic_load_n(&s->words[1], __ATOMIC_ACQUIRE) != 1 && !link_error(s->link, NULL))
		usleep(1000);
}

static void give_devices(const struct frame *f, char fill)
{
	struct wire_devices *d = calloc(1, sizeof *d);

	d->count = 1;
	d->version = 13000;
	memset(d->device[0].name, fill, sizeof d->device[0].name);
	memset(d->device[0].pci, fill, sizeof d->device[0].pci);
	d->device[0].memory = 1ull << 30;
	for (int i = 0; i < WIRE_ATTRIBUTES; i++) {
		d->device[0].attribute[i] = 64;
		d->device[0].known[i] = 1;
	}
	reply(f, CUDA_SUCCESS, d, sizeof *d);
	free(d);
}

/* Describes a function whose parameters have 8 bytes each. */
static void give_function(const struct frame *f, unsigned params)
{
	struct {
		struct wire_function head;
		struct wire_param param[64];
	} a = {.head = {.params = params, .bytes = 8 * params}};

	for (unsigned i = 0; i < params; i++)
		a.param[i] = (struct wire_param){(uint16_t)(8 * i), 8};
	reply(f, CUDA_SUCCESS, &a, sizeof a.head + params * sizeof *a.param);
}

static void listen(struct server *s, const struct frame *f)
{
	s->events = f->lane;
	s->words = (uint32_t *)((uint8_t *)bulk_base(s->link, BULK_UP, NULL) + f->pieces[0].offset);
	GIVE(f);
}

static void honest(struct server *s, const struct frame *f)
{
	switch (f->op) {
	case WIRE_CONTEXT: /* posted */
		break;
	case WIRE_DEVICES:
		give_devices(f, 0);
		break;
	case WIRE_LISTEN:
		listen(s, f);
		break;
	case WIRE_LOAD:
		reply(f, CUDA_SUCCESS, &(struct wire_loaded){.id = number_of(HANDLE_CUmodule, 1)},
			sizeof(struct wire_loaded));
		break;
	case WIRE_FUNCTION:
		give_function(f, 2);
		break;
	case WIRE_OBJECT:
		GIVE(f, number_of(HANDLE_CUuserObject, 1));
		break;
	case WIRE_NODE:
		reply(f, CUDA_SUCCESS, &(struct wire_node_made){.node = number_of(HANDLE_CUgraphNode, 1)},
			sizeof(struct wire_node_made));
		break;
	case NR_cuDevicePrimaryCtxRetain:
	case NR_cuCtxCreate_v2:
		GIVE(f, number_of(HANDLE_CUcontext, 1));
		break;
	case NR_cuGraphCreate:
		GIVE(f, number_of(HANDLE_CUgraph, 1));
		break;
	case NR_cuModuleGetFunction:
		GIVE(f, number_of(HANDLE_CUfunction, 1));
		break;
	case NR_cuModuleGetGlobal_v2:
		GIVE(f, DEVICE_AT, 8);
		break;
	case NR_cuMemAlloc_v2:
	case NR_cuMemAddressReserve:
		GIVE(f, DEVICE_AT);
		break;
	case WIRE_COPY_DOWN: /* the client waits for these, and this server never completes them */
	case WIRE_COPY_UP:
	case WIRE_SYNC:
	case WIRE_LAUNCH:
		link_shutdown(s->link);
		break;
	default: /* calls whose reply has no payload */
		reply(f, CUDA_SUCCESS, NULL, 0);
	}
}

static void serve(int fd, const struct lie *lie)
{
	struct link_config config = link_defaults(true);
	char error[LINK_ERROR_TEXT];
	struct server s = {0};
	struct frame f;

	config.build = build_note_text;
	config.protocol = wire_protocol();
	config.words = lie->config.words ? lie->config.words : config.words;
	config.up_size = lie->config.up_size ? lie->config.up_size : config.up_size;
	if (link_serve(&s.link, fd, &config, error))
		return;
	while (!link_next(s.link, &f, PATIENCE_MS))
		if (!lie->answer || !lie->answer(&s, &f))
			honest(&s, &f);
	link_destroy(s.link);
}

/* Returns the application's exit status, or -1 after a crash or a timeout. */
static int tell(const struct lie *lie, int listener, const char *address)
{
	struct pollfd p = {listener, POLLIN, 0};
	int status, fd;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		close(listener);
		setenv("GANGWAY_DEVICE", address, 1);
		alarm(2 * PATIENCE_MS / 1000);
		lie->application();
		fflush(NULL);
		_exit(failures != 0);
	}
	fd = poll(&p, 1, PATIENCE_MS) > 0 ? link_accept(listener) : -1;
	if (fd >= 0)
		serve(fd, lie);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
