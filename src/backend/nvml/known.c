#include "backend/nvml/known.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "backend/nvml/sensor.h"
#include "gen/nvml_ops.h"
#include "wire/nvml.h"

#define ARGS 32
#define MOST 256 /* answers, and bytes of one */

/* Calls whose first argument is a device: what follows from the silicon, the board and the slot. */
static const unsigned constant[] = {
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

static struct known {
	unsigned op;
	size_t size, bytes;
	int result;
	uint8_t args[ARGS], out[MOST];
} *known[MOST];
static _Atomic(unsigned) count; /* those below it are whole, also in a child that was forked just now */

static bool is_constant(unsigned op, const void *args, size_t size)
{
	for (size_t i = 0; i < sizeof constant / sizeof *constant; i++)
		if (op == WIRE_NVML + constant[i])
			return size <= ARGS && nvml_of_device(args, size);
	return false;
}

static size_t bytes_of(const struct wire_piece *out, unsigned nout)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < nout; i++)
		bytes += out[i].size <= MOST ? out[i].size : MOST + 1;
	return bytes;
}

static struct known *find(unsigned op, const void *args, size_t size, size_t bytes)
{
	for (unsigned i = 0; i < count; i++)
		if (known[i]->op == op && known[i]->size == size && known[i]->bytes == bytes &&
			!memcmp(known[i]->args, args, size))
			return known[i];
	return NULL;
}

bool known_find(unsigned op, const void *args, size_t size, const struct wire_piece *out, unsigned nout, int *result)
{
	struct known *k = count && is_constant(op, args, size) ? find(op, args, size, bytes_of(out, nout)) : NULL;
	const uint8_t *from = k ? k->out : NULL;

	for (unsigned i = 0; k && i < nout; from += out[i++].size)
		memcpy(out[i].data, from, out[i].size);
	if (k)
		*result = k->result;
	return k != NULL;
}

void known_keep(unsigned op, const void *args, size_t size, const struct wire_piece *out, unsigned nout, int result)
{
	size_t bytes = bytes_of(out, nout);
	struct known *k;
	uint8_t *to;

	if ((result && result != NVML_ERROR_NOT_SUPPORTED) || bytes > MOST || count == MOST ||
		!is_constant(op, args, size))
		return;
	k = malloc(sizeof *k);
	if (!k)
		return;
	*k = (struct known){.op = op, .size = size, .bytes = bytes, .result = result};
	memcpy(k->args, args, size);
	to = k->out;
	for (unsigned i = 0; i < nout; to += out[i++].size)
		memcpy(to, out[i].data, out[i].size);
	known[count] = k;
	count++;
}

void known_forget(void)
{
	while (count) {
		struct known *k = known[count - 1];

		count--;
		free(k);
	}
}
