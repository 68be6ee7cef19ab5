/* What is mapped at reserved addresses, and who may touch it: known here, so that a copy need not ask. */
#include <stdlib.h>
#include "backend/remote/session/remote.h"
#include "backend/remote/memory/memory.h"

struct mapping {
	struct map_node node; /* key: the address */
	size_t size;
	uint8_t access[WIRE_DEVICES_MAX]; /* CUmemAccess_flags */
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct map mappings;

static struct mapping *holder(uint64_t address)
{
	return map_holding(&mappings, address, struct mapping, node, size);
}

/* Whole mappings, as the server has just agreed. */
static struct mapping *next(uint64_t at, uint64_t end)
{
	struct mapping *m = (struct mapping *)map_above(&mappings, at);

	return m && m->node.key < end ? m : NULL;
}

/* Lock held. */
static void forget(uint64_t address, size_t size)
{
	struct mapping *m;

	while ((m = next(address, address + size))) {
		map_remove(&mappings, &m->node);
		free(m);
	}
}

void mapping_add(uint64_t address, size_t size)
{
	struct mapping *m = calloc(1, sizeof *m);

	if (!m)
		return; /* then copies there are refused: not a lie, only a pity */
	m->node.key = address;
	m->size = size;
	pthread_rwlock_wrlock(&lock);
	forget(address, size); /* what the server says to be mapped here now cannot be there any more */
	map_insert(&mappings, &m->node);
	pthread_rwlock_unlock(&lock);
}

void mapping_remove(uint64_t address, size_t size)
{
	pthread_rwlock_wrlock(&lock);
	forget(address, size);
	pthread_rwlock_unlock(&lock);
}

void mapping_access(uint64_t address, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	struct mapping *m;

	pthread_rwlock_wrlock(&lock);
	for (uint64_t at = address; (m = next(at, address + size)); at = m->node.key + 1)
		for (size_t i = 0; i < count; i++)
			if (desc[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && desc[i].location.id >= 0 &&
				desc[i].location.id < WIRE_DEVICES_MAX)
				m->access[desc[i].location.id] = desc[i].flags;
	pthread_rwlock_unlock(&lock);
}

bool mapping_allows(uint64_t address, size_t size, CUdevice device, bool write)
{
	unsigned want = write ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
	uint64_t at = address;
	struct mapping *m;
	bool all = true;

	pthread_rwlock_rdlock(&lock);
	while (all && at < address + size) {
		m = holder(at);
		all = m && (m->access[device] & want) == want;
		if (all)
			at = m->node.key + m->size;
	}
	pthread_rwlock_unlock(&lock);
	return all;
}
