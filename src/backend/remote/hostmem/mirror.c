/*
 * Mirrors: managed memory, and pinned memory that kernels use, where client and server cannot map the same pages (over
 * TCP, and variables of modules).  Each side has a copy at the same address, and both keep the contents last agreed on:
 *
 *	before work is posted		changes of the host go up
 *	after something was waited for	changes of the device come down
 *
 * These are the rules of managed memory on devices without concurrent access, which is what the device attributes say:
 * the host leaves the memory alone while the device works.  Finding changes means comparing, where mirrors exist.
 *
 * A mirror may have a shadow: memory in which the client itself reaches the server's copy.  Such a mirror is exchanged
 * without the server.  Only the bytes of the mirror are taken from the shadow, whatever else the server writes there.
 */
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "backend/remote/hostmem/hostmem.h"
#include "backend/remote/session/fetch.h"
#include "backend/remote/hostmem/mirror.h"
#include "backend/remote/memory/state.h"
#include "util/diff.h"
#include "host/machine.h"

#define PAGE        4096ull
#define STACK_LIMIT (1ull << 30) /* assumed where the stack has no limit */
#define STACK_GUARD (2ull << 20)

struct mirror {
	struct map_node node; /* key: the address */
	size_t size;
	unsigned users;  /* a variable may be found through its module and through its library */
	uint8_t *shadow; /* the server's copy; NULL: only the server reaches it */
	uint8_t *agreed;
};

/* A page that the client has mapped where the server has a variable. */
struct page {
	struct map_node node; /* key: the address */
	unsigned users;
};

static struct mirror_table *mirror_table(void)
{
	return &client->memory->mirrors;
}

/* ---- up ---- */

static CUresult mirror_send_run(struct lane *lane, uint64_t address, const void *bytes, size_t size)
{
	size_t all = sizeof(struct wire_mirror) + wire_pad(size);
	struct wire_mirror *a = call_reserve(lane, all);

	if (!a)
		return client_lost();
	*a = (struct wire_mirror){.address = address, .size = size};
	memcpy(a + 1, bytes, size);
	return call_send(lane, WIRE_MIRROR_UP, all, NULL, 0);
}

/* Writes to `to` the bytes in which `from` differs from what was agreed on.  `from` may change meanwhile. */
static void mirror_carry(struct mirror *m, uint8_t *to, const uint8_t *from)
{
	uint8_t run[512];
	size_t at = 0, length;

	for (; diff_next(from, m->agreed, m->size, &at, &length, sizeof run - 64); at += length) {
		length = length < sizeof run ? length : sizeof run;
		memcpy(run, from + at, length);
		diff_apply(to + at, m->agreed + at, run, length);
	}
}

static void mirror_push_one(struct mirror *m, struct lane *lane)
{
	uint8_t *now = (uint8_t *)(uintptr_t)m->node.key;
	size_t at = 0, length;

	if (m->shadow) {
		mirror_carry(m, m->shadow, now);
		return;
	}
	for (; diff_next(now, m->agreed, m->size, &at, &length, WIRE_MIRROR_BYTES / 2); at += length) {
		memcpy(m->agreed + at, now + at, length);
		if (mirror_send_run(lane, m->node.key + at, m->agreed + at, length))
			return; /* the link is broken */
	}
}

static void mirror_push_all_locked(struct lane *lane)
{
	struct map_node *n;

	for (uint64_t at = 0; (n = map_above(&mirror_table()->mirrors, at)); at = n->key + 1)
		mirror_push_one((struct mirror *)n, lane);
}

/* While a kernel runs the host leaves managed memory alone; during other work it may go on writing. */
void mirror_push(bool kernel)
{
	pthread_mutex_lock(&mirror_table()->lock);
	if (mirror_table()->host_wrote || mirror_table()->host_writes_any_time)
		mirror_push_all_locked(call_lane());
	if (kernel)
		mirror_table()->host_wrote = false;
	mirror_table()->device_wrote = true;
	pthread_mutex_unlock(&mirror_table()->lock);
}

/* ---- down ---- */

static bool mirror_apply_runs(const uint8_t *rest, size_t size, uint32_t runs)
{
	while (runs--) {
		struct wire_run run;
		struct mirror *m;
		if (size < sizeof run)
			return false;
		memcpy(&run, rest, sizeof run);
		rest += sizeof run;
		size -= sizeof run;
		m = (struct mirror *)map_below(&mirror_table()->mirrors, run.address);
		if (size < wire_pad(run.size) || !m || m->shadow || run.address - m->node.key > m->size ||
			run.size > m->size - (run.address - m->node.key))
			return false;
		diff_apply((void *)(uintptr_t)run.address, m->agreed + (run.address - m->node.key), rest, run.size);
		rest += wire_pad(run.size);
		size -= wire_pad(run.size);
	}
	return true;
}

static struct mirror *mirror_holding(uint64_t address)
{
	return map_holding(&mirror_table()->mirrors, address, struct mirror, node, size);
}

static void mirror_pull_shadows(void)
{
	struct map_node *n;

	for (uint64_t at = 0; (n = map_above(&mirror_table()->mirrors, at)); at = n->key + 1) {
		struct mirror *m = (struct mirror *)n;
		if (m->shadow)
			mirror_carry(m, (uint8_t *)(uintptr_t)n->key, m->shadow);
	}
}

static CUresult mirror_pull_locked(void)
{
	struct wire_mirrored head = {.more = mirror_table()->remote != 0};
	CUresult r = CUDA_SUCCESS;
	uint8_t *rest;
	size_t size;

	mirror_table()->fetching = true;
	mirror_pull_shadows();
	while (!r && head.more) {
		uint64_t cursor = head.cursor;
		r = call_fetch(WIRE_MIRROR_DOWN, &cursor, sizeof cursor, NULL, 0, &head, sizeof head, &rest, &size);
		if (r)
			break;
		/* A cursor that does not advance, or is not in a mirror, would never end. */
		if (!mirror_apply_runs(rest, size, head.runs) ||
			(head.more && (head.cursor <= cursor || !mirror_holding(head.cursor))))
			r = client_reject_reply();
		free(rest);
	}
	mirror_table()->fetching = false;
	return r;
}

/*
 * Over TCP the server compares before it reports what the client waited for, so changes exist if and only if the word has
 * moved.  Over shared memory the device itself writes the word that the client waits on, and the server must be asked:
 * what an earlier wait fetched may be older than the work waited for now.
 */
static bool mirror_changed(uint32_t *now)
{
	*now = __atomic_load_n(word_address(client->link, WIRE_MIRROR_WORD), __ATOMIC_ACQUIRE);
	return client->local || *now != atomic_load(&mirror_table()->seen);
}

/*
 * Another thread may be fetching: too early for the work that this thread waited for, or changes that are reported only
 * once.  Only with the lock held is it known that all changes have arrived.
 */
void mirror_pull(void)
{
	uint32_t now;

	if (!atomic_load_explicit(&mirror_table()->device_wrote, memory_order_relaxed))
		return;
	mirror_table()->host_wrote = true; /* it may, from now on */
	if (!mirror_changed(&now) && !atomic_load(&mirror_table()->fetching))
		return;
	pthread_mutex_lock(&mirror_table()->lock);
	if (mirror_changed(&now)) {
		if (mirror_pull_locked() == CUDA_ERROR_OUT_OF_MEMORY) /* the server reports changes once */
			link_reject(client->link, "changes of managed memory were lost: out of memory");
		mirror_table()->seen = now;
	}
	pthread_mutex_unlock(&mirror_table()->lock);
}

/* Frames of the callback lane bypass the dispatcher, which may be waiting for the next host function to run. */
bool mirror_push_on(struct lane *lane)
{
	if (!atomic_load(&client->has_mirrors))
		return false;
	pthread_mutex_lock(&mirror_table()->lock);
	mirror_push_all_locked(lane);
	bool sent = mirror_table()->remote_ever;
	pthread_mutex_unlock(&mirror_table()->lock);
	return sent;
}

/* ---- adding and removing ---- */

/*
 * One mirror at a time is added or removed, under change_lock.  `lock` is not held while the server is asked: the server
 * may be waiting for a host function that needs it.  A mirror is entered here before the server has it, and removed there
 * first, so that the server never reports changes of an unknown mirror.  The server ignores changes of a mirror that it
 * does not have; new memory has none.
 */

static struct mirror *mirror_find(uint64_t address)
{
	return (struct mirror *)map_find(&mirror_table()->mirrors, address);
}

static void mirror_free(struct mirror *m)
{
	pthread_mutex_lock(&mirror_table()->lock);
	map_remove(&mirror_table()->mirrors, &m->node);
	mirror_table()->remote -= !m->shadow;
	if (!mirror_table()->remote_ever && !map_above(&mirror_table()->mirrors, 0))
		client->has_mirrors = false;
	pthread_mutex_unlock(&mirror_table()->lock);
	free(m->agreed);
	free(m);
}

static void mirror_end(struct mirror *m)
{
	struct wire_mirror a = {.address = m->node.key};

	if (!m->shadow)
		call_sync(WIRE_MIRROR_DROP, &a, sizeof a, NULL, 0, NULL, 0);
	mirror_free(m);
}

static struct mirror *mirror_insert(uint64_t address, size_t size, uint8_t *shadow)
{
	struct mirror *m = calloc(1, sizeof *m);

	if (!m || !(m->agreed = calloc(1, size))) {
		free(m);
		return NULL;
	}
	m->node.key = address;
	m->size = size;
	m->users = 1;
	m->shadow = shadow;
	if (shadow) {
		memcpy(m->agreed, (const void *)(uintptr_t)address, size);
		memcpy(shadow, m->agreed, size);
	}
	pthread_mutex_lock(&mirror_table()->lock);
	map_insert(&mirror_table()->mirrors, &m->node);
	mirror_table()->remote += !shadow;
	mirror_table()->remote_ever |= !shadow;
	client->has_mirrors = true;
	pthread_mutex_unlock(&mirror_table()->lock);
	return m;
}

static CUresult mirror_add_locked(uint64_t address, size_t size, bool variable, bool reused)
{
	struct wire_mirror a = {.address = address, .size = size, .variable = variable, .clear = reused};
	struct mirror *m = mirror_insert(address, size, NULL);
	CUresult r;

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = call_sync(WIRE_MIRROR, &a, sizeof a, NULL, 0, NULL, 0);
	if (r) {
		mirror_free(m);
		return r;
	}
	pthread_mutex_lock(&mirror_table()->lock);
	mirror_table()->host_wrote = true;
	r = mirror_pull_locked(); /* the initial value of a variable */
	pthread_mutex_unlock(&mirror_table()->lock);
	if (r)
		mirror_end(m); /* the caller frees the memory */
	return r;
}

CUresult mirror_add(uint64_t address, size_t size, bool at_any_time, bool reused)
{
	CUresult r;

	pthread_mutex_lock(&mirror_table()->change_lock);
	r = mirror_add_locked(address, size, false, reused);
	pthread_mutex_unlock(&mirror_table()->change_lock);
	if (!r && at_any_time)
		mirror_at_any_time();
	return r;
}

CUresult mirror_add_shadow(uint64_t address, size_t size, uint8_t *shadow)
{
	struct mirror *m;

	pthread_mutex_lock(&mirror_table()->change_lock);
	m = mirror_insert(address, size, shadow);
	pthread_mutex_unlock(&mirror_table()->change_lock);
	if (m)
		mirror_at_any_time();
	return m ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void mirror_at_any_time(void)
{
	pthread_mutex_lock(&mirror_table()->lock);
	mirror_table()->host_writes_any_time = true;
	pthread_mutex_unlock(&mirror_table()->lock);
}

void mirror_remove(uint64_t address)
{
	struct mirror *m;

	pthread_mutex_lock(&mirror_table()->change_lock);
	m = mirror_find(address);
	if (m && m->shadow) { /* the last changes: the caller has waited for the device */
		pthread_mutex_lock(&mirror_table()->lock);
		mirror_carry(m, (uint8_t *)(uintptr_t)address, m->shadow);
		pthread_mutex_unlock(&mirror_table()->lock);
	}
	if (m)
		mirror_end(m);
	pthread_mutex_unlock(&mirror_table()->change_lock);
}

/* ---- variables ---- */

static struct page *page_find(uint64_t address)
{
	return (struct page *)map_find(&mirror_table()->pages, address);
}

/* Maps a page where the server has the variable.  False: the address is in use. */
static bool page_take(uint64_t address)
{
	struct page *p = page_find(address);
	void *want = (void *)(uintptr_t)address, *got;

	if (p) {
		if (!p->users++) /* left by a former client */
			memset(want, 0, PAGE);
		return true;
	}
	p = calloc(1, sizeof *p);
	got = !p ? MAP_FAILED
		 : mmap(want, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (got != want) {
		if (got != MAP_FAILED)
			munmap(got, PAGE);
		free(p);
		return false;
	}
	p->node.key = address;
	p->users = 1;
	map_insert(&mirror_table()->pages, &p->node);
	return true;
}

static void page_release(uint64_t address)
{
	struct page *p = page_find(address);

	if (!p || --p->users)
		return;
	map_remove(&mirror_table()->pages, &p->node);
	munmap((void *)(uintptr_t)address, PAGE);
	free(p);
}

static void pages_release(uint64_t from, uint64_t to)
{
	for (uint64_t at = from & -PAGE; at < to; at += PAGE)
		page_release(at);
}

bool mirror_holds(uint64_t address)
{
	bool held;

	pthread_mutex_lock(&mirror_table()->lock);
	held = mirror_holding(address) != NULL;
	pthread_mutex_unlock(&mirror_table()->lock);
	return held;
}

/* Whether the range is below the main thread's first frame, where the stack is mapped only as it grows. */
static bool range_in_stack(uint64_t from, uint64_t to)
{
	uint64_t top = getauxval(AT_RANDOM); /* above the first frame */
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur > STACK_LIMIT)
		limit.rlim_cur = STACK_LIMIT;
	return from < top && to + limit.rlim_cur + STACK_GUARD > top;
}

static bool variable_range_invalid(uint64_t address, size_t size)
{
	return !address || !size || size > machine_memory() || address > UINT64_MAX / 2 ||
	       range_in_stack(address, address + size);
}

/* A mirror that has any of these bytes, or NULL. */
static struct mirror *mirror_overlapping(uint64_t address, size_t size)
{
	struct mirror *m = (struct mirror *)map_below(&mirror_table()->mirrors, address + size - 1);

	return m && (m->node.key >= address || address - m->node.key < m->size) ? m : NULL;
}

CUresult mirror_variable(uint64_t address, size_t size)
{
	uint64_t at = address & -PAGE;
	CUresult r = CUDA_SUCCESS;
	struct mirror *m;

	if (variable_range_invalid(address, size))
		return CUDA_ERROR_NOT_SUPPORTED;
	pthread_mutex_lock(&mirror_table()->change_lock);
	m = mirror_overlapping(address, size);
	if (m) {
		bool same = m->node.key == address && m->size == size;
		m->users += same;
		pthread_mutex_unlock(&mirror_table()->change_lock);
		return same ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
	}
	for (; at < address + size && !r; at += PAGE)
		if (!page_take(at))
			r = CUDA_ERROR_NOT_SUPPORTED;
	if (r)
		at -= PAGE; /* the last one was not mapped */
	else
		r = mirror_add_locked(address, size, true, false);
	if (r)
		pages_release(address, at);
	pthread_mutex_unlock(&mirror_table()->change_lock);
	return r;
}

void mirror_variable_gone(uint64_t address)
{
	struct mirror *m;

	pthread_mutex_lock(&mirror_table()->change_lock);
	m = mirror_find(address);
	if (m && !--m->users) {
		size_t size = m->size;
		mirror_end(m);
		pages_release(address, address + size);
	}
	pthread_mutex_unlock(&mirror_table()->change_lock);
}

void mirror_carry_pages(struct client *former)
{
	struct mirror_table *from = &former->memory->mirrors;
	struct map_node *n;

	pthread_mutex_lock(&from->change_lock);
	while ((n = map_above(&from->pages, 0))) {
		map_remove(&from->pages, n);
		((struct page *)n)->users = 0;
		map_insert(&mirror_table()->pages, n);
	}
	pthread_mutex_unlock(&from->change_lock);
}

void mirrors_finish(struct mirror_table *t)
{
	struct map_node *n;

	while ((n = map_above(&t->mirrors, 0))) {
		map_remove(&t->mirrors, n);
		free(((struct mirror *)n)->agreed);
		free(n);
	}
}
