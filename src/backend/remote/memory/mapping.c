/* Mappings at reserved addresses, and which device may access them: known here, so that a copy need not ask the server. */
#include <stdlib.h>
#include "backend/remote/session/remote.h"
#include "backend/remote/memory/state.h"
#include "backend/remote/memory/memory.h"

struct mapping {
	struct map_node node; /* key: the address */
	size_t size;
	uint8_t access[WIRE_DEVICES_MAX]; /* CUmemAccess_flags */
};

static struct mapping_table *mapping_table(void)
{
	return &client->memory->mappings;
}

static struct mapping *mapping_holding(uint64_t address)
{
	return map_holding(&mapping_table()->mappings, address, struct mapping, node, size);
}

/* The first mapping that starts in [at, end); the server accepts whole mappings only.  Lock held. */
static struct mapping *mapping_next(uint64_t at, uint64_t end)
{
	struct mapping *m = (struct mapping *)map_above(&mapping_table()->mappings, at);

	return m && m->node.key < end ? m : NULL;
}

/* Lock held. */
static void mappings_remove(uint64_t address, size_t size)
{
	struct mapping *m;

	while ((m = mapping_next(address, address + size))) {
		map_remove(&mapping_table()->mappings, &m->node);
		free(m);
	}
}

void mapping_add(uint64_t address, size_t size)
{
	struct mapping *m = calloc(1, sizeof *m);

	if (!m)
		return; /* copies to these addresses are then refused */
	m->node.key = address;
	m->size = size;
	pthread_rwlock_wrlock(&mapping_table()->lock);
	mappings_remove(address, size); /* the server has unmapped them, or it could not map here */
	map_insert(&mapping_table()->mappings, &m->node);
	pthread_rwlock_unlock(&mapping_table()->lock);
}

void mapping_remove(uint64_t address, size_t size)
{
	pthread_rwlock_wrlock(&mapping_table()->lock);
	mappings_remove(address, size);
	pthread_rwlock_unlock(&mapping_table()->lock);
}

void mapping_access(uint64_t address, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	struct mapping *m;

	pthread_rwlock_wrlock(&mapping_table()->lock);
	for (uint64_t at = address; (m = mapping_next(at, address + size)); at = m->node.key + 1)
		for (size_t i = 0; i < count; i++)
			if (desc[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && desc[i].location.id >= 0 &&
				desc[i].location.id < WIRE_DEVICES_MAX)
				m->access[desc[i].location.id] = desc[i].flags;
	pthread_rwlock_unlock(&mapping_table()->lock);
}

bool mapping_allows(uint64_t address, size_t size, CUdevice device, bool write)
{
	unsigned want = write ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
	uint64_t at = address;
	struct mapping *m;
	bool all = true;

	pthread_rwlock_rdlock(&mapping_table()->lock);
	while (all && at < address + size) {
		m = mapping_holding(at);
		all = m && (m->access[device] & want) == want;
		if (all)
			at = m->node.key + m->size;
	}
	pthread_rwlock_unlock(&mapping_table()->lock);
	return all;
}
