/* Takes a batch of NVML queries apart and packs their answers. */
#include "server/nvml/nvml_batch.h"

#include <stdlib.h>
#include <string.h>
#include "backend/nvml/sensor.h"
#include "server/nvml/nvml.h"

/* A query as it would have come in a frame of its own. */
struct single_query {
	struct wire_request head;
	uint8_t args[WIRE_NVML_BATCH_ARGS];
};

_Static_assert(sizeof(struct single_query) <= sizeof((struct msg *)0)->few_in, "msg_init() must not allocate");

/* Unpacks the next query into a message of its own.  False: protocol error. */
static bool query_take(struct msg *m, struct msg *one)
{
	struct single_query bytes = {.head.context = m->context};
	struct wire_nvml_query ask;
	const void *args;

	msg_args(m, &ask, sizeof ask);
	if (m->broken || ask.size > sizeof bytes.args || ask.size % 8)
		return false;
	args = msg_in(m, true, ask.size);
	if (!args || !nvml_is_sensor(ask.op, args, ask.size) || !nvml_find(ask.op))
		return false;
	memcpy(bytes.args, args, ask.size);
	struct frame f = {.op = ask.op, .payload = &bytes, .size = sizeof bytes.head + ask.size, .lane = m->frame.lane};
	return msg_init(one, m->session, &f);
}

/* Appends an answer to the reply.  False: no room, or a protocol error. */
static bool answer_put(struct msg *m, const struct msg *one)
{
	size_t size = one->out_used - sizeof(struct wire_reply);
	struct wire_nvml_answer answer = {.value = one->value, .size = (uint32_t)size};
	uint8_t *room = one->broken || one->result ? NULL : msg_out(m, true, sizeof answer + size);

	if (!room)
		return false;
	memcpy(room, &answer, sizeof answer);
	memcpy(room + sizeof answer, one->out + sizeof(struct wire_reply), size);
	return true;
}

void nvml_batch_serve(struct msg *m, nvml_batch_fn *serve)
{
	struct nvml_state *n = m->session->nvml;
	struct msg *one = n->batch_msg;
	unsigned count = 0;

	if (!one)
		one = n->batch_msg = calloc(1, sizeof *one);
	do {
		if (!one || count++ == WIRE_NVML_BATCH_MAX || !query_take(m, one)) {
			m->broken = true;
			return;
		}
		serve(one);
		m->broken |= !answer_put(m, one);
	} while (!m->broken && m->in < m->in_end);
}
