/*
 * hello.h - the first record each way on a new connection: version, protocol, sizes.
 *
 * The client sends a hello. The server answers with its own, which holds the granted sizes, or a status and the reason
 * for a refusal. The first 64 bytes keep their meaning in every version.
 *
 * Trust: none. hello_check verifies every field, and texts end where their field ends.
 */
#pragma once

#include "transport/transport.h"

#define HELLO_VERSION 3
#define EXTRAS_MAX    8 /* extra connections of a TCP link: tcp/extra_connections.h */
#define EXTRA_KEY     16

enum hello_flags {
	HELLO_EXTRA = 1, /* this is an extra connection of the link named in `extra` */
	HELLO_DEVICE =
		2 /* the client only asks for the server's device, whose name is the answer's text: no link is made */
};

struct hello {
	char magic[8];
	uint32_t bytes;    /* of this record */
	uint32_t version;  /* of the transport */
	uint32_t order;    /* 0x01020304 */
	uint32_t page;     /* size of a page */
	uint64_t protocol; /* version of the frames' content, chosen by the caller */
	uint64_t pid;
	int32_t status; /* in the server's hello: 0 or -errno */
	uint32_t flags;
	uint32_t up_size, down_size, ring_size, words;
	char build[LINK_BUILD_TEXT];
	union {
		char text[128]; /* reason for a refusal, or the device */
		struct {
			uint64_t name;          /* names the link; chosen by the server */
			uint8_t key[EXTRA_KEY]; /* proves that the sender got the server's hello */
			uint32_t count, index;  /* extra connections asked for or granted; index of this one */
		} extra;
	};
};
_Static_assert(sizeof(struct hello) == 256, "the hello is part of the protocol");

void hello_make(struct hello *h, const struct link_config *config);

/* -EPROTO and a reason in `error` if the two sides cannot work together. */
int hello_check(const struct hello *theirs, const struct hello *ours, bool server, char error[LINK_ERROR_TEXT]);

/* Server: reduces the sizes in `answer` to what the client asked for. Both sides then check the result. */
void hello_grant(struct hello *answer, const struct hello *asked);
int hello_sizes_fit(const struct hello *answer, const struct hello *asked);

/* Server: what the server answers, in *granted, and -EPROTO and a reason if it refuses. */
int hello_answer(const struct hello *theirs, const struct link_config *config, struct hello *granted,
	char error[LINK_ERROR_TEXT]);

int hello_send(int fd, const struct hello *h, uint64_t deadline);
int hello_receive(int fd, struct hello *h, uint64_t deadline);
