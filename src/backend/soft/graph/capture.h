/*
 * capture.h - stream capture: the commands of a captured stream become nodes of a graph.
 *
 *	capture ── graph			the nodes captured so far
 *	   ├─ strand: stream, tips		the origin stream, in which the capture began
 *	   └─ strand: stream, tips		a stream that joined by waiting for an event of another strand
 *	event ── event_mark: capture, tips	an event recorded in a captured stream
 *
 * A strand is the part of a stream in a capture.  Its tips are the nodes that its next node depends on, by handle,
 * because the application may destroy nodes.  stream->capture of a captured stream is its strand; that of its context's
 * legacy stream is a special strand (`legacy`), which makes calls there fail without a search.  All under graph_lock.
 */
#pragma once

#include "backend/soft/graph/graph.h"

struct tip {
	uint64_t node; /* handle */
	CUgraphEdgeData data;
};

struct tips {
	struct tip *at;
	unsigned n, max;
};

struct capture {
	unsigned refs;    /* one until the capture ends, one for each event mark */
	struct list link; /* in captures */
	struct list strands;
	struct stream *origin; /* for comparison; its strand holds the reference */
	struct graph *graph;
	bool borrowed; /* the graph belongs to the application (cuStreamBeginCaptureToGraph) */
	bool invalid, ended;
	CUstreamCaptureMode mode;
	pthread_t thread;
	unsigned long long id;
};

struct strand {
	bool legacy; /* marks a legacy stream that would synchronise with a captured stream */
	struct capture *capture;
	struct stream *stream; /* referenced */
	struct list link;      /* in capture->strands */
	struct tips tips;
	CUgraphNode *shown; /* arrays that cuStreamGetCaptureInfo returned last */
	CUgraphEdgeData *shown_data;
	struct command *collected; /* see collect_begin */
};

extern struct list captures;
extern _Atomic unsigned ncaptures; /* number of captures, read without the lock */

/*
 * The strand of a stream, or NULL.  An error if its capture is invalid, or if the stream is a legacy stream that would
 * synchronise with captured ones.
 */
CUresult strand_find(struct stream *s, struct strand **t);

CUresult strand_begin(struct capture *c, struct stream *s, const struct tips *tips, struct strand **out);
CUresult strand_tips_set(struct strand *t, const struct tips *tips);
CUresult tips_add(struct tips *t, const struct tip *tip);               /* no effect if it is there already */
CUresult strand_append(struct strand *t, struct node_content *content); /* takes ownership of content on success */

struct capture *capture_create(CUstreamCaptureMode mode);
void capture_invalidate(struct strand *t);
void capture_end(struct capture *c); /* does not destroy the graph */
void capture_put(struct capture *c);
