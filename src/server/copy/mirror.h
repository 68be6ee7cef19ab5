/*
 * mirror.h - memory of which client and worker keep a copy each, at the same address.
 *
 * Over TCP all managed and mapped host memory is mirrored; on one host only managed variables of modules are, because
 * the driver decides where they lie.  Both sides keep the bytes that they last agreed on and exchange what has
 * changed since: the client before it posts work, the worker when the client has waited for work.
 *
 * Trust: a mirror is host memory that this client has had mapped here, or managed memory of the driver in this process.
 * No other memory is read or written for it.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "abi/cuda.h"
#include "util/map.h"

struct frame;
struct msg;
struct session;

/*
 * The dispatcher alone adds and drops mirrors, and reads the map without the lock.  Wait threads compare, and a pump
 * exchanges bytes while the dispatcher blocks: both hold the lock.
 */
struct mirrors {
	pthread_mutex_t lock;
	struct map by_address;
	bool used;        /* the client has had a mirror: it expects a pump from then on.  The dispatcher's */
	uint32_t changes; /* announcements so far */
	struct msg *pump_msg;
};

/* Before a signal that the device has reached a point: tells a client over TCP that mirrors have changed. */
void mirrors_announce(struct session *s);

/*
 * Serves WIRE_MIRROR_UP or WIRE_MIRROR_DOWN in the pump: the dispatcher may be blocked until a host function has used
 * them.
 */
int mirrors_serve_in_pump(struct session *s, const struct frame *f);

/* Dispatcher: drops the mirrors of memory that is about to go or has gone. */
void mirrors_context_ending(struct session *s, CUcontext context);
void mirrors_unmapped(struct session *s, uint64_t address, uint64_t size); /* the client took its host memory back */
void mirrors_unloaded(struct session *s); /* a module or context is gone, and possibly variables with it */
