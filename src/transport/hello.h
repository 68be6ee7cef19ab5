/*
 * hello.h - the first record each way: who we are, what we speak, how much memory.
 *
 * The client says hello; the server answers with a hello of its own, the sizes it grants, and where it
 * refuses a status and a sentence.  The first 64 bytes keep their meaning in every version.
 *
 * The peer is not trusted: hello_check believes nothing, and texts end where their field does.
 */
#pragma once

#include "transport/transport.h"

#define HELLO_VERSION 2
#define SIDES_MAX     8 /* further connections of a TCP link: side.h */
#define SIDE_KEY      16

enum hello_flags { HELLO_SIDE = 1 }; /* a further connection of the link that `side` names */

struct hello {
	char magic[8];
	uint32_t bytes;    /* of this record */
	uint32_t version;  /* of the transport */
	uint32_t order;    /* 0x01020304 */
	uint32_t page;     /* size of a page */
	uint64_t protocol; /* of what travels in frames: the caller's */
	uint64_t pid;
	int32_t status; /* the server's answer: 0 or -errno */
	uint32_t flags;
	uint32_t up_size, down_size, ring_size, words;
	char build[LINK_BUILD_TEXT];
	union {
		char text[128]; /* why the server refuses; else: */
		struct {
			uint64_t name; /* of the link, given by the server, and what proves that one was told */
			uint8_t key[SIDE_KEY];
			uint32_t count, index; /* how many, asked and granted; on one of them, which */
		} side;
	};
};
_Static_assert(sizeof(struct hello) == 256, "the hello is part of the protocol");

void hello_make(struct hello *h, const struct link_config *config);

/* Do we understand it, and do both speak the same?  Else -EPROTO and a sentence. */
int hello_check(const struct hello *theirs, const struct hello *ours, bool server, char error[LINK_ERROR_TEXT]);

/* Server: what the client gets of what it asks for.  Client: is that something we can work with? */
void hello_grant(struct hello *answer, const struct hello *asked);
int hello_sizes_fit(const struct hello *answer, const struct hello *asked);

int hello_send(int fd, const struct hello *h, uint64_t deadline);
int hello_receive(int fd, struct hello *h, uint64_t deadline);
