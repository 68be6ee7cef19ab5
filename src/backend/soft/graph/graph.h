/*
 * graph.h - graphs: nodes and edges an application builds or captures, and what they become to be run.
 *
 *	graph ── node ── node		handles of the application's; changed under graph_lock
 *	            │ work		what a node does: a command kept as a value, counted, never changed
 *	exec ── graph (private copy)	what was instantiated, and what it is updated to
 *	     └─ plan ── steps ── work	how it runs; launches in flight keep the plan they were given
 *
 * Making the work of a node: the very entry point an application would call (cuLaunchKernelEx,
 *cuMemcpy3DAsync
 * ...) is called on a stream that collects the command instead of running it, so that a node is checked
 * exactly as the call would be, and captured and explicit nodes are the same thing.
 *
 * CUDA leaves it to the application to lock a graph.  Here graph_lock protects our own state from one that
 *does not: every handle is looked up under it, and everything reachable from a live handle is whole.  It
 *comes before all locks of soft.h.  No function of the application's is called while it is held.
 */
#pragma once

#include "backend/soft/stream/event.h"
#include "backend/soft/core/soft.h"

struct capture;
struct graph;
struct node;
struct plan;

extern pthread_mutex_t graph_lock;

/* ---- user objects ---- */

struct user {
	struct driver_object object;
	_Atomic unsigned count; /* references of the application's and of graphs */
	CUhostFn destroy;
	void *arg;
};

/* What holds references to user objects: a chain, so that handing one over cannot fail. */
struct users {
	struct user_ref {
		struct user_ref *next;
		struct user *user; /* referenced, as an object, too */
		unsigned count;
	} *first;
};

int users_add(struct users *u, struct user *user, unsigned count); /* count is already counted in user->count */
int users_copy(struct users *to, const struct users *from);        /* adds, and counts */
void users_move(struct users *to, struct users *from);
void users_finish(struct users *u); /* calls destructors: without locks */

/* ---- memory allocated by nodes (graph_memory.c) ---- */

struct graph_memory;

void graph_memory_ref(struct graph_memory *m);
void graph_memory_put(struct graph_memory *m); /* NULL is fine */

/* The order of a launch: what it allocates and what it frees, for the application to use when this returns.
 */
struct memory_ops {
	struct graph_memory **allocs, **frees; /* referenced by the plan's works */
	unsigned nallocs, nfrees;
};

CUresult memory_launch(const struct memory_ops *ops, bool auto_free);
void memory_hold(const struct memory_ops *ops, int by); /* +1: in flight, not to be trimmed; -1: done */

/* ---- conditions (graph_cond.c) ---- */

struct condition {
	_Atomic unsigned refs;
	struct list link;       /* in graph->conditions */
	struct condition *next; /* in the list of all; graph_lock */
	struct graph *graph;    /* to compare, not to follow */
	_Atomic uint32_t value; /* the handle is this word's address: kernels write it */
	uint32_t first;
	bool assign; /* first, at each launch */
	bool used;   /* by a conditional node: at most one */
};

void condition_put(struct condition *c);   /* NULL is fine */
void condition_close(struct condition *c); /* its graph ends; graph_lock held */

/* ---- what nodes do ---- */

struct work {
	_Atomic unsigned refs;
	struct command *command;     /* NULL: nothing */
	struct context *ctx;         /* referenced; where command runs */
	struct event *event;         /* referenced: to record, or to wait for */
	struct graph_memory *memory; /* referenced: to allocate, or to free */
	bool frees;
	struct condition *condition; /* referenced */
	void *owned;                 /* arrays that params point to */
};

struct work *work_create(void);
struct work *work_ref(struct work *w);
void work_put(struct work *w); /* NULL is fine */
CUresult work_run(struct work *w, struct stream *s);

/* Attributes of a kernel node. */
struct kernel_attributes {
	uint32_t set; /* a bit for each that is */
	CUlaunchAttributeValue value[CU_LAUNCH_ATTRIBUTE_MAX + 1];
};

/* All that can be set and replaced about a node. */
struct content {
	CUgraphNodeParams params; /* pointers in it point into work or graphs */
	struct work *work;
	struct kernel_attributes *attributes; /* kernels; may be NULL: none */
	struct graph **graphs;                /* a child, or the bodies of a conditional node */
	unsigned ngraphs;
	bool opaque; /* captured from a call whose parameters no node can show */
};

/* From an application's parameters; p->alloc.dptr and p->conditional.phGraph_out are answers. */
CUresult content_make(struct content *c, CUgraphNodeParams *p, const struct kernel_attributes *attributes);
CUresult content_capture(struct content *c, struct command *command); /* takes the command in any case */
CUresult content_copy(struct content *to, const struct content *from, bool named);
void content_finish(struct content *c, struct users *dead);

/* The parts of content_make. */
CUresult content_kernel(struct content *c, const struct kernel_attributes *attributes);
CUresult content_alloc(struct content *c, CUgraphNodeParams *p);
CUresult content_free(struct content *c);
CUresult content_conditional(struct content *c, CUgraphNodeParams *p);

/* After the work of a kernel has been made or captured: show its parameters. */
CUresult kernel_show(struct content *c);

/* Collects the command that a call on `handle` makes. */
struct strand;
struct collector {
	struct context *ctx;
	struct stream *stream;
	struct strand *strand;
	CUstream handle;
};

CUresult collect_begin(struct collector *b, CUcontext ctx);             /* NULL: the current one */
CUresult collect_end(struct collector *b, CUresult r, struct work **w); /* r: what the call said */

/* ---- graphs ---- */

struct edge {
	struct node *node; /* the other end */
	CUgraphEdgeData data;
};

struct edges {
	struct edge *at;
	unsigned n, max;
};

struct node {
	struct driver_object object; /* no handle inside an exec */
	struct graph *graph;
	struct list link;      /* in graph->nodes: in order of creation */
	unsigned id;           /* in its graph */
	uint64_t origin;       /* handle of the node it was copied from; 0: none */
	struct edges from, to; /* dependencies, dependents */
	struct content content;
	struct node *copy; /* while its graph is being copied */
	unsigned mark;     /* while its graph is being walked */

	/* in an exec */
	bool disabled;
	unsigned step; /* in the plan; NO_STEP: not there, or in a body */
};

#define NO_STEP (~0u)

struct graph {
	struct driver_object object; /* no handle inside an exec */
	struct node *owner;          /* the node whose child or body it is, or NULL */
	struct list nodes;
	unsigned nnodes, next_id;
	unsigned long long id;
	uint64_t origin; /* handle of the graph it was copied from */
	struct users users;
	struct list conditions;
	struct capture *capture; /* being captured into */
	unsigned memory_nodes;   /* restrict what may be done with it */
	bool instantiated;       /* memory_nodes allow one instance at a time */
};

static inline CUgraphNodeType node_type(const struct node *n)
{
	return n->content.params.type;
}

static inline struct node *node_of(struct list *l)
{
	return container_of(l, struct node, link);
}

#define each_node(n, g) \
	for (struct node *n = node_of((g)->nodes.next); &n->link != &(g)->nodes; n = node_of(n->link.next))

struct graph *graph_create(bool named); /* NULL: no memory */
CUresult graph_copy(struct graph **out, const struct graph *g, bool named);
void graph_destroy(struct graph *g, struct users *dead); /* NULL is fine; finish dead without the lock */

/* A node at the end of g.  Takes content if it succeeds.  deps: edges to depend on, checked by the caller. */
CUresult graph_add(
	struct graph *g, struct content *content, const struct edge *deps, size_t ndeps, bool named, struct node **out);
void node_destroy(struct node *n, struct users *dead);

int edge_add(struct node *from, struct node *to, const CUgraphEdgeData *data);
struct edge *edge_find(struct edges *e, const struct node *node);
bool edge_valid(const CUgraphEdgeData *data);

/* Handles to things, under graph_lock, not referenced: valid until it is unlocked.  NULL: no such thing. */
struct graph *graph_find(CUgraph handle);
struct node *node_find(CUgraphNode handle);

/* The nodes as edges of g; CUDA_ERROR_INVALID_VALUE for strangers and duplicates.  Free *deps. */
CUresult edges_read(
	struct graph *g, const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t n, struct edge **deps);

/* All of a graph's nodes so that each comes after what it depends on; NULL: memory, or (*cycle) one in a
 * cycle. */
struct node **graph_order(struct graph *g, struct node **cycle);

/* Set all nodes' marks to 0, then those of what the given nodes depend on, and their own, to 1. */
CUresult graph_mark_ancestors(struct graph *g, struct node **nodes, size_t n);

/* ---- running ---- */

#define STEP_RESET ((CUgraphNodeType) - 1) /* give the plan's conditions their first values */

struct step {
	struct work *work;    /* referenced; NULL: nothing to do */
	CUgraphNodeType type; /* or STEP_RESET */
	bool disabled;
	unsigned nbodies;
	struct plan **bodies;                 /* referenced */
	CUgraphConditionalNodeType condition; /* what they are for */
	int priority;
};

/*
 * Steps that run one after the other on one thread.  Only the first may wait for other segments or for an
 * event; only the last may be waited for by others, or record an event.
 */
struct segment {
	unsigned first, n;   /* of plan->steps */
	unsigned lane;       /* segments of one lane are in order; lane 0 is the stream launched into */
	unsigned dep, ndeps; /* of plan->deps: earlier segments, in other lanes */
	bool waits, records;
};

struct plan {
	_Atomic unsigned refs;
	unsigned nsteps, nsegments, ndeps, nlanes;
	struct step *steps;
	struct segment *segments; /* each after those it depends on */
	unsigned *deps;
	int *lane_priority;
	struct memory_ops memory;
	struct users users;
};

/* bad: the node that stands in the way, if one does.  Sets node->step of g's own nodes and of its children's.
 */
CUresult plan_create(struct plan **out, struct graph *g, struct node **bad);
struct plan *plan_ref(struct plan *p);
void plan_put(struct plan *p);                       /* may call destructors: without locks */
struct plan *plan_copy(const struct plan *p);        /* NULL: no memory */
void step_set(struct step *s, const struct node *n); /* its work: bodies stay */
CUresult plan_run(struct plan *p, struct stream *s); /* all of it, here */

struct exec {
	struct driver_object object;
	unsigned long long flags;
	struct graph *graph; /* private; under graph_lock */
	struct node **index; /* its nodes and those within, by origin */
	size_t nindex;
	uint64_t memory_graph; /* handle of the graph whose only instance this is, or 0 */

	pthread_mutex_t lock; /* what follows; after graph_lock */
	struct plan *plan;
	struct context *lane_ctx; /* referenced */
	struct stream **lanes;    /* referenced; lanes[0] is not used */
	unsigned nlanes;
	struct command **commands; /* room for a launch */
	unsigned max_commands;
	struct dep last; /* the launch before: the next waits for it */
};

/* The plan again, after something in the private graph has changed; graph_lock held. */
CUresult exec_refresh(struct exec *x, struct node *n);
CUresult exec_replan(struct exec *x, struct node **bad);
struct node *exec_node(struct exec *x, CUgraphNode handle); /* or NULL */
CUresult exec_launch(struct exec *x, struct stream *s);
void exec_drop_lanes(struct exec *x);

/* ---- capture ---- */

/* Launching an instance into a captured stream: a child node. */
CUresult capture_graph(struct stream *s, struct exec *x);

/* Collecting, for collect_begin. */
struct strand *strand_collect(struct stream *s);
struct command *strand_collected(struct stream *s, struct strand *strand); /* ends it */
