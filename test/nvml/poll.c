/*
 * Questions that are asked before their turn (backend/nvml/poll.h), with a clock of our own and a server that counts:
 * each answer is given once, and never when it is old; what may not be asked ahead is not; and whatever is asked, the
 * server has at most twice as many questions, in no more exchanges.
 */
#include <stdlib.h>
#include <string.h>
#include "backend/nvml/backend.h"
#include "backend/nvml/poll.h"
#include "test/check.h"

#define AGE   10
#define PAUSE 20

static uint64_t now = 1000000;
static unsigned exchanges, questions; /* the server's */
static int32_t number;                /* of an answer: no two have the same */
static uint64_t asked_at[1 << 20];    /* by that number */

/* The arguments of all of them here. */
struct args {
	uint32_t present;
	uint64_t device;
	uint64_t which;
};

/* An answer is the question's own arguments. */
static void serve(struct poll_ask *ask)
{
	size_t in = 0, out = 0;

	exchanges++;
	while (in < ask->size) {
		struct wire_nvml_one one;
		struct wire_nvml_said said = {.value = ++number, .size = sizeof(struct args)};
		memcpy(&one, ask->bytes + in, sizeof one);
		CHECK_EQ(one.size, sizeof(struct args));
		memcpy(ask->answer + out, &said, sizeof said);
		memcpy(ask->answer + out + sizeof said, ask->bytes + in + sizeof one, one.size);
		in += sizeof one + one.size;
		out += sizeof said + said.size;
		asked_at[number] = now;
		questions++;
	}
	CHECK_EQ(in, ask->size);
	CHECK_EQ(out, ask->expected);
}

/* As remote_ask does it: the number of the answer. */
static int32_t ask(unsigned call, struct args a, unsigned nin)
{
	struct args answer = {0};
	const struct wire_piece out = {&answer, sizeof answer};
	struct poll_ask together;
	int result = 0;

	if (!poll_find(now, WIRE_NVML + call, &a, sizeof a, nin, &out, 1, &result)) {
		poll_together(&together);
		if (together.size) {
			serve(&together);
			CHECK(poll_take(now, &together) && poll_found(now, &out, 1, &result));
		} else {
			exchanges++, questions++;
			result = ++number;
			asked_at[number] = now;
			answer = a;
		}
	}
	poll_done(now);
	CHECK(!memcmp(&answer, &a, sizeof a));
	CHECK(now - asked_at[result] < AGE);
	CHECK(asked_at[result]);
	asked_at[result] = 0; /* given */
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

static void by_pauses(void)
{
	poll(0, 20);
	COST(20, 20);
	for (int i = 0; i < 5; i++) {
		now += PAUSE + i;
		poll(0, 20);
		COST(1, 20);
	}
	now += PAUSE;
	poll(3, 9); /* less: the first time it does not know */
	COST(1, 20);
	now += PAUSE;
	poll(3, 9);
	COST(1, 6);
	now += PAUSE;
	poll(2, 11); /* more: what is new costs more, once */
	COST(4, 9);
	now += PAUSE;
	poll(2, 11);
	COST(1, 9);
	now += PAUSE;
	poll(40, 45); /* something else */
	COST(5, 5);
	now += PAUSE;
	poll(7, 8); /* which was not in the last one */
	COST(1, 1);
	now += PAUSE;
	poll(7, 8); /* one is none */
	COST(1, 1);
}

static void without_pauses(void)
{
	poll_forget();
	poll(0, 5);
	COST(5, 5);
	for (int i = 0; i < 10; i++) {
		poll(0, 5);
		COST(1, 5);
	}
	/* The same again is another answer, of another exchange. */
	exchanges = questions = 0;
	int32_t first = sensor(0), second = sensor(0);
	CHECK(second > first);
	COST(2, 6); /* five of the last poll, and the one of the next */
}

static void ages(void)
{
	poll_forget();
	poll(0, 5);
	exchanges = questions = 0;
	int32_t first = sensor(0);
	now += AGE - 1;
	CHECK_EQ(sensor(1), first + 1);
	COST(1, 5);
	now++;
	CHECK(sensor(2) > first + 4); /* too old by now, and asked for by itself */
	COST(2, 6);
	CHECK(sensor(3) > first + 4);
	COST(3, 7);
}

/* More than fits: in several exchanges; and more than is remembered. */
static void many(void)
{
	poll_forget();
	poll(0, 100);
	for (int i = 0; i < 3; i++) {
		now += PAUSE;
		poll(0, 100);
		COST(4, 100);
	}
	poll_forget();
	poll(0, 300);
	now += PAUSE;
	poll(0, 300);
	COST(256 / 32 + 44, 300);
	/* There what is asked again is not known to be: it has another answer all the same. */
	poll_forget();
	poll(0, 10);
	now += PAUSE;
	poll(300, 556);
	for (int i = 0; i < 3; i++)
		sensor(0);
	COST(256 + 3, 256 + 10 + 2);
}

static void never(void)
{
	const struct args device = {.device = (uintptr_t)NVML_HANDLE(0)};
	const struct args part = {.device = (uintptr_t)NVML_HANDLE(WIRE_NVML_DEVICES_MAX)};

	poll_forget();
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
	poll_forget();
	poll_use(false);
	for (int i = 0; i < 4; i++) {
		now += PAUSE;
		poll(0, 5);
		COST(5, 5);
	}
	poll_use(true);
	poll(0, 5);
	poll_forget();
	now += PAUSE;
	poll(0, 5);
	COST(5, 5);
}

/* Answers of a server that lies. */
static void lies(void)
{
	static const uint32_t sizes[] = {
		0, 8, sizeof(struct args) - 8, sizeof(struct args) + 8, POLL_ANSWER + 8, 1u << 31, ~0u};
	struct args a = {.device = (uintptr_t)NVML_HANDLE(0)}, answer;
	const struct wire_piece out = {&answer, sizeof answer};
	struct poll_ask together;
	int result;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (size_t k = 0; k < 3; k++) {
			poll_forget();
			poll(0, 3);
			CHECK(!poll_find(
				now, WIRE_NVML + NR_nvmlDeviceGetClockInfo, &a, sizeof a, 0, &out, 1, &result));
			poll_together(&together);
			CHECK(together.size);
			serve(&together);
			struct wire_nvml_said said = {.size = sizes[i]};
			memcpy(together.answer + k * (sizeof said + sizeof a), &said, sizeof said);
			CHECK(!poll_take(now, &together));
		}
	}
	poll_forget();
	CHECK(!poll_found(now, &out, 1, &result));
}

static void any(void)
{
	unsigned asked = 0;

	srand(1);
	poll_forget();
	exchanges = questions = 0;
	for (int i = 0; i < 200000; i++) {
		unsigned of = 1 + i / 2000; /* how many different ones */
		now += rand() % 4 ? 0 : rand() % 30 ? (unsigned)rand() % 4 : (unsigned)rand() % 40;
		if (rand() % 8)
			sensor((unsigned)rand() % of);
		else
			ask(NR_nvmlDeviceGetMemoryInfo, (struct args){.device = (uintptr_t)NVML_HANDLE(0)}, 0);
		asked++;
		CHECK(exchanges <= asked && questions <= 2 * asked);
	}
	printf("%u questions at random: %u of the server's, in %u exchanges\n", asked, questions, exchanges);
}

int main(void)
{
	by_pauses();
	without_pauses();
	ages();
	many();
	never();
	lies();
	any();
	return RESULT();
}
