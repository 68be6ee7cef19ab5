/* The link of the NVML client: connecting, one request at a time, connecting again after a failure. */
#include "backend/nvml/remote.h"
#include "backend/nvml/constant_cache.h"
#include "backend/nvml/sensor_poll.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "transport/transport.h"
#include "util/build_note.h"
#include "host/env_number.h"
#include "wire/protocol.h"

#define ANSWER_MS 20000 /* a server that does not answer for this long is lost */
#define RETRY_MS  1000  /* between attempts to connect */
#define SPIN_US   1000  /* with 4 processors or more: a vendor's NVML answers within that */

static struct {
	pthread_mutex_t lock;
	bool open; /* between nvmlInit and nvmlShutdown */
	char address[256];
	struct link *link; /* NULL: not connected */
	struct lane *lane;
	uint64_t retry_at; /* ms: time of the next attempt to connect */
	struct wire_nvml_devices devices;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Clears the pointers first: if another thread forks meanwhile, the child must not destroy the link again. */
static void link_drop(void)
{
	struct link *link = server.link;

	server.lane = NULL;
	server.link = NULL;
	constant_cache_clear();
	sensor_poll_clear();
	atomic_signal_fence(memory_order_seq_cst);
	link_destroy(link);
}

/* Sends a request and waits for its reply.  0 or -errno; the caller drops a link that fails.  With the lock and a link. */
static int link_exchange(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin,
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

static int devices_ask(char *why, size_t size)
{
	struct wire_nvml_devices d;
	const struct wire_piece out = {&d, sizeof d};
	int value = 0, err = link_exchange(WIRE_NVML_DEVICES, NULL, 0, NULL, 0, &out, 1, &value);

	if (!err && (value || d.count > WIRE_NVML_DEVICES_MAX)) {
		snprintf(why, size, "the server cannot list its devices (nvmlReturn_t %d)", value);
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

/* With the lock held. */
static int link_connect_now(char *why, size_t size)
{
	struct link_config config = link_defaults(false);
	char error[LINK_ERROR_TEXT] = "";
	int err;

	config.build = build_note_text;
	config.protocol = wire_protocol();
	config.up_size = config.down_size = 65536; /* no payload is large */
	config.words = 8;
	config.spin_us =
		env_number(ENV_SPIN_US, ENV_SPIN_US_MAX, sysconf(_SC_NPROCESSORS_ONLN) >= 4 ? SPIN_US : config.spin_us);
	sensor_poll_enable(env_number(ENV_NVML_BATCH, 1, 1));
	snprintf(why, size, "the server does not answer");
	err = link_connect(&server.link, server.address, &config, error);
	if (err) {
		server.link = NULL;
		snprintf(why, size, "%s", error);
	} else if (!(err = lane_open(server.link, &server.lane))) {
		err = devices_ask(why, size);
	}
	if (err)
		link_drop();
	server.retry_at = err ? now_ms() + RETRY_MS : 0;
	return err;
}

/* Asks for one value: with the other sensors of a poll if it belongs to one, otherwise alone. */
static int value_ask(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin,
	const struct wire_piece *out, unsigned nout, int *value)
{
	struct sensor_batch batch;
	int value_of_batch = 0, err;

	batch.size = 0;
	if (lane_payload_max(server.lane) >= sizeof(struct wire_reply) + sizeof batch.answer)
		sensor_poll_collect(&batch);
	if (!batch.size)
		return link_exchange(op, args, size, in, nin, out, nout, value);
	err = link_exchange(WIRE_NVML_BATCH, batch.bytes, batch.size, NULL, 0,
		&(struct wire_piece){batch.answer, batch.expected}, 1, &value_of_batch);
	if (err)
		return err;
	uint64_t now = now_ms();
	if (value_of_batch || !sensor_poll_store(now, &batch) || !sensor_poll_result(now, out, nout, value))
		return -EPROTO;
	return 0;
}

nvmlReturn_t remote_ask(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin,
	const struct wire_piece *out, unsigned nout)
{
	char why[256];
	int result = NVML_ERROR_GPU_IS_LOST, err = -ENOTCONN;

	pthread_mutex_lock(&server.lock);
	if (!server.open)
		result = NVML_ERROR_UNINITIALIZED;
	else if (sensor_poll_find(now_ms(), op, args, size, nin, out, nout, &result))
		err = 0;
	else if (server.link && constant_cache_find(op, args, size, out, nout, &result))
		err = 0;
	for (int tries = 0; server.open && err && tries < 2; tries++) {
		if (!server.link && (now_ms() < server.retry_at || link_connect_now(why, sizeof why)))
			break;
		uint32_t payload_max = lane_payload_max(server.lane);
		if (pack_size(size, in, nin) > payload_max - sizeof(struct wire_request) ||
			pack_size(0, out, nout) > payload_max - sizeof(struct wire_reply)) {
			result = NVML_ERROR_INVALID_ARGUMENT;
			break;
		}
		err = value_ask(op, args, size, in, nin, out, nout, &result);
		if (!err)
			constant_cache_add(op, args, size, out, nout, result);
		else
			link_drop(), result = NVML_ERROR_GPU_IS_LOST;
	}
	sensor_poll_done(now_ms());
	pthread_mutex_unlock(&server.lock);
	return (nvmlReturn_t)result;
}

bool remote_devices(struct wire_nvml_devices *all)
{
	pthread_mutex_lock(&server.lock);
	*all = server.devices;
	bool open = server.open;
	pthread_mutex_unlock(&server.lock);
	return open;
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

/* ---- The backend ---- */

static nvmlReturn_t remote_open(const char *device, struct nvml_ops *table, char *why, size_t size)
{
	pthread_mutex_lock(&server.lock);
	link_drop();
	snprintf(server.address, sizeof server.address, "%s", device);
	int err = link_connect_now(why, size);
	server.open = !err;
	pthread_mutex_unlock(&server.lock);
	if (err)
		return NVML_ERROR_DRIVER_NOT_LOADED;
	*table = nvml_remote_ops;
	return NVML_SUCCESS;
}

static void remote_close(void)
{
	pthread_mutex_lock(&server.lock);
	server.open = false;
	link_drop();
	pthread_mutex_unlock(&server.lock);
}

/* The thread that held the lock does not exist in the child, and the link belongs to the parent. */
static void remote_forked(void)
{
	pthread_mutex_init(&server.lock, NULL);
	link_drop();
}

const struct nvml_backend nvml_remote_backend = {
	.open = remote_open,
	.close = remote_close,
	.forked = remote_forked,
	.private_value = remote_private_value,
};
