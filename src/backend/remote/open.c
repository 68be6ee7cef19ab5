/* Connecting: once, at the first call; after that the table is ours and the device is theirs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "backend/backend.h"
#include "backend/remote/session/remote.h"
#include "backend/remote/backend.h"
#include "backend/remote/session/stats.h"
#include "backend/remote/wait/wait.h"
#include "util/build_note.h"
#include "util/env_number.h"
#include "wire/protocol.h"

#define LEAST_ARENA (16u << 20)
#define LEAST_WORDS 256

static CUresult ask_devices(char *why, size_t size)
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
	client->devices = d;
	return CUDA_SUCCESS;
}

/* Each further one keeps a processor busy on both sides while much is moved. */
static unsigned further_connections(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned usual = processors >= 8 ? 4 : processors >= 4 ? 3 : 1;
	unsigned n = env_number(ENV_CONNECTIONS, ENV_CONNECTIONS_MAX, usual);

	return n ? n - 1 : 0;
}

/* With less some of us would wait for ever, or have no word to look at. */
static bool roomy(struct link *link)
{
	size_t up, down, words;

	bulk_base(link, BULK_UP, &up);
	bulk_base(link, BULK_DOWN, &down);
	word_base(link, &words);
	return up >= LEAST_ARENA && down >= LEAST_ARENA && words >= LEAST_WORDS * WORD_STRIDE;
}

static void client_close(void)
{
	struct client *c = client;

	client = NULL;
	client_destroy(c);
}

static CUresult connect_to(const char *address, char *why, size_t size)
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
	config.extras = further_connections();
	if (link_connect(&link, address, &config, error)) {
		if (strncmp(error, address, strlen(address)))
			snprintf(why, size, "%s: %s", address, error);
		else
			snprintf(why, size, "%s", error);
		return CUDA_ERROR_NO_DEVICE;
	}
	if (!roomy(link)) {
		snprintf(why, size, "%s: the server grants too little memory to work with", address);
		link_destroy(link);
		return CUDA_ERROR_NO_DEVICE;
	}
	client = client_create(link);
	if (!client) {
		snprintf(why, size, "%s: out of memory", address);
		link_destroy(link);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	const char *stats = secure_getenv("GANGWAY_STATS");
	if (stats && *stats && strcmp(stats, "0"))
		stats_start();
	CUresult r = ask_devices(why, size);
	if (r)
		client_close();
	return r;
}

static CUresult open_remote(
	const char *device, struct cuda_ops *table, void (*ending)(CUcontext ctx), char *why, size_t size)
{
	CUresult r = client ? CUDA_SUCCESS : connect_to(device, why, size);

	if (r)
		return r;
	client->context_ending = ending;
	*table = cuda_remote_ops;
	return CUDA_SUCCESS;
}

/*
 * A child that inherits the connection must not hold it: the server would not see its parent end.  Nothing
 * else needs forgetting, since a process that had contexts gets no second device.
 */
static void forget(void)
{
	client_close();
}

static CUresult stream_number(CUcontext ctx, CUstream handle, unsigned long long *id)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	(void)ctx;
	if (!s)
		return r;
	*id = (uintptr_t)s;
	return CUDA_SUCCESS;
}

const struct backend unix_backend = {
	.name = "unix",
	.open = open_remote,
	.forked = forget,
	.primary = remote_primary,
	.stream_id = stream_number,
};
const struct backend tcp_backend = {
	.name = "tcp",
	.open = open_remote,
	.forked = forget,
	.primary = remote_primary,
	.stream_id = stream_number,
};
