/*
 * capture.h - streams whose work becomes nodes instead of running.
 *
 *	capture ── graph			what has been captured so far
 *	   ├─ strand: stream, tips		the one it began in
 *	   └─ strand: stream, tips		joined by waiting for an event recorded in another
 *	event ── mark: capture, tips		recorded in a captured stream
 *
 * Tips are the nodes that the next one in the stream depends on; by handle, since the application may destroy
 * nodes behind our back.  While a stream is captured, stream->capture is its strand, and that of its
 *context's legacy stream is one that stands for trouble, so that nobody else needs to look.  All under
 *graph_lock.
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
	unsigned refs;    /* one while it lasts, one for each mark */
	struct list link; /* in captures */
	struct list strands;
	struct stream *origin; /* to compare: its strand has the reference */
	struct graph *graph;
	bool borrowed; /* the graph was the application's before */
	bool invalid, ended;
	CUstreamCaptureMode mode;
	pthread_t thread;
	unsigned long long id;
};

struct strand {
	bool legacy; /* not a capture, but in the way of some */
	struct capture *capture;
	struct stream *stream; /* referenced */
	struct list link;      /* in capture->strands */
	struct tips tips;
	CUgraphNode *shown; /* what cuStreamGetCaptureInfo has shown last */
	CUgraphEdgeData *shown_data;
	struct command *collected; /* see collect_begin */
};

extern struct list captures;
extern _Atomic unsigned ncaptures; /* their number, for a quick look without the lock */

/* The strand of a stream: NULL (success), or an error of the captures it belongs to or is in the way of. */
CUresult strand_find(struct stream *s, struct strand **t);

CUresult strand_begin(struct capture *c, struct stream *s, const struct tips *tips, struct strand **out);
CUresult strand_tips_set(struct strand *t, const struct tips *tips);
CUresult tips_add(struct tips *t, const struct tip *tip);          /* once */
CUresult strand_append(struct strand *t, struct content *content); /* takes content if it succeeds */

struct capture *capture_create(CUstreamCaptureMode mode);
void capture_invalidate(struct strand *t);
void capture_end(struct capture *c); /* the graph stays */
void capture_put(struct capture *c);
