/*
 * pump.h - a thread that takes frames off the link for the dispatcher.
 *
 * The dispatcher may block in the driver until a host function has run in the client.  The client reports that by a
 * frame, and before it fetches the memory that the function reads.  On one host both processes see that memory,
 * except for variables of modules; over a network some thread must go on reading.  So frames come through a pump from
 * the moment a client listens for callbacks: always over TCP, on one host if the client has had mirrors.
 */
#pragma once

#include "server/session/session.h"
#include "transport/transport.h"

struct pump;

struct pump *pump_create(struct session *s); /* NULL: no memory, or no thread.  Lives as long as the process */

/* As link_next() without a timeout. */
int pump_next(struct pump *p, struct frame *frame);
