#include "backend/nvml/poll.h"

#include <string.h>
#include "backend/nvml/sensor.h"

#define AGE       10  /* ms: the oldest answer that is given */
#define PAUSE     20  /* ms without a question: the poll is over */
#define QUESTIONS 256 /* of a poll; what it has beyond them is asked by itself */

struct question {
	unsigned op;
	size_t size, bytes; /* of arguments and answer */
	bool ahead;         /* asked for in the next poll, by itself or before its turn */
	bool kept;          /* and the answer was not given yet */
	uint64_t came;
	uint8_t args[WIRE_NVML_TOGETHER_ARGS];
	struct {
		struct wire_reply head;
		uint8_t bytes[POLL_ANSWER];
	} answer;
};

static struct poll {
	unsigned count;
	struct question question[QUESTIONS];
} polls[2], *this = &polls[0], *last = &polls[1];
static bool together = true, over;
static uint64_t quiet;         /* since then */
static struct question *asked; /* what the program wants to know, in the last poll; NULL: not there */
static struct question *sent[WIRE_NVML_TOGETHER_MOST];
static unsigned nsent;

void poll_use(bool use)
{
	together = use;
}

void poll_forget(void)
{
	this = &polls[0];
	last = &polls[1];
	this->count = last->count = nsent = 0;
	asked = NULL;
}

void poll_done(uint64_t now)
{
	quiet = now;
}

static struct question *find(struct poll *p, unsigned op, const void *args, size_t size, size_t bytes)
{
	for (unsigned i = 0; i < p->count; i++) {
		struct question *q = &p->question[i];
		if (q->op == op && q->size == size && q->bytes == bytes && !memcmp(q->args, args, size))
			return q;
	}
	return NULL;
}

static void begin(void)
{
	struct poll *old = last;

	last = this;
	this = old;
	this->count = 0;
	over = false;
}

static void remember(unsigned op, const void *args, size_t size, size_t bytes)
{
	struct question *q = &this->question[this->count];

	if (this->count == QUESTIONS)
		return;
	*q = (struct question){.op = op, .size = size, .bytes = bytes};
	memcpy(q->args, args, size);
	this->count++;
}

bool poll_find(uint64_t now, unsigned op, const void *args, size_t size, unsigned nin, const struct wire_piece *out,
	unsigned nout, int *result)
{
	size_t bytes = pack_size(0, out, nout);

	over |= now - quiet >= PAUSE;
	asked = NULL;
	if (!together || nin || size > WIRE_NVML_TOGETHER_ARGS || size % 8 || bytes > POLL_ANSWER ||
		!nvml_is_sensor(op, args, size))
		return false;
	if (over || find(this, op, args, size, bytes))
		begin();
	remember(op, args, size, bytes);
	asked = find(last, op, args, size, bytes);
	return poll_found(now, out, nout, result);
}

bool poll_found(uint64_t now, const struct wire_piece *out, unsigned nout, int *result)
{
	struct wire_reply head;

	if (!asked || !asked->kept)
		return false;
	asked->kept = false;
	if (now - asked->came >= AGE || !pack_take(&asked->answer, sizeof head + asked->bytes, out, nout, &head))
		return false;
	*result = head.value;
	return true;
}

static void put(struct poll_ask *ask, struct question *q)
{
	struct wire_nvml_one one = {.op = q->op, .size = (uint32_t)q->size};

	memcpy(ask->bytes + ask->size, &one, sizeof one);
	memcpy(ask->bytes + ask->size + sizeof one, q->args, q->size);
	ask->size += sizeof one + q->size;
	ask->expected += sizeof(struct wire_nvml_said) + q->bytes;
	sent[nsent++] = q;
}

/* The question first, then those that came after it in the last poll, then those before. */
void poll_together(struct poll_ask *ask)
{
	unsigned first = asked ? (unsigned)(asked - last->question) : 0;

	ask->size = ask->expected = nsent = 0;
	if (!asked || asked->ahead)
		return;
	for (unsigned i = 0; i < last->count && nsent < WIRE_NVML_TOGETHER_MOST; i++) {
		struct question *q = &last->question[(first + i) % last->count];
		if (!q->ahead)
			put(ask, q);
		q->ahead = true;
	}
	if (nsent < 2)
		ask->size = nsent = 0;
}

bool poll_take(uint64_t now, const struct poll_ask *ask)
{
	const uint8_t *from = ask->answer;
	struct wire_nvml_said said;

	for (unsigned i = 0; i < nsent; i++) {
		struct question *q = sent[i];
		memcpy(&said, from, sizeof said);
		if (said.size != q->bytes)
			return false;
		q->answer.head = (struct wire_reply){.value = said.value};
		memcpy(q->answer.bytes, from + sizeof said, q->bytes);
		from += sizeof said + q->bytes;
		q->came = now;
		q->kept = true;
	}
	return true;
}
