/*
 * Managed memory, and pinned memory that the device may use itself, where client and server cannot see the same pages:
 * over TCP, and the variables of modules.  Each has
 * a copy at the same address, and both know what they last agreed on:
 *
 *	before work is posted		what has changed here goes up
 *	when something was waited for	what has changed there comes down
 *
 * That is the managed memory of devices without concurrent access, which is what we say they are: the host leaves it
 * alone while the device is at work.  Comparing costs time where there is such memory, and nothing elsewhere.
 */
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "backend/remote/code/code.h"
#include "backend/remote/memory/hostmem.h"
#include "backend/remote/session/fetch.h"
#include "backend/remote/memory/mirror.h"
#include "util/diff.h"
#include "host/machine.h"

#define PAGE  4096ull
#define STACK (1ull << 30) /* where it has no limit */
#define GUARD (2ull << 20)

struct mirror {
	struct map_node node; /* key: the address */
	size_t size;
	unsigned names; /* a variable may have several: module and library, say */
	uint8_t *agreed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map mirrors, pages;  /* pages that we have put where a variable is */
static _Atomic(bool) host_wrote;   /* or may have, since we last compared */
static bool always;                /* some of it may be written at any time */
static _Atomic(uint32_t) seen;     /* of WIRE_MIRROR_WORD */
static _Atomic(bool) fetching;     /* what the server has told of may not yet be here */
static _Atomic(bool) device_wrote; /* or may have: there was work */

struct page {
	struct map_node node; /* key: its address */
	unsigned used;
};

/* ---- up ---- */

typedef void *reserve_fn(struct lane *lane, size_t size);

static CUresult send_run(struct lane *lane, reserve_fn *reserve, uint64_t address, const void *bytes, size_t size)
{
	size_t all = sizeof(struct wire_mirror) + wire_pad(size);
	struct wire_mirror *a = reserve(lane, all);

	if (!a)
		return client_lost();
	*a = (struct wire_mirror){.address = address, .size = size};
	memcpy(a + 1, bytes, size);
	return call_send(lane, WIRE_MIRROR_UP, all, NULL, 0);
}

static void push(struct mirror *m, struct lane *lane, reserve_fn *reserve)
{
	const uint8_t *now = (const uint8_t *)(uintptr_t)m->node.key;
	size_t at = 0, length;

	for (; diff_next(now, m->agreed, m->size, &at, &length, WIRE_MIRROR_BYTES / 2); at += length) {
		memcpy(m->agreed + at, now + at, length);
		if (send_run(lane, reserve, m->node.key + at, m->agreed + at, length))
			return; /* the link is gone */
	}
}

static void push_each(struct lane *lane, reserve_fn *reserve)
{
	struct map_node *n;

	for (uint64_t at = 0; (n = map_above(&mirrors, at)); at = n->key + 1)
		push((struct mirror *)n, lane, reserve);
}

/* While a kernel runs the host leaves managed memory alone; during anything else it may go on writing there. */
void mirror_push(bool kernel)
{
	pthread_mutex_lock(&lock);
	if (host_wrote || always)
		push_each(call_lane(), call_reserve);
	if (kernel)
		host_wrote = false;
	device_wrote = true;
	pthread_mutex_unlock(&lock);
}

/* ---- down ---- */

static bool apply(const uint8_t *rest, size_t size, uint32_t runs)
{
	while (runs--) {
		struct wire_run run;
		struct mirror *m;
		if (size < sizeof run)
			return false;
		memcpy(&run, rest, sizeof run);
		rest += sizeof run;
		size -= sizeof run;
		m = (struct mirror *)map_below(&mirrors, run.address);
		if (size < wire_pad(run.size) || !m || run.address - m->node.key > m->size ||
			run.size > m->size - (run.address - m->node.key))
			return false;
		diff_apply((void *)(uintptr_t)run.address, m->agreed + (run.address - m->node.key), rest, run.size);
		rest += wire_pad(run.size);
		size -= wire_pad(run.size);
	}
	return true;
}

static struct mirror *holder(uint64_t address)
{
	return map_holding(&mirrors, address, struct mirror, node, size);
}

static CUresult pull_locked(void)
{
	struct wire_mirrored head = {.more = 1};
	CUresult r = CUDA_SUCCESS;
	uint8_t *rest;
	size_t size;

	fetching = true;
	while (!r && head.more) {
		uint64_t cursor = head.cursor;
		r = call_fetch(WIRE_MIRROR_DOWN, &cursor, sizeof cursor, NULL, 0, &head, sizeof head, &rest, &size);
		if (r)
			break;
		/* more, but no further than before, or nowhere: that would never end */
		if (!apply(rest, size, head.runs) || (head.more && (head.cursor <= cursor || !holder(head.cursor))))
			r = client_reject_reply();
		free(rest);
	}
	fetching = false;
	return r;
}

/*
 * Over TCP the server has compared before it told us what we waited for, so there is something to fetch if and only if
 * it says so.  On one machine the device tells us itself, and we have to ask: what was fetched after an earlier wait may
 * have come too early for what was waited for now.
 */
static bool changed(uint32_t *now)
{
	*now = __atomic_load_n(word_address(client->link, WIRE_MIRROR_WORD), __ATOMIC_ACQUIRE);
	return client->local || *now != atomic_load(&seen);
}

/*
 * Another thread's fetching may have come too early for us, or still be under way with what is ours, of which nobody is
 * told a second time: nothing is settled before the lock is ours.
 */
void mirror_pull(void)
{
	uint32_t now;

	if (!atomic_load_explicit(&device_wrote, memory_order_relaxed))
		return;
	host_wrote = true; /* from now on it may */
	if (!changed(&now) && !atomic_load(&fetching))
		return;
	pthread_mutex_lock(&lock);
	if (changed(&now)) {
		pull_locked();
		seen = now;
	}
	pthread_mutex_unlock(&lock);
}

/* Who answers is not the server's dispatcher, which may be waiting for the very function that is run next (pump.h). */
bool mirror_push_on(struct lane *lane)
{
	if (!atomic_load(&client->has_mirrors))
		return false;
	pthread_mutex_lock(&lock);
	push_each(lane, call_reserve);
	pthread_mutex_unlock(&lock);
	return true;
}

/* ---- coming and going ---- */

/*
 * One at a time, and without the lock while the server is asked, which may be waiting for a function that needs it.  It
 * is entered here before there, and goes there first: the server never speaks of one that is not here.  What we say of
 * one that is not there it passes over; in new memory there is nothing to say.
 */
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;

static struct mirror *find(uint64_t address)
{
	return (struct mirror *)map_find(&mirrors, address);
}

static void leave(struct mirror *m)
{
	pthread_mutex_lock(&lock);
	map_remove(&mirrors, &m->node);
	pthread_mutex_unlock(&lock);
	free(m->agreed);
	free(m);
}

static void forget(struct mirror *m)
{
	struct wire_mirror a = {.address = m->node.key};

	call_sync(WIRE_MIRROR_DROP, &a, sizeof a, NULL, 0, NULL, 0);
	leave(m);
}

static struct mirror *enter(uint64_t address, size_t size)
{
	struct mirror *m = calloc(1, sizeof *m);

	if (!m || !(m->agreed = calloc(1, size))) {
		free(m);
		return NULL;
	}
	m->node.key = address;
	m->size = size;
	m->names = 1;
	pthread_mutex_lock(&lock);
	map_insert(&mirrors, &m->node);
	pthread_mutex_unlock(&lock);
	return m;
}

static CUresult add(uint64_t address, size_t size, bool variable)
{
	struct wire_mirror a = {.address = address, .size = size, .variable = variable};
	struct mirror *m = enter(address, size);
	CUresult r;

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = call_sync(WIRE_MIRROR, &a, sizeof a, NULL, 0, NULL, 0);
	if (r) {
		leave(m);
		return r;
	}
	client->has_mirrors = true;
	pthread_mutex_lock(&lock);
	host_wrote = true;
	r = pull_locked(); /* a variable has a value from the start */
	pthread_mutex_unlock(&lock);
	if (r)
		forget(m); /* the memory will not stay */
	return r;
}

CUresult mirror_add(uint64_t address, size_t size, bool at_any_time)
{
	CUresult r;

	pthread_mutex_lock(&change);
	r = add(address, size, false);
	pthread_mutex_unlock(&change);
	if (!r && at_any_time)
		mirror_at_any_time();
	return r;
}

void mirror_at_any_time(void)
{
	pthread_mutex_lock(&lock);
	always = true;
	pthread_mutex_unlock(&lock);
}

void mirror_remove(uint64_t address)
{
	struct mirror *m;

	pthread_mutex_lock(&change);
	m = find(address);
	if (m)
		forget(m);
	pthread_mutex_unlock(&change);
}

/* ---- variables ---- */

static struct page *page_of(uint64_t address)
{
	return (struct page *)map_find(&pages, address);
}

/* A page of ours where the server has the variable, if nothing else is there. */
static bool page_take(uint64_t address)
{
	struct page *p = page_of(address);
	void *want = (void *)(uintptr_t)address, *got;

	if (p) {
		p->used++;
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
	p->used = 1;
	map_insert(&pages, &p->node);
	return true;
}

static void page_give(uint64_t address)
{
	struct page *p = page_of(address);

	if (!p || --p->used)
		return;
	map_remove(&pages, &p->node);
	munmap((void *)(uintptr_t)address, PAGE);
	free(p);
}

static void pages_give(uint64_t from, uint64_t to)
{
	for (uint64_t at = from & -PAGE; at < to; at += PAGE)
		page_give(at);
}

bool mirror_holds(uint64_t address)
{
	bool held;

	pthread_mutex_lock(&lock);
	held = holder(address) != NULL;
	pthread_mutex_unlock(&lock);
	return held;
}

/* Below the main thread's first frame, where nothing is mapped until it gets there. */
static bool in_stack(uint64_t from, uint64_t to)
{
	uint64_t top = getauxval(AT_RANDOM); /* lies above the first frame */
	struct rlimit most;

	if (getrlimit(RLIMIT_STACK, &most) || most.rlim_cur > STACK)
		most.rlim_cur = STACK;
	return from < top && to + most.rlim_cur + GUARD > top;
}

static bool impossible(uint64_t address, size_t size)
{
	return !address || !size || size > machine_memory() || address > UINT64_MAX / 2 ||
	       in_stack(address, address + size);
}

/* One that has any of these bytes, or NULL. */
static struct mirror *overlapped(uint64_t address, size_t size)
{
	struct mirror *m = (struct mirror *)map_below(&mirrors, address + size - 1);

	return m && (m->node.key >= address || address - m->node.key < m->size) ? m : NULL;
}

CUresult mirror_variable(uint64_t address, size_t size)
{
	uint64_t at = address & -PAGE;
	CUresult r = CUDA_SUCCESS;
	struct mirror *m;

	if (impossible(address, size))
		return CUDA_ERROR_NOT_SUPPORTED;
	pthread_mutex_lock(&change);
	m = overlapped(address, size);
	if (m) {
		bool same = m->node.key == address && m->size == size;
		m->names += same;
		pthread_mutex_unlock(&change);
		return same ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
	}
	for (; at < address + size && !r; at += PAGE)
		if (!page_take(at))
			r = CUDA_ERROR_NOT_SUPPORTED;
	if (r)
		at -= PAGE; /* that one is not ours */
	else
		r = add(address, size, true);
	if (r)
		pages_give(address, at);
	pthread_mutex_unlock(&change);
	return r;
}

void mirror_variable_gone(uint64_t address)
{
	struct mirror *m;

	pthread_mutex_lock(&change);
	m = find(address);
	if (m && !--m->names) {
		size_t size = m->size;
		forget(m);
		pages_give(address, address + size);
	}
	pthread_mutex_unlock(&change);
}
