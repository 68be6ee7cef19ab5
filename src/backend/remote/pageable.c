/*
 * Copies in graphs to and from the application's own memory, which the server does not see; and over TCP those of pinned
 * memory behind a function of the application's, which may fill or read it, or behind a wait for a value.  A copy reads and writes
 * it when the device gets there, so what the application sees as one node is a graph of its own:
 *
 *	up	host node: pack rows into bulk memory ─▶ copy from there ─▶ the next part, in the same piece
 *	down	copy to bulk memory ─▶ host node: unpack rows
 *
 * The host nodes are ours and run in this process (listen.c); over TCP the bytes travel with what wakes the other
 * side.  A user object of the graph tells us when the last copy of it is gone.
 */
#include <stdlib.h>
#include "backend/remote/block.h"
#include "backend/remote/code.h"
#include "backend/remote/hostmem.h"

struct whole;

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
	/* By who fills the graph, by the graph's object and by each part: the server ends and runs them as it likes. */
	_Atomic(unsigned) used;
	bool ended; /* the object is gone */
	struct moving part[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* which parts there are, and whether there is an end to them */

static void move(void *arg)
{
	struct moving *m = arg;
	struct whole *w = m->whole;
	char *bulk = bulk_base(call_link(), w->up ? BULK_UP : BULK_DOWN, NULL);

	if (!w->piece.size)
		block_move(&w->block);
	else if (w->up)
		block_pack(bulk + w->piece.offset, &w->block.src, &m->part);
	else
		block_unpack(bulk + w->piece.offset, &w->block.dst, &m->part);
}

static void put(struct whole *w)
{
	if (atomic_fetch_sub(&w->used, 1) > 1)
		return;
	if (w->piece.size)
		bulk_free(call_link(), w->up ? BULK_UP : BULK_DOWN, w->piece);
	free(w);
}

static void part_gone(void *part)
{
	put(((struct moving *)part)->whole);
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
	put(w);
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
		block_cut(b, &p);
		n++;
	} while (block_next(b, &p));
	return n;
}

static CUresult make(struct whole **out, const struct block *b)
{
	unsigned n = parts_of(b);
	struct whole *w = calloc(1, sizeof *w + n * sizeof *w->part);
	size_t size = b->width * b->height * b->depth;

	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w->block = *b;
	w->used = 1;
	w->count = n;
	w->up = ours(&b->src);
	if (n && ours(&b->src) != ours(&b->dst) &&
		bulk_alloc(call_link(), w->up ? BULK_UP : BULK_DOWN, size < BLOCK_PIECE ? size : BLOCK_PIECE, &w->piece)) {
		free(w);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = w;
	return CUDA_SUCCESS;
}

/* ---- its nodes ---- */

/* Where they go: one behind the other into a graph; or what is in them into nodes that are there. */
struct row {
	struct node_target target;
	CUgraphNode last;
	CUgraphNode *there;
	size_t count, next;
};

static struct row new_row(CUgraph graph)
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
		put(w);
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
	c->srcMemoryType = s->kind == WIRE_SIDE_ARRAY ? CU_MEMORYTYPE_ARRAY : s->kind == WIRE_SIDE_SHARED ? CU_MEMORYTYPE_HOST
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
	c->dstMemoryType = s->kind == WIRE_SIDE_ARRAY ? CU_MEMORYTYPE_ARRAY : s->kind == WIRE_SIDE_SHARED ? CU_MEMORYTYPE_HOST
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
		a.u.copy.bulk = WIRE_COPY_FROM_BULK, c->srcHost = bulk, c->srcPitch = p->width, c->srcHeight = p->height;
	if (!ours(&w->block.dst))
		their_target(c, &w->block.dst, p, &a.u.copy.target);
	else
		a.u.copy.bulk = WIRE_COPY_TO_BULK, c->dstHost = bulk, c->dstPitch = p->width, c->dstHeight = p->height;
	return put_node(row, &a);
}

enum { HOSTS = 1, COPIES = 2 };

/* What is not wanted of nodes that are there is left as it is. */
static CUresult put_part(struct row *row, struct whole *w, const struct part *p, uint64_t ctx, int which, int wanted)
{
	if (!(which & wanted)) {
		row->next++;
		return CUDA_SUCCESS;
	}
	return which == HOSTS ? put_host(row, w, p) : put_copy(row, w, p, ctx);
}

static CUresult fill(struct row *row, struct whole *w, uint64_t ctx, int wanted)
{
	struct part p = {0};
	CUresult r = CUDA_SUCCESS;

	row->next = 0;
	if (w->count && !w->piece.size)
		return put_part(row, w, &p, ctx, HOSTS, wanted);
	do {
		if (w->count)
			block_cut(&w->block, &p);
		else
			p = (struct part){.width = w->block.width, .height = w->block.height, .depth = w->block.depth};
		if (w->up)
			r = put_part(row, w, &p, ctx, HOSTS, wanted);
		if (!r)
			r = put_part(row, w, &p, ctx, COPIES, wanted);
		if (!r && w->count && !w->up)
			r = put_part(row, w, &p, ctx, HOSTS, wanted);
	} while (!r && w->count && block_next(&w->block, &p));
	return r;
}

static CUresult keep(CUgraph graph, struct whole *w)
{
	CUuserObject object;
	CUresult r;
	bool discarded;

	w->used++;
	r = listen_object(&object, w, discard, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, &discarded);
	if (r) {
		if (!discarded)
			put(w);
		return r;
	}
	r = call_cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
	if (r)
		call_cuUserObjectRelease(object, 1);
	return r;
}

/* ---- the node that the application sees ---- */

static CUresult empty(CUgraph graph)
{
	CUgraphNode *nodes = NULL;
	size_t n = 0;
	CUresult r = graph_nodes(graph, &nodes, &n);

	for (size_t i = 0; i < n && !r; i++)
		r = call_cuGraphDestroyNode(nodes[i]);
	free(nodes);
	return r;
}

/* The nodes of a graph of ours, in the order in which they run. */
static CUresult find_row(CUgraph graph, struct row *row)
{
	CUresult r = graph_nodes(graph, &row->there, &row->count);
	size_t n = 1;

	if (!r && !row->count)
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		r = call_cuGraphGetRootNodes(graph, row->there, &n);
	for (size_t i = 1; i < row->count && !r; i++) {
		n = 1;
		r = call_cuGraphNodeGetDependentNodes(row->there[i - 1], &row->there[i], &n);
	}
	return r;
}

static bool fits(const struct row *row, const struct whole *w)
{
	size_t nodes = !w->count || !w->piece.size ? 1 : 2 * w->count;
	bool host_first = w->count && (w->up || !w->piece.size);
	CUgraphNodeType type;

	return row->count == nodes && !call_cuGraphNodeGetType(row->there[0], &type) &&
	       type == (host_first ? CU_GRAPH_NODE_TYPE_HOST : CU_GRAPH_NODE_TYPE_MEMCPY);
}

/* First the copies: what is wrong with the new ones is seen there, and then all is as it was. */
static CUresult refill(struct row *row, struct whole *w, uint64_t ctx)
{
	CUresult r = fill(row, w, ctx, COPIES);

	return r ? r : fill(row, w, ctx, HOSTS);
}

/* A graph that makes the copy; the caller destroys it. */
static CUresult as_graph(CUgraph *graph, const struct block *b, uint64_t ctx)
{
	struct whole *w;
	CUresult r = call_cuGraphCreate(graph, 0);

	if (r)
		return r;
	r = make(&w, b);
	if (!r) {
		struct row row = new_row(*graph);
		r = keep(*graph, w);
		if (!r)
			r = fill(&row, w, ctx, HOSTS | COPIES);
		put(w);
	}
	if (r)
		call_cuGraphDestroy(*graph);
	return r;
}

/* In the nodes that are there, if these are of the same kinds: what was made of them before can be changed, too, then. */
static CUresult change(CUgraph graph, struct row *row, struct whole *w, uint64_t ctx)
{
	CUresult r = keep(graph, w);

	if (!r && fits(row, w)) {
		row->target.how = WIRE_NODE_SET;
		return refill(row, w, ctx);
	}
	if (!r)
		r = empty(graph);
	struct row fresh = new_row(graph);
	return r ? r : fill(&fresh, w, ctx, HOSTS | COPIES);
}

/*
 * Node by node: an H200's driver does not take one child graph for another whose nodes were once exchanged.  Nobody
 * tells when it is no longer needed.
 */
static CUresult change_exec(uint64_t exec, struct row *row, struct whole *w, uint64_t ctx)
{
	if (!fits(row, w))
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	w->used++;
	row->target.how = WIRE_NODE_EXEC_SET;
	row->target.graph = exec;
	return refill(row, w, ctx);
}

static CUresult change_node(const struct node_target *t, const struct block *b, uint64_t ctx)
{
	struct row row = {0};
	struct whole *w;
	CUgraph graph;
	CUresult r = call_cuGraphChildGraphNodeGetGraph((CUgraphNode)(uintptr_t)t->node, &graph);

	if (!r)
		r = find_row(graph, &row);
	if (!r)
		r = make(&w, b);
	if (!r) {
		r = t->how == WIRE_NODE_SET ? change(graph, &row, w, ctx) : change_exec(t->graph, &row, w, ctx);
		put(w);
	}
	free(row.there);
	return r;
}

CUresult pageable_put(const struct node_target *t, const CUDA_MEMCPY3D *c, CUcontext ctx, struct wire_node_made *made)
{
	struct wire_node a = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
	CUDA_MEMCPY3D_PEER p;
	struct block b;
	CUgraph graph;
	CUresult r = listen_start();

	memcpy(&p, c, sizeof p); /* the same layout: copy3d.c */
	if (!r)
		r = block_make(&b, &p, false);
	if (r)
		return r;
	if (!b.width || !b.height || !b.depth || (t->how != WIRE_NODE_ADD && !node_copy(t->node, NULL)))
		return b.width && b.height && b.depth ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
	if (t->how != WIRE_NODE_ADD) {
		r = change_node(t, &b, (uintptr_t)ctx);
		return r || t->how == WIRE_NODE_EXEC_SET ? r : node_set_copy(t->node, c);
	}
	r = as_graph(&graph, &b, (uintptr_t)ctx);
	if (r)
		return r;
	a.u.child = (uintptr_t)graph;
	r = node_send(t, &a, NULL, 0, made);
	call_cuGraphDestroy(graph);
	return r ? r : node_set_copy(made->node, c);
}

CUresult pageable_capture(struct stream *s, const CUDA_MEMCPY3D *c)
{
	CUstream handle = (CUstream)(uintptr_t)s->id;
	CUstreamCaptureStatus status;
	struct wire_node_made made;
	struct node_target t = {.how = WIRE_NODE_ADD};
	const CUgraphEdgeData *edges;
	CUgraphNode node;
	CUgraph graph;
	CUresult r = remote_cuStreamGetCaptureInfo_v3(handle, &status, NULL, &graph, &t.dependencies, &edges, &t.count);

	if (r)
		return r;
	if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	t.graph = (uintptr_t)graph;
	t.edges = t.count ? edges : NULL;
	r = pageable_put(&t, c, (CUcontext)(uintptr_t)s->ctx->id, &made);
	if (r)
		return r;
	node = (CUgraphNode)(uintptr_t)made.node;
	return call_cuStreamUpdateCaptureDependencies_v2(handle, &node, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

/* ---- in a stream ---- */

bool pageable_later(const void *host)
{
	struct host_info info;

	return (listen_pending() || values_pending()) && hostmem_find((uintptr_t)host, &info) && !info.shared;
}

CUresult pageable_launch(struct stream *s, const CUDA_MEMCPY3D *c)
{
	CUDA_MEMCPY3D_PEER p;
	CUgraphExec exec;
	struct block b;
	CUgraph graph;
	CUresult r;

	memcpy(&p, c, sizeof p); /* the same layout: copy3d.c */
	r = block_make(&b, &p, false);
	if (!r)
		r = as_graph(&graph, &b, s->ctx->id);
	if (r)
		return r;
	r = remote_cuGraphInstantiateWithFlags(&exec, graph, 0);
	if (!r) {
		r = remote_cuGraphLaunch(exec, (CUstream)(uintptr_t)s->id);
		remote_cuGraphExecDestroy(exec); /* what it does still happens */
	}
	call_cuGraphDestroy(graph);
	return r;
}
