/* The dispatcher's tables: generated for the calls of api/cuda.api, from wire/ops.def for our own operations. */
#include "server/session/dispatch.h"

#include "server/nvml/nvml.h"
#include "server/session/message.h"
#include "wire/nvml.h"

#include "gen/cuda_server.inc"

enum { POSTED, ASKED };

#define OWN_CREATES(op) \
	((op) == WIRE_LOAD || (op) == WIRE_HOST_MAP || (op) == WIRE_MIRROR || (op) == WIRE_TEXTURE || \
		(op) == WIRE_SHARE_IN || (op) == WIRE_IMAGE || (op) == WIRE_LINK_CREATE || (op) == WIRE_OBJECT || \
		(op) == WIRE_NODE || (op) == WIRE_INSTANTIATE)

static const struct served own_served[] = {
#define OP(number, op, serve, reply) [op - WIRE_OPS_FIRST] = {serve, reply, OWN_CREATES(op)},
#include "wire/ops.def"
#undef OP
};

static bool nvml_only;

void serve_nvml_only(void)
{
	nvml_only = true;
}

static const struct served *find_in(const struct served *table, size_t count, unsigned index)
{
	return index < count && table[index].serve ? &table[index] : NULL;
}

static const struct served *served_entry(unsigned op)
{
	if (op >= WIRE_NVML)
		return nvml_find(op);
	if (op >= WIRE_OPS_FIRST)
		return find_in(own_served, sizeof own_served / sizeof *own_served, op - WIRE_OPS_FIRST);
	return find_in(cuda_served, sizeof cuda_served / sizeof *cuda_served, op);
}

const struct served *serve_find(unsigned op)
{
	if (op < WIRE_NVML && nvml_only) {
		nvml_only = false;
		nvml_settle();
	}
	return served_entry(op);
}

bool serve_replies(unsigned op)
{
	const struct served *call = served_entry(op);

	return call && call->waits;
}
