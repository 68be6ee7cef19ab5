/*
 * libnvidia-ml.so.1 with a server that sends false replies: for any reply of any length, the calling process survives,
 * strings are terminated, and only the requested output is written.
 *
 *	fuzz_nvml SECONDS [SEED]
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "backend/nvml/backend.h"
#include "chance.h"
#include "transport/transport.h"
#include "util/build_note.h"
#include "wire/nvml.h"
#include "wire/protocol.h"
#include "wire/wire.h"

static int listener;
static atomic_bool over;
static atomic_ulong answers, together;

/* ---- the false server ---- */

static uint32_t likely_size(const struct frame *f)
{
	switch (f->op) {
	case WIRE_NVML_DEVICES:
		return sizeof(struct wire_nvml_devices);
	case WIRE_NVML_PROCESSES:
		return sizeof(struct wire_nvml_processes);
	case WIRE_NVML_HIDDEN:
		return sizeof(struct wire_nvml_hidden);
	case WIRE_NVML + NR_nvmlDeviceGetPowerUsage:
	case WIRE_NVML + NR_nvmlDeviceGetTemperature:
	case WIRE_NVML + NR_nvmlDeviceGetClockInfo:
		return sizeof(unsigned);
	default:
		return roll() % 64;
	}
}

static bool is_sensor(const struct frame *f)
{
	return likely_size(f) == sizeof(unsigned) && f->op < WIRE_NVML_DEVICES;
}

/* Replies to batched queries, with correct or nearly correct lengths. */
static uint32_t lie_batch(const struct frame *f, uint8_t *room, uint32_t most)
{
	uint32_t n = (f->size - sizeof(struct wire_request)) / (sizeof(struct wire_nvml_query) + 24);
	uint32_t size = sizeof(struct wire_reply);

	memset(room, 0, size);
	together++;
	for (n += roll() % 16 ? 0 : 1; n && size + 16 <= most; n--, size += 16) {
		struct wire_nvml_answer said = {
			.value = (int32_t)odd_value(), .size = roll() % 64 ? 8 : (uint32_t)odd_value()};
		odd_bytes(room + size, 16);
		memcpy(room + size, &said, sizeof said);
	}
	return roll() % 32 ? size : roll() % size;
}

static int lie(struct link *l)
{
	struct frame f;
	uint8_t *room;
	int err = link_next(l, &f, 200);

	if (err)
		return err;
	uint32_t size =
		roll() % 8 ? sizeof(struct wire_reply) + ((likely_size(&f) + 7) & ~7u) : (uint32_t)(roll() % 8192);
	/* replies have a few possible sizes: guess until one fits */
	if (f.op < WIRE_NVML_DEVICES && !is_sensor(&f) && roll() % 2)
		size = sizeof(struct wire_reply) + (uint32_t)(roll() % 12) * 8;
	bool honest = is_sensor(&f) && roll() % 32; /* until the client batches its queries */
	if (f.op == WIRE_NVML_BATCH)
		size = 4096;
	else if (honest)
		size = sizeof(struct wire_reply) + 8;
	if ((err = lane_reply_reserve(f.lane, size, (void **)&room)))
		return err;
	odd_bytes(room, size);
	if (size >= sizeof(struct wire_reply) && (honest || roll() % 4))
		memset(room, 0, sizeof(struct wire_reply));
	if (f.op == WIRE_NVML_DEVICES && size > 16 && roll() % 8) /* let the client continue */
		memcpy(room + 8, &(uint32_t){roll() % 20}, 4);
	if (f.op == WIRE_NVML_BATCH && roll() % 8)
		size = lie_batch(&f, room, size);
	answers++;
	return lane_reply(f.lane, f.op, f.ticket, size, NULL, 0);
}

static void *serve(void *arg)
{
	chance_state = (uintptr_t)arg;
	while (!over) {
		struct link_config config = link_defaults(true);
		char error[LINK_ERROR_TEXT];
		struct link *l;
		int fd = link_accept(listener), err;

		config.build = build_note_text;
		config.protocol = wire_protocol();
		if (fd < 0 || link_serve(&l, fd, &config, error))
			continue;
		do
			err = lie(l);
		while (!over && (!err || (err == -ETIMEDOUT)) && roll() % 512);
		link_destroy(l);
	}
	return NULL;
}

/* ---- the caller ---- */

#define ARGS 8
#define ROOM 4096

typedef int (*any_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static void text_calls(const struct nvml_ops *t)
{
	char *text = malloc(96); /* a separate block, so that a sanitizer detects an overrun */
	nvmlDevice_t d;
	unsigned n = 0;

	t->nvmlDeviceGetCount_v2(&n);
	if (n > WIRE_NVML_DEVICES_MAX)
		abort();
	for (unsigned i = 0; i < n; i++) {
		if (t->nvmlDeviceGetHandleByIndex_v2(i, &d))
			continue;
		if (!t->nvmlDeviceGetName(d, text, 96) && strlen(text) >= 96)
			abort();
		if (!t->nvmlDeviceGetUUID(d, text, 96) && strlen(text) >= 96)
			abort();
	}
	if (!t->nvmlSystemGetDriverVersion(text, 96) && strlen(text) >= 96)
		abort();
	struct wire_nvml_hidden h;
	if (!nvml_remote_backend.private_value(NVML_HANDLE(0), 231, &h) && strlen(h.text) >= sizeof h.text)
		abort();
	t->nvmlDeviceGetHandleByUUID("GPU-0", &d);
	t->nvmlDeviceGetHandleByPciBusId_v2("0000:01:00.0", &d);
	free(text);
}

static void value_calls(const struct nvml_ops *t)
{
	nvmlDevice_t d = NVML_HANDLE(roll() % 3);
	nvmlMemory_t *m = malloc(sizeof *m);
	nvmlMemory_v2_t *m2 = malloc(sizeof *m2);
	nvmlProcessInfo_t *p = malloc(4 * sizeof *p);
	nvmlProcessDetailList_t l = {.version = NVML_SIZED(nvmlProcessDetailList_t, 1)};
	unsigned *u = malloc(sizeof *u), n = 4;
	unsigned long long *pages = malloc(8 * sizeof *pages);

	m2->version = NVML_SIZED(nvmlMemory_v2_t, 2);
	t->nvmlDeviceGetMemoryInfo(d, m);
	t->nvmlDeviceGetMemoryInfo_v2(d, m2);
	t->nvmlDeviceGetPowerUsage(d, u);
	t->nvmlDeviceGetComputeRunningProcesses_v3(d, &n, p);
	t->nvmlDeviceGetRunningProcessDetailList(d, &l);
	n = 8;
	t->nvmlDeviceGetRetiredPages(d, 0, &n, pages);
	t->nvmlDeviceGetMigDeviceHandleByIndex(d, 0, &d);
	free(m), free(m2), free(p), free(u), free(pages);
}

/* Repeat the same calls, so that the second poll is batched. */
static void poll_calls(const struct nvml_ops *t)
{
	unsigned *v = malloc(sizeof *v);

	for (int i = 0; i < 4; i++)
		for (unsigned d = 0; d < 2; d++) {
			t->nvmlDeviceGetTemperature(NVML_HANDLE(d), NVML_TEMPERATURE_GPU, v);
			t->nvmlDeviceGetClockInfo(NVML_HANDLE(d), NVML_CLOCK_SM, v);
			t->nvmlDeviceGetClockInfo(NVML_HANDLE(d), NVML_CLOCK_MEM, v);
		}
	free(v);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	char folder[] = "/tmp/gangway-liar-XXXXXX", address[128], error[LINK_ERROR_TEXT], why[256];
	static struct nvml_ops table;
	unsigned long opened = 0, tries = 0;
	pthread_t thread;

	chance_state = (argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL)) | 1;
	if (!mkdtemp(folder))
		return 1;
	snprintf(address, sizeof address, "unix:%s/socket", folder);
	listener = link_listen(address, 0600, error);
	if (listener < 0 || pthread_create(&thread, NULL, serve, (void *)(uintptr_t)(roll() | 1)))
		return printf("%s\n", error), 1;
	while (time(NULL) < end) {
		tries++;
		if (nvml_remote_backend.open(address, &table, why, sizeof why))
			continue;
		opened++;
		for (int i = 0; i < 20; i++) {
			poll_calls(&table); /* first: the other calls soon lose their link */
			text_calls(&table);
			value_calls(&table);
		}
		nvml_remote_backend.close();
	}
	over = true;
	unlink(address + 5);
	rmdir(folder);
	printf("%lu connection attempts, %lu accepted; %lu false replies, %lu of them to batches\n", tries, opened,
		answers, together);
	return opened && answers && together ? 0 : 1;
}
