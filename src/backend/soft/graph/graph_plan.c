/*
 * Turns a graph into a plan: steps that run one after the other on one thread, and lanes that run concurrently.
 *
 * The nodes in topological order, with child graphs inlined between a begin and an end, are assigned to lanes:
 *
 *	lane 0   a ── b ───── d ── e		a forks, d joins:
 *	lane 1        └─ c ──┘			segments [a] [b] [c] [d e]
 *
 * A node follows a dependency in the same lane if possible, or else takes a lane whose nodes all precede it anyway.
 * Each node has a vector clock: for each lane, the last position that is complete before the node.  Clocks find such
 * lanes, and identify dependencies that others imply.  The remaining dependencies cut the lanes into segments.
 */
#include "backend/soft/graph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LANES 16
#define NONE      (~0u)

struct flat {
	struct node *node; /* NULL: the begin or end of a child graph, or a reset */
	bool reset;
	unsigned dep, ndeps; /* range of flats.deps: first its dependencies, later those it waits for */
	unsigned lane, segment;
	unsigned clock[MAX_LANES]; /* including its own position */
	bool exported;             /* another lane waits for it */
};

struct flats {
	struct flat *at;
	unsigned n, max;
	unsigned *deps;
	unsigned ndeps, max_deps;
	unsigned nlanes, most_lanes, nsegments;
	unsigned tail[MAX_LANES]; /* last element of each lane */
};

static int flats_depend(struct flats *f, unsigned on)
{
	if (f->ndeps == f->max_deps) {
		unsigned max = f->max_deps ? 2 * f->max_deps : 256;
		unsigned *deps = realloc(f->deps, max * sizeof *deps);

		if (!deps)
			return -ENOMEM;
		f->deps = deps;
		f->max_deps = max;
	}
	f->deps[f->ndeps++] = on;
	f->at[f->n - 1].ndeps++;
	return 0;
}

/* Appends an element; flats_depend adds dependencies to the last element. */
static int flats_append(struct flats *f, struct node *node)
{
	if (f->n == f->max) {
		unsigned max = f->max ? 2 * f->max : 128;
		struct flat *at = realloc(f->at, max * sizeof *at);

		if (!at)
			return -ENOMEM;
		f->at = at;
		f->max = max;
	}
	f->at[f->n++] = (struct flat){.node = node, .dep = f->ndeps};
	return 0;
}

/* ---- inlining; until steps are placed, node->step is the element at which a node ends ---- */

static int flats_add_graph(struct flats *f, struct graph *g, unsigned entry, struct node **bad);

static int flats_add_node(struct flats *f, struct node *n, struct node *what, unsigned entry)
{
	int err = flats_append(f, what);

	for (unsigned i = 0; i < n->from.n && !err; i++)
		err = flats_depend(f, n->from.at[i].node->step);
	if (!n->from.n && entry != NONE && !err)
		err = flats_depend(f, entry);
	return err;
}

static int flatten_child(struct flats *f, struct node *n, unsigned entry, struct node **bad)
{
	struct graph *child = n->content.graphs[0];
	int err = flats_add_node(f, n, NULL, entry);
	unsigned begin = f->n - 1;

	if (!err)
		err = flats_add_graph(f, child, begin, bad);
	if (!err)
		err = flats_append(f, NULL);
	if (!err && list_empty(&child->nodes))
		err = flats_depend(f, begin);
	each_node(m, child)
	{
		if (!err && !m->to.n)
			err = flats_depend(f, m->step);
	}
	return err;
}

static int flats_add_graph(struct flats *f, struct graph *g, unsigned entry, struct node **bad)
{
	struct node **order = graph_order(g, bad);
	int err = 0;

	if (!order)
		return *bad ? -EINVAL : -ENOMEM;
	for (unsigned i = 0; i < g->nnodes && !err; i++) {
		struct node *n = order[i];

		if (node_type(n) == CU_GRAPH_NODE_TYPE_GRAPH)
			err = flatten_child(f, n, entry, bad);
		else
			err = flats_add_node(f, n, n, entry);
		n->step = f->n - 1;
	}
	free(order);
	return err;
}

/* ---- lanes ---- */

static void clock_merge(unsigned *clock, const unsigned *other)
{
	for (unsigned l = 0; l < MAX_LANES; l++)
		clock[l] = other[l] > clock[l] ? other[l] : clock[l];
}

static unsigned position_in_lane(const struct flat *x)
{
	return x->clock[x->lane];
}

static unsigned choose_lane(struct flats *f, const struct flat *x)
{
	unsigned shortest = 0;

	for (unsigned i = 0; i < x->ndeps; i++) {
		unsigned d = f->deps[x->dep + i];

		if (f->tail[f->at[d].lane] == d)
			return f->at[d].lane;
	}
	for (unsigned l = 0; l < f->nlanes; l++) {
		unsigned length = position_in_lane(&f->at[f->tail[l]]);

		if (length <= x->clock[l])
			return l;
		if (length < position_in_lane(&f->at[f->tail[shortest]]))
			shortest = l;
	}
	return f->nlanes < f->most_lanes ? f->nlanes : shortest;
}

/* Whether d is complete when the other dependencies of x, or its predecessor in the lane, are. */
static bool dependency_is_implied(struct flats *f, const struct flat *x, unsigned d, const struct flat *before)
{
	const struct flat *dep = &f->at[d];
	unsigned place = position_in_lane(dep);

	if (before && before->clock[dep->lane] >= place)
		return true;
	for (unsigned i = 0; i < x->ndeps; i++) {
		unsigned other = f->deps[x->dep + i];

		if (other != d && f->at[other].clock[dep->lane] >= place)
			return true;
	}
	return false;
}

static void flat_assign_lane(struct flats *f, unsigned i)
{
	struct flat *x = &f->at[i], *before = NULL;
	unsigned kept = 0;

	for (unsigned k = 0; k < x->ndeps; k++)
		clock_merge(x->clock, f->at[f->deps[x->dep + k]].clock);
	x->lane = choose_lane(f, x);
	if (x->lane < f->nlanes)
		before = &f->at[f->tail[x->lane]];
	else
		f->nlanes++;
	/* Kept dependencies move to the front. Implied ones stay in the array, since the test considers all of them. */
	for (unsigned k = 0; k < x->ndeps; k++) {
		unsigned d = f->deps[x->dep + k];

		if (dependency_is_implied(f, x, d, before))
			continue;
		f->deps[x->dep + k] = f->deps[x->dep + kept];
		f->deps[x->dep + kept++] = d;
		f->at[d].exported = true;
	}
	x->ndeps = kept;
	if (before)
		clock_merge(x->clock, before->clock);
	x->clock[x->lane]++;
	f->tail[x->lane] = i;
}

/* ---- segments ---- */

static bool flat_has_type(const struct flat *x, CUgraphNodeType type)
{
	return x->node && node_type(x->node) == type;
}

static int flats_cut_segments(struct flats *f, struct plan *p)
{
	unsigned current[MAX_LANES];
	bool closed[MAX_LANES];

	memset(closed, 1, sizeof closed);
	for (unsigned i = 0; i < f->n; i++) {
		struct flat *x = &f->at[i];
		bool wait = flat_has_type(x, CU_GRAPH_NODE_TYPE_WAIT_EVENT);

		if (closed[x->lane] || x->ndeps || wait) {
			struct segment *s = &p->segments[f->nsegments];

			*s = (struct segment){.lane = x->lane, .dep = p->ndeps, .ndeps = x->ndeps, .waits = wait};
			for (unsigned k = 0; k < x->ndeps; k++)
				p->deps[p->ndeps++] = f->at[f->deps[x->dep + k]].segment;
			current[x->lane] = f->nsegments++;
		}
		x->segment = current[x->lane];
		p->segments[x->segment].n++;
		p->segments[x->segment].records = flat_has_type(x, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
		closed[x->lane] = x->exported || flat_has_type(x, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
	}
	return 0;
}

/* ---- steps ---- */

void step_set(struct step *s, const struct node *n)
{
	const struct kernel_attributes *a = n->content.attributes;
	struct node_work *old = s->work;

	s->work = work_ref(n->content.work);
	s->type = node_type(n);
	s->disabled = n->disabled;
	s->priority =
		a && a->set & 1u << CU_LAUNCH_ATTRIBUTE_PRIORITY ? a->value[CU_LAUNCH_ATTRIBUTE_PRIORITY].priority : 0;
	work_put(old);
}

/* Whether the graph may be the body of a conditional node: its nodes need nothing from the launch. */
static bool graph_fits_body(const struct graph *g, struct node **bad)
{
	each_node(n, g)
	{
		switch (node_type(n)) {
		case CU_GRAPH_NODE_TYPE_KERNEL:
		case CU_GRAPH_NODE_TYPE_MEMCPY:
		case CU_GRAPH_NODE_TYPE_MEMSET:
		case CU_GRAPH_NODE_TYPE_EMPTY:
		case CU_GRAPH_NODE_TYPE_CONDITIONAL:
			continue;
		case CU_GRAPH_NODE_TYPE_GRAPH:
			if (graph_fits_body(n->content.graphs[0], bad))
				continue;
			return false;
		default:
			*bad = n;
			return false;
		}
	}
	return true;
}

static CUresult step_create_bodies(struct step *s, struct node *n, struct node **bad)
{
	CUresult r = CUDA_SUCCESS;

	if (node_type(n) != CU_GRAPH_NODE_TYPE_CONDITIONAL)
		return r;
	s->bodies = calloc(n->content.ngraphs, sizeof *s->bodies);
	if (!s->bodies)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->condition = n->content.params.conditional.type;
	for (; s->nbodies < n->content.ngraphs && !r; s->nbodies += !r) {
		struct graph *body = n->content.graphs[s->nbodies];

		r = graph_fits_body(body, bad) ? plan_create(&s->bodies[s->nbodies], body, bad)
					       : CUDA_ERROR_NOT_SUPPORTED;
		each_node(m, body) m->step = NO_STEP;
	}
	return r;
}

/* Places every element in the plan, segment by segment. */
static CUresult plan_place_steps(struct flats *f, struct plan *p, struct node **bad)
{
	unsigned next = 0;

	for (unsigned i = 0; i < p->nsegments; i++) {
		p->segments[i].first = next;
		next += p->segments[i].n;
		p->segments[i].n = 0;
	}
	for (unsigned i = 0; i < f->n; i++) {
		struct flat *x = &f->at[i];
		struct segment *g = &p->segments[x->segment];
		unsigned at = g->first + g->n++;
		struct step *s = &p->steps[at];

		s->type = x->reset ? STEP_RESET : CU_GRAPH_NODE_TYPE_EMPTY;
		if (!x->node)
			continue;
		step_set(s, x->node);
		if (s->priority < p->lane_priority[g->lane])
			p->lane_priority[g->lane] = s->priority;
		CUresult r = step_create_bodies(s, x->node, bad);
		if (r)
			return r;
		x->node->step = at;
	}
	return CUDA_SUCCESS;
}

static CUresult plan_collect_memory(struct plan *p)
{
	p->memory.allocs = malloc((p->nsteps + 1) * sizeof *p->memory.allocs);
	p->memory.frees = malloc((p->nsteps + 1) * sizeof *p->memory.frees);
	if (!p->memory.allocs || !p->memory.frees)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < p->nsteps; i++) {
		struct node_work *w = p->steps[i].work;

		if (w && w->memory && w->frees)
			p->memory.frees[p->memory.nfrees++] = w->memory;
		else if (w && w->memory)
			p->memory.allocs[p->memory.nallocs++] = w->memory;
	}
	return CUDA_SUCCESS;
}

/* References the user objects of the graph and of nested graphs. */
static int plan_reference_users(struct plan *p, const struct graph *g)
{
	int err = user_objects_copy(&p->users, &g->users);

	each_node(n, g)
	{
		for (unsigned i = 0; i < n->content.ngraphs && !err; i++)
			err = plan_reference_users(p, n->content.graphs[i]);
	}
	return err;
}

/* ---- plans ---- */

static struct plan *plan_alloc(unsigned nsteps, unsigned nsegments, unsigned ndeps, unsigned nlanes)
{
	struct plan *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	atomic_init(&p->refs, 1);
	p->steps = calloc(nsteps + 1, sizeof *p->steps);
	p->segments = calloc(nsegments + 1, sizeof *p->segments);
	p->deps = calloc(ndeps + 1, sizeof *p->deps);
	p->lane_priority = calloc(nlanes + 1, sizeof *p->lane_priority);
	p->nsteps = nsteps;
	p->nlanes = nlanes;
	if (p->steps && p->segments && p->deps && p->lane_priority)
		return p;
	plan_put(p);
	return NULL;
}

static CUresult plan_build(struct flats *f, struct graph *g, struct plan **out, struct node **bad)
{
	struct plan *p = plan_alloc(f->n, f->n, f->ndeps, f->nlanes);

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	flats_cut_segments(f, p);
	p->nsegments = f->nsegments;
	CUresult r = plan_place_steps(f, p, bad);
	if (!r)
		r = plan_collect_memory(p);
	if (!r && plan_reference_users(p, g))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r)
		plan_put(p);
	else
		*out = p;
	return r;
}

static bool graph_has_conditions(const struct graph *g)
{
	each_node(n, g)
	{
		if (node_type(n) == CU_GRAPH_NODE_TYPE_CONDITIONAL)
			return true;
		if (node_type(n) == CU_GRAPH_NODE_TYPE_GRAPH && graph_has_conditions(n->content.graphs[0]))
			return true;
	}
	return false;
}

/* One lane per processor, at least two; all lanes if some node may block. */
static unsigned flats_max_lanes(const struct flats *f)
{
	unsigned n = soft_parallelism();

	for (unsigned i = 0; i < f->n; i++)
		if (flat_has_type(&f->at[i], CU_GRAPH_NODE_TYPE_HOST) ||
			flat_has_type(&f->at[i], CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) ||
			flat_has_type(&f->at[i], CU_GRAPH_NODE_TYPE_WAIT_EVENT))
			return MAX_LANES;
	return n < 2 ? 2 : n < MAX_LANES ? n : MAX_LANES;
}

CUresult plan_create(struct plan **out, struct graph *g, struct node **bad)
{
	struct flats f = {0};
	bool reset = graph_has_conditions(g);
	int err = reset ? flats_append(&f, NULL) : 0;

	*bad = NULL;
	if (reset && !err)
		f.at[0].reset = true;
	if (!err)
		err = flats_add_graph(&f, g, reset ? 0 : NONE, bad);
	f.most_lanes = flats_max_lanes(&f);
	for (unsigned i = 0; i < f.n && !err; i++)
		flat_assign_lane(&f, i);
	CUresult r = err == -EINVAL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	if (!err)
		r = plan_build(&f, g, out, bad);
	free(f.at);
	free(f.deps);
	return r;
}

struct plan *plan_ref(struct plan *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

void plan_put(struct plan *p)
{
	if (!p || atomic_fetch_sub(&p->refs, 1) != 1)
		return;
	for (unsigned i = 0; p->steps && i < p->nsteps; i++) {
		work_put(p->steps[i].work);
		for (unsigned k = 0; k < p->steps[i].nbodies; k++)
			plan_put(p->steps[i].bodies[k]);
		free(p->steps[i].bodies);
	}
	user_objects_finish(&p->users);
	free(p->memory.allocs);
	free(p->memory.frees);
	free(p->steps);
	free(p->segments);
	free(p->deps);
	free(p->lane_priority);
	free(p);
}

static int copy_step(struct step *to, const struct step *from)
{
	*to = *from;
	work_ref(to->work);
	to->nbodies = 0;
	to->bodies = from->nbodies ? calloc(from->nbodies, sizeof *to->bodies) : NULL;
	if (from->nbodies && !to->bodies)
		return -ENOMEM;
	for (; to->nbodies < from->nbodies; to->nbodies++)
		to->bodies[to->nbodies] = plan_ref(from->bodies[to->nbodies]);
	return 0;
}

struct plan *plan_copy(const struct plan *from)
{
	struct plan *p = plan_alloc(from->nsteps, from->nsegments, from->ndeps, from->nlanes);
	int err = 0;

	if (!p)
		return NULL;
	p->nsegments = from->nsegments;
	p->ndeps = from->ndeps;
	memcpy(p->segments, from->segments, from->nsegments * sizeof *p->segments);
	memcpy(p->deps, from->deps, from->ndeps * sizeof *p->deps);
	memcpy(p->lane_priority, from->lane_priority, from->nlanes * sizeof *p->lane_priority);
	for (unsigned i = 0; i < from->nsteps && !err; i++)
		err = copy_step(&p->steps[i], &from->steps[i]);
	if (!err && !plan_collect_memory(p) && !user_objects_copy(&p->users, &from->users))
		return p;
	plan_put(p);
	return NULL;
}
