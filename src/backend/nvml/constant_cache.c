/* Caches replies of a server that do not change: a list, searched from the start. */
#include "backend/nvml/constant_cache.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "backend/nvml/sensor.h"
#include "gen/nvml_ops.h"
#include "wire/nvml.h"

#define ARGS_MAX    32  /* bytes of arguments */
#define REPLY_MAX   256 /* bytes of a reply */
#define REPLIES_MAX 256

/* Calls whose first argument is a device, and whose value depends on the chip, the board and the slot only. */
static const unsigned constant_calls[] = {
	NR_nvmlDeviceGetArchitecture,
	NR_nvmlDeviceGetBoardId,
	NR_nvmlDeviceGetBoardPartNumber,
	NR_nvmlDeviceGetBrand,
	NR_nvmlDeviceGetBusType,
	NR_nvmlDeviceGetCudaComputeCapability,
	NR_nvmlDeviceGetGpuMaxPcieLinkGeneration,
	NR_nvmlDeviceGetInforomImageVersion,
	NR_nvmlDeviceGetInforomVersion,
	NR_nvmlDeviceGetIrqNum,
	NR_nvmlDeviceGetMaxPcieLinkGeneration,
	NR_nvmlDeviceGetMaxPcieLinkWidth,
	NR_nvmlDeviceGetMemoryBusWidth,
	NR_nvmlDeviceGetMinorNumber,
	NR_nvmlDeviceGetModuleId,
	NR_nvmlDeviceGetMultiGpuBoard,
	NR_nvmlDeviceGetNumFans,
	NR_nvmlDeviceGetNumGpuCores,
	NR_nvmlDeviceGetPcieLinkMaxSpeed,
	NR_nvmlDeviceGetPowerManagementDefaultLimit,
	NR_nvmlDeviceGetPowerManagementLimitConstraints,
	NR_nvmlDeviceGetSerial,
	NR_nvmlDeviceGetSupportedClocksEventReasons,
	NR_nvmlDeviceGetVbiosVersion,
};

static struct cached_reply {
	unsigned op;
	size_t args_size, reply_size;
	int result;
	uint8_t args[ARGS_MAX], reply[REPLY_MAX];
} *replies[REPLIES_MAX];
static _Atomic(unsigned) reply_count; /* raised after a reply is complete: a fork may happen at any time */

static bool is_constant(unsigned op, const void *args, size_t size)
{
	for (size_t i = 0; i < sizeof constant_calls / sizeof *constant_calls; i++)
		if (op == WIRE_NVML + constant_calls[i])
			return size <= ARGS_MAX && nvml_names_device(args, size);
	return false;
}

static size_t reply_size(const struct wire_piece *out, unsigned nout)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < nout; i++)
		bytes += out[i].size <= REPLY_MAX ? out[i].size : REPLY_MAX + 1;
	return bytes;
}

static struct cached_reply *reply_find(unsigned op, const void *args, size_t size, size_t bytes)
{
	for (unsigned i = 0; i < reply_count; i++)
		if (replies[i]->op == op && replies[i]->args_size == size && replies[i]->reply_size == bytes &&
			!memcmp(replies[i]->args, args, size))
			return replies[i];
	return NULL;
}

bool constant_cache_find(
	unsigned op, const void *args, size_t size, const struct wire_piece *out, unsigned nout, int *result)
{
	struct cached_reply *c =
		reply_count && is_constant(op, args, size) ? reply_find(op, args, size, reply_size(out, nout)) : NULL;
	const uint8_t *from = c ? c->reply : NULL;

	for (unsigned i = 0; c && i < nout; from += out[i++].size)
		memcpy(out[i].data, from, out[i].size);
	if (c)
		*result = c->result;
	return c != NULL;
}

void constant_cache_add(
	unsigned op, const void *args, size_t size, const struct wire_piece *out, unsigned nout, int result)
{
	size_t bytes = reply_size(out, nout);
	struct cached_reply *c;
	uint8_t *to;

	if ((result && result != NVML_ERROR_NOT_SUPPORTED) || bytes > REPLY_MAX || reply_count == REPLIES_MAX ||
		!is_constant(op, args, size))
		return;
	c = malloc(sizeof *c);
	if (!c)
		return;
	*c = (struct cached_reply){.op = op, .args_size = size, .reply_size = bytes, .result = result};
	memcpy(c->args, args, size);
	to = c->reply;
	for (unsigned i = 0; i < nout; to += out[i++].size)
		memcpy(to, out[i].data, out[i].size);
	replies[reply_count] = c;
	reply_count++;
}

void constant_cache_clear(void)
{
	while (reply_count) {
		struct cached_reply *c = replies[reply_count - 1];

		reply_count--;
		free(c);
	}
}
