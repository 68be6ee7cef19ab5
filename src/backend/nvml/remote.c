#include "backend/nvml/remote.h"
#include "backend/nvml/known.h"
#include "backend/nvml/poll.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "transport/transport.h"
#include "util/build_note.h"
#include "util/env_number.h"
#include "wire/protocol.h"

#define ANSWER_MS 20000 /* a device that does not answer for so long is lost */
#define PAUSE_MS  1000  /* between tries to reach a server that was not there */
#define SPIN_US   1000  /* where processors are free: a vendor's answer takes a good part of that */

static struct {
	pthread_mutex_t lock;
	bool open; /* between nvmlInit and nvmlShutdown */
	char address[256];
	struct link *link; /* NULL: to be made */
	struct lane *lane;
	uint64_t not_before; /* ms: when to try again */
	struct wire_nvml_devices devices;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Forgotten first: a thread may fork while another one is in here, and the child must not do it again. */
static void let_go(void)
{
	struct link *link = server.link;

	server.lane = NULL;
	server.link = NULL;
	known_forget();
	poll_forget();
	atomic_signal_fence(memory_order_seq_cst);
	link_destroy(link);
}

/* With the lock and a link: 0 or -errno; the caller lets go of a link that fails. */
static int exchange(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin,
	const struct wire_piece *out, unsigned nout, int *value)
{
	size_t all = sizeof(struct wire_request) + pack_size(size, in, nin);
	struct wire_request *head;
	struct wire_reply answer = {0};
	struct frame reply;
	void *room;
	int err;

	if ((err = lane_reserve(server.lane, (uint32_t)all, &room)))
		return err;
	head = room;
	head->context = 0;
	pack_put((uint8_t *)(head + 1), args, size, in, nin);
	if ((err = lane_call(server.lane, op, (uint32_t)all, NULL, 0, NULL)) ||
		(err = lane_wait_reply(server.lane, &reply, ANSWER_MS)))
		return err;
	err = pack_take(reply.payload, reply.size, out, nout, &answer) && !answer.result ? 0 : -EPROTO;
	lane_release(server.lane);
	*value = answer.value;
	return err;
}

static int ask_devices(char *why, size_t size)
{
	struct wire_nvml_devices d;
	const struct wire_piece out = {&d, sizeof d};
	int value = 0, err = exchange(WIRE_NVML_DEVICES, NULL, 0, NULL, 0, &out, 1, &value);

	if (!err && (value || d.count > WIRE_NVML_DEVICES_MAX)) {
		snprintf(why, size, "the server says nothing of its devices (nvmlReturn_t %d)", value);
		err = -ENODEV;
	}
	if (err)
		return err;
	d.driver[sizeof d.driver - 1] = 0;
	for (unsigned i = 0; i < d.count; i++) {
		struct wire_nvml_device *one = &d.device[i];
		one->name[sizeof one->name - 1] = one->uuid[sizeof one->uuid - 1] = 0;
		one->pci.busId[sizeof one->pci.busId - 1] = one->pci.busIdLegacy[sizeof one->pci.busIdLegacy - 1] = 0;
	}
	server.devices = d;
	return 0;
}

/* With the lock. */
static int connect_now(char *why, size_t size)
{
	struct link_config config = link_defaults(false);
	char error[LINK_ERROR_TEXT] = "";
	int err;

	config.build = note_build;
	config.protocol = wire_protocol();
	config.up_size = config.down_size = 65536; /* nothing large goes over */
	config.words = 8;
	config.spin_us = setting_number(
		SETTING_SPIN, SETTING_SPIN_MAX, sysconf(_SC_NPROCESSORS_ONLN) >= 4 ? SPIN_US : config.spin_us);
	poll_use(setting_number(SETTING_AHEAD, 1, 1));
	snprintf(why, size, "the server does not answer");
	err = link_connect(&server.link, server.address, &config, error);
	if (err) {
		server.link = NULL;
		snprintf(why, size, "%s", error);
	} else if (!(err = lane_open(server.link, &server.lane))) {
		err = ask_devices(why, size);
	}
	if (err)
		let_go();
	server.not_before = err ? now_ms() + PAUSE_MS : 0;
	return err;
}

/* With others of its poll, or by itself: the same. */
static int ask_now(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin,
	const struct wire_piece *out, unsigned nout, int *value)
{
	struct poll_ask ask;
	int said = 0, err;

	ask.size = 0;
	if (lane_payload_max(server.lane) >= sizeof(struct wire_reply) + sizeof ask.answer)
		poll_together(&ask);
	if (!ask.size)
		return exchange(op, args, size, in, nin, out, nout, value);
	err = exchange(WIRE_NVML_TOGETHER, ask.bytes, ask.size, NULL, 0, &(struct wire_piece){ask.answer, ask.expected},
		1, &said);
	if (err)
		return err;
	uint64_t now = now_ms();
	return !said && poll_take(now, &ask) && poll_found(now, out, nout, value) ? 0 : -EPROTO;
}

nvmlReturn_t remote_ask(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin,
	const struct wire_piece *out, unsigned nout)
{
	char why[256];
	int result = NVML_ERROR_GPU_IS_LOST, err = -ENOTCONN;

	pthread_mutex_lock(&server.lock);
	if (!server.open)
		result = NVML_ERROR_UNINITIALIZED;
	else if (poll_find(now_ms(), op, args, size, nin, out, nout, &result))
		err = 0;
	else if (server.link && known_find(op, args, size, out, nout, &result))
		err = 0;
	for (int tries = 0; server.open && err && tries < 2; tries++) {
		if (!server.link && (now_ms() < server.not_before || connect_now(why, sizeof why)))
			break;
		uint32_t most = lane_payload_max(server.lane);
		if (pack_size(size, in, nin) > most - sizeof(struct wire_request) ||
			pack_size(0, out, nout) > most - sizeof(struct wire_reply)) {
			result = NVML_ERROR_INVALID_ARGUMENT;
			break;
		}
		err = ask_now(op, args, size, in, nin, out, nout, &result);
		if (!err)
			known_keep(op, args, size, out, nout, result);
		else
			let_go(), result = NVML_ERROR_GPU_IS_LOST;
	}
	poll_done(now_ms());
	pthread_mutex_unlock(&server.lock);
	return (nvmlReturn_t)result;
}

bool remote_devices(struct wire_nvml_devices *all)
{
	pthread_mutex_lock(&server.lock);
	*all = server.devices;
	bool there = server.open;
	pthread_mutex_unlock(&server.lock);
	return there;
}

bool remote_device(nvmlDevice_t handle, struct wire_nvml_device *d)
{
	pthread_mutex_lock(&server.lock);
	int i = nvml_handle_index(handle, (int)server.devices.count);
	if (i >= 0)
		*d = server.devices.device[i];
	pthread_mutex_unlock(&server.lock);
	return i >= 0;
}

bool remote_is_local(void)
{
	pthread_mutex_lock(&server.lock);
	bool local = server.link && link_peer(server.link)->local;
	pthread_mutex_unlock(&server.lock);
	return local;
}

/* ---- opening ---- */

static nvmlReturn_t open_remote(const char *device, struct nvml_ops *table, char *why, size_t size)
{
	pthread_mutex_lock(&server.lock);
	let_go();
	snprintf(server.address, sizeof server.address, "%s", device);
	int err = connect_now(why, size);
	server.open = !err;
	pthread_mutex_unlock(&server.lock);
	if (err)
		return NVML_ERROR_DRIVER_NOT_LOADED;
	*table = nvml_remote_ops;
	return NVML_SUCCESS;
}

static void close_remote(void)
{
	pthread_mutex_lock(&server.lock);
	server.open = false;
	let_go();
	pthread_mutex_unlock(&server.lock);
}

/* Whoever held the lock is not here; the link is the parent's. */
static void forked(void)
{
	pthread_mutex_init(&server.lock, NULL);
	let_go();
}

const struct nvml_backend nvml_remote_backend = {
	.open = open_remote,
	.close = close_remote,
	.forked = forked,
	.hidden = remote_hidden,
};
