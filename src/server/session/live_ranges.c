/* Finds the memory behind an address without asking the code that is being checked. */
#include "server/session/live_ranges.h"

#ifdef GANGWAY_CHECK_RANGES
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "server/session/session.h"

struct live_range {
	struct map_node node; /* key: the address */
	uint64_t size;
};

/* Of the process: a worker has one client. */
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static struct map live_host;

void live_host_add(uint64_t address, uint64_t size)
{
	struct live_range *r = calloc(1, sizeof *r);

	if (!r)
		abort();
	r->node.key = address;
	r->size = size;
	pthread_mutex_lock(&live_lock);
	map_insert(&live_host, &r->node);
	pthread_mutex_unlock(&live_lock);
}

void live_host_remove(uint64_t address)
{
	pthread_mutex_lock(&live_lock);
	struct live_range *r = (struct live_range *)map_find(&live_host, address);
	if (r)
		map_remove(&live_host, &r->node);
	pthread_mutex_unlock(&live_lock);
	free(r);
}

/* The bytes from the address to the end of [base, base + size); 0: the address is outside. */
static uint64_t bytes_within(uint64_t address, uint64_t base, uint64_t size)
{
	return address >= base && address - base < size ? size - (address - base) : 0;
}

static uint64_t host_bytes_at(uint64_t address)
{
	pthread_mutex_lock(&live_lock);
	struct live_range *r = map_holding(&live_host, address, struct live_range, node, size);
	uint64_t bytes = r ? bytes_within(address, r->node.key, r->size) : 0;
	pthread_mutex_unlock(&live_lock);
	return bytes;
}

static uint64_t arena_bytes_at(struct session *s, uint64_t address, enum bulk which)
{
	size_t size = 0;
	uint64_t base = (uintptr_t)bulk_base(s->link, which, &size);

	return bytes_within(address, base, size);
}

/* Needs no context. */
static uint64_t driver_bytes_at(struct session *s, uint64_t address)
{
	CUdeviceptr base = 0;
	size_t size = 0;

	if (s->ops->cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) ||
		s->ops->cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address))
		return 0;
	return bytes_within(address, base, size);
}

static uint64_t live_bytes_at(struct session *s, uint64_t address)
{
	uint64_t bytes = host_bytes_at(address);

	bytes = bytes ? bytes : arena_bytes_at(s, address, BULK_UP);
	bytes = bytes ? bytes : arena_bytes_at(s, address, BULK_DOWN);
	return bytes ? bytes : driver_bytes_at(s, address);
}

void live_check(struct session *s, uint64_t address, uint64_t size, const char *what)
{
	uint64_t first = address, all = size, bytes;

	for (; size; address += bytes, size -= bytes) {
		bytes = live_bytes_at(s, address);
		if (!bytes) {
			fprintf(stderr,
				"ERROR: gangway: %s of %llu bytes at %#llx touches %#llx, which is not the client's\n",
				what, (unsigned long long)all, (unsigned long long)first, (unsigned long long)address);
			abort();
		}
		bytes = bytes < size ? bytes : size;
	}
}
#endif
