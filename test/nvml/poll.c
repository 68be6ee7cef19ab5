/*
 * Batching of queries in the client (backend/nvml/sensor_poll.h), with a clock of the test's own and a server that counts:
 * each answer is used once, and never when it is old; queries that may not be batched are not; the server gets at
 * most twice as many queries, in no more round trips.
 */
#include <stdlib.h>
#include <string.h>
#include "backend/nvml/backend.h"
#include "backend/nvml/sensor_poll.h"
#include "test/check.h"

#define AGE   10
#define PAUSE 20

static uint64_t now = 1000000;
static unsigned exchanges, questions; /* round trips and queries that the server has seen */
static int32_t answer_number;         /* of the latest answer: unique */
static uint64_t asked_at[1 << 20];    /* by answer_number */

/* The arguments of every query here. */
struct args {
	uint32_t present;
	uint64_t device;
	uint64_t which;
};

/* Answers each query with its own arguments. */
static void serve(struct sensor_batch *ask)
{
	size_t in = 0, out = 0;

	exchanges++;
	while (in < ask->size) {
		struct wire_nvml_query one;
		struct wire_nvml_answer said = {.value = ++answer_number, .size = sizeof(struct args)};
		memcpy(&one, ask->bytes + in, sizeof one);
		CHECK_EQ(one.size, sizeof(struct args));
		memcpy(ask->answer + out, &said, sizeof said);
		memcpy(ask->answer + out + sizeof said, ask->bytes + in + sizeof one, one.size);
		in += sizeof one + one.size;
		out += sizeof said + said.size;
		asked_at[answer_number] = now;
		questions++;
	}
	CHECK_EQ(in, ask->size);
	CHECK_EQ(out, ask->expected);
}

/* Asks as remote_ask() does; returns the number of the answer. */
static int32_t ask(unsigned call, struct args a, unsigned nin)
{
	struct args answer = {0};
	const struct wire_piece out = {&answer, sizeof answer};
	struct sensor_batch together;
	int result = 0;

	if (!sensor_poll_find(now, WIRE_NVML + call, &a, sizeof a, nin, &out, 1, &result)) {
		sensor_poll_collect(&together);
		if (together.size) {
			serve(&together);
			CHECK(sensor_poll_store(now, &together) && sensor_poll_result(now, &out, 1, &result));
		} else {
			exchanges++, questions++;
			result = ++answer_number;
			asked_at[answer_number] = now;
			answer = a;
		}
	}
	sensor_poll_done(now);
	CHECK(!memcmp(&answer, &a, sizeof a));
	CHECK(now - asked_at[result] < AGE);
	CHECK(asked_at[result]);
	asked_at[result] = 0; /* used */
	return result;
}

static int32_t sensor(unsigned which)
{
	return ask(NR_nvmlDeviceGetClockInfo,
		(struct args){.device = (uintptr_t)NVML_HANDLE(which % 3), .which = which}, 0);
}

static void poll(unsigned from, unsigned to)
{
	exchanges = questions = 0;
	for (unsigned i = from; i < to; i++)
		sensor(i);
}

#define COST(e, q) \
	do { \
		CHECK_EQ(exchanges, e); \
		CHECK_EQ(questions, q); \
	} while (0)

static void check_polls_with_pauses(void)
{
	poll(0, 20);
	COST(20, 20);
	for (int i = 0; i < 5; i++) {
		now += PAUSE + i;
		poll(0, 20);
		COST(1, 20);
	}
	now += PAUSE;
	poll(3, 9); /* fewer queries: the first time the client does not know */
	COST(1, 20);
	now += PAUSE;
	poll(3, 9);
	COST(1, 6);
	now += PAUSE;
	poll(2, 11); /* more queries: new ones cost a round trip each, once */
	COST(4, 9);
	now += PAUSE;
	poll(2, 11);
	COST(1, 9);
	now += PAUSE;
	poll(40, 45); /* other queries */
	COST(5, 5);
	now += PAUSE;
	poll(7, 8); /* a query that was not in the last poll */
	COST(1, 1);
	now += PAUSE;
	poll(7, 8); /* a poll of one query is not batched */
	COST(1, 1);
}

static void check_polls_without_pauses(void)
{
	sensor_poll_clear();
	poll(0, 5);
	COST(5, 5);
	for (int i = 0; i < 10; i++) {
		poll(0, 5);
		COST(1, 5);
	}
	/* The same query again gets a new answer, in a new round trip. */
	exchanges = questions = 0;
	int32_t first = sensor(0), second = sensor(0);
	CHECK(second > first);
	COST(2, 6); /* five of the last poll, and one of the next */
}

static void check_age(void)
{
	sensor_poll_clear();
	poll(0, 5);
	exchanges = questions = 0;
	int32_t first = sensor(0);
	now += AGE - 1;
	CHECK_EQ(sensor(1), first + 1);
	COST(1, 5);
	now++;
	CHECK(sensor(2) > first + 4); /* too old: asked by itself */
	COST(2, 6);
	CHECK(sensor(3) > first + 4);
	COST(3, 7);
}

/* More queries than fit in a frame, and more than the client remembers. */
static void check_many(void)
{
	sensor_poll_clear();
	poll(0, 100);
	for (int i = 0; i < 3; i++) {
		now += PAUSE;
		poll(0, 100);
		COST(4, 100);
	}
	sensor_poll_clear();
	poll(0, 300);
	now += PAUSE;
	poll(0, 300);
	COST(256 / 32 + 44, 300);
	/* Beyond that the client does not notice repeated queries; each still gets a new answer. */
	sensor_poll_clear();
	poll(0, 10);
	now += PAUSE;
	poll(300, 556);
	for (int i = 0; i < 3; i++)
		sensor(0);
	COST(256 + 3, 256 + 10 + 2);
}

static void check_unbatched(void)
{
	const struct args device = {.device = (uintptr_t)NVML_HANDLE(0)};
	const struct args part = {.device = (uintptr_t)NVML_HANDLE(WIRE_NVML_DEVICES_MAX)};

	sensor_poll_clear();
	for (int i = 0; i < 4; i++) {
		now += PAUSE;
		exchanges = questions = 0;
		sensor(0);
		sensor(1);
		COST(i ? 1 : 2, 2);
		ask(NR_nvmlDeviceGetMemoryInfo, device, 0);
		ask(NR_nvmlDeviceGetMemoryInfo, device, 0);
		ask(NR_nvmlDeviceGetClockInfo, part, 0);
		ask(NR_nvmlDeviceGetPowerUsage, device, 1); /* with an array */
		ask(NR_nvmlDeviceGetProcessUtilization, device, 0);
		COST(i ? 6 : 7, 7);
	}
	sensor_poll_clear();
	sensor_poll_enable(false);
	for (int i = 0; i < 4; i++) {
		now += PAUSE;
		poll(0, 5);
		COST(5, 5);
	}
	sensor_poll_enable(true);
	poll(0, 5);
	sensor_poll_clear();
	now += PAUSE;
	poll(0, 5);
	COST(5, 5);
}

/* Malformed answers of a server. */
static void check_malformed_answers(void)
{
	static const uint32_t sizes[] = {
		0, 8, sizeof(struct args) - 8, sizeof(struct args) + 8, SENSOR_VALUE_MAX + 8, 1u << 31, ~0u};
	struct args a = {.device = (uintptr_t)NVML_HANDLE(0)}, answer;
	const struct wire_piece out = {&answer, sizeof answer};
	struct sensor_batch together;
	int result;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (size_t k = 0; k < 3; k++) {
			sensor_poll_clear();
			poll(0, 3);
			CHECK(!sensor_poll_find(
				now, WIRE_NVML + NR_nvmlDeviceGetClockInfo, &a, sizeof a, 0, &out, 1, &result));
			sensor_poll_collect(&together);
			CHECK(together.size);
			serve(&together);
			struct wire_nvml_answer said = {.size = sizes[i]};
			memcpy(together.answer + k * (sizeof said + sizeof a), &said, sizeof said);
			CHECK(!sensor_poll_store(now, &together));
		}
	}
	sensor_poll_clear();
	CHECK(!sensor_poll_result(now, &out, 1, &result));
}

static void check_random(void)
{
	unsigned asked = 0;

	srand(1);
	sensor_poll_clear();
	exchanges = questions = 0;
	for (int i = 0; i < 200000; i++) {
		unsigned of = 1 + i / 2000; /* different queries */
		now += rand() % 4 ? 0 : rand() % 30 ? (unsigned)rand() % 4 : (unsigned)rand() % 40;
		if (rand() % 8)
			sensor((unsigned)rand() % of);
		else
			ask(NR_nvmlDeviceGetMemoryInfo, (struct args){.device = (uintptr_t)NVML_HANDLE(0)}, 0);
		asked++;
		CHECK(exchanges <= asked && questions <= 2 * asked);
	}
	printf("%u random queries: the server got %u, in %u round trips\n", asked, questions, exchanges);
}

int main(void)
{
	check_polls_with_pauses();
	check_polls_without_pauses();
	check_age();
	check_many();
	check_unbatched();
	check_malformed_answers();
	check_random();
	return RESULT();
}
