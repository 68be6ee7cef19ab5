/*
 * private.h - the internal interface between the files of this folder.
 *
 *	link.c         connecting, breaking and ending	address.c  addresses, sockets, deadlines
 *	hello.c        the first record each way	unix.c     descriptors, and the peer's death
 *	board.c        taking frames in ticket order	lane.c     the client's side of lanes
 *	serve.c        the server's side of lanes, and writing the down rings
 *	bulk.c         pieces of the arenas		word.c     words
 *	link_memory.c  the memory of a link		memory.c   sealed memfds
 *	tcp/stream.c   frames on a TCP stream		tcp/tcp.c  the threads that move them
 *	tcp/extra_connections.c, tcp/extra_connections_join.c  further TCP connections
 *
 * A client works the same way over both kinds of link: lanes, board and words are memory. Over TCP that memory is the
 * client's own; one thread takes frames from the board and sends them, another receives and fills the down rings.
 */
#pragma once

#include <pthread.h>
#include "transport/layout.h"
#include "transport/wait.h"

#define FDS_MAX 256 /* descriptors kept until link_recv_fd asks for them: see unix.c */

struct lane {
	struct link *link;
	struct lane *next_free;
	void *data; /* lane_set_data */
	unsigned number;
	void *map;
	size_t map_size;
	struct lane_control *control;
	uint8_t *up, *down;
	void *reply_buffer; /* server over TCP: the reply being built */

	/* The client's cursors. */
	_Alignas(LINE) uint64_t up_tail, up_head_seen, down_head;
	uint32_t reserved, taken;
	uint64_t asked; /* ticket of the call whose reply is expected, */
	bool asking;    /* if one is */

	/* Cursors of the reader: the server, or the client's sending thread over TCP. */
	_Alignas(LINE) uint64_t up_head, down_tail, down_head_seen;
	uint32_t reply_reserved;
};

struct arena {
	uint8_t *base;
	size_t size, map_size;
	pthread_mutex_t lock; /* the client's allocator: one bit for each page */
	uint64_t *used;
	size_t pages, lowest; /* no page below `lowest` is free */
};

struct waiting_fd {
	uint64_t id;
	int fd; /* or -errno: this process could not receive it */
};

struct tcp;

struct link {
	bool server, tcp_link;
	int fd;    /* the socket */
	int pidfd; /* the peer's process; -1: unknown */
	int stop;  /* eventfd: ends the watching thread, or the dispatcher's poll */
	pid_t owner;
	unsigned spin_us;
	uint32_t ring_size, nwords;
	struct link_peer peer;

	pthread_mutex_t error_lock;
	_Atomic int broken;
	char text[LINK_ERROR_TEXT];
	_Atomic unsigned sleepers; /* threads of this process that sleep on a flag */
	_Atomic bool interrupted;

	struct control *control;
	size_t control_size;
	_Atomic uint64_t *board;
	struct word *words;
	struct arena arena[2];

	pthread_mutex_t lane_lock;
	_Atomic(struct lane *) lanes[LINK_LANES];
	_Atomic unsigned nlanes;
	struct lane *free_lanes;
	uint64_t *words_used;

	_Alignas(LINE) _Atomic uint64_t ticket; /* client: next ticket to draw */
	_Alignas(LINE) _Atomic uint64_t done_seen;

	_Alignas(LINE) _Atomic uint64_t next; /* reader: next ticket to take */
	struct lane *current;                 /* lane of the frame that the caller holds */
	unsigned since_wake;

	pthread_mutex_t unix_lock;
	pthread_cond_t unix_cond;
	struct waiting_fd fds[2 * FDS_MAX];
	unsigned nfds;
	bool watching, hung_up;
	pthread_t watcher;

	struct tcp *tcp;
};

/* link.c */
int link_break(struct link *l, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
void link_wake_sleepers(struct link *l); /* of a broken link; returns when none is left */
int link_sleep(struct link *l, struct wait *w, _Atomic uint32_t *flag);
static inline int link_broken(struct link *l)
{
	return atomic_load(&l->broken);
}
size_t lane_bytes(uint32_t ring_size);
int lane_map(struct link *l, unsigned number, int fd, struct lane **lane);
void lane_enter(struct link *l, struct lane *lane); /* makes it a lane of the link */
void lane_discard(struct lane *lane);               /* instead of lane_enter */
int link_new_lane(struct link *l, unsigned number); /* without rings: server over TCP */
int link_thread(pthread_t *thread, void *(*run)(void *), void *arg);
int error_text(char error[LINK_ERROR_TEXT], int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* link_memory.c: descriptors and maps of a link's memory, owned by this struct until link_memory_give or _discard */
struct link_memory {
	int fds[3]; /* control, up, down; -1: closed */
	uint32_t nwords, size[2];
	uint8_t *control, *base[2];
	size_t control_map, map[2];
};
size_t control_bytes(uint32_t nwords);
int link_memory_create_fds(struct link_memory *m);            /* sizes are set: makes descriptors and maps them */
int link_memory_map(struct link_memory *m);                   /* sizes and descriptors are set */
void link_memory_give(struct link_memory *m, struct link *l); /* the link owns the maps from now on */
void link_memory_close_fds(struct link_memory *m);
void link_memory_discard(struct link_memory *m); /* closes and unmaps everything */

/* address.c */
int address_connect(const char *address, uint64_t deadline, char error[LINK_ERROR_TEXT]);
int address_again(int fd, uint64_t deadline); /* another connection to the peer of this one */
bool socket_is_unix(int fd);
int socket_tune(int fd);

/* unix.c */
int unix_send(int fd, uint32_t kind, uint64_t id, const int *fds, unsigned nfds);
int unix_receive_fd(int fd, uint64_t *id, uint64_t deadline); /* a message that carries one descriptor */
int unix_watch(struct link *l);
void unix_unwatch(struct link *l);
void unix_find_lane(struct link *l, unsigned number); /* server: reads the socket for the lane's announcement */
int unix_offer(struct link *l, const int fds[3]);     /* server: sends the link's memory and its own pidfd */
int unix_take(struct link *l, struct link_memory *m, uint64_t deadline); /* client: receives and maps them */
enum { UNIX_LANE = 1, UNIX_FD, UNIX_MEMORY, UNIX_READY };

/* board.c */
int board_take(struct link *l, struct frame_head *head, const uint8_t **at, struct lane **lane);
bool board_ready(struct link *l);
void board_release(struct link *l, struct lane *lane);
void board_settle(struct link *l); /* announces all room made so far, before the reader goes idle */
int frame_check(
	struct link *l, const struct frame_head *head, const void *pieces, enum bulk which, struct frame *frame);

/* serve.c: writes a down ring: the server, or over TCP the client's receiving thread */
int reply_reserve(struct lane *lane, uint32_t size, uint8_t **record);
void reply_publish(struct lane *lane, uint32_t record);

/* tcp.c */
int tcp_start(struct link *l);
void tcp_stop(struct link *l);
void tcp_forget(struct link *l); /* in a forked child, which has none of the threads */
void tcp_flush(struct link *l);  /* client: sends the frames on the board from this thread */
void tcp_assist(struct link *l); /* client: receives in this thread unless another one does */
void tcp_rely(struct link *l);   /* client: this thread is about to sleep and needs the receiving thread */
int tcp_next(struct link *l, struct frame *frame, int timeout_ms);
int tcp_reply(struct lane *lane, const struct frame_head *head, const struct piece *pieces);
int tcp_word(
	struct link *l, unsigned index, const struct piece *pieces, unsigned npieces); /* sends its present value */
