/* Pinned, managed and registered host memory: the table of its ranges, how it is mapped, and its end with a context. */
#include "backend/remote/hostmem/hostmem.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "backend/remote/graph/graph.h"
#include "backend/remote/wait/callbacks.h"
#include "backend/remote/hostmem/mirror.h"
#include "backend/remote/memory/state.h"
#include "host/machine.h"

#define ALIGNMENT (2ull << 20) /* so that the kernel may use large pages */
/*
 * Over TCP the device cannot reach memory of the client, so memory that kernels may use is mirrored (mirror.c).  This is
 * memory allocated for kernels; and because CUDA lets kernels use any pinned memory, also small pinned allocations: each
 * up to IMPLICIT_MIRROR bytes, IMPLICIT_MIRRORS in all.
 */
#define IMPLICIT_MIRROR  4096u
#define IMPLICIT_MIRRORS (256u << 10)

struct host_range {
	struct map_node node; /* key: the address */
	struct host_info info;
	uint64_t pages; /* address of the first page */
	size_t mapped;  /* bytes of pages that the client has mapped; 0: registered */
	struct host_pages registered;
	bool mirrored; /* the server has a copy of its own: mirror.c */
	bool lost;     /* of a former client: the server knows nothing of it */
	bool implicit; /* mirrored although the application has not asked for it */
};

static struct host_table *host_table(void)
{
	return &client->memory->hosts;
}

/* ---- the window ---- */

static bool window_try(uint64_t at, uint64_t size)
{
	int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	void *want = (void *)(uintptr_t)at, *p = mmap(want, size, PROT_NONE, how, -1, 0);
	struct wire_host a = {.address = at, .size = size};

	host_table()->window_tried |= p != MAP_FAILED || errno != ENOMEM;
	if (p == want && !call_sync(WIRE_WINDOW, &a, sizeof a, NULL, 0, NULL, 0)) {
		host_table()->window_size = size;
		host_table()->window = at;
		return true;
	}
	if (p != MAP_FAILED)
		munmap(p, size);
	return false;
}

/* Offers the window of a former client to the new server.  If that is refused, its ranges are like any others. */
static void window_reopen(void)
{
	struct wire_host a = {.address = host_table()->window, .size = host_table()->window_size};
	struct map_node *n;

	host_table()->window_carried = false;
	if (!call_sync(WIRE_WINDOW, &a, sizeof a, NULL, 0, NULL, 0))
		return;
	pthread_rwlock_wrlock(&host_table()->lock);
	for (uint64_t at = a.address; (n = map_above(&host_table()->ranges, at)) && n->key - a.address < a.size;
		at = n->key + 1)
		host_table()->outside_window++;
	host_table()->window = 0;
	pthread_rwlock_unlock(&host_table()->lock);
}

/*
 * Tries addresses until one is free on both sides: sanitizers and some programs use up one place or another.  A process
 * that is short of memory tries again at the next allocation.
 */
static bool window_open(void)
{
	static const struct {
		uint64_t at, size;
	} places[] = {
		{0x300000000000, 1ull << 40},
		{0x200000000000, 1ull << 40},
		{0x400000000000, 1ull << 40},
		{0x280000000000, 1ull << 40},
		{0x1000000000, 1ull << 36},
	};

	if (host_table()->window_carried)
		window_reopen();
	if (host_table()->window || host_table()->window_tried)
		return host_table()->window != 0;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (window_try(places[i].at, places[i].size))
			break;
	return host_table()->window != 0;
}

static bool window_contains(uint64_t at)
{
	uint64_t from = atomic_load_explicit(&host_table()->window, memory_order_acquire);

	return from && at - from < host_table()->window_size;
}

/* The first gap from this address on that is large enough; 0: none. */
static uint64_t window_gap_above(uint64_t at, size_t size)
{
	uint64_t from = host_table()->window;
	struct map_node *n = map_above(&host_table()->ranges, at);

	while (n && window_contains(n->key) && n->key - at < size) {
		at = (n->key + ((struct host_range *)n)->mapped + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
		n = map_above(&host_table()->ranges, n->key + 1);
	}
	return size <= host_table()->window_size && at - from <= host_table()->window_size - size ? at : 0;
}

/* Searches on from the latest allocation: from the start, each allocation would pass all others. */
static uint64_t window_find_gap(size_t size)
{
	uint64_t at = host_table()->window_next ? window_gap_above(host_table()->window_next, size) : 0;

	if (!at)
		at = window_gap_above(host_table()->window, size);
	if (at)
		host_table()->window_next = (at + size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	return at;
}

static bool window_map_fd(int fd, uint64_t at, size_t size)
{
	return mmap((void *)(uintptr_t)at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
}

static void window_unmap(uint64_t at, size_t size)
{
	mmap((void *)(uintptr_t)at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

int hostmem_create_fd(size_t size)
{
	int fd = memfd_create("gangway-host", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))) {
		close(fd);
		return -1;
	}
	return fd;
}

CUresult hostmem_share(int fd, uint64_t at, size_t size)
{
	struct wire_host a = {
		.address = at, .size = size, .id = atomic_fetch_add(&host_table()->descriptor_ids, 1) + 1};

	int err = link_send_fd(client->link, a.id, fd);
	if (err)
		return client_failed(err);
	return call_sync(WIRE_HOST_MAP, &a, sizeof a, NULL, 0, NULL, 0);
}

CUresult hostmem_unshare(uint64_t at)
{
	struct wire_host a = {.address = at};

	return call_sync(WIRE_HOST_UNMAP, &a, sizeof a, NULL, 0, NULL, 0);
}

/* ---- allocation ---- */

static void host_range_insert(struct host_range *h)
{
	pthread_rwlock_wrlock(&host_table()->lock);
	map_insert(&host_table()->ranges, &h->node);
	if (!window_contains(h->node.key))
		host_table()->outside_window++;
	pthread_rwlock_unlock(&host_table()->lock);
}

static struct host_range *host_range_create(size_t size, enum host_kind kind, unsigned flags)
{
	struct context *c = context_current();
	struct host_range *h = calloc(1, sizeof *h);

	if (h)
		h->info = (struct host_info){.size = size,
			.kind = kind,
			.flags = flags,
			.context = c->id,
			.device = c->device,
			.sync_memops = kind == HOST_MANAGED,
			.id = atomic_fetch_add(&host_table()->buffer_ids, 1)};
	return h;
}

/* Memory that both sides map: on one host. */
static CUresult host_range_map_shared(struct host_range *h)
{
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
	int fd = hostmem_create_fd(h->mapped);
	uint64_t at = fd >= 0 ? window_find_gap(h->mapped) : 0;

	if (at && window_map_fd(fd, at, h->mapped)) {
		r = hostmem_share(fd, at, h->mapped);
		if (r)
			window_unmap(at, h->mapped);
	}
	if (fd >= 0)
		close(fd);
	h->node.key = h->info.base = h->pages = at;
	h->info.shared = true;
	return r;
}

/* Memory of which each side has a copy at the same address. */
static CUresult host_range_map_mirrored(struct host_range *h)
{
	int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
	uint64_t at = window_find_gap(h->mapped);
	CUresult r;

	if (!at || mmap((void *)(uintptr_t)at, h->mapped, PROT_READ | PROT_WRITE, how, -1, 0) == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = call_sync(WIRE_HOST_MAP, &(struct wire_host){.address = at, .size = h->mapped}, sizeof(struct wire_host),
		NULL, 0, NULL, 0);
	if (!r) {
		r = mirror_add(
			at, h->mapped, h->info.kind == HOST_PINNED || h->info.flags == CU_MEM_ATTACH_HOST, false);
		if (r)
			hostmem_unshare(at);
	}
	if (r)
		window_unmap(at, h->mapped);
	if (r)
		return r;
	h->node.key = h->info.base = h->pages = at;
	h->info.shared = true;
	h->mirrored = true;
	return CUDA_SUCCESS;
}

static CUresult host_range_map_private(struct host_range *h)
{
	void *p = mmap(NULL, h->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h->node.key = h->info.base = h->pages = (uintptr_t)p;
	return CUDA_SUCCESS;
}

/* Memory over TCP. */
static CUresult host_range_map_tcp(struct host_range *h)
{
	bool asked = h->info.kind == HOST_MANAGED || h->info.flags & CU_MEMHOSTALLOC_DEVICEMAP;
	CUresult r;

	if (!asked && (h->mapped > IMPLICIT_MIRROR || host_table()->implicit_bytes + h->mapped > IMPLICIT_MIRRORS))
		return host_range_map_private(h);
	r = window_open() ? host_range_map_mirrored(h) : CUDA_ERROR_OUT_OF_MEMORY;
	if (!asked && r)
		return host_range_map_private(h);
	h->implicit = !asked;
	host_table()->implicit_bytes += asked ? 0 : h->mapped;
	return r;
}

CUresult hostmem_allocate(size_t size, unsigned flags, enum host_kind kind, uint64_t *out)
{
	struct host_range *h;
	CUresult r;

	if (!context_current())
		return context_none();
	if (size > machine_memory())
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = capture_check_unsafe();
	if (r)
		return r;
	h = host_range_create(size, kind, flags);
	if (!h)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h->mapped = (size + 4095) & ~(size_t)4095;
	pthread_mutex_lock(&host_table()->alloc_lock);
	if (!client->local)
		r = host_range_map_tcp(h);
	else if (window_open())
		r = host_range_map_shared(h);
	else /* the device must reach managed memory */
		r = kind == HOST_MANAGED ? CUDA_ERROR_OUT_OF_MEMORY : host_range_map_private(h);
	if (r == CUDA_SUCCESS && link_error(client->link, NULL)) /* host memory of a lost device is of no use */
		r = client_lost();
	if (!r) {
		*out = h->node.key;
		host_range_insert(h);
		h = NULL;
	}
	pthread_mutex_unlock(&host_table()->alloc_lock);
	if (h && h->pages && !h->info.shared)
		munmap((void *)(uintptr_t)h->pages, h->mapped);
	free(h);
	return r;
}

/* ---- lookup ---- */

static struct host_range *host_range_holding(uint64_t address)
{
	return map_holding(&host_table()->ranges, address, struct host_range, node, info.size);
}

static bool host_range_possible(uint64_t address)
{
	return window_contains(address) || atomic_load_explicit(&host_table()->outside_window, memory_order_relaxed);
}

/* A range of registered memory that two extents hold is not one piece to the driver. */
static bool host_range_splits(const struct host_range *h, uint64_t at, size_t size)
{
	for (int i = 0; i < 2; i++)
		if (h->registered.split[i] > at && h->registered.split[i] - at < size)
			return true;
	return false;
}

bool hostmem_shared(const void *p, size_t size)
{
	uint64_t at = (uintptr_t)p;
	struct host_range *h;
	bool all;

	if (!host_range_possible(at))
		return false;
	pthread_rwlock_rdlock(&host_table()->lock);
	h = host_range_holding(at);
	all = h && h->info.shared && size <= h->info.size - (at - h->node.key) && !host_range_splits(h, at, size);
	pthread_rwlock_unlock(&host_table()->lock);
	return all;
}

bool hostmem_find(uint64_t address, struct host_info *info)
{
	struct host_range *h;

	if (!host_range_possible(address))
		return false;
	pthread_rwlock_rdlock(&host_table()->lock);
	h = host_range_holding(address);
	if (h)
		*info = h->info;
	pthread_rwlock_unlock(&host_table()->lock);
	return h != NULL;
}

bool hostmem_pinned(const void *p)
{
	struct host_info info;

	return hostmem_find((uintptr_t)p, &info);
}

bool hostmem_set_sync(uint64_t address, bool on)
{
	struct host_range *h;

	pthread_rwlock_wrlock(&host_table()->lock);
	h = host_range_holding(address);
	if (h)
		h->info.sync_memops = on;
	pthread_rwlock_unlock(&host_table()->lock);
	return h != NULL;
}

/* ---- freeing ---- */

/* Removes the range that starts here from the table.  alloc_lock held. */
static CUresult host_range_take(uint64_t address, enum host_kind kind, struct host_range **out)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct host_range *h;

	pthread_rwlock_wrlock(&host_table()->lock);
	h = host_range_holding(address);
	if (!h && kind == HOST_REGISTERED)
		r = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	if (h && h->node.key == address && h->info.kind == kind) {
		map_remove(&host_table()->ranges, &h->node);
		if (!window_contains(address))
			host_table()->outside_window--;
		*out = h;
		r = CUDA_SUCCESS;
	}
	pthread_rwlock_unlock(&host_table()->lock);
	return r;
}

/*
 * Waits as CUDA does until nothing uses the memory; later calls report async errors.  Memory that is not shared is used
 * by host functions and deferred copies only.
 */
static CUresult host_range_drain(uint64_t address, enum host_kind kind)
{
	struct host_info info;
	CUresult r;

	if (!context_current())
		return context_none();
	r = capture_check_unsafe();
	if (r)
		return r;
	if (hostmem_find(address, &info) && info.base == address && info.kind == kind &&
		(info.shared || callbacks_used()))
		contexts_drain(); /* work of any context may use it */
	return CUDA_SUCCESS;
}

/* Frees the memory, without waiting for work that uses it. */
static CUresult host_range_free(uint64_t address, enum host_kind kind)
{
	struct host_range *h = NULL;
	CUresult r;

	pthread_mutex_lock(&host_table()->alloc_lock);
	r = host_range_take(address, kind, &h);
	if (h && h->mirrored)
		mirror_remove(h->pages);
	if (h && h->implicit)
		host_table()->implicit_bytes -= h->mapped;
	if (h && h->lost && window_contains(h->pages)) {
		window_unmap(h->pages, h->mapped);
	} else if (h && h->info.shared) {
		r = hostmem_unshare(h->pages);
		window_unmap(h->pages, h->mapped);
	} else if (h) {
		munmap((void *)(uintptr_t)h->pages, h->mapped);
	}
	pthread_mutex_unlock(&host_table()->alloc_lock);
	if (h && kind == HOST_MANAGED)
		managed_forget(address);
	free(h);
	return r;
}

CUresult hostmem_release(uint64_t address, enum host_kind kind)
{
	CUresult r = host_range_drain(address, kind);

	return r ? r : host_range_free(address, kind);
}

static bool host_range_overlaps(uint64_t address, size_t size)
{
	struct map_node *above = map_above(&host_table()->ranges, address);

	return host_range_holding(address) || (above && above->key - address < size);
}

CUresult hostmem_enter(uint64_t address, size_t size, unsigned flags)
{
	struct host_range *h = host_range_create(size, HOST_REGISTERED, flags);
	CUresult r = CUDA_SUCCESS;

	if (!h)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h->node.key = h->info.base = address;
	pthread_rwlock_wrlock(&host_table()->lock);
	if (host_range_overlaps(address, size))
		r = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	else
		map_insert(&host_table()->ranges, &h->node), host_table()->outside_window++;
	pthread_rwlock_unlock(&host_table()->lock);
	if (r)
		free(h);
	return r;
}

void hostmem_set_mapped(uint64_t address, const struct host_pages *pages)
{
	struct host_range *h;

	pthread_rwlock_wrlock(&host_table()->lock);
	h = host_range_holding(address);
	h->registered = *pages;
	h->info.shared = true;
	pthread_rwlock_unlock(&host_table()->lock);
}

CUresult hostmem_leave(uint64_t address, bool ended, size_t *size, struct host_pages *pages)
{
	struct host_range *h = NULL;
	CUresult r = ended ? CUDA_SUCCESS : host_range_drain(address, HOST_REGISTERED);

	if (!r)
		r = host_range_take(address, HOST_REGISTERED, &h);
	if (r)
		return r;
	*size = h->info.size;
	*pages = h->registered;
	free(h);
	return CUDA_SUCCESS;
}

static bool host_range_first_of(uint64_t context, struct host_info *info)
{
	struct map_node *n;
	bool found = false;

	pthread_rwlock_rdlock(&host_table()->lock);
	for (uint64_t at = 0; !found && (n = map_above(&host_table()->ranges, at)); at = n->key + 1) {
		*info = ((struct host_range *)n)->info;
		found = info->context == context;
	}
	pthread_rwlock_unlock(&host_table()->lock);
	return found;
}

void hostmem_gone(uint64_t context)
{
	struct host_info info;

	while (host_range_first_of(context, &info))
		if (info.kind == HOST_REGISTERED)
			host_unregister(info.base, true);
		else
			host_range_free(info.base, info.kind);
}

/* ---- from one client to the next ---- */

static bool host_range_first_registered(struct host_info *info)
{
	struct map_node *n;
	bool found = false;

	pthread_rwlock_rdlock(&host_table()->lock);
	for (uint64_t at = 0; !found && (n = map_above(&host_table()->ranges, at)); at = n->key + 1) {
		*info = ((struct host_range *)n)->info;
		found = info->kind == HOST_REGISTERED;
	}
	pthread_rwlock_unlock(&host_table()->lock);
	return found;
}

void hostmem_unregister_all(void)
{
	struct host_info info;

	while (host_range_first_registered(&info))
		host_unregister(info.base, true);
}

void hostmem_carry(struct client *former)
{
	struct host_table *from = &former->memory->hosts, *to = host_table();
	struct map_node *n;

	pthread_mutex_lock(&from->alloc_lock);
	pthread_rwlock_wrlock(&from->lock);
	while ((n = map_above(&from->ranges, 0))) {
		struct host_range *h = (struct host_range *)n;
		map_remove(&from->ranges, n);
		h->lost = true;
		h->info.shared = h->mirrored = h->implicit = false;
		h->info.context = 0;
		map_insert(&to->ranges, n);
	}
	to->window_size = from->window_size;
	to->window = from->window;
	to->window_carried = from->window != 0;
	to->outside_window = from->outside_window;
	to->buffer_ids = from->buffer_ids;
	from->window = 0;
	from->outside_window = 0;
	pthread_rwlock_unlock(&from->lock);
	pthread_mutex_unlock(&from->alloc_lock);
}
