/*
 * Batches of queries (WIRE_NVML_BATCH) that no client of ours sends: a malformed batch ends the session, and
 * nothing else; a well-formed one is reply_size like the single queries.  GANGWAY_DEVICE names the server.
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

static struct link *test_link;
static struct lane *lane;
static uint8_t request[ROOM], reply_bytes[ROOM];
static uint32_t size, reply_size; /* of request and reply, including their heads */

/* Sends the request and waits for the reply. */
static int send_request(unsigned op)
{
	struct frame reply;
	void *room;
	int err = lane_reserve(lane, size, &room);

	if (err)
		return err;
	memcpy(room, request, size);
	if ((err = lane_call(lane, op, size, NULL, 0, NULL)) || (err = lane_wait_reply(lane, &reply, SOON)))
		return err;
	reply_size = reply.size < ROOM ? reply.size : 0;
	memcpy(reply_bytes, reply.payload, reply_size);
	lane_release(lane);
	return 0;
}

static void request_begin(void)
{
	memset(request, 0, sizeof(struct wire_request));
	size = sizeof(struct wire_request);
}

static void connect_again(void)
{
	struct link_config config = link_defaults(false);
	char error[LINK_ERROR_TEXT] = "";

	config.protocol = wire_protocol();
	config.up_size = config.down_size = 65536;
	if (link_connect(&test_link, getenv("GANGWAY_DEVICE"), &config, error) || lane_open(test_link, &lane)) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
	request_begin();
	CHECK_EQ(send_request(WIRE_NVML_DEVICES), 0);
	request_begin();
}

static void request_put(const void *bytes, uint32_t n)
{
	memcpy(request + size, bytes, n);
	size += n;
}

/* A query that announces `says` bytes of arguments and has `has`. */
static void query_put(unsigned op, uint32_t says, uint64_t device, uint32_t has)
{
	struct wire_nvml_query head = {op, says};
	struct wire_nvmlDeviceGetTemperature a = {.present = 4, .device = device};
	uint8_t args[256] = {0};

	memcpy(args, &a, sizeof a);
	request_put(&head, sizeof head);
	request_put(args, has);
}

#define DEVICE      (uintptr_t)NVML_HANDLE(0)
#define TEMPERATURE (WIRE_NVML + NR_nvmlDeviceGetTemperature)
#define ARGS        (uint32_t)sizeof(struct wire_nvmlDeviceGetTemperature)

static void valid_query_put(void)
{
	query_put(TEMPERATURE, ARGS, DEVICE, ARGS);
}

/* The request must end the session. */
static void expect_protocol_error(const char *what)
{
	int err = send_request(WIRE_NVML_BATCH);

	if (!err || err == -ETIMEDOUT) {
		fprintf(stderr, "%s: %s\n", what, err ? "no answer" : "was answered");
		failures++;
	}
	link_destroy(test_link);
	connect_again();
}

static void check_lengths(void)
{
	static const uint32_t says[] = {0, 1, 8, 16, 17, 20, 25, 32, 40, 4096, 1u << 31, ~0u - 7, ~0u - 23, ~0u};

	expect_protocol_error("an empty batch");
	request_put(&(uint32_t){TEMPERATURE}, 4);
	expect_protocol_error("half a head");
	for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
		query_put(TEMPERATURE, says[i], DEVICE, ARGS);
		expect_protocol_error("a wrong length");
		valid_query_put();
		query_put(TEMPERATURE, says[i], DEVICE, ARGS);
		expect_protocol_error("a wrong length after a valid query");
	}
	query_put(TEMPERATURE, 40, DEVICE, 40);
	expect_protocol_error("too many arguments");
	valid_query_put();
	query_put(TEMPERATURE, ARGS, DEVICE, 8);
	expect_protocol_error("fewer bytes than announced");
	valid_query_put();
	request_put(&(uint32_t){0}, 4);
	expect_protocol_error("bytes after the last query");
}

static void check_queries(void)
{
	static const unsigned ops[] = {0, 7, WIRE_DEVICES, WIRE_NVML + 999, WIRE_NVML_DEVICES, WIRE_NVML_PROCESSES,
		WIRE_NVML_HIDDEN, WIRE_NVML_BATCH, WIRE_NVML_END, ~0u, WIRE_NVML + NR_nvmlDeviceGetMemoryInfo,
		WIRE_NVML + NR_nvmlDeviceGetName, WIRE_NVML + NR_nvmlDeviceGetProcessUtilization,
		WIRE_NVML + NR_nvmlDeviceGetMigMode};
	static const uint64_t devices[] = {0, 1, (uintptr_t)NVML_HANDLE(WIRE_NVML_DEVICES_MAX), ~0ull, 0x7fff00000000};

	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		query_put(ops[i], ARGS, DEVICE, ARGS);
		expect_protocol_error("a call that is no sensor");
		valid_query_put();
		query_put(ops[i], ARGS, DEVICE, ARGS);
		expect_protocol_error("a call that is no sensor, after a valid query");
	}
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
		query_put(TEMPERATURE, ARGS, devices[i], ARGS);
		expect_protocol_error("an invalid device");
	}
	struct wire_nvml_query head = {WIRE_NVML_BATCH, sizeof head + ARGS};
	request_put(&head, sizeof head);
	valid_query_put();
	expect_protocol_error("a batch inside a batch");
}

static void check_counts(void)
{
	struct wire_nvml_answer said;
	struct wire_reply head;

	for (unsigned n = WIRE_NVML_BATCH_MAX + 1; n <= 1000; n += n < 40 ? 1 : 480) {
		for (unsigned i = 0; i < n; i++)
			valid_query_put();
		expect_protocol_error("too many queries");
	}
	for (unsigned n = 1; n <= WIRE_NVML_BATCH_MAX; n++) {
		request_begin();
		for (unsigned i = 0; i < n; i++)
			valid_query_put();
		CHECK_EQ(send_request(WIRE_NVML_BATCH), 0);
		memcpy(&head, reply_bytes, sizeof head);
		CHECK(!head.result && !head.value);
		CHECK_EQ(reply_size, sizeof head + n * (sizeof said + 8));
	}
}

/* Each answer equals that of the single query, even for a device that does not exist. */
static void check_answers(void)
{
	static const unsigned ops[] = {NR_nvmlDeviceGetTemperature, NR_nvmlDeviceGetMaxClockInfo,
		NR_nvmlDeviceGetUtilizationRates, NR_nvmlDeviceGetEncoderUtilization, NR_nvmlDeviceGetViolationStatus,
		NR_nvmlDeviceGetTotalEnergyConsumption};
	static uint8_t all[ROOM];
	const uint8_t *at = all + sizeof(struct wire_reply);
	const unsigned n = sizeof ops / sizeof *ops;
	struct wire_nvml_answer said;
	struct wire_reply head;

	request_begin();
	for (unsigned i = 0; i < 2 * n; i++)
		query_put(WIRE_NVML + ops[i / 2], ARGS, (uintptr_t)NVML_HANDLE(i % 2 * 15), ARGS);
	CHECK_EQ(send_request(WIRE_NVML_BATCH), 0);
	memcpy(all, reply_bytes, reply_size);
	uint32_t left = reply_size - (uint32_t)sizeof(struct wire_reply);
	for (unsigned i = 0; i < 2 * n && left >= sizeof said; i++) {
		struct wire_nvmlDeviceGetTemperature a = {.present = 4, .device = (uintptr_t)NVML_HANDLE(i % 2 * 15)};
		request_begin();
		request_put(&a, sizeof a);
		CHECK_EQ(send_request(WIRE_NVML + ops[i / 2]), 0);
		memcpy(&head, reply_bytes, sizeof head);
		memcpy(&said, at, sizeof said);
		CHECK_EQ(said.value, head.value);
		CHECK_EQ(said.size, reply_size - sizeof head);
		CHECK(!i || ops[i / 2] != NR_nvmlDeviceGetMaxClockInfo ||
			!memcmp(reply_bytes + sizeof head, at + sizeof said, said.size));
		at += sizeof said + said.size;
		left -= (uint32_t)(sizeof said + said.size);
	}
	CHECK_EQ(left, 0);
	request_begin();
}

int main(void)
{
	connect_again();
	check_answers();
	check_lengths();
	check_queries();
	check_counts();
	request_begin();
	valid_query_put();
	CHECK_EQ(send_request(WIRE_NVML_BATCH), 0);
	link_destroy(test_link);
	return RESULT();
}
