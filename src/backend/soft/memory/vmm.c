/*
 * Virtual memory management: reserving addresses, mapping physical memory, granting access.
 */
#include "backend/soft/memory/vmm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/soft/memory/store.h"

struct reservation {
	struct map_node node; /* key: the address */
	uint64_t size;
};

struct mapping {
	struct range range;
	struct map_node node;              /* in soft.memory.vmm.mappings; key: the address */
	struct physical *physical;         /* referenced */
	unsigned char access[MAX_DEVICES]; /* CU_MEM_ACCESS_FLAGS_* */
	unsigned char host_access;
	unsigned long long unmapper; /* the cuMemUnmap call that waits for work that uses the memory; 0: none */
};

static void *to_pointer(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

/* ---- reservations ---- */

/* The reservation that contains [addr, addr + size), or NULL.  Lock held. */
static struct reservation *reservation_find(uint64_t addr, uint64_t size)
{
	struct reservation *r = map_holding(&soft.memory.vmm.reservations, addr, struct reservation, node, size);

	return r && size <= r->size - (addr - r->node.key) ? r : NULL;
}

bool vmm_reservation(uint64_t addr, uint64_t *base, uint64_t *size)
{
	pthread_mutex_lock(&soft.memory.vmm.lock);
	struct reservation *r = reservation_find(addr, 1);
	if (r) {
		*base = r->node.key;
		*size = r->size;
	}
	pthread_mutex_unlock(&soft.memory.vmm.lock);
	return r;
}

/* Reserve addresses at a multiple of align, without memory; 0: failed. */
static uint64_t reserve_addresses(uint64_t size, uint64_t align, uint64_t hint)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	char *p;

	if (hint && hint % align == 0) {
		p = mmap(to_pointer(hint), size, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
		if (p == to_pointer(hint))
			return hint;
		if (p != MAP_FAILED)
			munmap(p, size);
	}
	if (size + align < size || (p = mmap(NULL, size + align, PROT_NONE, flags, -1, 0)) == MAP_FAILED)
		return 0;
	uint64_t head = -(uintptr_t)p & (align - 1);
	if (head)
		munmap(p, head);
	if (align - head)
		munmap(p + head + size, align - head);
	return (uintptr_t)p + head;
}

CUresult soft_cuMemAddressReserve(
	CUdeviceptr *out, size_t size, size_t align, CUdeviceptr hint, unsigned long long flags)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || !size || size % VMM_GRANULARITY || align & (align - 1) || flags || hint % VMM_GRANULARITY)
		return CUDA_ERROR_INVALID_VALUE;
	struct reservation *r = calloc(1, sizeof *r);
	if (r)
		r->node.key = reserve_addresses(size, align < VMM_GRANULARITY ? VMM_GRANULARITY : align, hint);
	if (!r || !r->node.key) {
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r->size = size;
	pthread_mutex_lock(&soft.memory.vmm.lock);
	map_insert(&soft.memory.vmm.reservations, &r->node);
	pthread_mutex_unlock(&soft.memory.vmm.lock);
	*out = r->node.key;
	return CUDA_SUCCESS;
}

static struct mapping *node_mapping(struct map_node *n)
{
	return n ? container_of(n, struct mapping, node) : NULL;
}

/* The first mapping that overlaps [addr, addr + size), or NULL.  Lock held. */
static struct mapping *mapping_first(uint64_t addr, uint64_t size)
{
	struct mapping *m = map_holding(&soft.memory.vmm.mappings, addr, struct mapping, node, range.size);

	if (m)
		return m;
	m = node_mapping(map_above(&soft.memory.vmm.mappings, addr));
	return m && m->node.key - addr < size ? m : NULL;
}

CUresult soft_cuMemAddressFree(CUdeviceptr addr, size_t size)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&soft.memory.vmm.lock);
	struct reservation *r = reservation_find(addr, 1);
	if (r && r->node.key == addr && r->size == size && !mapping_first(addr, size)) {
		map_remove(&soft.memory.vmm.reservations, &r->node);
		munmap(to_pointer(addr), size);
		free(r);
		result = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&soft.memory.vmm.lock);
	return result;
}

/* ---- mappings ---- */

/* Whether the handle has become invalid: nothing refers to p any more.  Lock held; the caller closes p. */
static bool physical_unreferenced(const struct physical *p)
{
	return !p->names && !p->mappings;
}

static void mapping_release(struct range *r)
{
	(void)r; /* never called: only cuMemUnmap removes a mapping */
}

static struct mapping *mapping_create(struct physical *p, uint64_t addr, const struct reservation *in)
{
	struct mapping *m = calloc(1, sizeof *m);
	int fd = p->fd >= 0 ? p->fd : store_fd();

	if (!m || mmap(to_pointer(addr), p->size, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, (off_t)p->offset) ==
			  MAP_FAILED) {
		free(m);
		return NULL;
	}
	m->node.key = m->range.node.key = addr;
	m->physical = p;
	m->range.size = p->size;
	m->range.kind = RANGE_RESERVED;
	m->range.sync_memops = true;
	m->range.device = p->prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? &soft.devices[p->prop.location.id]
									       : &soft.devices[0];
	m->range.handle = p->object.handle;
	m->range.enclosing = in->node.key;
	m->range.enclosing_size = in->size;
	m->range.shareable = p->prop.requestedHandleTypes;
	m->range.release = mapping_release;
	return m;
}

/* Lock held. */
static CUresult physical_map(uint64_t addr, struct physical *p)
{
	struct reservation *in = reservation_find(addr, p->size);

	if (!in || addr % VMM_GRANULARITY || mapping_first(addr, p->size))
		return CUDA_ERROR_INVALID_VALUE;
	struct mapping *m = mapping_create(p, addr, in);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	object_ref(p);
	p->mappings++;
	map_insert(&soft.memory.vmm.mappings, &m->node);
	range_insert(&m->range);
	return CUDA_SUCCESS;
}

CUresult soft_cuMemMap(
	CUdeviceptr addr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct physical *p;
	CUresult r = flags ? CUDA_ERROR_INVALID_VALUE : physical_find(handle, &p);

	if (r)
		return r;
	if (offset || size != p->size) {
		r = CUDA_ERROR_NOT_SUPPORTED; /* CUDA maps physical memory only as a whole */
	} else {
		pthread_mutex_lock(&soft.memory.vmm.lock);
		r = physical_map(addr, p);
		pthread_mutex_unlock(&soft.memory.vmm.lock);
	}
	object_put(p);
	return r;
}

/* Its range is removed already.  Lock held.  True: the caller closes the handle of the physical memory. */
static bool mapping_remove(struct mapping *m)
{
	struct physical *p = m->physical;

	map_remove(&soft.memory.vmm.mappings, &m->node);
	mmap(to_pointer(m->node.key), m->range.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
		-1, 0);
	free(m);
	p->mappings--;
	return physical_unreferenced(p);
}

/* Whether no mapping lies partly inside [addr, addr + size) and partly outside. */
static bool cuts_no_mapping(uint64_t addr, uint64_t size)
{
	struct mapping *m = map_holding(&soft.memory.vmm.mappings, addr, struct mapping, node, range.size);

	if (m && m->node.key < addr)
		return false;
	m = node_mapping(map_below(&soft.memory.vmm.mappings, addr + size - 1));
	return !m || m->node.key < addr || m->node.key - addr + m->range.size <= size;
}

/* The mapping after m in [addr, addr + size), or NULL.  Lock held. */
static struct mapping *mapping_next(const struct mapping *m, uint64_t addr, uint64_t size)
{
	uint64_t done = m->node.key + m->range.size - addr;

	return done < size ? mapping_first(addr + done, size - done) : NULL;
}

static CUresult unmap_check(uint64_t addr, uint64_t size)
{
	if (!size || !reservation_find(addr, size) || !cuts_no_mapping(addr, size))
		return CUDA_ERROR_INVALID_VALUE;
	for (struct mapping *m = mapping_first(addr, size); m; m = mapping_next(m, addr, size))
		if (m->unmapper)
			return CUDA_ERROR_INVALID_VALUE; /* another thread is unmapping it */
	return CUDA_SUCCESS;
}

/* Remove the ranges of the mappings, so that no later work finds the memory.  Lock held. */
static void unmap_begin(uint64_t addr, uint64_t size, unsigned long long call)
{
	for (struct mapping *m = mapping_first(addr, size); m; m = mapping_next(m, addr, size)) {
		m->unmapper = call;
		range_remove(m->node.key, ~0u);
	}
}

/* Remove the mappings that unmap_begin has marked; another thread may have added others.  Lock held. */
static void unmap_finish(uint64_t addr, uint64_t size, unsigned long long call)
{
	for (struct mapping *next, *m = mapping_first(addr, size); m; m = next) {
		struct physical *p = m->physical;

		next = mapping_next(m, addr, size);
		if (m->unmapper != call)
			continue;
		if (mapping_remove(m))
			object_close(p);
		object_put(p);
	}
}

/*
 * Work of any context may use the memory.  The first wait is for work that was submitted before this call and still
 * needs the ranges; the second for work of other threads that found the ranges before they were removed.
 */
CUresult soft_cuMemUnmap(CUdeviceptr addr, size_t size)
{
	unsigned long long call = soft_next_id();

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (soft_in_callback)
		return CUDA_ERROR_NOT_PERMITTED; /* the stream of the callback would wait for itself */
	contexts_wait();
	pthread_mutex_lock(&soft.memory.vmm.lock);
	CUresult r = unmap_check(addr, size);
	if (!r)
		unmap_begin(addr, size, call);
	pthread_mutex_unlock(&soft.memory.vmm.lock);
	if (r)
		return r;
	contexts_wait();
	pthread_mutex_lock(&soft.memory.vmm.lock);
	unmap_finish(addr, size, call);
	pthread_mutex_unlock(&soft.memory.vmm.lock);
	return CUDA_SUCCESS;
}

/* ---- names of physical memory ---- */

CUresult soft_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct physical *p;
	CUresult r = physical_find(handle, &p);

	if (r)
		return r;
	pthread_mutex_lock(&soft.memory.vmm.lock);
	if (!p->names)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (--p->names == 0 && physical_unreferenced(p))
		object_close(p);
	pthread_mutex_unlock(&soft.memory.vmm.lock);
	object_put(p);
	return r;
}

CUresult soft_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *addr)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&soft.memory.vmm.lock);
	struct mapping *m = mapping_first((uintptr_t)addr, 1);
	if (m) {
		m->physical->names++;
		*out = m->physical->object.handle;
	}
	pthread_mutex_unlock(&soft.memory.vmm.lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- access ---- */

static CUresult access_desc_check(const CUmemAccessDesc *d)
{
	if (d->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && d->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
		d->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		return CUDA_ERROR_INVALID_VALUE;
	switch (d->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return device_find(d->location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* The host gets access only to host memory. */
static CUresult access_check_mapping(const struct mapping *m, const CUmemAccessDesc *d)
{
	bool host = d->location.type != CU_MEM_LOCATION_TYPE_DEVICE;

	return host && m->physical->prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_NOT_SUPPORTED
										      : CUDA_SUCCESS;
}

/* The access of all devices and the host together. */
static unsigned mapping_access(const struct mapping *m)
{
	unsigned access = m->host_access;

	for (int i = 0; i < soft.ndevices; i++)
		access |= m->access[i];
	return access;
}

static void range_set_access(struct range *r, void *arg)
{
	unsigned access = *(unsigned *)arg;

	r->kind = access ? RANGE_MAPPED : RANGE_RESERVED;
	r->read_only = access == CU_MEM_ACCESS_FLAGS_PROT_READ;
}

/* The range never claims more access than the pages have: it changes first when access shrinks, last when it grows. */
static CUresult mapping_set_access(struct mapping *m, const CUmemAccessDesc *d)
{
	unsigned before = mapping_access(m), after;
	unsigned char *slot =
		d->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? &m->access[d->location.id] : &m->host_access;
	unsigned char old = *slot;

	*slot = d->flags;
	after = mapping_access(m);
	/* Copies and fills respect read-only ranges; a kernel's write must not be a signal, which would end the process. */
	int prot = after ? PROT_READ | PROT_WRITE : PROT_NONE;
	if (after < before)
		range_change(m->node.key, range_set_access, &after);
	if (mprotect(to_pointer(m->node.key), m->range.size, prot)) {
		*slot = old;
		range_change(m->node.key, range_set_access, &before);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	range_change(m->node.key, range_set_access, &after);
	return CUDA_SUCCESS;
}

/* Whether mappings cover [addr, addr + size) exactly. */
static bool fully_mapped(uint64_t addr, uint64_t size)
{
	if (!cuts_no_mapping(addr, size))
		return false;
	while (size) {
		struct mapping *m = mapping_first(addr, 1);

		if (!m)
			return false;
		addr += m->range.size;
		size -= m->range.size;
	}
	return true;
}

static CUresult vmm_set_access(uint64_t addr, uint64_t size, const CUmemAccessDesc *desc, size_t count)
{
	CUresult r = CUDA_SUCCESS;

	if (!size || addr + size < addr || !fully_mapped(addr, size))
		return CUDA_ERROR_INVALID_VALUE;
	for (uint64_t a = addr; a < addr + size && !r; a += mapping_first(a, 1)->range.size)
		for (size_t i = 0; i < count && !r; i++)
			r = access_check_mapping(mapping_first(a, 1), &desc[i]);
	for (uint64_t a = addr; a < addr + size && !r; a += mapping_first(a, 1)->range.size)
		for (size_t i = 0; i < count && !r; i++)
			r = mapping_set_access(mapping_first(a, 1), &desc[i]);
	return r;
}

CUresult soft_cuMemSetAccess(CUdeviceptr addr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	CUresult r = CUDA_SUCCESS;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!desc || !count)
		return CUDA_ERROR_INVALID_VALUE;
	bool less = false;
	for (size_t i = 0; i < count && !r; i++) {
		r = access_desc_check(&desc[i]);
		less |= desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	}
	if (r)
		return r;
	if (less && soft_in_callback)
		return CUDA_ERROR_NOT_PERMITTED;
	if (less) /* submitted work may need the access that the memory loses */
		contexts_wait();
	pthread_mutex_lock(&soft.memory.vmm.lock);
	r = vmm_set_access(addr, size, desc, count);
	pthread_mutex_unlock(&soft.memory.vmm.lock);
	return r;
}

CUresult soft_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr addr)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!flags || !location ||
		(location->type == CU_MEM_LOCATION_TYPE_DEVICE ? !device_find(location->id)
							       : location->type != CU_MEM_LOCATION_TYPE_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&soft.memory.vmm.lock);
	struct mapping *m = mapping_first(addr, 1);
	if (m)
		*flags = location->type == CU_MEM_LOCATION_TYPE_DEVICE ? m->access[location->id] : m->host_access;
	pthread_mutex_unlock(&soft.memory.vmm.lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The driver has no sparse arrays, so there is no array to map memory into. */
CUresult soft_cuMemMapArrayAsync(CUarrayMapInfo *list, unsigned int count, CUstream stream)
{
	struct stream *s;
	CUresult r = stream_enter(stream, &s);

	if (r)
		return r;
	object_put(s);
	return list && count ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}
