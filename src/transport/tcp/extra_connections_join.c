/*
 * side_join.c - how a link comes by its further connections.
 *
 *	client: connects to where it reached the server, says hello with the link's name and key
 *	parent: link_side looks at what came, and hands the connection in at the door of that name
 *	worker: takes it in if the key is right, and answers
 *	client: when all are answered, says on each that it will be used
 *
 * The door is a unix socket in the abstract namespace, where everybody can see its name: only processes of the same
 * user, or root's, get in, and what they bring still needs the key, which was told to the client alone.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/tcp/tcp.h"

#define JOIN_NS  5000000000ull
#define HAND_NS  1000000000ull
#define DOOR_LOG 16

static socklen_t door_name(struct sockaddr_un *to, uint64_t name)
{
	*to = (struct sockaddr_un){.sun_family = AF_UNIX};
	int n = snprintf(to->sun_path + 1, sizeof to->sun_path - 1, "gangway-side-%016llx", (unsigned long long)name);

	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* ---- The parent ---- */

static int hand_in(int fd, uint64_t name)
{
	struct sockaddr_un to;
	socklen_t size = door_name(&to, name);
	int door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (door < 0)
		return -errno;
	err = connect(door, (struct sockaddr *)&to, size) ? -errno : unix_send(door, UNIX_FD, name, &fd, 1);
	close(door);
	return err;
}

bool link_side(int fd)
{
	struct hello h, pattern;

	hello_make(&pattern, &(struct link_config){0});
	if (recv(fd, &h, sizeof h, MSG_PEEK | MSG_DONTWAIT) != sizeof h || socket_is_unix(fd) ||
		memcmp(h.magic, pattern.magic, sizeof h.magic) || h.flags != HELLO_SIDE)
		return false;
	hand_in(fd, h.side.name); /* else the client goes on without it */
	close(fd);
	return true;
}

unsigned link_connections(struct link *l)
{
	return 1 + (l->tcp ? load_acquire(&l->tcp->sides.joined) : 0);
}

/* ---- The worker ---- */

static int open_door(uint64_t name)
{
	struct sockaddr_un at;
	socklen_t size = door_name(&at, name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd >= 0 && !bind(fd, (struct sockaddr *)&at, size) && !listen(fd, DOOR_LOG))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool draw(void *to, size_t size)
{
	return getrandom(to, size, GRND_NONBLOCK) == (ssize_t)size;
}

/* Without a door, or a secret, there are none. */
void side_offer(struct link *l, struct hello *answer)
{
	struct sides *all = &l->tcp->sides;

	if (answer->side.count && draw(&answer->side.name, sizeof answer->side.name) &&
		draw(answer->side.key, sizeof answer->side.key))
		all->door = open_door(answer->side.name);
	if (all->door < 0)
		memset(&answer->side, 0, sizeof answer->side);
	all->granted = answer->side.count;
	all->hello = *answer;
}

static bool same_key(const uint8_t *a, const uint8_t *b)
{
	unsigned differ = 0;

	for (unsigned i = 0; i < SIDE_KEY; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

/* The first one says how many there will be. */
static struct side *place_for(struct sides *all, const struct hello *h)
{
	if (hello_check(h, &all->hello, true, NULL) || h->flags != HELLO_SIDE ||
		!same_key(h->side.key, all->hello.side.key))
		return NULL;
	if (!all->asked && h->side.count <= all->granted)
		all->asked = h->side.count;
	if (h->side.count != all->asked || h->side.index >= all->asked || all->side[h->side.index].fd >= 0)
		return NULL;
	return &all->side[h->side.index];
}

/* Whether it came in, as one more than those that are. */
static bool admit(struct link *l, int fd, unsigned in)
{
	struct sides *all = &l->tcp->sides;
	uint64_t deadline = wait_now() + HAND_NS;
	struct hello h;
	struct side *s = hello_receive(fd, &h, deadline) ? NULL : place_for(all, &h);

	if (!s || socket_tune(fd)) {
		close(fd);
		return false;
	}
	s->fd = fd;
	if (side_begin(s)) {
		side_end(s);
		return false;
	}
	if (in + 1 == all->asked)
		store_release(&all->joined, all->asked);
	hello_send(fd, &all->hello, deadline);
	return true;
}

static bool may_enter(int visitor)
{
	struct ucred who;
	socklen_t size = sizeof who;

	return !getsockopt(visitor, SOL_SOCKET, SO_PEERCRED, &who, &size) && (!who.uid || who.uid == geteuid());
}

static void *attend(void *arg)
{
	struct link *l = arg;
	struct sides *all = &l->tcp->sides;
	unsigned in = 0;
	uint64_t name;

	while (!link_broken(l) && (!all->asked || in < all->asked)) {
		int visitor = accept4(all->door, NULL, NULL, SOCK_CLOEXEC), fd = -1;

		if (visitor < 0 && errno != EINTR && errno != ECONNABORTED)
			break;
		if (visitor >= 0 && may_enter(visitor))
			fd = unix_receive_fd(visitor, &name, wait_now() + HAND_NS);
		if (visitor >= 0)
			close(visitor);
		in += fd >= 0 && admit(l, fd, in);
	}
	shutdown(all->door, SHUT_RDWR); /* nobody is let in any more, nor left waiting */
	return NULL;
}

int side_attend(struct link *l)
{
	struct sides *all = &l->tcp->sides;
	int err = all->door < 0 ? 0 : link_thread(&all->joiner, attend, l);

	all->joining = all->door >= 0 && !err;
	return err;
}

void side_heard(struct side *s)
{
	struct sides *all = &s->link->tcp->sides;

	if (atomic_fetch_add(&all->ready, 1) + 1 == all->asked)
		store_release(&all->count, all->asked);
}

/* ---- The client ---- */

static int open_side(struct link *l, unsigned index, uint64_t deadline)
{
	struct hello ours = l->tcp->sides.hello, theirs;
	int fd = address_again(l->fd, deadline), err;

	if (fd < 0)
		return fd;
	ours.flags = HELLO_SIDE;
	ours.side.index = index;
	err = hello_send(fd, &ours, deadline);
	err = err ? err : hello_receive(fd, &theirs, deadline);
	err = err ? err : hello_check(&theirs, &ours, false, NULL);
	if (err)
		close(fd);
	return err ? err : fd;
}

static int open_all(struct link *l)
{
	struct sides *all = &l->tcp->sides;
	uint64_t deadline = wait_now() + JOIN_NS;
	int err = 0;

	for (unsigned i = 0; i < all->granted && !err; i++) {
		int fd = open_side(l, i, deadline);

		all->side[i].fd = fd < 0 ? -1 : fd;
		err = fd < 0 ? fd : link_broken(l);
	}
	for (unsigned i = 0; i < all->granted && !err; i++)
		err = side_begin(&all->side[i]);
	return err;
}

/* From here on there is no way back. */
static void use_all(struct link *l)
{
	struct sides *all = &l->tcp->sides;
	struct piece ready = {0};
	int err = 0;

	store_release(&all->joined, all->granted);
	for (unsigned i = 0; i < all->granted && !err; i++)
		err = stream_send(l, all->side[i].fd, &(struct iovec){&ready, sizeof ready}, 1);
	if (!err)
		store_release(&all->count, all->granted);
}

static void *join(void *arg)
{
	struct link *l = arg;
	struct sides *all = &l->tcp->sides;

	if (!open_all(l)) {
		use_all(l);
		return NULL;
	}
	for (unsigned i = 0; i < all->granted; i++)
		side_end(&all->side[i]);
	return NULL;
}

void side_want(struct link *l)
{
	struct sides *all = &l->tcp->sides;

	if (!all->granted || load_relaxed(&all->wanted) || atomic_exchange(&all->wanted, true))
		return;
	all->joining = !link_thread(&all->joiner, join, l);
}
