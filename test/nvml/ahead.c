/*
 * Values that are read before a client asks for them again (server/nvml/nvml_ahead.h): never too old, never going back, only
 * those that may be, and none for a client that has stopped asking.  The vendor here takes a millisecond and tells when
 * it was asked.
 */
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "backend/nvml/backend.h"
#include "server/nvml/nvml_ahead.h"
#include "test/check.h"
#include "wire/nvml.h"

#define AGE      30000000ull
#define PATIENCE 4

static atomic_int calls, calls_for_memory;
static _Atomic(int) result;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The time, and in its last bit which of two devices. */
static void vendor(struct msg *m)
{
	struct wire_nvmlDeviceGetTotalEnergyConsumption a;
	uint64_t *out;

	msg_args(m, &a, sizeof a);
	out = msg_out(m, true, sizeof *out);
	*out = (now() & ~1ull) | (a.device == (uintptr_t)NVML_HANDLE(1));
	m->value = result;
	calls++;
	calls_for_memory += m->frame.op == WIRE_NVML + NR_nvmlDeviceGetMemoryInfo;
	usleep(1000);
}

static uint64_t ask(unsigned op, int device, int *status)
{
	static struct msg m;
	struct {
		struct wire_request head;
		struct wire_nvmlDeviceGetTotalEnergyConsumption a;
	} bytes = {.a.present = 1, .a.device = (uintptr_t)NVML_HANDLE(device)};
	struct frame f = {.op = WIRE_NVML + op, .payload = &bytes, .size = sizeof bytes};
	uint64_t value = 0;

	CHECK(msg_init(&m, NULL, &f));
	nvml_ahead(&m, vendor);
	CHECK(!m.broken && !m.result && m.out_used == sizeof(struct wire_reply) + sizeof value);
	memcpy(&value, m.out + sizeof(struct wire_reply), sizeof value);
	*status = m.value;
	return value;
}

/* A poll of two devices every 50 ms, until both were read ahead of it. */
static void poll_devices(void)
{
	uint64_t last[2] = {0}, seen[2] = {0}, end = now() + 60000000000ull;
	int status;

	while ((!seen[0] || !seen[1]) && now() < end) {
		for (int d = 0; d < 2; d++) {
			uint64_t before = now(), value = ask(NR_nvmlDeviceGetTotalEnergyConsumption, d, &status);
			CHECK(!status && (value & 1) == (unsigned)d);
			CHECK(value >= last[d] && value + AGE >= before);
			seen[d] |= last[d] && value < (before & ~1ull);
			last[d] = value;
		}
		usleep(50000);
	}
	CHECK(seen[0] && seen[1]);
}

/* Without a pause most of them cost the vendor nothing. */
static void poll_often(void)
{
	uint64_t end = now() + 60000000000ull, before;
	int asked = 0, at = calls, status;

	do {
		before = now();
		CHECK(ask(NR_nvmlDeviceGetTotalEnergyConsumption, 0, &status) + AGE >= before);
	} while ((++asked < 1000 || calls - at > asked / 2) && now() < end);
	CHECK(calls - at <= asked / 2);
}

/* What nobody asks for is soon read no more. */
static void stop(void)
{
	int at = calls, later;

	do {
		later = calls;
		usleep(200000);
	} while (later != calls);
	CHECK(later - at <= 2 * (PATIENCE + 1));
}

/* Memory is what it is when it is asked for. */
static void memory(void)
{
	int status;

	for (int i = 0; i < 20; i++) {
		uint64_t before = now() & ~1ull;
		CHECK(ask(NR_nvmlDeviceGetMemoryInfo, 0, &status) >= before);
	}
	usleep(100000);
	CHECK(calls_for_memory == 20);
}

/* That a device does not have it is an answer like any other. */
static void refused(void)
{
	int status;

	result = NVML_ERROR_NOT_SUPPORTED;
	for (int i = 0; i < 5; i++) {
		ask(NR_nvmlDeviceGetFanSpeed, 0, &status);
		CHECK(status == NVML_ERROR_NOT_SUPPORTED);
	}
	result = NVML_SUCCESS;
}

int main(void)
{
	poll_devices();
	poll_often();
	stop();
	memory();
	refused();
	stop();
	return RESULT();
}
