/* life_graph.h - operations of the lifetime fuzzer on graphs: capturing, building, instantiating, launching. */
#pragma once

#include "life_work.h"

static void capture_begin(struct party *p)
{
	struct life_context *c = &p->context[context_choose(p)];
	struct life_stream *s = stream_choose(c);
	struct wire_cuStreamBeginCapture_v2 a = {.hStream = s->id, .mode = CU_STREAM_CAPTURE_MODE_RELAXED};

	if (s->capturing || objects_full() || ask(p, c->id, NR_cuStreamBeginCapture_v2, &a, sizeof a, NULL, 0))
		return;
	s->capturing = true;
	struct object *g = object_new(p, K_GRAPH, -1);
	g->owner = s->id; /* of a graph that is being captured: the stream */
}

static void capture_drop(struct party *p, struct life_context *c, struct life_stream *s)
{
	struct wire_cuStreamEndCapture a = {.present = 2, .hStream = s->id};
	struct object *g = captured_find(p, s);
	uint64_t id = 0;
	CUresult r = ask(p, c->id, NR_cuStreamEndCapture, &a, sizeof a, &id, sizeof id);

	s->capturing = false;
	if (!g)
		return;
	g->owner = 0;
	g->id = id;
	if (r || !id)
		object_kill(g);
}

static void capture_end(struct party *p)
{
	for (int k = 0; k < CONTEXTS; k++)
		for (int i = 0; i < STREAMS; i++)
			if (p->context[k].id && p->context[k].stream[i].capturing) {
				capture_drop(p, &p->context[k], &p->context[k].stream[i]);
				return;
			}
}

static CUmemorytype side_type(const struct side *s)
{
	return s->array               ? CU_MEMORYTYPE_ARRAY
	       : s->use == USE_SHARED ? CU_MEMORYTYPE_HOST
	       : s->use == USE_DEVICE ? CU_MEMORYTYPE_DEVICE
				      : CU_MEMORYTYPE_UNIFIED;
}

static void node_copy(struct wire_node *n, struct step *t)
{
	CUDA_MEMCPY3D c = {.srcMemoryType = side_type(&t->src),
		.dstMemoryType = side_type(&t->dst),
		.srcXInBytes = t->src.x,
		.srcY = t->src.y,
		.dstXInBytes = t->dst.x,
		.dstY = t->dst.y,
		.srcPitch = t->src.pitch ? t->src.pitch : t->width,
		.dstPitch = t->dst.pitch ? t->dst.pitch : t->width,
		.srcHeight = t->rows,
		.dstHeight = t->rows,
		.WidthInBytes = t->width,
		.Height = t->rows,
		.Depth = 1};

	if (t->src.use == USE_SHARED)
		c.srcHost = (void *)(uintptr_t)t->src.what;
	else
		c.srcDevice = t->src.what;
	if (t->dst.use == USE_SHARED)
		c.dstHost = (void *)(uintptr_t)t->dst.what;
	else
		c.dstDevice = t->dst.what;
	n->type = CU_GRAPH_NODE_TYPE_MEMCPY;
	n->u.copy.source = t->src.array ? t->src.what : 0;
	n->u.copy.target = t->dst.array ? t->dst.what : 0;
	if (t->src.array)
		c.srcDevice = 0, c.srcPitch = c.srcHeight = 0;
	if (t->dst.array)
		c.dstDevice = 0, c.dstPitch = c.dstHeight = 0;
	n->u.copy.copy = c;
}

/* One more node of the graph, behind the previous one. */
static bool node_add(struct party *p, struct object *g, uint64_t *last)
{
	struct {
		struct wire_node head;
		uint64_t after;
	} a = {.head = {.how = WIRE_NODE_ADD, .graph = g->id, .dependencies = *last != 0}, .after = *last};
	struct life_context *c = &p->context[context_choose(p)];
	struct wire_node_made made;
	struct step t;

	if (choose(3)) {
		t = copy_choose(p);
		node_copy(&a.head, &t);
		a.head.u.copy.context = c->id;
	} else if (choose(4)) {
		struct range_choice r = range_choose(p, 70000);
		t = (struct step){.kind = STEP_FILL, .rows = 1, .width = r.size, .element = 1, .value = choose(256)};
		t.dst.what = r.address;
		a.head.type = CU_GRAPH_NODE_TYPE_MEMSET;
		a.head.u.set.set = (CUDA_MEMSET_NODE_PARAMS){
			.dst = r.address, .elementSize = 1, .width = r.size, .height = 1, .value = t.value};
		a.head.u.set.context = c->id;
	} else {
		t = (struct step){.width = 0};
		a.head.type = CU_GRAPH_NODE_TYPE_HOST;
		a.head.u.host.id = 9;
	}
	if (ask(p, c->id, WIRE_NODE, &a, sizeof a.head + (*last ? 8 : 0), &made, sizeof made) || !made.node)
		return false;
	*last = made.node;
	t.context = c;
	t.epoch = c->epoch;
	if (t.width) {
		if (g->nsteps < STEPS)
			g->step[g->nsteps] = t;
		g->nsteps++;
	}
	return true;
}

static void graph_build(struct party *p)
{
	struct wire_cuGraphCreate a = {.present = 1};
	uint64_t id = 0, last = 0;

	if (objects_full() || ask(p, p->context[0].id, NR_cuGraphCreate, &a, sizeof a, &id, sizeof id))
		return;
	struct object *g = object_new(p, K_GRAPH, -1);
	g->id = id;
	for (unsigned n = 1 + choose(4); n; n--)
		node_add(p, g, &last);
}

static void graph_instantiate_any(struct party *p)
{
	struct object *g = object_choose(p, 1u << K_GRAPH);
	struct wire_instantiate a = {0};
	struct wire_instantiated made = {.result = 999};

	if (!g || g->owner || objects_full())
		return;
	a.graph = g->id;
	if (ask(p, p->context[context_choose(p)].id, WIRE_INSTANTIATE, &a, sizeof a, &made, sizeof made) ||
		made.result || !made.exec)
		return;
	struct object *x = object_new(p, K_EXEC, -1);
	x->id = made.exec;
	x->nsteps = g->nsteps;
	memcpy(x->step, g->step, sizeof x->step);
}

static bool exec_context_ended(const struct object *x)
{
	for (unsigned i = 0; i < x->nsteps && i < STEPS; i++)
		if (x->step[i].context->epoch != x->step[i].epoch || !x->step[i].context->id)
			return true;
	return x->nsteps > STEPS;
}

/* Host memory whose registration has ended: a graph fails there, although a plain copy is allowed. */
static bool side_unregistered(struct party *p, const struct side *s)
{
	struct object *o = s->array ? NULL : memory_at(p, s->what);

	return o && o->kind == K_HOST && !o->registered;
}

static enum verdict exec_judge(struct party *p, const struct object *x)
{
	enum verdict all = ALIVE, one;

	if (exec_context_ended(x))
		return UNSURE;
	for (unsigned i = 0; i < x->nsteps; i++) {
		one = step_judge(p, &x->step[i]);
		if (one == ALIVE && (side_unregistered(p, &x->step[i].dst) || side_unregistered(p, &x->step[i].src)))
			one = UNSURE;
		all = one < all ? one : all;
	}
	return all;
}

/* A node's failure is an error of its own context, which need not be the stream's. */
static CUresult contexts_lose_failed(struct party *p, CUresult r)
{
	for (int k = 0; k < CONTEXTS; k++) {
		CUresult e = p->context[k].id ? context_settle(p, &p->context[k]) : CUDA_SUCCESS;
		r = r ? r : e;
		if (e)
			context_lose(p, k);
	}
	return r;
}

static bool exec_leaves_context(struct party *p, const struct object *x)
{
	for (unsigned i = 0; i < x->nsteps && i < STEPS; i++)
		if (x->step[i].kind == STEP_KERNEL &&
			kernel_leaves_context(p, &x->step[i], (int)(x->step[i].context - p->context)))
			return true;
	return false;
}

static void graph_launch(struct party *p)
{
	struct object *x = object_choose(p, 1u << K_EXEC);
	int k = context_choose(p);
	struct life_context *c = &p->context[k];
	struct life_stream *s = stream_choose(c);
	struct wire_cuGraphLaunch a = {.hStream = s->id};

	if (!x || s->capturing || exec_leaves_context(p, x))
		return;
	a.hGraph = x->id;
	enum verdict v = exec_judge(p, x);
	unsigned n = x->nsteps < STEPS ? x->nsteps : STEPS;
	CUresult r = post(p, c, NR_cuGraphLaunch, &a, sizeof a, NULL, 0);
	life_note("   verdict %d, result %d, %u steps", v, r, n);
	bool ended = exec_context_ended(x);
	uint32_t epoch = c->epoch;
	for (unsigned i = 0; i < n && v != ALIVE; i++)
		step_forget(p, &x->step[i]); /* before a context is lost, as in step_done() */
	if (x->nsteps > STEPS)
		party_forget(p);
	if (ended) {
		unsettled = true; /* errors of any context are expected */
		all_settle(p);
	}
	if (!unsettled) {
		p->holding = false;
		stream_settle(p, c, s->id); /* a node fails in a context that is settled before the stream's own */
		r = contexts_lose_failed(p, r);
	}
	if (ended && c->id && c->epoch == epoch) /* its error says that a context has ended, and is not reported */
		context_lose(p, k);
	for (unsigned i = 0; i < n; i++)
		life_note("   step %u: %#llx <- %#llx, %llu x %llu", i, (unsigned long long)x->step[i].dst.what,
			(unsigned long long)x->step[i].src.what, (unsigned long long)x->step[i].width,
			(unsigned long long)x->step[i].rows);
	for (unsigned i = 0; i < n; i++)
		if (v == ALIVE && !r)
			step_apply(p, &x->step[i]);
		else
			step_forget(p, &x->step[i]);
	if (x->nsteps > STEPS)
		party_forget(p);
	if (!r && v == DEAD && !unsettled)
		life_fail("a graph with dead memory ran");
	if (r && r != CUDA_ERROR_CONTEXT_IS_DESTROYED && v == ALIVE && !unsettled && !party_captures(p))
		life_fail("a graph with live memory failed: %d", r);
}

static void graph_drop(struct object *o)
{
	struct wire_cuGraphDestroy g = {.hGraph = o->id};
	struct wire_cuGraphExecDestroy x = {.hGraphExec = o->id};
	struct party *p = o->party;

	if (o->kind == K_GRAPH && !o->owner)
		ask(p, p->context[0].id, NR_cuGraphDestroy, &g, sizeof g, NULL, 0);
	else if (o->kind == K_EXEC)
		ask(p, p->context[0].id, NR_cuGraphExecDestroy, &x, sizeof x, NULL, 0);
	object_kill(o);
}

static void graph_destroy(struct party *p)
{
	struct object *o = object_choose(p, 1u << K_GRAPH | 1u << K_EXEC);

	if (o && !(o->kind == K_GRAPH && o->owner))
		graph_drop(o);
}
