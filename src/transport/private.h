/*
 * private.h - what the files of this folder share.
 *
 *	link.c     making, breaking, ending a link	address.c  names, sockets, deadlines
 *	hello.c    the first record each way		unix.c     descriptors, and who died
 *	board.c    taking frames in ticket order	lane.c     the client's lanes
 *	reply.c    the down ring's writing side		serve.c    the server's calls
 *	bulk.c     pieces of the arenas			word.c     words
 *	made.c     the memory itself			memory.c   what it is made of
 *	stream.c   frames on a TCP stream		tcp.c      who moves them
 *	side.c     further connections			side_join.c  how they come about
 *
 * A client works the same over both kinds of link: lanes, board and words are memory.  Over TCP that memory
 * is its own, one thread takes from the board and sends, another receives and fills the down rings.
 */
#pragma once

#include <pthread.h>
#include "transport/layout.h"
#include "transport/wait.h"

#define FDS_MAX 256 /* descriptors that arrived and that nobody has asked for: see unix.c */

struct lane {
	struct link *link;
	struct lane *next_free;
	void *data; /* the server's */
	unsigned number;
	void *map;
	size_t map_size;
	struct lane_control *control;
	uint8_t *up, *down;
	void *reply_buffer; /* server over TCP: where a reply is built */

	/* The client's own cursors. */
	_Alignas(LINE) uint64_t up_tail, up_head_seen, down_head;
	uint32_t reserved, taken;
	uint64_t asked; /* the ticket of the call whose reply comes next, */
	bool asking;    /* if there is one */

	/* The reading side's: the server, or the pump over TCP. */
	_Alignas(LINE) uint64_t up_head, down_tail, down_head_seen;
	uint32_t reply_reserved;
};

struct arena {
	uint8_t *base;
	size_t size, map_size;
	pthread_mutex_t lock; /* the client's allocator: one bit a page */
	uint64_t *used;
	size_t pages, lowest; /* none below is free */
};

struct waiting_fd {
	uint64_t id;
	int fd;
};

struct tcp;

struct link {
	bool server, tcp_link;
	int fd;    /* the socket */
	int pidfd; /* the peer's process, where we have it; else -1 */
	int stop;  /* eventfd: ends the watching thread, or a poll of the dispatcher */
	pid_t owner;
	unsigned spin_us;
	uint32_t ring_size, nwords;
	struct link_peer peer;

	pthread_mutex_t error_lock;
	_Atomic int broken;
	char text[LINK_ERROR_TEXT];
	_Atomic unsigned sleepers; /* threads of ours that sleep on a flag */
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

	_Alignas(LINE) _Atomic uint64_t ticket; /* the client's counter */
	_Alignas(LINE) _Atomic uint64_t done_seen;

	_Alignas(LINE) _Atomic uint64_t next; /* the reader's: ticket to take */
	struct lane *current;                 /* the lane whose frame is out */
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
void link_wake_sleepers(struct link *l); /* of a broken link, until none is left */
int link_sleep(struct link *l, struct wait *w, _Atomic uint32_t *flag);
static inline int link_broken(struct link *l)
{
	return atomic_load(&l->broken);
}
size_t lane_bytes(uint32_t ring_size);
int link_map_lane(struct link *l, unsigned number, int fd);
int link_new_lane(struct link *l, unsigned number); /* without memory */
int link_thread(pthread_t *thread, void *(*run)(void *), void *arg);
int error_text(char error[LINK_ERROR_TEXT], int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* made.c: fds and maps belong to whoever has them until they are given to a link, or closed and dropped */
struct link_memory {
	int fds[3]; /* control, up, down; -1: closed */
	uint32_t nwords, size[2];
	uint8_t *control, *base[2];
	size_t control_map, map[2];
};
size_t control_bytes(uint32_t nwords);
int made_fresh(struct link_memory *m);                 /* with the sizes set: descriptors, and maps of them */
int made_map(struct link_memory *m);                   /* with the descriptors, too: maps */
void made_give(struct link_memory *m, struct link *l); /* the maps */
void made_close(struct link_memory *m);                /* the descriptors */
void made_drop(struct link_memory *m);                 /* all */

/* address.c */
int address_connect(const char *address, uint64_t deadline, char error[LINK_ERROR_TEXT]);
int address_again(int fd, uint64_t deadline); /* another connection to where this one goes */
bool socket_is_unix(int fd);
int socket_tune(int fd);

/* unix.c */
int unix_send(int fd, uint32_t kind, uint64_t id, const int *fds, unsigned nfds);
int unix_receive_fd(int fd, uint64_t *id, uint64_t deadline); /* a descriptor that was sent by itself */
int unix_watch(struct link *l);
void unix_unwatch(struct link *l);
void unix_find_lane(struct link *l, unsigned number); /* server: it may have been announced by now */
int unix_offer(struct link *l, const int fds[3]);     /* server: gives the client our memory, and says who we are */
int unix_take(struct link *l, struct link_memory *m, uint64_t deadline); /* client: takes and maps it */
enum { UNIX_LANE = 1, UNIX_FD, UNIX_MEMORY, UNIX_READY };

/* board.c */
int board_take(struct link *l, struct frame_head *head, const uint8_t **at, struct lane **lane);
bool board_ready(struct link *l);
void board_release(struct link *l, struct lane *lane);
void board_settle(struct link *l); /* before the reader goes idle: nobody may miss the room it made */
int frame_check(
	struct link *l, const struct frame_head *head, const void *pieces, enum bulk which, struct frame *frame);

/* reply.c: the down ring, written by the server, or over TCP by the client's receiving thread */
int reply_reserve(struct lane *lane, uint32_t size, uint8_t **record);
void reply_publish(struct lane *lane, uint32_t record);

/* tcp.c */
int tcp_start(struct link *l);
void tcp_stop(struct link *l);
void tcp_forget(struct link *l); /* in a forked child, which has none of its threads */
void tcp_flush(struct link *l);  /* client: send what is on the board from this thread */
void tcp_assist(struct link *l); /* client: receive from this thread, if nobody else does */
void tcp_rely(struct link *l);   /* client: this thread is about to sleep */
int tcp_next(struct link *l, struct frame *frame, int timeout_ms);
int tcp_reply(struct lane *lane, const struct frame_head *head, const struct piece *pieces);
int tcp_word(struct link *l, unsigned index, const struct piece *pieces, unsigned npieces); /* as it is now */
