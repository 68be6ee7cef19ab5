/*
 * identity.h - to whom connections and clients belong, so that one user cannot take the places of another.
 *
 * On a unix socket the kernel vouches for the user.  Over TCP the identity is the address, of IPv6 the network (/64) of a
 * machine, because a machine chooses the rest freely.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define IDENTITY_TEXT 64

struct identity {
	struct identity *next;
	char name[IDENTITY_TEXT]; /* "user 1000" or "address 192.0.2.1" */
	bool over_tcp, loopback;
	uid_t uid;        /* unless over_tcp */
	unsigned pending; /* connections without a hello */
	unsigned clients; /* clients that a worker serves */
	uid_t worker;     /* --isolate user: the user of its workers; 0: none yet */
};

struct identities {
	struct identity *list;
	uid_t next; /* the user of the next identity's workers; 0: not chosen yet */
};

/* The identity of a connection's peer; NULL: no memory, or the peer is gone. */
struct identity *identity_of(struct identities *all, int fd);

/*
 * The user of the workers of an identity, from `first` to `last`; 0: all are in use.  No two identities that have clients
 * share one, and one that has become free is used again as late as possible.
 */
uid_t identity_worker_user(struct identities *all, struct identity *who, uid_t first, uid_t last);

/* Frees an identity that has neither connections nor clients.  Call it after lowering a count. */
void identity_release(struct identities *all, struct identity *who);
