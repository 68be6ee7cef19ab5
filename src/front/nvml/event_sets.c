/*
 * Event sets, for every device of ours.  No events occur on our own devices, and those of a server do not travel, so
 * nvmlDeviceRegisterEvents returns NVML_ERROR_NOT_SUPPORTED.  A set can still be created, waited on and freed: monitors
 * do that before anything else.
 *
 * Trust: a handle is a number that is checked, never a pointer.
 */
#include <errno.h>
#include <stdatomic.h>
#include <time.h>
#include "front/nvml/front.h"

#define EVENT_SETS 256
#define SET_MARK   0x4745ull /* upper bits of a handle: neither an address nor a device handle */

static _Atomic(uint32_t) generations[EVENT_SETS]; /* odd: the set exists; creating and freeing add one each */

static nvmlEventSet_t set_handle(unsigned i, uint32_t generation)
{
	return (nvmlEventSet_t)(uintptr_t)(SET_MARK << 48 | (uint64_t)generation << 16 | i);
}

static bool set_find(nvmlEventSet_t set, unsigned *i, uint32_t *generation)
{
	uint64_t v = (uintptr_t)set;

	*i = v & 0xffff;
	*generation = (uint32_t)(v >> 16);
	return v >> 48 == SET_MARK && *i < EVENT_SETS && *generation % 2 &&
	       atomic_load(&generations[*i]) == *generation;
}

nvmlReturn_t ml_nvmlEventSetCreate(nvmlEventSet_t *set)
{
	if (!set)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; i < EVENT_SETS; i++) {
		uint32_t before = atomic_load(&generations[i]);
		if (before % 2 || !atomic_compare_exchange_strong(&generations[i], &before, before + 1))
			continue;
		*set = set_handle(i, before + 1);
		return NVML_SUCCESS;
	}
	return NVML_ERROR_INSUFFICIENT_RESOURCES;
}

nvmlReturn_t ml_nvmlEventSetFree(nvmlEventSet_t set)
{
	uint32_t generation;
	unsigned i;

	if (!set_find(set, &i, &generation) ||
		!atomic_compare_exchange_strong(&generations[i], &generation, generation + 1))
		return NVML_ERROR_INVALID_ARGUMENT;
	return NVML_SUCCESS;
}

void nvml_event_sets_end(void)
{
	for (unsigned i = 0; i < EVENT_SETS; i++) {
		uint32_t now = atomic_load(&generations[i]);
		if (now % 2)
			atomic_compare_exchange_strong(&generations[i], &now, now + 1);
	}
}

/* No event ever arrives, so every wait lasts until its timeout, even if the set is freed meanwhile. */
nvmlReturn_t ml_nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeout_ms)
{
	struct timespec until;
	uint32_t generation;
	unsigned i;

	if (!data || !set_find(set, &i, &generation))
		return NVML_ERROR_INVALID_ARGUMENT;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += timeout_ms % 1000 * 1000000l;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
	return NVML_ERROR_TIMEOUT;
}

nvmlReturn_t ml_nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeout_ms)
{
	return ml_nvmlEventSetWait_v2(set, data, timeout_ms);
}

/* No event types.  nvmlDeviceIsMigDeviceHandle checks the handle: every backend implements it. */
nvmlReturn_t ml_nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types)
{
	unsigned is_mig;
	nvmlReturn_t r =
		types ? nvml_device()->nvmlDeviceIsMigDeviceHandle(device, &is_mig) : NVML_ERROR_INVALID_ARGUMENT;

	if (r && r != NVML_ERROR_NOT_SUPPORTED)
		return r;
	*types = 0;
	return NVML_SUCCESS;
}
