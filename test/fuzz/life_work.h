/* life_work.h - operations of the lifetime fuzzer that touch memory: copies, fills, kernels, modules and mirrors. */
#pragma once

#include "life_memory.h"
#include "util/hash.h"

/* ---- Ranges ---- */

struct range_choice {
	uint64_t address, size;
};

/* A hole between two live objects of the same context. */
static bool span_choose(struct party *p, struct range_choice *c)
{
	struct object *a = object_choose(p, MEMORY), *b = object_choose(p, MEMORY);

	if (!a || !b || a == b)
		return false;
	if (a->address > b->address) {
		struct object *t = a;
		a = b;
		b = t;
	}
	if (b->address - a->address > 64 << 20)
		return false;
	*c = (struct range_choice){a->address, b->address + b->size - a->address};
	return true;
}

/* A range of at most `most` bytes: mostly inside a live object, else across its edge, in a grave, or anywhere. */
static struct range_choice range_choose(struct party *p, uint64_t most)
{
	static const uint64_t wild[] = {8, 4096, 0x400000, 0x7fffffffe000, UINT64_MAX - 63};
	struct object *o = object_choose(p, MEMORY);
	struct range_choice c = {wild[choose(5)], 64};
	unsigned how = choose(24);
	struct grave *g;

	if (how == 0)
		return c;
	if (how == 1 && (g = &graves[choose(GRAVES)])->size)
		return (struct range_choice){g->address, g->size < most ? g->size : most};
	if (how == 2 && most >= 64 << 20 && span_choose(p, &c))
		return c;
	if (!o)
		return (struct range_choice){(uintptr_t)&c, 64}; /* memory of this process */
	uint64_t at = choose(2) ? 0 : choose((unsigned)o->size), n = 1 + choose(choose(2) ? 4096 : 70000);
	if (how == 3)
		return (struct range_choice){o->address + o->size - 1 - choose((unsigned)(o->size > 64 ? 64 : o->size)),
			most < 200 ? most : 200}; /* across the end */
	if (how == 4)
		return (struct range_choice){
			o->address - 1 - choose(64), most < 200 ? most : 200}; /* across the beginning */
	n = n < o->size - at ? n : o->size - at;
	return (struct range_choice){o->address + at, n < most ? n : most};
}

/* ---- Through the arenas ---- */

static void copy_up(struct party *p)
{
	struct life_context *c = &p->context[context_choose(p)];
	struct life_stream *s = stream_choose(c);
	struct range_choice r = range_choose(p, p->up.size);
	uint8_t *from = (uint8_t *)bulk_base(p->link, BULK_UP, NULL) + p->up.offset;
	struct wire_copy a = {.device = r.address, .size = r.size, .stream = s->id};
	struct step t = {.kind = STEP_COPY, .dst = {.what = r.address}, .width = r.size, .rows = 1};
	unsigned value = choose(256);

	if (s->capturing)
		return;
	enum verdict v = side_judge(p, &t.dst, &t, true);
	for (uint64_t i = 0; i < r.size && !unsettled; i++) /* pending copies may still read the piece */
		from[i] = (uint8_t)(value + i * 7);
	CUresult result = post(p, c, WIRE_COPY_UP, &a, sizeof a, &p->up, 1);
	life_note("   %#llx, %llu bytes: %d", (unsigned long long)r.address, (unsigned long long)r.size, result);
	if (!result && v == DEAD)
		life_fail("a copy to dead memory at %#llx succeeded", (unsigned long long)r.address);
	if (v == ALIVE)
		must_succeed(p, result, "a copy to live memory");
	if (result)
		return;
	if (!unsettled)
		stream_settle(p, c, s->id);
	step_forget(p, &t);
	struct object *o = memory_at(p, r.address);
	if (unsettled || v != ALIVE || !o)
		return;
	memcpy(o->content->data + o->offset + (r.address - o->address), from, r.size);
	memset(o->content->known + o->offset + (r.address - o->address), 1, r.size);
}

static void copy_down(struct party *p)
{
	struct life_context *c = &p->context[context_choose(p)];
	struct life_stream *s = stream_choose(c);
	struct range_choice r = range_choose(p, p->down.size);
	struct wire_copy a = {.device = r.address, .size = r.size, .stream = s->id, .offset = p->down.offset};
	struct step t = {.kind = STEP_COPY, .src = {.what = r.address}, .width = r.size, .rows = 1};
	enum verdict v = side_judge(p, &t.src, &t, false);

	if (s->capturing)
		return;
	a.done = (struct wire_signal){p->sync_word, ++p->sync_value};
	if (unsettled || !link_peer(p->link)->local)
		a.done = (struct wire_signal){0};
	CUresult result = post(p, c, WIRE_COPY_DOWN, &a, sizeof a, NULL, 0);
	if (!result && v == DEAD)
		life_fail("a copy from dead memory at %#llx succeeded", (unsigned long long)r.address);
	if (v == ALIVE)
		must_succeed(p, result, "a copy from live memory");
	if (result || unsettled)
		return;
	stream_settle(p, c, s->id);
	struct object *o = memory_at(p, r.address);
	life_note("   %#llx, %llu bytes", (unsigned long long)r.address, (unsigned long long)r.size);
	if (v == ALIVE && o && link_peer(p->link)->local)
		bytes_compare(o->content, o->offset + (r.address - o->address),
			(uint8_t *)bulk_base(p->link, BULK_DOWN, NULL) + p->down.offset, r.size, "a copy down");
}

/* ---- Steps ---- */

static void side_choose(struct party *p, struct side *s, struct range_choice *r, uint64_t most)
{
	static const enum use uses[] = {USE_DEVICE, USE_DEVICE, USE_UNIFIED, USE_UNIFIED, USE_SHARED};

	*r = range_choose(p, most);
	s->what = r->address;
	s->use = uses[choose(5)];
	if (s->use == USE_SHARED) {
		struct object *o = object_choose(p, 1u << K_HOST);
		if (o && choose(8))
			*r = (struct range_choice){s->what = o->address, 1 + choose((unsigned)o->size)};
	}
}

/* Rows: the width is a part of the range, the pitch fits as many rows as there is room for. */
static void step_rows(struct party *p, struct step *t, const struct range_choice *from, const struct range_choice *to)
{
	struct object *array = object_choose(p, 1u << K_ARRAY);
	uint64_t room = from->size < to->size ? from->size : to->size;

	t->rows = 1 + choose(4);
	t->width = room / t->rows < 64 ? room / t->rows : 1 + choose(64);
	t->width = t->width ? t->width : 1;
	t->dst.pitch = to->size / t->rows > t->width ? to->size / t->rows : t->width;
	t->src.pitch = from->size / t->rows > t->width ? from->size / t->rows : t->width;
	if (array && !choose(2)) {
		struct side *s = choose(2) ? &t->dst : &t->src;
		*s = (struct side){.array = true, .what = array->id, .x = choose(8), .y = choose(14)};
	}
}

static struct step copy_choose(struct party *p)
{
	struct step t = {.kind = STEP_COPY, .rows = 1};
	struct range_choice from, to;

	side_choose(p, &t.dst, &to, 128 << 20);
	side_choose(p, &t.src, &from, 128 << 20);
	if (to.size >= 1 << 20 && choose(2)) /* a copy of a long range onto itself */
		t.src = t.dst, from = to;
	t.width = from.size < to.size ? from.size : to.size;
	if (!choose(3))
		step_rows(p, &t, &from, &to);
	return t;
}

static struct wire_side side_wire(const struct side *s, const struct step *t)
{
	if (s->array)
		return (struct wire_side){.kind = WIRE_SIDE_ARRAY, .what = s->what, .x = s->x, .y = s->y};
	return (struct wire_side){.kind = s->use == USE_SHARED ? WIRE_SIDE_SHARED : WIRE_SIDE_DEVICE,
		.what = s->what,
		.pitch = s->pitch,
		.height = t->rows};
}

/* Sends a copy in one of the forms that the wire has. */
static CUresult copy_send(struct party *p, struct life_context *c, struct life_stream *s, struct step *t)
{
	struct wire_cuMemcpyAsync any = {
		.dst = t->dst.what, .src = t->src.what, .ByteCount = t->width, .hStream = s->id};
	struct wire_cuMemcpyDtoDAsync_v2 device = {
		.dstDevice = t->dst.what, .srcDevice = t->src.what, .ByteCount = t->width, .hStream = s->id};
	struct wire_copy shared = {.size = t->width, .stream = s->id};

	if (t->rows > 1 || t->dst.array || t->src.array || (t->dst.use == USE_SHARED && t->src.use == USE_SHARED)) {
		struct wire_block b = {.width = t->width, .height = t->rows, .depth = 1, .stream = s->id};
		if (t->rows == 1)
			t->dst.pitch = t->src.pitch = t->width;
		t->dst.use = t->dst.use == USE_SHARED ? USE_SHARED : USE_DEVICE;
		t->src.use = t->src.use == USE_SHARED ? USE_SHARED : USE_DEVICE;
		b.src = side_wire(&t->src, t);
		b.dst = side_wire(&t->dst, t);
		return post(p, c, WIRE_BLOCK, &b, sizeof b, NULL, 0);
	}
	if (t->dst.use == USE_SHARED || t->src.use == USE_SHARED) {
		bool up = t->src.use == USE_SHARED;
		(up ? &t->dst : &t->src)->use = USE_DEVICE;
		shared.device = up ? t->dst.what : t->src.what;
		shared.host = up ? t->src.what : t->dst.what;
		return post(p, c, up ? WIRE_COPY_UP : WIRE_COPY_DOWN, &shared, sizeof shared, NULL, 0);
	}
	if (t->dst.use == USE_DEVICE) {
		t->src.use = USE_DEVICE;
		return post(p, c, NR_cuMemcpyDtoDAsync_v2, &device, sizeof device, NULL, 0);
	}
	t->src.use = USE_UNIFIED;
	return post(p, c, NR_cuMemcpyAsync, &any, sizeof any, NULL, 0);
}

static struct object *captured_find(struct party *p, const struct life_stream *s)
{
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].kind == K_GRAPH && objects[i].party == p && objects[i].owner == s->id && s->id)
			return &objects[i];
	return NULL;
}

/* The call returned `r`: is that right, and what does the memory hold now? */
static void step_done(struct party *p, struct life_context *c, struct life_stream *s, struct step *t, enum verdict v,
	CUresult r, const char *what)
{
	struct object *g = s->capturing ? captured_find(p, s) : NULL;

	life_note("   %s: verdict %d, result %d, %#llx <- %#llx, %llu x %llu", what, v, r,
		(unsigned long long)t->dst.what, (unsigned long long)t->src.what, (unsigned long long)t->width,
		(unsigned long long)t->rows);
	if (!r && v == DEAD && !s->capturing && t->kind != STEP_KERNEL)
		life_fail("%s of dead memory succeeded: %#llx <- %#llx, %llu x %llu", what,
			(unsigned long long)t->dst.what, (unsigned long long)t->src.what, (unsigned long long)t->width,
			(unsigned long long)t->rows);
	if (v == ALIVE && t->width && !s->capturing)
		must_succeed(p, r, what);
	if (r)
		return;
	if (g) {
		t->context = c;
		t->epoch = c->epoch;
		if (g->nsteps < STEPS)
			g->step[g->nsteps] = *t;
		g->nsteps++; /* more than STEPS: the outcome of a launch is open, and party_forget() follows it */
		return;
	}
	if (v !=
		ALIVE) /* before the context is lost, and with it the address of memory that the other party still has */
		step_forget(p, t);
	if (!unsettled && t->kind == STEP_KERNEL) {
		int k = (int)(c - p->context);
		CUresult error = context_settle(p, c);
		if (!error != (v != DEAD) && v != UNSURE)
			life_fail("a kernel on %s memory at %#llx ended with %d", v == DEAD ? "dead" : "live",
				(unsigned long long)t->dst.what, error);
		if (error)
			context_lose(p, k);
	} else if (!unsettled) {
		stream_settle(p, c, s->id);
	}
	if (v == ALIVE)
		step_apply(p, t);
}

static void work_copy(struct party *p)
{
	struct life_context *c = &p->context[context_choose(p)];
	struct life_stream *s = stream_choose(c);
	struct step t = copy_choose(p);
	CUresult r = copy_send(p, c, s, &t);

	step_done(p, c, s, &t, step_judge(p, &t), r, "a copy");
}

static void work_fill(struct party *p)
{
	struct life_context *c = &p->context[context_choose(p)];
	struct life_stream *s = stream_choose(c);
	struct range_choice r = range_choose(p, 4 << 20);
	struct step t = {
		.kind = STEP_FILL, .rows = 1, .width = r.size, .value = choose(65536) * 0x10001u, .element = 1};
	struct wire_cuMemsetD8Async one = {.dstDevice = r.address, .N = r.size, .hStream = s->id};
	struct wire_cuMemsetD32Async four = {.hStream = s->id};
	struct wire_cuMemsetD2D8Async rows = {.hStream = s->id};
	CUresult result;

	t.dst = (struct side){.what = r.address, .use = USE_DEVICE};
	switch (choose(4)) {
	case 0:
		t.dst.what = four.dstDevice = r.address & ~3ull;
		t.element = 4;
		four.ui = t.value;
		four.N = t.width / 4;
		t.width = four.N * 4;
		if (!t.width)
			return;
		result = post(p, c, NR_cuMemsetD32Async, &four, sizeof four, NULL, 0);
		break;
	case 1:
		rows.dstDevice = r.address;
		t.rows = rows.Height = 1 + choose(4);
		t.width = rows.Width = r.size / t.rows > 3 ? r.size / t.rows - 2 : 1;
		t.dst.pitch = rows.dstPitch = t.width + choose(3);
		rows.uc = (uint8_t)t.value;
		result = post(p, c, NR_cuMemsetD2D8Async, &rows, sizeof rows, NULL, 0);
		break;
	default:
		one.uc = (uint8_t)t.value;
		result = post(p, c, NR_cuMemsetD8Async, &one, sizeof one, NULL, 0);
	}
	step_done(p, c, s, &t, step_judge(p, &t), result, "a fill");
}

/* ---- Code ---- */

static const char life_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			       ".visible .global .attribute(.managed) .align 8 .b8 both[65536];\n"
			       ".visible .global .align 8 .b8 only[5000];\n"
			       ".visible .entry fill(.param .u64 p, .param .u32 n, .param .u32 v) {\n"
			       " .reg .u64 %a; .reg .u32 %n, %v; .reg .pred %q;\n"
			       " ld.param.u64 %a, [p]; ld.param.u32 %n, [n]; ld.param.u32 %v, [v];\n"
			       "L: st.global.u8 [%a], %v; add.u64 %a, %a, 1; sub.u32 %n, %n, 1;\n"
			       " setp.ne.u32 %q, %n, 0; @%q bra L; ret; }\n";

static void variable_find(struct party *p, int k, uint64_t module, const char *name, bool managed)
{
	struct {
		struct wire_cuModuleGetGlobal_v2 head;
		char name[8];
	} a = {.head = {.present = 0xb, .hmod = module, .name_size = 5}};
	uint64_t found[2] = {0};

	memcpy(a.name, name, 5);
	if (ask(p, p->context[k].id, NR_cuModuleGetGlobal_v2, &a, sizeof a, found, sizeof found))
		return;
	struct object *o = memory_new(p, K_VARIABLE, k, found[0], found[1]);
	o->owner = module;
	o->managed = managed;
}

static void module_load(struct party *p)
{
	static uint8_t hash[HASH_BYTES];
	int k = context_choose(p);
	struct {
		struct wire_load head;
		struct wire_image name;
	} a = {.head = {.parts = 1}, .name.size = sizeof life_ptx - 1};
	struct {
		struct wire_cuModuleGetFunction head;
		char name[8];
	} f = {.head = {.present = 5, .name_size = 5}, .name = "fill"};
	struct wire_loaded done = {.result = 999};
	struct piece piece = {p->up.offset, sizeof life_ptx - 1};

	if (objects_full() || unsettled)
		return;
	hash_of(life_ptx, sizeof life_ptx - 1, hash);
	memcpy(a.name.hash, hash, sizeof hash);
	memcpy((char *)bulk_base(p->link, BULK_UP, NULL) + piece.offset, life_ptx, piece.size);
	if (ask_with(p, p->context[k].id, WIRE_LOAD, &a, sizeof a, &piece, 1, &done, sizeof done) || done.result) {
		must_succeed(p, done.result, "loading a module");
		return;
	}
	struct object *o = object_new(p, K_MODULE, k);
	o->id = f.head.hmod = done.id;
	if (ask(p, p->context[k].id, NR_cuModuleGetFunction, &f, sizeof f, &o->function, 8))
		must_succeed(p, CUDA_ERROR_NOT_FOUND, "finding a function");
	variable_find(p, k, o->id, "both", true);
	variable_find(p, k, o->id, "only", false);
}

static void module_unload(struct party *p)
{
	struct object *o = object_choose(p, 1u << K_MODULE);
	struct wire_cuModuleUnload a = {0};

	if (!o)
		return;
	a.hmod = o->id;
	p->holding = false;
	CUresult r = ask(p, p->context[o->context].id, NR_cuModuleUnload, &a, sizeof a, NULL, 0);
	must_succeed(p, r, "cuModuleUnload");
	module_forget_mirrors(o);
	if (!r)
		module_kill(o);
}

/*
 * Does the kernel touch memory of another context?  In CUDA it cannot.  On the CPU device it can, but the end of that context
 * does not wait for the kernel.
 */
static bool kernel_leaves_context(struct party *p, const struct step *t, int context)
{
	for (int i = 0; i < OBJECTS; i++) {
		struct object *o = &objects[i];
		if (is_memory(o) && o->party == p && o->context >= 0 && o->context != context &&
			o->address < t->dst.what + t->width && t->dst.what < o->address + o->size)
			return true;
	}
	return false;
}

static void work_launch(struct party *p)
{
	struct object *m = object_choose(p, 1u << K_MODULE);
	struct range_choice r = range_choose(p, 256);
	struct step t = {.kind = STEP_KERNEL, .rows = 1, .width = r.size < 256 ? r.size : 256, .element = 1};
	struct {
		struct wire_launch head;
		uint64_t address;
		uint32_t n, v;
	} a = {.head = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .params = 16}};

	if (!m || !m->function)
		return;
	struct life_context *c = &p->context[m->context];
	struct life_stream *s = stream_choose(c);
	t.dst.what = r.address;
	if (kernel_leaves_context(p, &t, m->context))
		return;
	a.head.function = t.function = m->function;
	for (int i = 0; i < OBJECTS; i++)
		objects[i].used |= objects[i].kind == K_VARIABLE && objects[i].party == p && objects[i].owner == m->id;
	a.head.stream = s->id;
	a.address = r.address;
	a.n = (uint32_t)t.width;
	a.v = t.value = choose(256);
	CUresult result = post(p, c, WIRE_LAUNCH, &a, sizeof a, NULL, 0);
	step_done(p, c, s, &t, step_judge(p, &t), result, "a launch");
}

/* ---- Mirrors ---- */

static void mirror_add(struct party *p)
{
	struct object *o = object_choose(p, choose(8) ? 1u << K_VARIABLE | 1u << K_HOST : MEMORY);
	struct grave *g = &graves[choose(GRAVES)];
	struct wire_mirror a = {0};

	if (!o)
		return;
	a = (struct wire_mirror){.address = o->address, .size = o->size, .variable = o->kind != K_HOST};
	if (!choose(8)) { /* dead, or across the end */
		a.address = choose(2) && g->size ? g->address : o->address + o->size / 2 + 8;
		a.variable = choose(2);
		o = NULL;
	}
	CUresult r = ask(p, p->context[o && o->context >= 0 ? o->context : 0].id, WIRE_MIRROR, &a, sizeof a, NULL, 0);
	bool may = o && (o->kind == K_HOST || (o->kind == K_VARIABLE && o->managed && !o->kept)) && !o->agreed;
	if (!r && !may && !memory_at(p, a.address))
		life_fail("dead memory at %#llx was mirrored", (unsigned long long)a.address);
	if (!r && !may && o)
		life_fail("memory of kind %d was mirrored", o->kind);
	if (may)
		must_succeed(p, r, "WIRE_MIRROR");
	life_note("   %#llx, %llu bytes: %d", (unsigned long long)a.address, (unsigned long long)a.size, r);
	o = memory_at(p, a.address);
	if (!r && o->address == a.address && o->size == a.size)
		o->agreed = calloc(1, o->size);
	else if (!r && ask(p, p->context[0].id, WIRE_MIRROR_DROP, &a, sizeof a, NULL, 0)) /* of a part */
		life_fail("a mirror cannot be dropped");
}

static void mirror_remove(struct party *p)
{
	struct object *o = object_choose(p, 1u << K_VARIABLE | 1u << K_HOST);
	struct wire_mirror a = {0};

	if (!o || !o->agreed)
		return;
	a.address = o->address;
	if (ask(p, p->context[0].id, WIRE_MIRROR_DROP, &a, sizeof a, NULL, 0))
		life_fail("a live mirror at %#llx is unknown", (unsigned long long)a.address);
	mirror_forget(o);
}

/* Bytes for memory that is no mirror are ignored. */
static void mirror_write(struct party *p)
{
	struct range_choice r = range_choose(p, 64);
	struct {
		struct wire_mirror head;
		uint8_t bytes[64];
	} a = {.head = {.address = r.address, .size = r.size}};
	struct object *o = choose(3) ? NULL : object_choose(p, 1u << K_VARIABLE);
	unsigned value = choose(256);

	if (o)
		a.head.address = r.address = o->address;
	o = memory_at(p, r.address);
	memset(a.bytes, (int)value, sizeof a.bytes);
	life_note("   %#llx, %llu bytes of %#x", (unsigned long long)r.address, (unsigned long long)r.size, value);
	post(p, &p->context[0], WIRE_MIRROR_UP, &a, sizeof a.head + wire_pad(r.size), NULL, 0);
	if (!o || !o->agreed || r.size > o->size - (r.address - o->address))
		return;
	for (uint64_t i = 0; i < r.size; i++) {
		uint64_t at = r.address - o->address + i;
		if (o->agreed[at] == value)
			continue;
		o->agreed[at] = (uint8_t)value;
		o->content->data[o->offset + at] = (uint8_t)value;
		o->content->known[o->offset + at] = !unsettled;
	}
}

/* The worker's changes: they must lie in live mirrors and be the model's bytes. */
static void mirror_read(struct party *p)
{
	static uint8_t reply[sizeof(struct wire_mirrored) + WIRE_MIRROR_BYTES];
	struct wire_mirrored head = {0};
	uint64_t cursor = 0;
	struct wire_run run;

	do {
		struct frame f;
		void *to = frame_reserve(p, p->context[0].id, sizeof cursor);
		memcpy(to, &cursor, sizeof cursor);
		if (lane_call(p->lane, WIRE_MIRROR_DOWN, 8 + sizeof cursor, NULL, 0, NULL))
			life_fail("the link broke");
		lane_must_reply(p, p->lane, &f, WIRE_MIRROR_DOWN);
		size_t size = f.size > 8 ? f.size - 8 : 0, at = sizeof head;
		if (size > sizeof reply || size < sizeof head)
			life_fail("a reply of %zu bytes to WIRE_MIRROR_DOWN", size);
		memcpy(reply, (const uint8_t *)f.payload + 8, size);
		lane_release(p->lane);
		memcpy(&head, reply, sizeof head);
		cursor = head.cursor;
		for (uint32_t i = 0; i < head.runs; i++, at += wire_pad(run.size)) {
			memcpy(&run, reply + at, sizeof run);
			at += sizeof run;
			if (at + run.size > size)
				life_fail("a run of %llu bytes", (unsigned long long)run.size);
			struct object *o = memory_at(p, run.address);
			if (!o || run.size > o->size - (run.address - o->address))
				life_fail("the worker sent %llu bytes at %#llx, which is not alive",
					(unsigned long long)run.size, (unsigned long long)run.address);
			uint64_t in = run.address - o->address;
			bytes_compare(o->content, o->offset + in, reply + at, run.size, "a mirror");
			if (o->agreed)
				memcpy(o->agreed + in, reply + at, run.size);
		}
	} while (head.more);
}
