/*
 * mirror.h - memory of which client and worker keep a copy each, at the same address.
 *
 * Over TCP all managed and mapped host memory is mirrored; on one host only managed variables of modules are, because
 * the driver decides where they lie.  Both sides keep the bytes that they last agreed on and exchange what has
 * changed since: the client before it posts work, the worker when the client has waited for work.
 *
 * Trust: a mirror is host memory that this client has had mapped here, or a managed variable that a module or library
 * lookup gave to this client and whose code is still loaded. No other memory is read or written for it. Mirrors are
 * dropped before the driver call that ends their memory, because other threads exchange bytes meanwhile.
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
	struct map variables;       /* variables that lookups gave out, by address.  The dispatcher's */
	struct map library_modules; /* modules of libraries, by handle.  The dispatcher's */
	bool used;                  /* the client has had a mirror: it expects a pump from then on.  The dispatcher's */
	uint32_t changes;           /* announcements so far */
	struct msg *pump_msg;
};

/* Before a signal that the device has reached a point: tells a client over TCP that mirrors have changed. */
void mirrors_announce(struct session *s);

/*
 * Serves WIRE_MIRROR_UP or WIRE_MIRROR_DOWN in the pump: the dispatcher may be blocked until a host function has used
 * them.
 */
int mirrors_serve_in_pump(struct session *s, const struct frame *f);

/* Dispatcher: a lookup in a module, or in a library, gave a variable out. */
void mirrors_variable_found(struct session *s, uint64_t address, uint64_t size, CUmodule module, CUlibrary library);
/* Dispatcher: the module belongs to the library. */
void mirrors_library_module(struct session *s, CUmodule module, CUlibrary library);

/* Dispatcher: drops the mirrors of memory that is about to go. */
void mirrors_context_ending(struct session *s, CUcontext context);
void mirrors_unloading(struct session *s, uint64_t owner);                 /* a module or library */
void mirrors_freeing(struct session *s, uint64_t address);                 /* memory that holds the address */
void mirrors_unmapped(struct session *s, uint64_t address, uint64_t size); /* the client took its host memory back */
