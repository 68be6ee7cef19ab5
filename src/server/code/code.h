/*
 * code.h - images, functions, launches, host functions and graphs on the server's side.
 *
 * Each of these serves one of our own messages (wire/code.h, wire/graph.h); code.c lists them.
 */
#pragma once

#include "server/session/message.h"

extern const struct served served_code[];
extern const unsigned served_code_count;

void serve_image(const struct cuda_ops *ops, struct msg *m);
void serve_name(const struct cuda_ops *ops, struct msg *m);
void serve_cluster(const struct cuda_ops *ops, struct msg *m);
void serve_link_destroy(const struct cuda_ops *ops, struct msg *m);
void serve_link_create(const struct cuda_ops *ops, struct msg *m);
void serve_link_add(const struct cuda_ops *ops, struct msg *m);
void serve_link_complete(const struct cuda_ops *ops, struct msg *m);
void serve_link_take(const struct cuda_ops *ops, struct msg *m);
void serve_listen(const struct cuda_ops *ops, struct msg *m);
void serve_called(const struct cuda_ops *ops, struct msg *m);
void serve_host_call(const struct cuda_ops *ops, struct msg *m);
void serve_object(const struct cuda_ops *ops, struct msg *m);
void serve_node(const struct cuda_ops *ops, struct msg *m);
void serve_node_get(const struct cuda_ops *ops, struct msg *m);
void serve_node_attribute(const struct cuda_ops *ops, struct msg *m);
void serve_capture_info(const struct cuda_ops *ops, struct msg *m);
void serve_instantiate(const struct cuda_ops *ops, struct msg *m);
void serve_graph_launch(const struct cuda_ops *ops, struct msg *m);
void serve_update(const struct cuda_ops *ops, struct msg *m);
void serve_dot(const struct cuda_ops *ops, struct msg *m);

/* Numbers in launch attributes become objects.  False: one is unknown, or is of a kind that cannot travel. */
bool attributes_in(struct msg *m, CUlaunchAttribute *a, unsigned count);

/* ---- images.c: bytes by name, for as long as the session ---- */

/* NUL behind them; NULL: we do not have them. */
const void *images_find(struct session *s, const struct wire_image *name);

/* Bytes that came with a frame: false if they are not what the name says. */
bool images_add(struct session *s, const struct wire_image *name, const void *bytes);

/* ---- store.c: the same across sessions, in a folder of ours ---- */

void *store_find(const struct wire_image *name); /* mapped, with a NUL behind; NULL: not there */
void store_add(const struct wire_image *name, const void *bytes);

/* ---- jit.c: options of a load or link ---- */

struct jit {
	unsigned count;
	CUjit_option option[WIRE_JIT_OPTIONS];
	void *value[WIRE_JIT_OPTIONS];
	char *info, *error;             /* logs; NULL: not asked for */
	uint32_t info_size, error_size; /* their room */
};

/* False: an option that cannot travel, or no memory; the message says so. */
bool jit_in(struct msg *m, struct jit *j, unsigned count);
void jit_finish(struct jit *j);

/* After the call: values and logs, behind what has been put into the answer. */
size_t jit_room(const struct jit *j);
uint8_t *jit_out(const struct jit *j, uint8_t *to, uint32_t *info, uint32_t *error);

/* ---- events.c: what the client does for us ---- */

/* A host function for the device's streams and graphs: `id` is the client's number for what it runs. */
void events_host(void *id);

/* The same, with a piece of the down arena that the client gets.  NULL: there is no such piece, and the message says so. */
struct events_given;

struct events_given *events_give(struct msg *m, uint64_t id, uint64_t offset, uint64_t size);
void events_host_piece(void *given);
void events_callback(CUstream stream, CUresult status, void *id);
void events_destroy(void *id);

/* WIRE_CALLED has come: whoever waits for it goes on. */
void events_called(const struct frame *f);
bool events_expected(void); /* does anybody? */

/* Text for the client's stdout or stderr; it is there when this returns. */
void events_text(struct session *s, bool errors, const void *text, size_t size);

/* Text that kernels have printed goes to the client, and is there when this returns. */
void events_flush(struct session *s);

/* Something that may print has been launched; and: must we look for it when this stream has come to here?  The dispatcher's. */
void output_due(struct session *s, CUstream stream);
bool output_look(struct session *s, CUstream stream);

/* The worker's own stdout and stderr: what a device prints is kept apart from our log. */
void events_capture_output(void);
