/*
 * For any hello, TCP data or shared memory content of a peer, the transport handles or refuses it.
 *
 * The first byte selects the rest of the input: 0: a hello; 1: the data that a client sends after its hello; 2: the
 * content of a lane's up ring, with a valid board, so that frames are parsed; 3: board and ring.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/hello.h"
#include "transport/memory.h"
#include "transport/tcp/tcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RING  RING_MIN
#define ARENA 65536
#define WORDS 16

static volatile uint64_t sink; /* keeps the compiler from removing the reads */

static void fuzz_hello(const uint8_t *data, size_t size)
{
	struct link_config config = link_defaults(true);
	char error[LINK_ERROR_TEXT];
	struct hello ours, theirs = {0};

	memcpy(&theirs, data, size < sizeof theirs ? size : sizeof theirs);
	hello_make(&ours, &config);
	sink += hello_check(&theirs, &ours, true, error) != 0;
	sink += hello_check(&theirs, &ours, false, error) != 0;
	hello_grant(&ours, &theirs);
	if (!hello_sizes_fit(&ours, &theirs) && control_bytes(ours.words) > 64u << 20)
		abort(); /* more than a peer may request */
}

static struct link *new_link(int fd, bool tcp)
{
	struct link *l = aligned_alloc(LINE, sizeof *l);

	if (!l)
		abort();
	memset(l, 0, sizeof *l);
	l->server = true;
	l->tcp_link = tcp;
	l->fd = fd;
	l->pidfd = l->stop = -1;
	l->owner = getpid();
	l->ring_size = RING;
	l->nwords = WORDS;
	pthread_mutex_init(&l->error_lock, NULL);
	pthread_mutex_init(&l->unix_lock, NULL);
	return l;
}

static void touch(const struct frame *f, const uint8_t *arena)
{
	const uint8_t *payload = f->payload;

	if (f->size)
		sink += payload[0] + payload[f->size - 1];
	for (unsigned i = 0; i < f->npieces; i++)
		if (f->pieces[i].size)
			sink += arena[f->pieces[i].offset] + arena[f->pieces[i].offset + f->pieces[i].size - 1];
}

/* A heap block as arena, so that a sanitizer detects the first byte out of bounds. */
static void fuzz_stream(const uint8_t *data, size_t size)
{
	struct link *l;
	struct frame f;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		abort();
	if (send(pair[0], data, size, MSG_NOSIGNAL) < 0)
		sink++;
	shutdown(pair[0], SHUT_WR);
	l = new_link(pair[1], true);
	l->arena[BULK_UP].base = malloc(ARENA);
	l->arena[BULK_UP].size = ARENA;
	if (!(l->tcp = tcp_new(l, &(struct link_config){0})) || tcp_start(l))
		abort();
	/* Both sides have sent a few bytes and send no more. */
	l->tcp->extras.joined = 2;
	l->tcp->extras.extra[0].received = l->tcp->extras.extra[1].received = 4096;
	l->tcp->extras.extra[1].ended = true;
	while (!tcp_next(l, &f, 0))
		touch(&f, l->arena[BULK_UP].base);
	close(pair[0]);
	free(l->arena[BULK_UP].base);
	l->arena[BULK_UP].base = NULL;
	link_destroy(l);
}

/* Mapped once: creating memory takes longer than everything else. */
static struct link *shared_link(void)
{
	static struct link *l;
	struct link_memory m = {.fds = {-1, -1, -1}, .nwords = WORDS, .size = {ARENA, ARENA}};
	struct lane *lane;
	int fd, pair[2];

	if (l)
		return l;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		abort();
	l = new_link(pair[0], false);
	if (link_memory_create_fds(&m))
		abort();
	link_memory_give(&m, l);
	fd = memory_create("lane", lane_bytes(RING));
	if (fd < 0 || lane_map(l, 0, fd, &lane))
		abort();
	lane_enter(l, lane);
	close(fd);
	l->arena[BULK_UP].base = malloc(ARENA);
	l->arena[BULK_UP].size = ARENA;
	return l;
}

static void fuzz_shared(const uint8_t *data, size_t size, bool board_too)
{
	struct link *l = shared_link();
	struct lane *lane = l->lanes[0];
	size_t onto_board = board_too && size >= 64 ? 64 : 0;
	struct frame f;

	l->broken = 0;
	l->next = 0;
	l->current = NULL;
	lane->up_head = 0;
	for (uint64_t i = 0; i < 64; i++)
		l->board[i] = (i + 1) << LANE_BITS;
	memcpy(l->board, data, onto_board);
	data += onto_board;
	size -= onto_board;
	memset(lane->up, 0, 4096);
	memcpy(lane->up, data, size < RING ? size : RING);
	while (!link_next(l, &f, 0))
		touch(&f, l->arena[BULK_UP].base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 4) {
	case 0:
		fuzz_hello(data + 1, size - 1);
		break;
	case 1:
		fuzz_stream(data + 1, size - 1);
		break;
	default:
		fuzz_shared(data + 1, size - 1, data[0] % 4 == 3);
	}
	return 0;
}
