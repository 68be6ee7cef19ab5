#include "server/nvml/nvml_batch.h"

#include <string.h>
#include "backend/nvml/sensor.h"
#include "server/nvml/nvml.h"
#include "wire/nvml.h"

/* As it would have come by itself. */
struct alone {
	struct wire_request head;
	uint8_t args[WIRE_NVML_TOGETHER_ARGS];
};

_Static_assert(sizeof(struct alone) <= sizeof((struct msg *)0)->few_in, "nothing to free");

/* The next question, as a message of its own. */
static bool take(struct msg *m, struct msg *one)
{
	struct alone bytes = {.head.context = m->context};
	struct wire_nvml_one ask;
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

/* Its answer, behind those before it. */
static bool put(struct msg *m, const struct msg *one)
{
	size_t size = one->out_used - sizeof(struct wire_reply);
	struct wire_nvml_said said = {.value = one->value, .size = (uint32_t)size};
	uint8_t *room = one->broken || one->result ? NULL : msg_out(m, true, sizeof said + size);

	if (!room)
		return false;
	memcpy(room, &said, sizeof said);
	memcpy(room + sizeof said, one->out + sizeof(struct wire_reply), size);
	return true;
}

void nvml_together(struct msg *m, together_fn *serve)
{
	static struct msg one; /* large, and one dispatcher a process */
	unsigned n = 0;

	do {
		if (n++ == WIRE_NVML_TOGETHER_MOST || !take(m, &one)) {
			m->broken = true;
			return;
		}
		serve(&one);
		m->broken |= !put(m, &one);
	} while (!m->broken && m->in < m->in_end);
}
