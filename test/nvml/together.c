/*
 * Frames with several questions (WIRE_NVML_TOGETHER), as no client of ours sends them: what makes no sense ends the
 * session, and nothing else; what does is answered as the questions are by themselves.  On the server that
 * GANGWAY_DEVICE names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "backend/nvml/backend.h"
#include "test/check.h"
#include "transport/transport.h"
#include "wire/nvml.h"
#include "wire/protocol.h"
#include "wire/wire.h"

#define SOON 100000 /* ms */
#define ROOM 65536

static struct link *link_now;
static struct lane *lane;
static uint8_t asked[ROOM], told[ROOM];
static uint32_t size, answered; /* bytes of both, heads and all */

/* The answer is in told. */
static int send_now(unsigned op)
{
	struct frame reply;
	void *room;
	int err = lane_reserve(lane, size, &room);

	if (err)
		return err;
	memcpy(room, asked, size);
	if ((err = lane_call(lane, op, size, NULL, 0, NULL)) || (err = lane_wait_reply(lane, &reply, SOON)))
		return err;
	answered = reply.size < ROOM ? reply.size : 0;
	memcpy(told, reply.payload, answered);
	lane_release(lane);
	return 0;
}

static void begin(void)
{
	memset(asked, 0, sizeof(struct wire_request));
	size = sizeof(struct wire_request);
}

static void connect_now(void)
{
	struct link_config config = link_defaults(false);
	char error[LINK_ERROR_TEXT] = "";

	config.protocol = wire_protocol();
	config.up_size = config.down_size = 65536;
	if (link_connect(&link_now, getenv("GANGWAY_DEVICE"), &config, error) || lane_open(link_now, &lane)) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
	begin();
	CHECK_EQ(send_now(WIRE_NVML_DEVICES), 0);
	begin();
}

static void put(const void *bytes, uint32_t n)
{
	memcpy(asked + size, bytes, n);
	size += n;
}

/* One that says so many bytes, and has so many. */
static void one(unsigned op, uint32_t says, uint64_t device, uint32_t has)
{
	struct wire_nvml_one head = {op, says};
	struct wire_nvmlDeviceGetTemperature a = {.present = 4, .device = device};
	uint8_t args[256] = {0};

	memcpy(args, &a, sizeof a);
	put(&head, sizeof head);
	put(args, has);
}

#define DEVICE      (uintptr_t)NVML_HANDLE(0)
#define TEMPERATURE (WIRE_NVML + NR_nvmlDeviceGetTemperature)
#define ARGS        (uint32_t)sizeof(struct wire_nvmlDeviceGetTemperature)

static void right_one(void)
{
	one(TEMPERATURE, ARGS, DEVICE, ARGS);
}

/* What has been put ends the session. */
static void refused(const char *what)
{
	int err = send_now(WIRE_NVML_TOGETHER);

	if (!err || err == -ETIMEDOUT) {
		fprintf(stderr, "%s: %s\n", what, err ? "no answer" : "was answered");
		failures++;
	}
	link_destroy(link_now);
	connect_now();
}

static void lengths(void)
{
	static const uint32_t says[] = {0, 1, 8, 16, 17, 20, 25, 32, 40, 4096, 1u << 31, ~0u - 7, ~0u - 23, ~0u};

	refused("nothing");
	put(&(uint32_t){TEMPERATURE}, 4);
	refused("half a head");
	for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
		one(TEMPERATURE, says[i], DEVICE, ARGS);
		refused("a length that is not so");
		right_one();
		one(TEMPERATURE, says[i], DEVICE, ARGS);
		refused("a length that is not so, behind one that is");
	}
	one(TEMPERATURE, 40, DEVICE, 40);
	refused("too many arguments");
	right_one();
	one(TEMPERATURE, ARGS, DEVICE, 8);
	refused("fewer bytes than it says");
	right_one();
	put(&(uint32_t){0}, 4);
	refused("something behind it");
}

static void questions(void)
{
	static const unsigned ops[] = {0, 7, WIRE_DEVICES, WIRE_NVML + 999, WIRE_NVML_DEVICES, WIRE_NVML_PROCESSES,
		WIRE_NVML_HIDDEN, WIRE_NVML_TOGETHER, WIRE_NVML_END, ~0u, WIRE_NVML + NR_nvmlDeviceGetMemoryInfo,
		WIRE_NVML + NR_nvmlDeviceGetName, WIRE_NVML + NR_nvmlDeviceGetProcessUtilization,
		WIRE_NVML + NR_nvmlDeviceGetMigMode};
	static const uint64_t devices[] = {0, 1, (uintptr_t)NVML_HANDLE(WIRE_NVML_DEVICES_MAX), ~0ull, 0x7fff00000000};

	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		one(ops[i], ARGS, DEVICE, ARGS);
		refused("what is no sensor");
		right_one();
		one(ops[i], ARGS, DEVICE, ARGS);
		refused("what is no sensor, behind one that is");
	}
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
		one(TEMPERATURE, ARGS, devices[i], ARGS);
		refused("what is no device");
	}
	/* In itself. */
	struct wire_nvml_one head = {WIRE_NVML_TOGETHER, sizeof head + ARGS};
	put(&head, sizeof head);
	right_one();
	refused("one in another");
}

static void numbers(void)
{
	struct wire_nvml_said said;
	struct wire_reply head;

	for (unsigned n = WIRE_NVML_TOGETHER_MOST + 1; n <= 1000; n += n < 40 ? 1 : 480) {
		for (unsigned i = 0; i < n; i++)
			right_one();
		refused("too many");
	}
	for (unsigned n = 1; n <= WIRE_NVML_TOGETHER_MOST; n++) {
		begin();
		for (unsigned i = 0; i < n; i++)
			right_one();
		CHECK_EQ(send_now(WIRE_NVML_TOGETHER), 0);
		memcpy(&head, told, sizeof head);
		CHECK(!head.result && !head.value);
		CHECK_EQ(answered, sizeof head + n * (sizeof said + 8));
	}
}

/* Each as it is by itself, also of a device that there is not. */
static void answers(void)
{
	static const unsigned ops[] = {NR_nvmlDeviceGetTemperature, NR_nvmlDeviceGetMaxClockInfo,
		NR_nvmlDeviceGetUtilizationRates, NR_nvmlDeviceGetEncoderUtilization, NR_nvmlDeviceGetViolationStatus,
		NR_nvmlDeviceGetTotalEnergyConsumption};
	static uint8_t all[ROOM];
	const uint8_t *at = all + sizeof(struct wire_reply);
	const unsigned n = sizeof ops / sizeof *ops;
	struct wire_nvml_said said;
	struct wire_reply head;

	begin();
	for (unsigned i = 0; i < 2 * n; i++)
		one(WIRE_NVML + ops[i / 2], ARGS, (uintptr_t)NVML_HANDLE(i % 2 * 15), ARGS);
	CHECK_EQ(send_now(WIRE_NVML_TOGETHER), 0);
	memcpy(all, told, answered);
	uint32_t left = answered - (uint32_t)sizeof(struct wire_reply);
	for (unsigned i = 0; i < 2 * n && left >= sizeof said; i++) {
		struct wire_nvmlDeviceGetTemperature a = {.present = 4, .device = (uintptr_t)NVML_HANDLE(i % 2 * 15)};
		begin();
		put(&a, sizeof a);
		CHECK_EQ(send_now(WIRE_NVML + ops[i / 2]), 0);
		memcpy(&head, told, sizeof head);
		memcpy(&said, at, sizeof said);
		CHECK_EQ(said.value, head.value);
		CHECK_EQ(said.size, answered - sizeof head);
		CHECK(!i || ops[i / 2] != NR_nvmlDeviceGetMaxClockInfo ||
			!memcmp(told + sizeof head, at + sizeof said, said.size));
		at += sizeof said + said.size;
		left -= (uint32_t)(sizeof said + said.size);
	}
	CHECK_EQ(left, 0);
	begin();
}

int main(void)
{
	connect_now();
	answers();
	lengths();
	questions();
	numbers();
	begin();
	right_one();
	CHECK_EQ(send_now(WIRE_NVML_TOGETHER), 0);
	link_destroy(link_now);
	return RESULT();
}
