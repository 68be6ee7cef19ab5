/* Remembers the calls of a monitor's poll and reads their values in one request. */
#include "backend/nvml/sensor_poll.h"

#include <string.h>
#include "backend/nvml/sensor.h"

#define VALUE_AGE_MS 10  /* an older value is not returned */
#define POLL_GAP_MS  20  /* a poll ends after this time without a call */
#define POLL_CALLS   256 /* calls beyond these are asked alone */

struct sensor_call {
	unsigned op;
	size_t args_size, value_size;
	bool fetched; /* this poll has asked for the value already, at the call or before it */
	bool stored;  /* `reply` has the value, and no call has taken it yet */
	uint64_t arrived;
	uint8_t args[WIRE_NVML_BATCH_ARGS];
	struct {
		struct wire_reply head;
		uint8_t bytes[SENSOR_VALUE_MAX];
	} reply;
};

static struct poll {
	unsigned count;
	struct sensor_call calls[POLL_CALLS];
} polls[2], *current = &polls[0], *last = &polls[1];
static bool enabled = true, over;
static uint64_t last_call_end;     /* ms */
static struct sensor_call *wanted; /* the program's call as the last poll had it; NULL: the last poll had none */
static struct sensor_call *in_batch[WIRE_NVML_BATCH_MAX]; /* calls of the latest batch, in its order */
static unsigned batch_count;

void sensor_poll_enable(bool enable)
{
	enabled = enable;
}

void sensor_poll_clear(void)
{
	current = &polls[0];
	last = &polls[1];
	current->count = last->count = batch_count = 0;
	wanted = NULL;
}

void sensor_poll_done(uint64_t now)
{
	last_call_end = now;
}

static struct sensor_call *call_find(struct poll *p, unsigned op, const void *args, size_t size, size_t bytes)
{
	for (unsigned i = 0; i < p->count; i++) {
		struct sensor_call *c = &p->calls[i];
		if (c->op == op && c->args_size == size && c->value_size == bytes && !memcmp(c->args, args, size))
			return c;
	}
	return NULL;
}

static void poll_begin(void)
{
	struct poll *old = last;

	last = current;
	current = old;
	current->count = 0;
	over = false;
}

static void call_remember(unsigned op, const void *args, size_t size, size_t bytes)
{
	struct sensor_call *c = &current->calls[current->count];

	if (current->count == POLL_CALLS)
		return;
	*c = (struct sensor_call){.op = op, .args_size = size, .value_size = bytes};
	memcpy(c->args, args, size);
	current->count++;
}

bool sensor_poll_find(uint64_t now, unsigned op, const void *args, size_t size, unsigned nin,
	const struct wire_piece *out, unsigned nout, int *result)
{
	size_t bytes = pack_size(0, out, nout);

	over |= now - last_call_end >= POLL_GAP_MS;
	wanted = NULL;
	if (!enabled || nin || size > WIRE_NVML_BATCH_ARGS || size % 8 || bytes > SENSOR_VALUE_MAX ||
		!nvml_is_sensor(op, args, size))
		return false;
	if (over || call_find(current, op, args, size, bytes))
		poll_begin();
	call_remember(op, args, size, bytes);
	wanted = call_find(last, op, args, size, bytes);
	return sensor_poll_result(now, out, nout, result);
}

bool sensor_poll_result(uint64_t now, const struct wire_piece *out, unsigned nout, int *result)
{
	struct wire_reply head;

	if (!wanted || !wanted->stored)
		return false;
	wanted->stored = false;
	if (now - wanted->arrived >= VALUE_AGE_MS ||
		!pack_take(&wanted->reply, sizeof head + wanted->value_size, out, nout, &head))
		return false;
	*result = head.value;
	return true;
}

static void batch_add(struct sensor_batch *batch, struct sensor_call *c)
{
	struct wire_nvml_query one = {.op = c->op, .size = (uint32_t)c->args_size};

	memcpy(batch->bytes + batch->size, &one, sizeof one);
	memcpy(batch->bytes + batch->size + sizeof one, c->args, c->args_size);
	batch->size += sizeof one + c->args_size;
	batch->expected += sizeof(struct wire_nvml_answer) + c->value_size;
	in_batch[batch_count++] = c;
}

/* The wanted call first, then those that followed it in the last poll, then those before it. */
void sensor_poll_collect(struct sensor_batch *batch)
{
	unsigned first = wanted ? (unsigned)(wanted - last->calls) : 0;

	batch->size = batch->expected = batch_count = 0;
	if (!wanted || wanted->fetched)
		return;
	for (unsigned i = 0; i < last->count && batch_count < WIRE_NVML_BATCH_MAX; i++) {
		struct sensor_call *c = &last->calls[(first + i) % last->count];
		if (!c->fetched)
			batch_add(batch, c);
		c->fetched = true;
	}
	if (batch_count < 2)
		batch->size = batch_count = 0;
}

bool sensor_poll_store(uint64_t now, const struct sensor_batch *batch)
{
	const uint8_t *from = batch->answer;
	struct wire_nvml_answer head;

	for (unsigned i = 0; i < batch_count; i++) {
		struct sensor_call *c = in_batch[i];
		memcpy(&head, from, sizeof head);
		if (head.size != c->value_size)
			return false;
		c->reply.head = (struct wire_reply){.value = head.value};
		memcpy(c->reply.bytes, from + sizeof head, c->value_size);
		from += sizeof head + c->value_size;
		c->arrived = now;
		c->stored = true;
	}
	return true;
}
