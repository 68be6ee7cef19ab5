/* life_memory.h - operations of the lifetime fuzzer that make, share and free memory, contexts and streams. */
#pragma once

#include "life_choice.h"
#include "life_model.h"

#define GRANULE (2ull << 20)
#ifdef __SANITIZE_THREAD__ /* ThreadSanitizer reserves most addresses */
#define PLACES 0x1000000000
#else
#define PLACES 0x300000000000
#endif
#define PLACE_SIZE  (1ull << 20) /* addresses of one session: half of them are outside of its window */
#define WINDOW_SIZE (PLACE_SIZE / 2)

/* ---- Choosing ---- */

static int context_choose(struct party *p)
{
	int k = (int)choose(CONTEXTS);

	return p->context[k].id ? k : 0;
}

static struct life_stream *stream_choose(struct life_context *c)
{
	struct life_stream *s = &c->stream[choose(STREAMS)];

	return s->id ? s : &c->stream[0];
}

static bool context_captures(const struct life_context *c)
{
	bool any = false;

	for (int i = 0; i < STREAMS; i++)
		any |= c->stream[i].capturing;
	return any;
}

static bool party_captures(const struct party *p)
{
	bool any = false;

	for (int k = 0; k < CONTEXTS; k++)
		any |= context_captures(&p->context[k]);
	return any;
}

static struct object *object_choose(struct party *p, unsigned kinds)
{
	unsigned from = choose(OBJECTS);

	for (unsigned i = 0; i < OBJECTS; i++) {
		struct object *o = &objects[(from + i) % OBJECTS];
		if (o->kind && o->party == p && kinds & 1u << o->kind)
			return o;
	}
	return NULL;
}

#define MEMORY (1u << K_DEVICE | 1u << K_POOL | 1u << K_HOST | 1u << K_VARIABLE | 1u << K_MAPPED | 1u << K_IPC)

static uint64_t size_choose(void)
{
	static const uint64_t sizes[] = {1, 16, 64, 256, 300, 4096, 5000, 65536, 70000, 3 << 20};

	return sizes[choose(sizeof sizes / sizeof *sizes)];
}

/* Called after a call on live memory, which must have succeeded unless something else is in its way. */
static void must_succeed(struct party *p, CUresult r, const char *what)
{
	if (r && !unsettled && !party_captures(p))
		life_fail("%s failed: %d", what, r);
}

/* ---- Contexts and streams ---- */

static void stream_make(struct party *p, struct life_context *c, struct life_stream *s)
{
	struct wire_cuStreamCreate a = {.present = 1, .Flags = CU_STREAM_NON_BLOCKING};

	if (ask(p, c->id, NR_cuStreamCreate, &a, sizeof a, &s->id, sizeof s->id))
		s->id = 0;
}

static void context_begin(struct party *p, struct life_context *c)
{
	struct wire_context a = {.context = c->id, .word = c->word};

	post_only(p, c->id, WIRE_CONTEXT, &a, sizeof a, NULL, 0);
	context_error(p, c);
	memset(c->stream, 0, sizeof c->stream);
	stream_make(p, c, &c->stream[0]);
	if (!c->stream[0].id)
		life_fail("a new context has no streams");
}

static void primary_begin(struct party *p)
{
	struct wire_cuDevicePrimaryCtxRetain a = {.present = 1};

	if (ask(p, 0, NR_cuDevicePrimaryCtxRetain, &a, sizeof a, &p->context[0].id, 8))
		life_fail("no primary context");
	context_begin(p, &p->context[0]);
}

/* Ends the context at once, with whatever is pending in it. */
static void context_finish(struct party *p, int k)
{
	struct life_context *c = &p->context[k];
	struct wire_cuCtxDestroy_v2 destroy = {.ctx = c->id};
	struct wire_cuDevicePrimaryCtxReset_v2 reset = {0};
	struct wire_context ended = {.context = c->id, .ended = 1};
	CUresult r;

	p->holding = false;
	if (k)
		r = ask(p, 0, NR_cuCtxDestroy_v2, &destroy, sizeof destroy, NULL, 0);
	else
		r = ask(p, 0, NR_cuDevicePrimaryCtxReset_v2, &reset, sizeof reset, NULL, 0);
	if (r)
		life_fail("context %d cannot be ended: %d", k, r);
	if (!k)
		post_only(p, 0, WIRE_CONTEXT, &ended, sizeof ended, NULL, 0);
	context_kill(p, k);
	c->id = 0;
}

static void context_end(struct party *p)
{
	int k = context_choose(p);

	context_finish(p, k);
	if (!k)
		primary_begin(p);
}

static void context_create(struct party *p)
{
	struct wire_cuCtxCreate_v2 a = {.present = 1};
	int k = 1 + (int)choose(CONTEXTS - 1);

	if (p->context[k].id)
		return;
	CUresult r = ask(p, 0, NR_cuCtxCreate_v2, &a, sizeof a, &p->context[k].id, 8);
	must_succeed(p, r, "cuCtxCreate");
	if (r)
		p->context[k].id = 0;
	else
		context_begin(p, &p->context[k]);
}

static void stream_create(struct party *p)
{
	struct life_context *c = &p->context[context_choose(p)];
	struct life_stream *s = &c->stream[1 + choose(STREAMS - 1)];

	if (!s->id)
		stream_make(p, c, s);
}

/* Pending work goes on. */
static void stream_destroy(struct party *p)
{
	struct life_context *c = &p->context[context_choose(p)];
	struct life_stream *s = &c->stream[1 + choose(STREAMS - 1)];
	struct wire_cuStreamDestroy_v2 a = {.hStream = s->id};

	if (!s->id)
		return;
	post(p, c, NR_cuStreamDestroy_v2, &a, sizeof a, NULL, 0);
	*s = (struct life_stream){0};
}

/* The context's sticky error: it can only be ended. */
static void context_lose(struct party *p, int k)
{
	context_finish(p, k);
	if (!k)
		primary_begin(p);
}

static void all_settle(struct party *p)
{
	for (unsigned i = 0; i < nparties; i++)
		for (int k = 0; k < CONTEXTS; k++) {
			struct party *q = &parties[i];
			if (!q->context[k].id)
				continue;
			CUresult r = context_settle(q, &q->context[k]);
			if (r && !unsettled)
				life_fail("context %d has failed without a reason: %d", k, r);
			if (r)
				context_lose(q, k);
		}
	(void)p;
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].dying)
			object_kill(&objects[i]);
	unsettled = false;
}

/* A host function that is not answered until all_settle(): the stream's later work is pending. */
static void stream_hold(struct party *p)
{
	struct life_context *c = &p->context[context_choose(p)];
	struct life_stream *s = stream_choose(c);
	struct wire_host_call a = {.stream = s->id, .id = 7, .kind = WIRE_EVENT_HOST};

	if (s->capturing)
		return;
	p->holding = true;
	unsettled = true;
	post(p, c, WIRE_HOST_CALL, &a, sizeof a, NULL, 0);
}

/* ---- Device memory ---- */

static struct object *memory_new(struct party *p, enum kind kind, int context, uint64_t address, uint64_t size)
{
	struct object *o = object_new(p, kind, context);

	for (int i = 0; i < OBJECTS; i++) {
		struct object *old = &objects[i];
		if (!is_memory(old) || old->party != p || old == o || old->address >= address + size ||
			address >= old->address + old->size)
			continue;
		if (!old->dying && !old->kept)
			life_fail("new memory at %#llx overlaps live memory", (unsigned long long)address);
		object_kill(old);
	}
	o->address = address;
	o->size = size;
	o->content = content_new(size);
	o->access = o->writable = true;
	return o;
}

static void device_alloc(struct party *p)
{
	int k = context_choose(p);
	struct wire_cuMemAlloc_v2 a = {.present = 1, .bytesize = size_choose()};
	uint64_t at = 0;

	if (objects_full())
		return;
	CUresult r = ask(p, p->context[k].id, NR_cuMemAlloc_v2, &a, sizeof a, &at, sizeof at);
	must_succeed(p, r, "cuMemAlloc");
	if (!r)
		memory_new(p, K_DEVICE, k, at, a.bytesize);
}

static void pool_alloc(struct party *p)
{
	int k = context_choose(p);
	struct life_stream *s = stream_choose(&p->context[k]);
	struct wire_cuMemAllocAsync a = {.present = 1, .bytesize = size_choose(), .hStream = s->id};
	uint64_t at = 0;

	if (objects_full() || s->capturing)
		return;
	CUresult r = ask(p, p->context[k].id, NR_cuMemAllocAsync, &a, sizeof a, &at, sizeof at);
	must_succeed(p, r, "cuMemAllocAsync");
	if (!r)
		memory_new(p, K_POOL, k, at, a.bytesize);
}

/* The address of a live object, of one that is gone, or one inside an object. */
static uint64_t address_choose(struct party *p, struct object **o)
{
	*o = object_choose(p, MEMORY);
	switch (choose(12)) {
	case 0:
		*o = NULL;
		return graves[choose(GRAVES)].address;
	case 1:
		if (*o && (*o)->size > 1) {
			uint64_t at = (*o)->address + 1 + choose((unsigned)((*o)->size - 1));
			*o = NULL;
			return at;
		}
		break;
	}
	return *o ? (*o)->address : 0;
}

static void memory_freed(struct party *p, struct object *o, uint64_t at, CUresult r, bool own)
{
	bool may = o && (o->kind == K_DEVICE || o->kind == K_POOL);
	struct object *variable = memory_at(p, at);

	if (variable && variable->kind == K_VARIABLE)
		mirror_forget(variable);
	if (o && o->dying) {
		if (!r)
			object_kill(o); /* the pending command had run */
		return;
	}
	if (!r && !may && !(o && o->kind == K_IPC))
		life_fail("freeing %#llx, which cannot be freed, succeeded", (unsigned long long)at);
	if (may && own)
		must_succeed(p, r, "freeing memory");
	if (!r)
		object_kill(o);
}

static void memory_free(struct party *p)
{
	struct life_context *c = &p->context[context_choose(p)];
	struct object *o;
	struct wire_cuMemFree_v2 a = {.dptr = address_choose(p, &o)};

	if (!a.dptr)
		return;
	if (!o && memory_at(p, a.dptr) && memory_at(p, a.dptr)->address == a.dptr)
		o = memory_at(p, a.dptr); /* the address of a grave is in use again */
	memory_freed(p, o, a.dptr, post(p, c, NR_cuMemFree_v2, &a, sizeof a, NULL, 0), true);
}

static void pool_free(struct party *p)
{
	struct life_context *c = &p->context[context_choose(p)];
	struct life_stream *s = stream_choose(c);
	struct object *o = object_choose(p, 1u << K_POOL);
	struct wire_cuMemFreeAsync a = {.hStream = s->id};

	if (s->capturing || !(a.dptr = choose(8) ? o ? o->address : 0 : address_choose(p, &o)))
		return;
	if (!o && memory_at(p, a.dptr) && memory_at(p, a.dptr)->address == a.dptr)
		o = memory_at(p, a.dptr);
	CUresult r = post(p, c, NR_cuMemFreeAsync, &a, sizeof a, NULL, 0);
	if (!r && unsettled && o && (o->kind == K_POOL || o->kind == K_DEVICE)) {
		if (o->dying)
			life_fail("%#llx was freed twice", (unsigned long long)a.dptr);
		o->dying = true;
		return;
	}
	memory_freed(p, o, a.dptr, r, o && o->kind == K_POOL && !o->dying);
	if (!r)
		stream_settle(p, c, s->id);
}

/* ---- Host memory ---- */

static int memory_file(uint64_t size)
{
	int fd = memfd_create("life", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		life_fail("memfd: %s", strerror(errno));
	return fd;
}

/*
 * Addresses that the client once used and gave back stay reserved in the worker: memory of the worker that lands there
 * could be named by the client.
 */
#define VACATED 64

static struct {
	uint64_t address, size;
	struct link *link;
} vacated[VACATED];
static unsigned nvacated;

static void vacated_check(struct party *p)
{
	for (unsigned i = 0; i < VACATED && !served.pid; i++)
		if (vacated[i].size && vacated[i].link == p->link &&
			msync((void *)(uintptr_t)vacated[i].address, vacated[i].size, MS_ASYNC) && errno == ENOMEM)
			life_fail("%#llx, which the client gave back, is unmapped in the worker",
				(unsigned long long)vacated[i].address);
}

/* In this process the windows of earlier sessions stay reserved, so that each session has a place of its own. */
static uint64_t window_open(struct party *p)
{
	static uint64_t next = PLACES;
	struct wire_host w = {.size = WINDOW_SIZE};

	if (!p->place) {
		p->place = next;
		next += PLACE_SIZE;
		w.address = p->place + PLACE_SIZE / 4;
		if (ask(p, 0, WIRE_WINDOW, &w, sizeof w, NULL, 0))
			life_fail("the window is refused");
	}
	return p->place + PLACE_SIZE / 4;
}

static bool host_overlaps(struct party *p, uint64_t address, uint64_t size)
{
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].kind == K_HOST && objects[i].party == p && objects[i].address < address + size &&
			address < objects[i].address + objects[i].size)
			return true;
	return false;
}

static void host_map(struct party *p)
{
	int k = context_choose(p);
	uint64_t size = 4096ull << choose(4);
	uint64_t window = window_open(p);
	bool own = choose(3) == 0;
	struct wire_host a = {.address = window + 4096ull * choose(64), .size = size};
	uint8_t *view = NULL;
	int fd = -1;

	if (objects_full() || (!link_peer(p->link)->local && !own))
		return;
	if (!own && choose(2)) /* around the window: across its edge, too */
		a.address = p->place + 4096ull * choose(PLACE_SIZE / 4 / 4096 + 2);
	if (!own && !choose(24)) /* memory of the worker */
		a.address = (uintptr_t)p->link & ~4095ull;
	if (!own) {
		fd = memory_file(size);
		view = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		a.id = ++p->ids + 1000;
		if (view == MAP_FAILED || link_send_fd(p->link, a.id, fd))
			life_fail("cannot send a descriptor");
		close(fd);
	}
	CUresult r = ask(p, p->context[k].id, WIRE_HOST_MAP, &a, sizeof a, NULL, 0);
	if (!r && host_overlaps(p, a.address, a.size))
		life_fail("host memory was mapped over host memory");
	if (r == CUDA_ERROR_NOT_SUPPORTED)
		p->refusals++;
	vacated_check(p);
	if (r) {
		if (view)
			munmap(view, size);
		return;
	}
	life_note("   %#llx, %llu bytes, context %d", (unsigned long long)a.address, (unsigned long long)size, k);
	struct object *o = memory_new(p, K_HOST, k, a.address, size);
	o->registered = true;
	o->view = view;
	memset(o->content->known, 1, size); /* zeros */
}

static void host_drop(struct object *o)
{
	struct wire_host a = {.address = o->address};
	struct party *p = o->party;

	p->holding = false;
	ask(p, p->context[o->context].id, WIRE_HOST_UNMAP, &a, sizeof a, NULL, 0);
	vacated[nvacated].address = o->address;
	vacated[nvacated].size = o->size;
	vacated[nvacated++ % VACATED].link = p->link;
	nvacated %= VACATED;
	vacated_check(p);
	object_kill(o);
}

static void host_unmap(struct party *p)
{
	struct object *o = object_choose(p, 1u << K_HOST);
	struct wire_host a = {.address = graves[choose(GRAVES)].address};

	if (o && choose(8))
		host_drop(o);
	else if (a.address && !host_overlaps(p, a.address, 1) &&
		 !ask(p, p->context[0].id, WIRE_HOST_UNMAP, &a, sizeof a, NULL, 0))
		life_fail("host memory was unmapped twice");
}

/* The client writes through its own mapping. */
static void host_write(struct party *p)
{
	struct object *o = object_choose(p, 1u << K_HOST);

	if (!o || !o->view || unsettled)
		return;
	uint64_t at = choose((unsigned)o->size), n = 1 + choose(256);
	n = n < o->size - at ? n : o->size - at;
	unsigned value = choose(256);
	life_note("   %#llx, %llu bytes", (unsigned long long)(o->address + at), (unsigned long long)n);
	memset(o->view + at, (int)value, n);
	memset(o->content->data + at, (int)value, n);
	memset(o->content->known + at, 1, n);
}

/* ---- Virtual memory ---- */

static void addresses_reserve(struct party *p)
{
	struct wire_cuMemAddressReserve a = {.present = 1, .size = GRANULE * (1 + choose(3))};
	uint64_t at = 0;

	if (objects_full() || ask(p, p->context[0].id, NR_cuMemAddressReserve, &a, sizeof a, &at, sizeof at))
		return;
	struct object *o = object_new(p, K_RESERVED, -1);
	o->address = at;
	o->size = a.size;
}

static void physical_create(struct party *p)
{
	struct {
		struct wire_cuMemCreate head;
		CUmemAllocationProp prop;
	} a = {.head = {.present = 5, .size = GRANULE},
		.prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
			.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
			.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}}};
	uint64_t id = 0;

	if (objects_full() || ask(p, p->context[0].id, NR_cuMemCreate, &a, sizeof a, &id, sizeof id))
		return;
	struct object *o = object_new(p, K_PHYSICAL, -1);
	o->id = id;
	o->size = GRANULE;
	o->content = content_new(GRANULE);
}

static bool mapped_overlaps(struct party *p, uint64_t address, uint64_t size)
{
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].kind == K_MAPPED && objects[i].party == p && objects[i].address < address + size &&
			address < objects[i].address + objects[i].size)
			return true;
	return false;
}

static void physical_map(struct party *p)
{
	struct object *r = object_choose(p, 1u << K_RESERVED), *o = object_choose(p, 1u << K_PHYSICAL);
	struct wire_cuMemMap a = {.size = GRANULE};

	if (!r || !o || objects_full())
		return;
	a.handle = o->id;
	a.ptr = r->address + GRANULE * choose((unsigned)(r->size / GRANULE) + !choose(16));
	bool fits = a.ptr < r->address + r->size && !mapped_overlaps(p, a.ptr, a.size);
	CUresult result = ask(p, p->context[0].id, NR_cuMemMap, &a, sizeof a, NULL, 0);
	if (fits)
		must_succeed(p, result, "cuMemMap");
	if (result)
		return;
	if (mapped_overlaps(p, a.ptr, a.size))
		life_fail("memory was mapped over memory");
	struct object *m = object_new(p, K_MAPPED, -1);
	m->address = a.ptr;
	m->size = GRANULE;
	m->content = content_get(o->content);
}

static void mapping_access(struct party *p)
{
	struct object *o = object_choose(p, 1u << K_MAPPED);
	struct {
		struct wire_cuMemSetAccess head;
		CUmemAccessDesc desc;
	} a = {.head = {.present = 4, .size = GRANULE, .count = 1},
		.desc = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};

	if (!o)
		return;
	a.head.ptr = o->address;
	if (!choose(4))
		a.desc.flags = choose(2) ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	p->holding = p->holding && a.desc.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CUresult r = ask(p, p->context[0].id, NR_cuMemSetAccess, &a, sizeof a, NULL, 0);
	must_succeed(p, r, "cuMemSetAccess");
	if (r)
		return;
	o->access = a.desc.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
	o->writable = a.desc.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

static void mapping_drop(struct object *o)
{
	struct wire_cuMemUnmap a = {.ptr = o->address, .size = o->size};
	struct party *p = o->party;

	p->holding = false;
	CUresult r = ask(p, p->context[0].id, NR_cuMemUnmap, &a, sizeof a, NULL, 0);
	if (r)
		life_fail("cuMemUnmap failed: %d", r);
	object_kill(o);
}

static void mapping_unmap(struct party *p)
{
	struct object *o = object_choose(p, 1u << K_MAPPED);
	struct wire_cuMemUnmap a = {.size = GRANULE / 2};

	if (!o)
		return;
	a.ptr = o->address + (choose(2) ? GRANULE / 2 : 0);
	if (choose(6))
		mapping_drop(o);
	else if (!ask(p, p->context[0].id, NR_cuMemUnmap, &a, sizeof a, NULL, 0))
		life_fail("half of a mapping was unmapped");
}

static void physical_release(struct party *p)
{
	struct object *o = object_choose(p, 1u << K_PHYSICAL);
	struct wire_cuMemRelease a = {0};

	if (!o)
		return;
	a.handle = o->id;
	must_succeed(p, ask(p, p->context[0].id, NR_cuMemRelease, &a, sizeof a, NULL, 0), "cuMemRelease");
	object_kill(o);
}

/* K_PHYSICAL or K_RESERVED, at the end of a sequence. */
static void reservation_drop(struct object *o)
{
	struct wire_cuMemRelease release = {.handle = o->id};
	struct wire_cuMemAddressFree a = {.ptr = o->address, .size = o->size};
	struct party *p = o->party;

	if (o->kind == K_PHYSICAL)
		ask(p, p->context[0].id, NR_cuMemRelease, &release, sizeof release, NULL, 0);
	else if (ask(p, p->context[0].id, NR_cuMemAddressFree, &a, sizeof a, NULL, 0))
		life_fail("addresses cannot be freed");
	object_kill(o);
}

static void addresses_free(struct party *p)
{
	struct object *o = object_choose(p, 1u << K_RESERVED);
	struct wire_cuMemAddressFree a = {0};

	if (!o)
		return;
	a.ptr = o->address;
	a.size = o->size;
	bool used = mapped_overlaps(p, a.ptr, a.size);
	CUresult r = ask(p, p->context[0].id, NR_cuMemAddressFree, &a, sizeof a, NULL, 0);
	if (!r && used)
		life_fail("addresses with memory were freed");
	if (!used)
		must_succeed(p, r, "cuMemAddressFree");
	if (!r)
		object_kill(o);
}

/* Exports memory as a descriptor and imports it here or in the other party. */
static void physical_share(struct party *p)
{
	struct object *o = object_choose(p, 1u << K_PHYSICAL);
	struct party *to = &parties[choose(nparties)];
	struct wire_share a = {.type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}, in = a;
	uint64_t id = 0;

	if (!o || objects_full() || !link_peer(p->link)->local)
		return;
	a.object = o->id;
	a.id = in.id = ++p->ids + 500000;
	if (ask(p, p->context[0].id, WIRE_SHARE_OUT, &a, sizeof a, NULL, 0))
		return;
	int fd = link_recv_fd(p->link, a.id, STUCK_MS);
	if (fd < 0 || link_send_fd(to->link, in.id, fd))
		life_fail("a descriptor is missing");
	close(fd);
	CUresult r = ask(to, to->context[0].id, WIRE_SHARE_IN, &in, sizeof in, &id, sizeof id);
	must_succeed(to, r, "importing memory");
	if (r || object_find(to, K_PHYSICAL, id))
		return;
	struct object *n = object_new(to, K_PHYSICAL, -1);
	n->id = id;
	n->size = o->size;
	n->content = content_get(o->content);
}

/* ---- Arrays, IPC, questions ---- */

static void array_create(struct party *p)
{
	int k = context_choose(p);
	struct {
		struct wire_cuArray3DCreate_v2 head;
		CUDA_ARRAY3D_DESCRIPTOR shape;
	} a = {.head.present = 3, .shape = {64, 16, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}};
	uint64_t id = 0;

	if (objects_full())
		return;
	CUresult r = ask(p, p->context[k].id, NR_cuArray3DCreate_v2, &a, sizeof a, &id, sizeof id);
	must_succeed(p, r, "cuArray3DCreate");
	if (r)
		return;
	struct object *o = object_new(p, K_ARRAY, k);
	o->id = id;
	o->content = content_new(64 * 16);
}

static void array_destroy(struct party *p)
{
	struct object *o = object_choose(p, 1u << K_ARRAY);
	struct wire_cuArrayDestroy a = {0};

	if (!o)
		return;
	a.hArray = o->id;
	p->holding = false;
	must_succeed(p, ask(p, p->context[o->context].id, NR_cuArrayDestroy, &a, sizeof a, NULL, 0), "cuArrayDestroy");
	object_kill(o);
}

static void ipc_share(struct party *p)
{
	struct object *o = object_choose(p, 1u << K_DEVICE);
	struct party *to = &parties[(p - parties + 1) % nparties];
	struct wire_cuIpcGetMemHandle get = {.present = 1};
	struct wire_cuIpcOpenMemHandle_v2 open = {.present = 1, .Flags = 1};
	int k = context_choose(to);
	uint64_t at = 0;

	if (!o || objects_full() || o->exported || unsettled)
		return;
	get.dptr = o->address;
	if (ask(p, p->context[o->context].id, NR_cuIpcGetMemHandle, &get, sizeof get, &open.handle, sizeof open.handle))
		return;
	CUresult r = ask(to, to->context[k].id, NR_cuIpcOpenMemHandle_v2, &open, sizeof open, &at, sizeof at);
	if (!r && to == p)
		life_fail("a process opened its own IPC handle");
	if (r)
		return;
	struct object *n = memory_new(to, K_IPC, k, at, o->size);
	content_put(n->content);
	n->content = content_get(o->content);
	o->exported = true;
}

static void ipc_close(struct party *p)
{
	struct object *o = object_choose(p, 1u << K_IPC);
	struct wire_cuIpcCloseMemHandle a = {0};

	if (!o)
		return;
	a.dptr = o->address;
	p->holding = false;
	CUresult r = ask(p, p->context[o->context].id, NR_cuIpcCloseMemHandle, &a, sizeof a, NULL, 0);
	must_succeed(p, r, "cuIpcCloseMemHandle");
	if (!r)
		object_kill(o);
}

/* The attributes of a live address must match the model. */
static void pointer_ask(struct party *p)
{
	struct object *o;
	struct wire_pointer_ask a = {.address = address_choose(p, &o)};
	struct wire_pointer *v = calloc(1, sizeof *v);

	if (v && a.address && !ask(p, p->context[0].id, WIRE_POINTER, &a, sizeof a, v, sizeof *v) && o &&
		(o->kind == K_DEVICE || o->kind == K_POOL) && !o->dying &&
		(v->result[CU_POINTER_ATTRIBUTE_RANGE_START_ADDR] ||
			v->value[CU_POINTER_ATTRIBUTE_RANGE_START_ADDR] != o->address ||
			v->value[CU_POINTER_ATTRIBUTE_RANGE_SIZE] != o->size))
		life_fail("the driver does not know %#llx", (unsigned long long)a.address);
	free(v);
}

static void life_exit(void)
{
	printf("%lu operations in %lu sequences and %lu sessions\n", life_played.operations, life_played.sequences,
		life_played.sessions);
	if (inside.address[0] == 'u')
		unlink(inside.address + 5);
	if (inside.folder[0])
		rmdir(inside.folder);
	for (unsigned i = 0; i < nparties && served.pid; i++) /* the server exits after its last client */
		if (parties[i].link)
			link_shutdown(parties[i].link);
	if (served.pid && !served_end())
		_exit(1);
}
