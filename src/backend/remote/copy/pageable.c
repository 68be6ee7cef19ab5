/* A copy of the application's own memory, and the nodes that make it. */
#include "backend/remote/copy/pageable.h"

#include <stdlib.h>
#include "backend/remote/memory/hostmem.h"
#include "backend/remote/graph/graph.h"

#define LARGEST BLOCK_PIECE
#define PARTS   256

/* A part, as the host node knows it. */
struct moving {
	struct whole *whole;
	struct part part;
	uint64_t id;
};

struct whole {
	struct block block;
	struct piece piece; /* size 0: both sides are the application's */
	bool up;
	unsigned count, made;
	/* By who fills the graph, by the graph's object or an executable one, and by each part: the server ends and runs
	 * them as it likes. */
	_Atomic(unsigned) used;
	bool ended; /* the object is gone */
	/* Of one that an executable graph was given: the node there, and what that had been given before, which is over
	 * when this one moves, because an executable graph runs once at a time. */
	uint64_t exec, node;
	_Atomic(struct whole *) older;
	struct list link;
	struct moving part[];
};

static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER;           /* which parts there are, and whether there is an end to them */
static struct list given = {&given, &given}; /* to executable graphs */
static _Atomic(unsigned) pieces[2];          /* in use, up and down */

static void end_older(struct whole *w);

static void move(void *arg)
{
	struct moving *m = arg;
	struct whole *w = m->whole;

	block_step(&w->block, &m->part, w->piece, w->up);
	if (atomic_load(&w->older))
		end_older(w);
}

void whole_put(struct whole *w)
{
	if (atomic_fetch_sub(&w->used, 1) > 1)
		return;
	if (w->piece.size)
		piece_give(w->up, w->piece);
	free(w);
}

static void part_gone(void *part)
{
	whole_put(((struct moving *)part)->whole);
}

/* The last copy of the graph is gone. */
static void discard(void *whole)
{
	struct whole *w = whole;

	pthread_mutex_lock(&lock);
	w->ended = true;
	for (unsigned i = 0; i < w->made; i++)
		listen_forget(w->part[i].id);
	pthread_mutex_unlock(&lock);
	whole_put(w);
}

static void end_older(struct whole *w)
{
	struct whole *old = atomic_exchange(&w->older, NULL);

	while (old) { /* those before it never ran, or have done so */
		struct whole *next = atomic_exchange(&old->older, NULL);
		discard(old);
		old = next;
	}
}

static bool ours(const struct wire_side *s)
{
	return s->kind == SIDE_PAGEABLE;
}

static unsigned parts_of(const struct block *b)
{
	struct part p = {0};
	unsigned n = 0;

	if (!ours(&b->src) && !ours(&b->dst))
		return 0;
	if (ours(&b->src) && ours(&b->dst))
		return 1;
	do {
		block_cut_part(b, &p);
		n++;
	} while (block_next_part(b, &p));
	return n;
}

static bool by_piece(const struct block *b)
{
	return ours(&b->src) != ours(&b->dst);
}

static size_t nodes_of(const struct block *b)
{
	unsigned parts = parts_of(b);

	return !parts || !by_piece(b) ? 1 : 2 * (size_t)parts;
}

/* The more there are, the smaller, so that there is room for hundreds. */
size_t piece_good(bool up)
{
	unsigned n = pieces[up];

	return n < 8 ? LARGEST : n < 16 ? LARGEST / 4 : n < 32 ? LARGEST / 16 : PIECE_LEAST;
}

bool piece_take(bool up, size_t size, struct piece *piece)
{
	if (bulk_alloc(call_link(), up ? BULK_UP : BULK_DOWN, (uint32_t)size, piece))
		return false;
	pieces[up]++;
	return true;
}

void piece_give(bool up, struct piece piece)
{
	bulk_free(call_link(), up ? BULK_UP : BULK_DOWN, piece);
	pieces[up]--;
}

/* But not in more parts than that. */
static size_t piece_now(const struct block *b)
{
	size_t size = piece_good(ours(&b->src));

	while (size < LARGEST && b->width * b->height * b->depth / size > PARTS)
		size *= 4;
	return size;
}

/* With which there are so many nodes; or any. */
static size_t piece_for(const struct block *b, size_t nodes)
{
	struct block of = *b;

	for (of.piece = LARGEST; nodes && of.piece >= PIECE_LEAST; of.piece /= 4)
		if (nodes_of(&of) == nodes)
			return of.piece;
	return piece_now(b);
}

static bool take_piece(struct whole *w)
{
	const struct block *b = &w->block;
	size_t size = b->width * b->height * b->depth;

	return piece_take(w->up, size < b->piece ? size : b->piece, &w->piece);
}

CUresult whole_make(struct whole **out, const struct block *b, size_t nodes)
{
	struct block of = *b;
	unsigned n;
	struct whole *w;

	of.piece = piece_for(b, nodes);
	n = parts_of(&of);
	w = calloc(1, sizeof *w + n * sizeof *w->part);
	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w->block = of;
	w->used = 1;
	w->count = n;
	w->up = ours(&b->src);
	if (n && by_piece(b) && !take_piece(w)) {
		free(w);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = w;
	return CUDA_SUCCESS;
}

/* ---- its nodes ---- */

struct row row_new(CUgraph graph)
{
	return (struct row){.target = {.how = WIRE_NODE_ADD, .graph = (uintptr_t)graph}};
}

static CUresult put_node(struct row *row, struct wire_node *a)
{
	struct node_target *t = &row->target;
	struct wire_node_made made;
	CUresult r;

	if (row->there) {
		t->node = (uintptr_t)row->there[row->next++];
		return node_send(t, a, NULL, 0, &made);
	}
	t->dependencies = &row->last;
	t->count = row->last != NULL;
	r = node_send(t, a, NULL, 0, &made);
	if (!r)
		row->last = (CUgraphNode)(uintptr_t)made.node;
	return r;
}

static CUresult put_host(struct row *row, struct whole *w, const struct part *p)
{
	struct moving *m = &w->part[w->made];
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_HOST};
	struct piece used = {w->piece.offset, p->width * p->height * p->depth};

	*m = (struct moving){w, *p, 0};
	w->used++;
	a.u.host.id = listen_part(move, m, w->up && w->piece.size ? &used : NULL, part_gone);
	if (!a.u.host.id) {
		whole_put(w);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_lock(&lock);
	m->id = a.u.host.id;
	w->made++;
	if (w->ended)
		listen_forget(m->id);
	pthread_mutex_unlock(&lock);
	if (w->piece.size && !w->up) {
		a.u.host.offset = used.offset;
		a.u.host.size = used.size;
	}
	return put_node(row, &a);
}

/* What is not the application's, from the part's place on. */
static void their_source(CUDA_MEMCPY3D *c, const struct wire_side *s, const struct part *p, uint64_t *array)
{
	c->srcMemoryType = s->kind == WIRE_SIDE_ARRAY    ? CU_MEMORYTYPE_ARRAY
			   : s->kind == WIRE_SIDE_SHARED ? CU_MEMORYTYPE_HOST
							 : CU_MEMORYTYPE_DEVICE;
	c->srcXInBytes = s->x + p->x;
	c->srcY = s->y + p->y;
	c->srcZ = s->z + p->z;
	c->srcPitch = s->pitch;
	c->srcHeight = s->height;
	if (s->kind == WIRE_SIDE_ARRAY)
		*array = s->what;
	else if (s->kind == WIRE_SIDE_SHARED)
		c->srcHost = (void *)(uintptr_t)s->what;
	else
		c->srcDevice = s->what;
}

static void their_target(CUDA_MEMCPY3D *c, const struct wire_side *s, const struct part *p, uint64_t *array)
{
	c->dstMemoryType = s->kind == WIRE_SIDE_ARRAY    ? CU_MEMORYTYPE_ARRAY
			   : s->kind == WIRE_SIDE_SHARED ? CU_MEMORYTYPE_HOST
							 : CU_MEMORYTYPE_DEVICE;
	c->dstXInBytes = s->x + p->x;
	c->dstY = s->y + p->y;
	c->dstZ = s->z + p->z;
	c->dstPitch = s->pitch;
	c->dstHeight = s->height;
	if (s->kind == WIRE_SIDE_ARRAY)
		*array = s->what;
	else if (s->kind == WIRE_SIDE_SHARED)
		c->dstHost = (void *)(uintptr_t)s->what;
	else
		c->dstDevice = s->what;
}

static CUresult put_copy(struct row *row, const struct whole *w, const struct part *p, uint64_t ctx)
{
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_MEMCPY, .u.copy.context = ctx};
	CUDA_MEMCPY3D *c = &a.u.copy.copy;
	void *bulk = (void *)(uintptr_t)w->piece.offset;

	c->WidthInBytes = p->width;
	c->Height = p->height;
	c->Depth = p->depth;
	if (!ours(&w->block.src))
		their_source(c, &w->block.src, p, &a.u.copy.source);
	else
		a.u.copy.bulk = WIRE_COPY_FROM_BULK, c->srcHost = bulk, c->srcPitch = p->width,
		c->srcHeight = p->height;
	if (!ours(&w->block.dst))
		their_target(c, &w->block.dst, p, &a.u.copy.target);
	else
		a.u.copy.bulk = WIRE_COPY_TO_BULK, c->dstHost = bulk, c->dstPitch = p->width, c->dstHeight = p->height;
	return put_node(row, &a);
}

/* What is not wanted of nodes that are there is left as it is. */
static CUresult put_part(struct row *row, struct whole *w, const struct part *p, uint64_t ctx, int which, int wanted)
{
	if (!(which & wanted)) {
		row->next++;
		return CUDA_SUCCESS;
	}
	return which == HOSTS ? put_host(row, w, p) : put_copy(row, w, p, ctx);
}

CUresult row_fill(struct row *row, struct whole *w, uint64_t ctx, int wanted)
{
	struct part p = {0};
	CUresult r = CUDA_SUCCESS;

	row->next = 0;
	if (w->count && !w->piece.size)
		return put_part(row, w, &p, ctx, HOSTS, wanted);
	do {
		if (w->count)
			block_cut_part(&w->block, &p);
		else
			p = (struct part){.width = w->block.width, .height = w->block.height, .depth = w->block.depth};
		if (w->up)
			r = put_part(row, w, &p, ctx, HOSTS, wanted);
		if (!r)
			r = put_part(row, w, &p, ctx, COPIES, wanted);
		if (!r && w->count && !w->up)
			r = put_part(row, w, &p, ctx, HOSTS, wanted);
	} while (!r && w->count && block_next_part(&w->block, &p));
	return r;
}

CUresult whole_keep(CUgraph graph, struct whole *w)
{
	CUuserObject object;
	CUresult r;
	bool discarded;

	w->used++;
	r = listen_object(&object, w, discard, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, &discarded);
	if (r) {
		if (!discarded)
			whole_put(w);
		return r;
	}
	r = call_cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
	if (r)
		call_cuUserObjectRelease(object, 1);
	return r;
}

bool row_fits(const struct row *row, const struct whole *w)
{
	bool host_first = w->count && (w->up || !w->piece.size);
	CUgraphNodeType type;

	return row->count == nodes_of(&w->block) && !call_cuGraphNodeGetType(row->there[0], &type) &&
	       type == (host_first ? CU_GRAPH_NODE_TYPE_HOST : CU_GRAPH_NODE_TYPE_MEMCPY);
}

/* Another takes its place when that moves; nobody tells that an executable graph has run for the last time. */
void whole_give(struct whole *w, uint64_t exec, uint64_t node)
{
	w->exec = exec;
	w->node = node;
	w->used++;
	pthread_mutex_lock(&lock);
	list_each(l, &given)
	{
		struct whole *old = container_of(l, struct whole, link);
		if (old->exec != exec || old->node != node)
			continue;
		list_remove(l);
		atomic_store(&w->older, old);
		break;
	}
	list_append(&given, &w->link);
	pthread_mutex_unlock(&lock);
}

void copy_node_forget(CUgraphExec exec)
{
	pthread_mutex_lock(&lock);
	list_each_safe(l, &given) if (container_of(l, struct whole, link)->exec == (uintptr_t)exec) list_remove(l);
	pthread_mutex_unlock(&lock);
}
