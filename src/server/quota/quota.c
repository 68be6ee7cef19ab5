/* Enforces the memory quota of a client, and shows it the quota as the device's memory. */
#include "server/quota/quota.h"

#include <stdlib.h>
#include <string.h>

/* ---- Parsing ---- */

static bool unit_read(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	const char *at = *text ? strchr(units, *text) : NULL;

	*bytes = at ? 1ull << (10 * (at - units + 1)) : 1;
	text += at != NULL;
	if (at && *text == 'i')
		text++;
	return !*text || !strcmp(text, "B");
}

bool quota_read(const char *text, struct quota_size *size)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);
	uint64_t one;

	*size = (struct quota_size){0};
	if (*text < '0' || *text > '9' || !n)
		return false;
	if (!strcmp(end, "%")) {
		size->percent = n <= 100 ? (unsigned)n : 0;
		return n <= 100;
	}
	return unit_read(end, &one) && !__builtin_mul_overflow(n, one, &size->bytes);
}

uint64_t quota_of(const struct quota_size *size, uint64_t memory)
{
	uint64_t quota =
		size->percent ? memory / 100 * size->percent + memory % 100 * size->percent / 100 : size->bytes;

	return quota < memory ? quota : memory;
}

/* ---- Enforcing ---- */

uint64_t quota_limit(const struct account *a, unsigned device)
{
	return a->has_quota && device < STATS_DEVICES ? a->stats->info[device].quota : 0;
}

void quota_device_used(struct account *a, unsigned device, uint64_t used)
{
	if (!a->has_quota || device >= STATS_DEVICES)
		return;
	atomic_store_explicit(&a->stats->info[device].used, used, memory_order_relaxed);
	atomic_store(&a->stats->info[device].looked, true);
}

uint64_t quota_left(struct account *a, unsigned device)
{
	const struct stats_device *d = &a->stats->device[device];
	uint64_t keep = quota_pools_keep(a, d) + quota_graphs_keep(a, d), used = stats_read(&d->memory) + keep;
	uint64_t limit = quota_limit(a, device);

	account_kept(a, d, keep);
	return used < limit ? limit - used : 0;
}

CUresult quota_room(struct account *a, const struct stats_device *d, uint64_t size)
{
	unsigned device;

	if (!d)
		return account_host_room(a, size);
	device = account_device_number(a, d);
	if (!quota_limit(a, device) || size <= quota_left(a, device))
		return CUDA_SUCCESS;
	quota_pools_trim(a, d);
	quota_graphs_trim(a, d);
	return size <= quota_left(a, device) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- Reporting ---- */

static CUresult device_total_mem(size_t *bytes, CUdevice device)
{
	struct account *a = worker_account();
	CUresult r = a->real.cuDeviceTotalMem_v2(bytes, device);
	uint64_t limit = r || device < 0 ? 0 : quota_limit(a, (unsigned)device);

	if (limit && limit < *bytes)
		*bytes = limit;
	return r;
}

static CUresult mem_get_info(size_t *free, size_t *total)
{
	struct account *a = worker_account();
	size_t device_free, device_total;
	CUresult r = a->real.cuMemGetInfo_v2(&device_free, &device_total);
	unsigned device = account_device_number(a, a->device);

	if (r)
		return r;
	if (quota_limit(a, device)) {
		uint64_t left = quota_left(a, device), limit = quota_limit(a, device);
		device_total = limit < device_total ? limit : device_total;
		device_free = left < device_free ? left : device_free;
	}
	if (free)
		*free = device_free;
	if (total)
		*total = device_total;
	return r;
}

void quota_wrap(struct cuda_ops *table)
{
	table->cuDeviceTotalMem_v2 = device_total_mem;
	table->cuMemGetInfo_v2 = mem_get_info;
	quota_graphs_wrap(table);
	quota_code_wrap(table);
}
