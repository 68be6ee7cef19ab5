/*
 * pump.h - frames taken off a link by a thread of their own.
 *
 * The dispatcher may stand in the driver until a host function has run in the client, and the client says
 * so by a frame; and before that asks for the memory that the function reads.  On one host that is memory both see, but for
 * variables of modules; over a network somebody must go on reading.  So from the moment a client listens for events its
 * frames come through here, on one host if it has had such variables.
 */
#pragma once

#include "server/session/session.h"
#include "transport/transport.h"

struct pump;

struct pump *pump_create(struct session *s); /* NULL: no memory, or no thread */

/* As link_next without a timeout. */
int pump_next(struct pump *p, struct frame *frame);
