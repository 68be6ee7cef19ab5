/*
 * Event sets, for every device of ours.  Nothing happens on them that NVML has an event for, and a server's events do
 * not travel: no type can be registered (nvmlDeviceRegisterEvents is NVML_ERROR_NOT_SUPPORTED).  But a set can be made, waited for and freed, as monitors do before they ask
 * for anything else.
 *
 * Trust: none in a handle: it is a number, and means a set that is there or nothing.
 */
#include <errno.h>
#include <stdatomic.h>
#include <time.h>
#include "front/nvml/front.h"

#define SETS 256
#define MARK 0x4745ull /* in the upper bits: no address, and no device's number */

static _Atomic(uint32_t) sets[SETS]; /* odd: it is there; goes up with each making and freeing */

static nvmlEventSet_t to_handle(unsigned i, uint32_t made)
{
	return (nvmlEventSet_t)(uintptr_t)(MARK << 48 | (uint64_t)made << 16 | i);
}

static bool find(nvmlEventSet_t set, unsigned *i, uint32_t *made)
{
	uint64_t v = (uintptr_t)set;

	*i = v & 0xffff;
	*made = (uint32_t)(v >> 16);
	return v >> 48 == MARK && *i < SETS && *made % 2 && atomic_load(&sets[*i]) == *made;
}

nvmlReturn_t ml_nvmlEventSetCreate(nvmlEventSet_t *set)
{
	if (!set)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; i < SETS; i++) {
		uint32_t before = atomic_load(&sets[i]);
		if (before % 2 || !atomic_compare_exchange_strong(&sets[i], &before, before + 1))
			continue;
		*set = to_handle(i, before + 1);
		return NVML_SUCCESS;
	}
	return NVML_ERROR_INSUFFICIENT_RESOURCES;
}

nvmlReturn_t ml_nvmlEventSetFree(nvmlEventSet_t set)
{
	uint32_t made;
	unsigned i;

	if (!find(set, &i, &made) || !atomic_compare_exchange_strong(&sets[i], &made, made + 1))
		return NVML_ERROR_INVALID_ARGUMENT;
	return NVML_SUCCESS;
}

void nvml_events_end(void)
{
	for (unsigned i = 0; i < SETS; i++) {
		uint32_t now = atomic_load(&sets[i]);
		if (now % 2)
			atomic_compare_exchange_strong(&sets[i], &now, now + 1);
	}
}

/* Nothing is in it: so it takes its time, whatever becomes of the set meanwhile. */
nvmlReturn_t ml_nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeout_ms)
{
	struct timespec until;
	uint32_t made;
	unsigned i;

	if (!data || !find(set, &i, &made))
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

/* Asked by a question that every device answers. */
nvmlReturn_t ml_nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types)
{
	unsigned part;
	nvmlReturn_t r =
		types ? nvml_device()->nvmlDeviceIsMigDeviceHandle(device, &part) : NVML_ERROR_INVALID_ARGUMENT;

	if (r && r != NVML_ERROR_NOT_SUPPORTED)
		return r;
	*types = 0;
	return NVML_SUCCESS;
}
