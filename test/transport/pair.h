/*
 * pair.h - for tests of the transport: two processes joined by a link.
 *
 * The parent is the client. The child is the server; its exit status is 0 if its checks pass.
 */
#pragma once

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/check.h"
#include "transport/transport.h"

struct pair {
	struct link *link;
	pid_t child;
	char folder[128], address[160];
	int listener; /* accepts extra connections */
	pthread_t porter;
	bool porting;
};

/* The role of the server's parent, in the client's process. */
static inline void *pair_porter(void *arg)
{
	struct pair *p = arg;
	int fd;

	while ((fd = link_accept(p->listener)) >= 0 || fd == -ECONNABORTED)
		if (fd >= 0 &&
			(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) < 0 || !link_hand_in_extra(fd)))
			close(fd);
	return NULL;
}

static inline const char *pair_listen(struct pair *p, bool tcp, int *listener)
{
	static char error[LINK_ERROR_TEXT];
	const char *tmp = getenv("TMPDIR");

	*listener = -1;
	p->porting = false;
	p->folder[0] = 0;
	if (tcp) {
		snprintf(p->address, sizeof p->address, "tcp://127.0.0.1:0");
	} else {
		snprintf(p->folder, sizeof p->folder, "%s/gangway-XXXXXX", tmp ? tmp : P_tmpdir);
		if (!mkdtemp(p->folder))
			return "mkdtemp fails";
		snprintf(p->address, sizeof p->address, "unix:%s/socket", p->folder);
	}
	*listener = link_listen(p->address, 0600, error);
	if (*listener < 0)
		return error;
	return link_address(*listener, p->address, sizeof p->address) ? "link_address fails" : NULL;
}

static inline void pair_unlisten(struct pair *p, int listener)
{
	close(listener);
	if (p->folder[0]) {
		unlink(p->address + 5);
		rmdir(p->folder);
	}
}

static bool pair_memory_first; /* the server creates its memory before the client connects */

/* serve runs in the child and returns its exit status. */
static inline int pair_start(struct pair *p, bool tcp, int (*serve)(struct link *), const struct link_config *client,
	const struct link_config *server)
{
	struct link_config defaults = link_defaults(false), server_defaults = link_defaults(true);
	char error[LINK_ERROR_TEXT] = "";
	const char *why;
	int listener, err;

	why = pair_listen(p, tcp, &listener);
	if (why)
		return fprintf(stderr, "%s: %s\n", p->address, why), -1;
	fflush(NULL);
	p->child = fork();
	if (p->child == 0) {
		struct link_config config = server ? *server : server_defaults;
		struct link *l;

		config.timeout_ms = 60000; /* enough for a busy machine */
		if (pair_memory_first && client)
			config.up_size = client->up_size, config.down_size = client->down_size;
		err = pair_memory_first ? link_memory_create(&config.memory, &config) : 0;
		err = err ? err : link_serve(&l, link_accept(listener), &config, error);
		if (err)
			fprintf(stderr, "link_serve: %s\n", error), _exit(2);
		err = serve(l);
		link_destroy(l);
		fflush(NULL);
		exit(err);
	}
	err = link_connect(&p->link, p->address, client ? client : &defaults, error);
	if (err)
		fprintf(stderr, "link_connect %s: %d %s\n", p->address, err, error);
	p->listener = listener;
	p->porting = !err && client && client->extras && !pthread_create(&p->porter, NULL, pair_porter, p);
	if (!p->porting)
		pair_unlisten(p, listener);
	return err;
}

/* The child's exit status, or 1000 + the signal that ended it. */
static inline int pair_wait(struct pair *p)
{
	int status;

	if (p->porting) {
		shutdown(p->listener, SHUT_RDWR);
		pthread_join(p->porter, NULL);
		pair_unlisten(p, p->listener);
		p->porting = false;
	}
	while (waitpid(p->child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static inline int pair_end(struct pair *p)
{
	link_destroy(p->link);
	p->link = NULL;
	return pair_wait(p);
}

/* xorshift: a stream of numbers from a seed. */
static inline uint64_t roll(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* FNV in 8-byte steps: fast enough for gigabytes, and detects any changed byte. */
static inline uint64_t checksum(const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t sum = 0xcbf29ce484222325ull ^ size, word;

	for (; size >= 8; size -= 8, p += 8) {
		memcpy(&word, p, 8);
		sum = (sum ^ word) * 0x100000001b3ull;
		sum ^= sum >> 29;
	}
	for (; size; size--)
		sum = (sum ^ *p++) * 0x100000001b3ull;
	return sum;
}

static inline void scribble(void *data, size_t size, uint64_t seed)
{
	unsigned char *p = data;
	uint64_t word;

	seed |= 1;
	for (; size >= 8; size -= 8, p += 8) {
		word = roll(&seed);
		memcpy(p, &word, 8);
	}
	for (; size; size--)
		*p++ = (unsigned char)roll(&seed);
}
