#include "server/quota/quota.h"

#include <stdlib.h>
#include <string.h>
#include "server/quota/account.h"

/* ---- as it is given ---- */

static bool unit(const char *text, uint64_t *bytes)
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
	return unit(end, &one) && !__builtin_mul_overflow(n, one, &size->bytes);
}

uint64_t quota_of(const struct quota_size *size, uint64_t memory)
{
	uint64_t quota =
		size->percent ? memory / 100 * size->percent + memory % 100 * size->percent / 100 : size->bytes;

	return quota < memory ? quota : memory;
}

/* ---- keeping to it ---- */

static const struct cuda_ops *real;
static struct stats *stats; /* NULL: there is no quota */

static unsigned number(const struct stats_device *d)
{
	return (unsigned)(d - stats->device);
}

uint64_t quota_limit(unsigned device)
{
	return stats && device < STATS_DEVICES ? stats->info[device].quota : 0;
}

void quota_device_used(unsigned device, uint64_t used)
{
	if (!stats || device >= STATS_DEVICES)
		return;
	atomic_store_explicit(&stats->info[device].used, used, memory_order_relaxed);
	atomic_store(&stats->info[device].looked, true);
}

uint64_t quota_left(unsigned device)
{
	const struct stats_device *d = &stats->device[device];
	uint64_t keep = quota_pools_keep(d) + quota_graphs_keep(d), used = stats_read(&d->memory) + keep;
	uint64_t limit = quota_limit(device);

	account_kept(d, keep);
	return used < limit ? limit - used : 0;
}

CUresult quota_room(const struct stats_device *d, uint64_t size)
{
	if (!stats || !quota_limit(number(d)) || size <= quota_left(number(d)))
		return CUDA_SUCCESS;
	quota_pools_trim(d);
	quota_graphs_trim(d);
	return size <= quota_left(number(d)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- telling it ---- */

static CUresult total(size_t *bytes, CUdevice device)
{
	CUresult r = real->cuDeviceTotalMem_v2(bytes, device);
	uint64_t limit = r || device < 0 ? 0 : quota_limit((unsigned)device);

	if (limit && limit < *bytes)
		*bytes = limit;
	return r;
}

static CUresult info(size_t *free, size_t *all)
{
	size_t device_free, device_all;
	CUresult r = real->cuMemGetInfo_v2(&device_free, &device_all);
	unsigned device = number(account_device());

	if (r)
		return r;
	if (quota_limit(device)) {
		uint64_t left = quota_left(device);
		device_all = quota_limit(device) < device_all ? quota_limit(device) : device_all;
		device_free = left < device_free ? left : device_free;
	}
	if (free)
		*free = device_free;
	if (all)
		*all = device_all;
	return r;
}

void quota_wrap(struct cuda_ops *table, const struct cuda_ops *ops, struct stats *s)
{
	real = ops;
	stats = s;
	table->cuDeviceTotalMem_v2 = total;
	table->cuMemGetInfo_v2 = info;
	quota_pools_wrap(table, ops, s);
	quota_graphs_wrap(table, ops, s);
	quota_code_wrap(table, ops, s);
}
