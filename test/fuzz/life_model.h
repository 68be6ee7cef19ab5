/*
 * life_model.h - what the lifetime fuzzer believes to be alive, and which bytes the live memory holds.
 *
 * The model never asks the worker. A range is ALIVE if one live object covers it and may be used in this way, DEAD if any
 * byte of it belongs to no object, and UNSURE otherwise: across two objects, or where CUDA leaves the outcome open.
 */
#pragma once

#include "life_link.h"

#define OBJECTS 64
#define STEPS   6 /* of a graph */
#define GRAVES  32

enum kind {
	K_NONE,
	K_DEVICE,   /* cuMemAlloc */
	K_POOL,     /* cuMemAllocAsync */
	K_HOST,     /* WIRE_HOST_MAP */
	K_VARIABLE, /* of a module */
	K_MAPPED,   /* cuMemMap */
	K_IPC,      /* memory of the other party */
	K_RESERVED, /* addresses only; this and the following cannot be copied by address */
	K_PHYSICAL,
	K_ARRAY,
	K_MODULE,
	K_GRAPH,
	K_EXEC,
};

/* Content, shared by all mappings of the same memory. */
struct content {
	unsigned refs;
	size_t size;
	uint8_t *data;
	bool *known; /* of each byte */
};

enum use { USE_DEVICE, USE_SHARED, USE_UNIFIED };

/* A side of a copy: rows in memory, or in an array. */
struct side {
	bool array;
	enum use use;
	uint64_t what; /* address, or the array's handle */
	uint64_t pitch, x, y;
};

/* One operation on memory, now or in a graph. */
struct step {
	enum { STEP_COPY, STEP_FILL, STEP_KERNEL } kind;
	struct side dst, src;
	uint64_t width, rows;         /* bytes of a row */
	uint32_t value;               /* of a fill */
	unsigned element;             /* bytes of the value */
	uint64_t function;            /* of a kernel */
	struct life_context *context; /* in a graph: the node's context, and its life */
	uint32_t epoch;
};

struct object {
	enum kind kind;
	struct party *party;
	int context; /* index; -1: outlives contexts */
	uint64_t address, size, id, owner, function;
	struct content *content;
	size_t offset; /* in the content */
	bool access, writable, registered, managed, exported;
	bool dying;      /* cuMemFreeAsync is pending */
	bool used;       /* a variable of a module whose kernel was launched or captured */
	bool kept;       /* a variable whose module is unloaded, but was used */
	uint8_t *view;   /* the client's own mapping of host memory */
	uint8_t *agreed; /* not NULL: mirrored */
	struct step step[STEPS];
	unsigned nsteps;
};

static struct object objects[OBJECTS];
static struct grave {
	uint64_t address, size;
} graves[GRAVES];
static unsigned ngraves;
static bool unsettled; /* work may be pending: contents are not compared, and written bytes become unknown */

enum verdict { DEAD, UNSURE, ALIVE };

/* ---- Content ---- */

static struct content *content_new(size_t size)
{
	struct content *c = calloc(1, sizeof *c);

	if (!c || !(c->data = calloc(1, size)) || !(c->known = calloc(size, 1)))
		life_fail("no memory");
	c->size = size;
	c->refs = 1;
	return c;
}

static void content_put(struct content *c)
{
	if (!c || --c->refs)
		return;
	free(c->data);
	free(c->known);
	free(c);
}

static struct content *content_get(struct content *c)
{
	c->refs++;
	return c;
}

/* ---- Objects ---- */

static struct object *object_new(struct party *p, enum kind kind, int context)
{
	for (int i = 0; i < OBJECTS; i++)
		if (!objects[i].kind) {
			objects[i] = (struct object){.kind = kind, .party = p, .context = context};
			return &objects[i];
		}
	return NULL;
}

static bool objects_full(void)
{
	unsigned n = 0;

	for (int i = 0; i < OBJECTS; i++)
		n += !objects[i].kind;
	return n < 4;
}

/*
 * The exporter has freed memory that an importer still maps. CUDA leaves its content undefined. The CPU device gives the
 * pages back, so that the importer reads zeros and never what the exporter allocates next.
 */
static void content_orphan(struct content *c)
{
	memset(c->data, 0, c->size);
	memset(c->known, !unsettled, c->size);
}

static void object_kill(struct object *o)
{
	if (o->exported)
		content_orphan(o->content);
	if (o->address && o->kind < K_RESERVED)
		graves[ngraves++ % GRAVES] = (struct grave){o->address, o->size};
	if (o->view)
		munmap(o->view, o->size);
	content_put(o->content);
	free(o->agreed);
	*o = (struct object){0};
}

static struct object *object_find(struct party *p, enum kind kind, uint64_t id)
{
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].kind == kind && objects[i].party == p && objects[i].id == id)
			return &objects[i];
	return NULL;
}

static bool is_memory(const struct object *o)
{
	return o->kind > K_NONE && o->kind < K_RESERVED;
}

static struct object *memory_at(struct party *p, uint64_t address)
{
	for (int i = 0; i < OBJECTS; i++) {
		struct object *o = &objects[i];
		if (is_memory(o) && o->party == p && address >= o->address && address - o->address < o->size)
			return o;
	}
	return NULL;
}

static void mirror_forget(struct object *o)
{
	free(o->agreed);
	o->agreed = NULL;
}

/* A graph or a pending launch with a kernel of the module keeps the module, and with it its variables. */
static void variable_keep(struct object *o)
{
	o->kept = true;
	o->context = -1;
	mirror_forget(o);
}

/* A context has ended, and the objects in it. */
static void context_kill(struct party *p, int context)
{
	for (int i = 0; i < OBJECTS; i++) {
		struct object *o = &objects[i];
		if (!o->kind || o->party != p || o->context != context)
			continue;
		if (o->kind == K_HOST)
			o->registered = false; /* the mapping stays */
		else if (o->kind == K_VARIABLE && o->used)
			variable_keep(o);
		else
			object_kill(o);
	}
	p->context[context].epoch++;
	memset(p->context[context].stream, 0, sizeof p->context[context].stream);
}

/* The worker drops mirrors before it asks the driver, which may refuse. */
static void module_forget_mirrors(const struct object *m)
{
	for (int i = 0; i < OBJECTS; i++) {
		struct object *o = &objects[i];
		if (o->kind == K_VARIABLE && o->party == m->party && o->owner == m->id)
			mirror_forget(o);
	}
}

static void module_kill(struct object *m)
{
	for (int i = 0; i < OBJECTS; i++) {
		struct object *o = &objects[i];
		if (o->kind != K_VARIABLE || o->party != m->party || o->owner != m->id)
			continue;
		if (o->used)
			variable_keep(o);
		else
			object_kill(o);
	}
	object_kill(m);
}

/* ---- Judging ---- */

static enum verdict use_judge(const struct object *o, enum use use, bool write)
{
	if (o->dying || o->kept)
		return UNSURE;
	if (o->kind == K_HOST)
		return use != USE_DEVICE || o->registered ? ALIVE : UNSURE;
	if (use == USE_SHARED)
		return DEAD; /* not memory that the client shares */
	if (o->kind == K_MAPPED && (!o->access || (write && !o->writable)))
		return DEAD;
	return ALIVE;
}

static enum verdict range_judge(struct party *p, uint64_t address, uint64_t size, enum use use, bool write)
{
	enum verdict all = ALIVE, one;
	bool first = true;

	if (!size || address + size < address)
		return UNSURE;
	while (size) {
		struct object *o = memory_at(p, address);
		if (!o)
			return DEAD;
		one = use_judge(o, use, write);
		if (one == DEAD)
			return DEAD;
		uint64_t here = o->size - (address - o->address);
		here = here < size ? here : size;
		all = one == UNSURE || !first || here < size ? UNSURE : all;
		first = false;
		address += here;
		size -= here;
	}
	return all;
}

static uint64_t side_extent(const struct side *s, const struct step *t)
{
	return (t->rows - 1) * s->pitch + t->width;
}

static enum verdict side_judge(struct party *p, const struct side *s, const struct step *t, bool write)
{
	if (!s->array)
		return range_judge(p, s->what, side_extent(s, t), s->use, write);
	struct object *o = object_find(p, K_ARRAY, s->what);
	if (!o)
		return UNSURE; /* a graph keeps its arrays */
	return s->x + t->width <= 64 && s->y + t->rows <= 16 ? ALIVE : DEAD;
}

static enum verdict step_judge(struct party *p, const struct step *t)
{
	enum verdict d = side_judge(p, &t->dst, t, true), s;

	if (t->context && (t->context->epoch != t->epoch || !t->context->id))
		return UNSURE; /* CUDA does not say what a node does whose context has ended */
	if (t->kind == STEP_FILL)
		return d;
	if (t->kind == STEP_KERNEL) {
		struct object *o = memory_at(p, t->dst.what);
		if (o && o->kind == K_MAPPED && o->access && !o->writable)
			return UNSURE; /* the CPU device lets kernels write there */
		for (int i = 0; i < OBJECTS; i++)
			if (objects[i].kind == K_MODULE && objects[i].party == p && objects[i].function == t->function)
				return d;
		return UNSURE;
	}
	s = side_judge(p, &t->src, t, false);
	return s < d ? s : d;
}

/* ---- Applying ---- */

static struct content *side_row(struct party *p, const struct side *s, uint64_t row, size_t *at)
{
	struct object *o = s->array ? object_find(p, K_ARRAY, s->what) : memory_at(p, s->what);

	if (!o)
		return NULL;
	if (s->array)
		*at = (s->y + row) * 64 + s->x;
	else
		*at = o->offset + (s->what - o->address) + row * s->pitch;
	return o->content;
}

static void content_forget(struct content *c, size_t at, size_t size)
{
	if (at < c->size)
		memset(c->known + at, 0, size < c->size - at ? size : c->size - at);
}

static void row_fill(struct content *c, size_t at, const struct step *t)
{
	for (size_t i = 0; i < t->width; i++)
		c->data[at + i] = (uint8_t)(t->value >> 8 * (i % t->element));
	memset(c->known + at, 1, t->width);
}

/* The step has run, or has been submitted while other work is pending. Its verdict was ALIVE. */
static void step_apply(struct party *p, const struct step *t)
{
	for (uint64_t row = 0; row < t->rows; row++) {
		size_t to = 0, from = 0;
		struct content *d = side_row(p, &t->dst, row, &to), *s;
		if (!d || to + t->width > d->size)
			return;
		if (unsettled) {
			content_forget(d, to, t->width);
		} else if (t->kind != STEP_COPY) {
			row_fill(d, to, t);
		} else if (!(s = side_row(p, &t->src, row, &from)) || from + t->width > s->size ||
			   (s == d && t->rows > 1)) { /* rows that may overlap have no defined order */
			content_forget(d, to, t->width);
		} else {
			memmove(d->data + to, s->data + from, t->width);
			memmove(d->known + to, s->known + from, t->width);
		}
	}
}

/* The outcome is open: everything that the step could have written becomes unknown. */
static void step_forget(struct party *p, const struct step *t)
{
	uint64_t address = t->dst.what, size = side_extent(&t->dst, t);

	for (int i = 0; i < OBJECTS; i++) {
		struct object *o = &objects[i];
		if (t->dst.array && o->kind == K_ARRAY && o->id == address)
			content_forget(o->content, 0, o->content->size);
		if (t->dst.array || !is_memory(o) || o->party != p || o->address >= address + size ||
			address >= o->address + o->size)
			continue;
		uint64_t from = address > o->address ? address - o->address : 0;
		uint64_t to = address + size - o->address < o->size ? address + size - o->address : o->size;
		content_forget(o->content, o->offset + from, to - from);
	}
}

/* Steps that the model did not record have run: all memory and arrays of the party become unknown. */
static void party_forget(struct party *p)
{
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].party == p && objects[i].content)
			content_forget(objects[i].content, 0, objects[i].content->size);
}

/* Compares bytes that came from the worker with the model. */
static void bytes_compare(const struct content *c, size_t at, const uint8_t *bytes, size_t size, const char *what)
{
	for (size_t i = 0; !unsettled && i < size; i++)
		if (c->known[at + i] && c->data[at + i] != bytes[i])
			life_fail(
				"%s: byte %zu of %zu is %#x instead of %#x", what, i, size, bytes[i], c->data[at + i]);
}
