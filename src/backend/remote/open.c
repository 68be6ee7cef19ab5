/* The backends "unix" and "tcp": connects to a server when the application opens its device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "backend/backend.h"
#include "backend/remote/guard.h"
#include "backend/remote/session/remote.h"
#include "backend/remote/backend.h"
#include "backend/remote/session/stats.h"
#include "backend/remote/wait/wait.h"
#include "cuda/visible.h"
#include "util/build_note.h"
#include "host/env_number.h"
#include "util/explain.h"
#include "wire/protocol.h"

#define ARENA_MIN (16u << 20)
#define WORDS_MIN 256

/*
 * The number of devices that CUDA_VISIBLE_DEVICES leaves.  The server's devices keep their order: a list that is not the
 * first devices in order cannot be honoured, and the program sees all of them.
 */
static int devices_visible(const struct wire_devices *d)
{
	unsigned char uuids[WIRE_DEVICES_MAX][16];
	int order[WIRE_DEVICES_MAX], n;

	for (int i = 0; i < d->count; i++)
		memcpy(uuids[i], &d->device[i].uuid, sizeof uuids[i]);
	n = visible_devices(secure_getenv("CUDA_VISIBLE_DEVICES"), d->count, uuids, order);
	for (int i = 0; i < n; i++)
		if (order[i] != i) {
			explain_once(
				"CUDA_VISIBLE_DEVICES is ignored: a server's devices can be hidden only from the last "
				"one up");
			return d->count;
		}
	return n;
}

static CUresult client_ask_devices(char *why, size_t size)
{
	struct wire_devices *d = calloc(1, sizeof *d);
	const struct wire_piece out = {d, sizeof *d};

	if (!d)
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUresult r = call_sync(WIRE_DEVICES, NULL, 0, NULL, 0, &out, 1);
	if (r || d->count < 0 || d->count > WIRE_DEVICES_MAX) {
		snprintf(why, size, "the server has no device to offer (CUresult %d)", r);
		free(d);
		return r ? r : CUDA_ERROR_NO_DEVICE;
	}
	for (int i = 0; i < d->count; i++) {
		d->device[i].name[sizeof d->device[i].name - 1] = d->device[i].pci[sizeof d->device[i].pci - 1] = 0;
		device_mask_attributes(&d->device[i], client->local);
	}
	if (d->count && !devices_visible(d)) {
		snprintf(why, size, "CUDA_VISIBLE_DEVICES names none of the server's %d devices", d->count);
		free(d);
		return CUDA_ERROR_NO_DEVICE;
	}
	d->count = devices_visible(d);
	client->devices = d;
	return CUDA_SUCCESS;
}

/*
 * Handles of a former client must never be valid in the new server: handles of each life begin with a generation of their
 * own.  The first life has the lowest ones, and no later life uses them again.
 */
static CUresult client_set_generation(void)
{
	struct wire_renew a = {.generation = (1 + (client->life - 1) % 255) << 16};

	return client->life ? call_sync(WIRE_RENEW, &a, sizeof a, NULL, 0, NULL, 0) : CUDA_SUCCESS;
}

/* Each extra connection keeps a processor busy on both sides during large copies. */
static unsigned extra_connections(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned usual = processors >= 8 ? 4 : processors >= 4 ? 3 : 1;
	unsigned n = env_number(ENV_CONNECTIONS, ENV_CONNECTIONS_MAX, usual);

	return n ? n - 1 : 0;
}

/* With less memory some copies would wait for ever, and streams would have no words. */
static bool link_large_enough(struct link *link)
{
	size_t up, down, words;

	bulk_base(link, BULK_UP, &up);
	bulk_base(link, BULK_DOWN, &down);
	word_base(link, &words);
	return up >= ARENA_MIN && down >= ARENA_MIN && words >= WORDS_MIN * WORD_STRIDE;
}

static void client_close(void)
{
	struct client *c = client;

	client_destroy(c);
	client = NULL;
}

/* A forked child must not hold the connection open: the server would not notice the end of the parent. */
static void client_forked(void)
{
	client = atomic_exchange(&client_now, NULL);
	client_threads_forked();
	client_close();
}

CUresult client_connect(const char *address, unsigned life, char *why, size_t size)
{
	struct link_config config = link_defaults(false);
	char error[LINK_ERROR_TEXT];
	struct link *link;

	config.build = build_note_text;
	config.protocol = wire_protocol();
	/* As a driver in this process would: spin through short kernels and copies where that costs nobody else. */
	if (sysconf(_SC_NPROCESSORS_ONLN) >= 4)
		config.spin_us = 10000;
	config.spin_us = env_number(ENV_SPIN_US, ENV_SPIN_US_MAX, config.spin_us);
	config.extras = extra_connections();
	int err = link_connect(&link, address, &config, error);
	if (err) {
		if (strncmp(error, address, strlen(address)))
			snprintf(why, size, "%s: %s", address, error);
		else
			snprintf(why, size, "%s", error);
		return errno_result(err);
	}
	if (!link_large_enough(link)) {
		snprintf(why, size, "%s: the server grants too little memory to work with", address);
		link_destroy(link);
		return CUDA_ERROR_NO_DEVICE;
	}
	struct client *former = client;
	client = client_create(link);
	if (!client || !(client->address = strdup(address))) {
		snprintf(why, size, "%s: out of memory", address);
		if (client)
			client_close();
		else
			link_destroy(link);
		client = former;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	client->life = life;
	CUresult r = client_set_generation();
	if (!r)
		r = client_ask_devices(why, size);
	if (r) {
		client_close();
		client = former;
	}
	return r;
}

static CUresult client_open(const char *address, char *why, size_t size)
{
	const char *stats = secure_getenv("GANGWAY_STATS");
	CUresult r;

	if (stats && *stats && strcmp(stats, "0"))
		stats_start();
	r = client_connect(address, 0, why, size);
	if (r)
		return r;
	struct client *c = client;
	client = NULL;
	atomic_store(&client_now, c);
	client_thread_move(); /* the thread keeps the lane that it has opened */
	return CUDA_SUCCESS;
}

static CUresult backend_open(
	const char *device, struct cuda_ops *table, void (*ending)(CUcontext ctx), char *why, size_t size)
{
	CUresult r = atomic_load(&client_now) ? CUDA_SUCCESS : client_open(device, why, size);

	if (r)
		return r;
	atomic_load(&client_now)->context_ending = ending;
	guard_table(table);
	return CUDA_SUCCESS;
}

static CUresult backend_stream_id(CUcontext ctx, CUstream handle, unsigned long long *id)
{
	CUresult r;
	struct stream *s;

	(void)ctx;
	client_enter();
	s = stream_find(handle, &r);
	if (s)
		*id = (uintptr_t)s;
	client_leave();
	return s ? CUDA_SUCCESS : r;
}

static CUresult backend_primary(CUdevice dev, CUcontext *ctx)
{
	CUresult r;

	client_enter();
	r = remote_primary(dev, ctx);
	client_leave();
	return r;
}

const struct backend unix_backend = {
	.name = "unix",
	.open = backend_open,
	.forked = client_forked,
	.primary = backend_primary,
	.stream_id = backend_stream_id,
};
const struct backend tcp_backend = {
	.name = "tcp",
	.open = backend_open,
	.forked = client_forked,
	.primary = backend_primary,
	.stream_id = backend_stream_id,
};
