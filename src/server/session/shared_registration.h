/*
 * shared_registration.h - a link's words and arenas, registered with the driver so that the device reaches them.
 *
 * The memory is registered in one context, for all contexts.  The driver drops the registration with that context,
 * portable or not; it is then registered again in the next context that the client uses.
 *
 * Where registering fails (a small memlock limit, say) everything works, only slower: the driver copies through
 * buffers of its own, and a wait thread writes words in place of the device.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "abi/cuda.h"

struct cuda_ops;
struct link_config;
struct link_memory;
struct session;

struct shared_registration {
	uint64_t words;               /* the device's address of the link's words; 0: the device does not reach them */
	_Atomic(CUcontext) context;   /* where the memory is registered */
	_Atomic(bool) lost;           /* that context has ended */
	struct link_memory *prepared; /* registered before the client connected */
	uint64_t prepared_words;
};

/*
 * Allocates and registers memory for a link that does not exist yet, because that takes milliseconds.  The context
 * must be current.  Returns the memory for link_serve(), or NULL.
 */
struct link_memory *registration_prepare(struct session *s, const struct link_config *config);

/* The client has connected.  The context must be current. */
void registration_start(struct session *s);

/* A context has ended, possibly the one that holds the registration. */
void registration_context_ended(struct session *s, CUcontext context);

/* Registers the memory again if its context has ended.  `usable`: the current context will do. */
void registration_renew(struct session *s, bool usable);
