/* Pinned and managed memory, and which addresses are such. */
#include "backend/remote/memory/hostmem.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "backend/remote/code/code.h"
#include "backend/remote/graph/graph.h"
#include "backend/remote/session/callbacks.h"
#include "backend/remote/memory/mirror.h"
#include "host/machine.h"

#define PAGE (2ull << 20) /* so that the kernel may use large pages */
/*
 * Over TCP the device cannot reach memory of ours: what it may use itself is in both places (mirror.c).  That is
 * memory which was asked for so; and because CUDA lets kernels use any pinned memory, a little of what was not.
 */
#define LITTLE        4096u
#define LITTLE_IN_ALL (256u << 10)

struct host {
	struct map_node node; /* key: the address */
	struct host_info info;
	uint64_t pages; /* where its pages start */
	size_t mapped;
	bool mirrored; /* the server has a copy of its own: mirror.c */
	bool little;   /* without having been asked */
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER; /* the map */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER; /* the window and what is in it */
static _Atomic(uint64_t) window;                           /* where it starts; 0: there is none */
static uint64_t window_size;                               /* set before */
static bool tried;
static struct map hosts;
static _Atomic(unsigned) outside; /* how many lie outside the window */
static size_t little;             /* mirrored, though nobody asked; `making` held */

/* ---- the window ---- */

static bool try_window(uint64_t at, uint64_t size)
{
	int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	void *want = (void *)(uintptr_t)at, *p = mmap(want, size, PROT_NONE, how, -1, 0);
	struct wire_host a = {.address = at, .size = size};

	if (p == want && !call_sync(WIRE_WINDOW, &a, sizeof a, NULL, 0, NULL, 0)) {
		window_size = size;
		window = at;
		return true;
	}
	if (p != MAP_FAILED)
		munmap(p, size);
	return false;
}

/* Addresses that are free here and there; some programs (sanitizers) have used up one place or another. */
static bool open_window(void)
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

	for (size_t i = 0; i < sizeof places / sizeof *places && !window && !tried; i++)
		if (try_window(places[i].at, places[i].size))
			break;
	tried = true;
	return window != 0;
}

static bool in_window(uint64_t at)
{
	uint64_t from = atomic_load_explicit(&window, memory_order_acquire);

	return from && at - from < window_size;
}

/* The first gap that is large enough. */
static uint64_t find_room(size_t size)
{
	uint64_t from = window, at = from;
	struct map_node *n = map_above(&hosts, from);

	while (n && in_window(n->key) && n->key - at < size) {
		at = (n->key + ((struct host *)n)->mapped + PAGE - 1) & ~(PAGE - 1);
		n = map_above(&hosts, n->key + 1);
	}
	return size <= window_size && at - from <= window_size - size ? at : 0;
}

static bool map_fd(int fd, uint64_t at, size_t size)
{
	return mmap((void *)(uintptr_t)at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
}

static void close_up(uint64_t at, size_t size)
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
	static atomic_ullong ids;
	struct wire_host a = {.address = at, .size = size, .id = atomic_fetch_add(&ids, 1) + 1};

	if (link_send_fd(client->link, a.id, fd))
		return client_lost();
	return call_sync(WIRE_HOST_MAP, &a, sizeof a, NULL, 0, NULL, 0);
}

CUresult hostmem_unshare(uint64_t at)
{
	struct wire_host a = {.address = at};

	return call_sync(WIRE_HOST_UNMAP, &a, sizeof a, NULL, 0, NULL, 0);
}

/* ---- making ---- */

static void enter(struct host *h)
{
	pthread_rwlock_wrlock(&lock);
	map_insert(&hosts, &h->node);
	if (!in_window(h->node.key))
		outside++;
	pthread_rwlock_unlock(&lock);
}

static struct host *new_host(size_t size, enum host_kind kind, unsigned flags)
{
	static atomic_ullong ids = 1ull << 32; /* far from the server's own */
	struct context *c = context_current();
	struct host *h = calloc(1, sizeof *h);

	if (h)
		h->info = (struct host_info){.size = size,
			.kind = kind,
			.flags = flags,
			.context = c->id,
			.device = c->device,
			.sync_memops = kind == HOST_MANAGED,
			.id = atomic_fetch_add(&ids, 1)};
	return h;
}

/* Memory that both sides map. */
static CUresult map_shared(struct host *h)
{
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
	int fd = hostmem_create_fd(h->mapped);
	uint64_t at = fd >= 0 ? find_room(h->mapped) : 0;

	if (at && map_fd(fd, at, h->mapped)) {
		r = hostmem_share(fd, at, h->mapped);
		if (r)
			close_up(at, h->mapped);
	}
	if (fd >= 0)
		close(fd);
	h->node.key = h->info.base = h->pages = at;
	h->info.shared = true;
	return r;
}

/* Memory at the same address in two places. */
static CUresult map_mirrored(struct host *h)
{
	int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
	uint64_t at = find_room(h->mapped);
	CUresult r;

	if (!at || mmap((void *)(uintptr_t)at, h->mapped, PROT_READ | PROT_WRITE, how, -1, 0) == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = call_sync(WIRE_HOST_MAP, &(struct wire_host){.address = at, .size = h->mapped}, sizeof(struct wire_host),
		NULL, 0, NULL, 0);
	if (!r) {
		r = mirror_add(at, h->mapped, h->info.kind == HOST_PINNED || h->info.flags == CU_MEM_ATTACH_HOST);
		if (r)
			hostmem_unshare(at);
	}
	if (r)
		close_up(at, h->mapped);
	if (r)
		return r;
	h->node.key = h->info.base = h->pages = at;
	h->info.shared = true;
	h->mirrored = true;
	return CUDA_SUCCESS;
}

static CUresult map_plain(struct host *h)
{
	void *p = mmap(NULL, h->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h->node.key = h->info.base = h->pages = (uintptr_t)p;
	return CUDA_SUCCESS;
}

/* Over TCP. */
static CUresult map_far(struct host *h)
{
	bool asked = h->info.kind == HOST_MANAGED || h->info.flags & CU_MEMHOSTALLOC_DEVICEMAP;
	CUresult r;

	if (!asked && (h->mapped > LITTLE || little + h->mapped > LITTLE_IN_ALL))
		return map_plain(h);
	r = open_window() ? map_mirrored(h) : CUDA_ERROR_NOT_SUPPORTED;
	if (!asked && r)
		return map_plain(h);
	h->little = !asked;
	little += asked ? 0 : h->mapped;
	return r;
}

CUresult hostmem_allocate(size_t size, unsigned flags, enum host_kind kind, uint64_t *out)
{
	struct host *h;
	CUresult r;

	if (!context_current())
		return context_none();
	if (size > machine_memory())
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = capture_check_unsafe();
	if (r)
		return r;
	h = new_host(size, kind, flags);
	if (!h)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h->mapped = (size + 4095) & ~(size_t)4095;
	pthread_mutex_lock(&making);
	if (!client->local)
		r = map_far(h);
	else
		r = open_window() ? map_shared(h) : map_plain(h);
	if (r == CUDA_SUCCESS && link_error(client->link, NULL)) /* no device, no memory for it */
		r = client_lost();
	if (!r) {
		*out = h->node.key;
		enter(h);
		h = NULL;
	}
	pthread_mutex_unlock(&making);
	if (h && h->pages && !h->info.shared)
		munmap((void *)(uintptr_t)h->pages, h->mapped);
	free(h);
	return r;
}

/* ---- finding ---- */

static struct host *holder(uint64_t address)
{
	return map_holding(&hosts, address, struct host, node, info.size);
}

static bool maybe(uint64_t address)
{
	return in_window(address) || atomic_load_explicit(&outside, memory_order_relaxed);
}

bool hostmem_shared(const void *p, size_t size)
{
	uint64_t at = (uintptr_t)p;
	struct host *h;
	bool all;

	if (!maybe(at))
		return false;
	pthread_rwlock_rdlock(&lock);
	h = holder(at);
	all = h && h->info.shared && size <= h->info.size - (at - h->node.key);
	pthread_rwlock_unlock(&lock);
	return all;
}

bool hostmem_find(uint64_t address, struct host_info *info)
{
	struct host *h;

	if (!maybe(address))
		return false;
	pthread_rwlock_rdlock(&lock);
	h = holder(address);
	if (h)
		*info = h->info;
	pthread_rwlock_unlock(&lock);
	return h != NULL;
}

bool hostmem_pinned(const void *p)
{
	struct host_info info;

	return hostmem_find((uintptr_t)p, &info);
}

bool hostmem_set_sync(uint64_t address, bool on)
{
	struct host *h;

	pthread_rwlock_wrlock(&lock);
	h = holder(address);
	if (h)
		h->info.sync_memops = on;
	pthread_rwlock_unlock(&lock);
	return h != NULL;
}

/* ---- giving back ---- */

/* The one that starts here, out of the map.  `making` held. */
static CUresult take(uint64_t address, enum host_kind kind, struct host **out)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct host *h;

	pthread_rwlock_wrlock(&lock);
	h = holder(address);
	if (!h && kind == HOST_REGISTERED)
		r = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	if (h && h->node.key == address && h->info.kind == kind) {
		map_remove(&hosts, &h->node);
		if (!in_window(address))
			outside--;
		*out = h;
		r = CUDA_SUCCESS;
	}
	pthread_rwlock_unlock(&lock);
	return r;
}

/*
 * As CUDA does: nothing may still be using it.  What failed meanwhile shows elsewhere.  What is not shared only functions
 * use, the application's or those of copies that are made later.
 */
static CUresult quiet(uint64_t address, enum host_kind kind)
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
		context_drain();
	return CUDA_SUCCESS;
}

/* Without looking whether anything still uses it. */
static CUresult drop(uint64_t address, enum host_kind kind)
{
	struct host *h = NULL;
	CUresult r;

	pthread_mutex_lock(&making);
	r = take(address, kind, &h);
	if (h && h->mirrored)
		mirror_remove(h->pages);
	if (h && h->little)
		little -= h->mapped;
	if (h && h->info.shared) {
		r = hostmem_unshare(h->pages);
		close_up(h->pages, h->mapped);
	} else if (h) {
		munmap((void *)(uintptr_t)h->pages, h->mapped);
	}
	pthread_mutex_unlock(&making);
	if (h && kind == HOST_MANAGED)
		managed_forget(address);
	free(h);
	return r;
}

CUresult hostmem_release(uint64_t address, enum host_kind kind)
{
	CUresult r = quiet(address, kind);

	return r ? r : drop(address, kind);
}

static bool overlaps(uint64_t address, size_t size)
{
	struct map_node *above = map_above(&hosts, address);

	return holder(address) || (above && above->key - address < size);
}

CUresult hostmem_enter(uint64_t address, size_t size, uint64_t pages, size_t mapped, unsigned flags)
{
	struct host *h = new_host(size, HOST_REGISTERED, flags);
	CUresult r = CUDA_SUCCESS;

	if (!h)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h->node.key = h->info.base = address;
	h->info.shared = mapped != 0;
	h->pages = pages;
	h->mapped = mapped;
	pthread_rwlock_wrlock(&lock);
	if (overlaps(address, size))
		r = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	else
		map_insert(&hosts, &h->node), outside++;
	pthread_rwlock_unlock(&lock);
	if (r)
		free(h);
	return r;
}

CUresult hostmem_leave(uint64_t address, bool ended, uint64_t *pages, size_t *mapped)
{
	struct host *h = NULL;
	CUresult r = ended ? CUDA_SUCCESS : quiet(address, HOST_REGISTERED);

	if (!r)
		r = take(address, HOST_REGISTERED, &h);
	if (r)
		return r;
	*pages = h->pages;
	*mapped = h->mapped;
	free(h);
	return CUDA_SUCCESS;
}

static bool first_of(uint64_t context, struct host_info *info)
{
	struct map_node *n;
	bool found = false;

	pthread_rwlock_rdlock(&lock);
	for (uint64_t at = 0; !found && (n = map_above(&hosts, at)); at = n->key + 1) {
		*info = ((struct host *)n)->info;
		found = info->context == context;
	}
	pthread_rwlock_unlock(&lock);
	return found;
}

void hostmem_gone(uint64_t context)
{
	struct host_info info;

	while (first_of(context, &info))
		if (info.kind == HOST_REGISTERED)
			register_end(info.base, true);
		else
			drop(info.base, info.kind);
}
