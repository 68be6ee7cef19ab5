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

/*
 * Creates s->pump if frames must come through a pump once the client listens and has mirrors; false: no memory, or no
 * thread.  The pump starts to read with the first pump_next(), and lives as long as the process.
 */
bool pump_prepare(struct session *s, bool listens, bool mirrors);

/* As link_next() without a timeout. */
int pump_next(struct pump *p, struct frame *frame);
