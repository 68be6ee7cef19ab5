/*
 * graph.h - graphs: the nodes and edges that an application builds or captures, and the plans that run them.
 *
 *	graph ── node ── node		have handles; changed under graph_lock
 *	            │ work		the command of a node: reference-counted and immutable
 *	exec ── graph (private copy)	the instantiated graph, with later updates
 *	     └─ plan ── steps ── work	the order of execution; pending launches reference the plan they started with
 *
 * The work of a node is made by calling the ordinary entry point (cuLaunchKernelEx, cuMemcpy3DAsync ...) on a stream
 * that collects the command instead of running it.  A node is thus checked exactly as the call, and captured and
 * explicit nodes are the same.
 *
 * CUDA requires the application to serialise its use of a graph.  graph_lock protects the driver's own state from
 * applications that do not: every handle is looked up under it, and everything reachable from a live handle is
 * consistent.  graph_lock is taken before all locks of soft.h and never held while a function of the application runs.
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

struct user_object {
	struct driver_object object;
	_Atomic unsigned count; /* references held by the application and by graphs */
	CUhostFn destroy;
	void *arg;
};

/* References to user objects.  A linked list, so that moving references cannot fail. */
struct user_object_list {
	struct user_ref {
		struct user_ref *next;
		struct user_object *user; /* referenced, as an object, too */
		unsigned count;
	} *first;
};

int user_objects_add(
	struct user_object_list *u, struct user_object *user, unsigned count); /* user->count includes count already */
int user_objects_copy(
	struct user_object_list *to, const struct user_object_list *from); /* appends, and increments the counts */
void user_objects_move(struct user_object_list *to, struct user_object_list *from);
void user_objects_finish(struct user_object_list *u); /* calls destructors: call without locks */

/* ---- memory allocated by nodes (graph_memory.c) ---- */

struct graph_memory;

void graph_memory_ref(struct graph_memory *m);
void graph_memory_put(struct graph_memory *m); /* NULL is fine */

/* The memory that one launch allocates and frees. */
struct graph_memory_ops {
	struct graph_memory **allocs, **frees; /* referenced by the plan's works */
	unsigned nallocs, nfrees;
};

/* Allocates and frees for one launch; the application may then use the memory in stream order. */
CUresult graph_memory_launch(const struct graph_memory_ops *ops, bool auto_free);
void graph_memory_hold(const struct graph_memory_ops *ops, int by); /* +1: a launch is pending, do not trim; -1: done */

/* ---- conditions (graph_cond.c) ---- */

struct condition {
	_Atomic unsigned refs;
	struct list link;       /* in graph->conditions */
	struct condition *next; /* in the list of all conditions; graph_lock */
	struct graph *graph;    /* for comparison only, may dangle */
	_Atomic uint32_t value; /* the handle is this word's address: kernels write it */
	uint32_t initial;
	bool assign; /* each launch sets the value to initial */
	bool used;   /* by a conditional node; at most one may use it */
};

void condition_put(struct condition *c);   /* NULL is fine */
void condition_close(struct condition *c); /* its graph is destroyed; graph_lock held */

/* ---- the work of nodes ---- */

struct node_work {
	_Atomic unsigned refs;
	struct command *command;     /* NULL: none */
	struct context *ctx;         /* referenced; the context of the command */
	struct event *event;         /* referenced: to record, or to wait for */
	struct graph_memory *memory; /* referenced: to allocate, or to free if `frees` */
	bool frees;
	struct condition *condition; /* referenced */
	void *owned;                 /* arrays that the parameters point to */
};

struct node_work *work_create(void);
struct node_work *work_ref(struct node_work *w);
void work_put(struct node_work *w); /* NULL is fine */
CUresult work_run(struct node_work *w, struct stream *s);

/* Attributes of a kernel node. */
struct kernel_attributes {
	uint32_t set; /* bit mask of the attributes that are set */
	CUlaunchAttributeValue value[CU_LAUNCH_ATTRIBUTE_MAX + 1];
};

/* The replaceable content of a node. */
struct node_content {
	CUgraphNodeParams params; /* its pointers point into work or graphs */
	struct node_work *work;
	struct kernel_attributes *attributes; /* kernels only; NULL: none */
	struct graph **graphs;                /* the child graph, or the bodies of a conditional node */
	unsigned ngraphs;
	bool opaque; /* captured from a call whose parameters no node type can represent */
};

/* Makes content from the application's parameters; p->alloc.dptr and p->conditional.phGraph_out are outputs. */
CUresult content_make(struct node_content *c, CUgraphNodeParams *p, const struct kernel_attributes *attributes);
CUresult content_capture(
	struct node_content *c, struct command *command); /* takes ownership of the command, also on failure */
CUresult content_copy(struct node_content *to, const struct node_content *from, bool named);
void content_finish(struct node_content *c, struct user_object_list *dead);

/* The parts of content_make. */
CUresult content_kernel(struct node_content *c, const struct kernel_attributes *attributes);
CUresult content_alloc(struct node_content *c, CUgraphNodeParams *p);
CUresult content_free(struct node_content *c);
CUresult content_conditional(struct node_content *c, CUgraphNodeParams *p);

/* Sets params of a kernel node from its work, after the work was made or captured. */
CUresult content_show_kernel(struct node_content *c);

/* Collects the command that a call on the stream `handle` creates. */
struct strand;
struct collector {
	struct context *ctx;
	struct stream *stream;
	struct strand *strand;
	CUstream handle;
};

CUresult collect_begin(struct collector *b, CUcontext ctx);                  /* NULL: the current context */
CUresult collect_end(struct collector *b, CUresult r, struct node_work **w); /* r: the result of the call */

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
	uint64_t origin;       /* handle of the node that it is a copy of; 0: none */
	struct edges from, to; /* dependencies, dependents */
	struct node_content content;
	struct node *copy; /* valid while its graph is being copied */
	unsigned mark;     /* valid while its graph is being walked */

	/* in an exec only */
	bool disabled;
	unsigned step; /* index in the plan; NO_STEP: none, or in a body */
};

#define NO_STEP (~0u)

struct graph {
	struct driver_object object; /* no handle inside an exec */
	struct node *owner;          /* the node whose child or body the graph is, or NULL */
	struct list nodes;
	unsigned nnodes, next_id;
	unsigned long long id;
	uint64_t origin; /* handle of the graph that it is a copy of */
	struct user_object_list users;
	struct list conditions;
	struct capture *capture; /* the capture that adds nodes, or NULL */
	unsigned memory_nodes;   /* number of alloc and free nodes; such graphs cannot be cloned or nested */
	bool instantiated;       /* graphs with memory nodes allow one instance at a time */
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

struct graph *graph_create(bool named); /* named: with a handle.  NULL: out of memory */
CUresult graph_copy(struct graph **out, const struct graph *g, bool named);
void graph_destroy(
	struct graph *g, struct user_object_list *dead); /* NULL is fine; the caller finishes `dead` without the lock */

/* Appends a node to g; takes ownership of content on success.  deps: checked dependencies. */
CUresult graph_add(struct graph *g, struct node_content *content, const struct edge *deps, size_t ndeps, bool named,
	struct node **out);
void node_destroy(struct node *n, struct user_object_list *dead);

int edge_add(struct node *from, struct node *to, const CUgraphEdgeData *data);
struct edge *edge_find(struct edges *e, const struct node *node);
bool edge_valid(const CUgraphEdgeData *data);

/* Look up a handle under graph_lock.  The result is not referenced, and valid until the lock is released.  NULL: none. */
struct graph *graph_find(CUgraph handle);
struct node *node_find(CUgraphNode handle);

/*
 * Converts nodes of g to edges, which the caller frees.  CUDA_ERROR_INVALID_VALUE: a node of another graph, or a
 * duplicate.
 */
CUresult edges_read(
	struct graph *g, const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t n, struct edge **deps);

/* The nodes in topological order, malloc'ed.  NULL: out of memory, or *cycle is set to a node of a cycle. */
struct node **graph_order(struct graph *g, struct node **cycle);

/* Sets the mark of the given nodes and of all their ancestors to 1, all other marks to 0. */
CUresult graph_mark_ancestors(struct graph *g, struct node **nodes, size_t n);

/* ---- running ---- */

#define STEP_RESET ((CUgraphNodeType) - 1) /* assigns the initial values of the plan's conditions */

struct step {
	struct node_work *work; /* referenced; NULL: none */
	CUgraphNodeType type;   /* or STEP_RESET */
	bool disabled;
	unsigned nbodies;
	struct plan **bodies;                 /* referenced */
	CUgraphConditionalNodeType condition; /* the kind of conditional node */
	int priority;
};

/*
 * Consecutive steps, run by one thread.  Only the first step may wait for other segments or for an event; only the last
 * one may be waited for by others, or record an event.
 */
struct segment {
	unsigned first, n;   /* range of plan->steps */
	unsigned lane;       /* segments of one lane run in order; lane 0 is the launch stream */
	unsigned dep, ndeps; /* range of plan->deps: earlier segments in other lanes */
	bool waits, records;
};

struct plan {
	_Atomic unsigned refs;
	unsigned nsteps, nsegments, ndeps, nlanes;
	struct step *steps;
	struct segment *segments; /* in topological order */
	unsigned *deps;
	int *lane_priority;
	struct graph_memory_ops memory;
	struct user_object_list users;
};

/* Sets node->step of the nodes of g and of its children.  *bad: the node that makes the graph invalid, if any. */
CUresult plan_create(struct plan **out, struct graph *g, struct node **bad);
struct plan *plan_ref(struct plan *p);
void plan_put(struct plan *p);                       /* may call destructors: call without locks */
struct plan *plan_copy(const struct plan *p);        /* NULL: out of memory */
void step_set(struct step *s, const struct node *n); /* replaces the work, keeps the bodies */
CUresult plan_run(struct plan *p, struct stream *s); /* runs all steps on this thread */

struct exec {
	struct driver_object object;
	unsigned long long flags;
	struct graph *graph; /* private; under graph_lock */
	struct node **index; /* its nodes and those of nested graphs, sorted by origin */
	size_t nindex;
	uint64_t memory_graph; /* handle of the graph with memory nodes that this instantiates, or 0 */

	pthread_mutex_t lock; /* protects the fields below; taken after graph_lock */
	struct plan *plan;
	struct context *lane_ctx; /* referenced */
	struct stream **lanes;    /* referenced; lanes[0] is not used */
	unsigned nlanes;
	struct command **commands; /* array for the commands of a launch */
	unsigned max_commands;
	struct dep last; /* the previous launch, which the next one waits for */
};

/* Update the plan after a change of the private graph: of one node, or of any.  graph_lock held. */
CUresult exec_refresh(struct exec *x, struct node *n);
CUresult exec_replan(struct exec *x, struct node **bad);
struct node *exec_node(struct exec *x, CUgraphNode handle); /* or NULL */
CUresult exec_launch(struct exec *x, struct stream *s);
void exec_drop_lanes(struct exec *x);

/* ---- capture ---- */

/* Captures the launch of an instance as a child node. */
CUresult capture_graph(struct stream *s, struct exec *x);

/* Collecting, for collect_begin and collect_end. */
struct strand *strand_collect(struct stream *s);
struct command *strand_collected(struct stream *s, struct strand *strand); /* ends collecting */
