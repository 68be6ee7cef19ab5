/*
 * graph.h - messages about graphs whose structs hold pointers or handles in CUDA's own form.
 *
 * Numbers stand in the places of handles, device and shared host addresses travel as they are, and what a
 * pointer shows follows behind the head.  Trust: the server looks up every handle and checks every host
 * address against what it shares with this client.
 */
#pragma once

#include <stdint.h>
#include "abi/cuda.h"

#define WIRE_GRAPH_BODIES 16 /* graphs of one conditional node */
#define WIRE_DEPENDENCIES 4096
#define WIRE_GRAPH_DEPTH  16 /* graphs in graphs that are looked into */

enum wire_node_how { WIRE_NODE_ADD, WIRE_NODE_SET, WIRE_NODE_EXEC_SET };

struct wire_kernel_node {
	uint64_t function, context;
	uint32_t grid[3], block[3], shared;
	uint32_t params; /* bytes behind the head */
};

/* A copy as CUDA has it, with numbers for arrays; bulk memory's host address is an offset in its arena. */
enum wire_copy_bulk { WIRE_COPY_PLAIN, WIRE_COPY_FROM_BULK, WIRE_COPY_TO_BULK };

struct wire_copy_node {
	CUDA_MEMCPY3D copy;
	uint64_t source, target; /* arrays */
	uint64_t context;
	uint32_t bulk; /* enum wire_copy_bulk */
	uint32_t unused;
};

/* size not 0: this piece of the down arena goes with the event. */
struct wire_host_node {
	uint64_t id; /* the callback's number */
	uint32_t offset, size;
};

struct wire_set_node {
	CUDA_MEMSET_NODE_PARAMS set;
	uint64_t context;
};

struct wire_alloc_node {
	CUmemPoolProps pool;
	uint64_t bytes;
	uint32_t access; /* CUmemAccessDesc behind the head */
	uint32_t unused;
};

struct wire_branch_node {
	uint64_t handle, context;
	uint32_t type, size;
};

struct wire_memop_node {
	uint64_t context;
	uint32_t count, flags; /* CUstreamBatchMemOpParams behind the head */
};

/* Behind it, for WIRE_NODE_ADD: dependencies, then edge data if any; then what the kind says. */
struct wire_node {
	uint32_t how, type;
	uint64_t graph; /* or exec */
	uint64_t node;
	uint32_t dependencies;
	uint32_t edges; /* edge data for each of them */
	union {
		struct wire_kernel_node kernel;
		struct wire_copy_node copy;
		struct wire_set_node set;
		struct wire_alloc_node alloc;
		struct wire_branch_node branch;
		struct wire_memop_node memop;
		struct wire_host_node host;
		uint64_t child;
		uint64_t event;
		uint64_t address; /* to be freed */
	} u;
};

struct wire_node_made {
	uint64_t node;
	uint64_t address;                   /* allocated */
	uint64_t bodies[WIRE_GRAPH_BODIES]; /* of a conditional node */
};

/* WIRE_NODE_GET: node and kind; the answer is struct wire_node, and what belongs to it behind. */
struct wire_node_get {
	uint64_t node;
	uint32_t type;
	uint32_t unused;
};

#define WIRE_NODE_EXTRA (64u << 10) /* bytes behind the answer, at most */

/* cuGraphKernelNodeGetAttribute, cuGraphKernelNodeSetAttribute */
struct wire_node_attribute {
	uint64_t node;
	uint32_t id;
	uint32_t set;
	CUkernelNodeAttrValue value;
};

struct wire_capture_info {
	uint64_t stream;
};

/* Behind it: nodes, then edge data if any. */
struct wire_captured {
	uint32_t status;
	uint32_t dependencies;
	uint32_t edges;
	uint32_t unused;
	uint64_t id, graph;
};

#define WIRE_GRAPH_LOG 4096

struct wire_instantiate {
	uint64_t graph, flags, stream;
	uint32_t log; /* bytes of text that are wanted: the older call, without flags and stream */
	uint32_t unused;
};

/* Behind it: the text. */
struct wire_instantiated {
	int32_t result; /* the call's own: the rest is told even when it failed */
	int32_t why;
	uint64_t exec, node;
	uint32_t memory; /* it has nodes that allocate or free */
	uint32_t unused;
};

struct wire_update {
	uint64_t exec, graph;
};

struct wire_updated {
	int32_t result;
	int32_t why;
	uint64_t node, from;
};

struct wire_dot {
	uint64_t graph, offset;
	uint32_t flags;
	uint32_t unused;
};

/* Bytes of the text behind it. */
struct wire_dotted {
	uint64_t size; /* of all of it */
	uint32_t bytes;
	uint32_t unused;
};

#define WIRE_DOT_BYTES (64u << 10)
