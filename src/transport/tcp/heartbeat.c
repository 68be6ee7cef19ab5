/* heartbeat.c - sends heartbeats and breaks a TCP link whose peer has been silent for too long. */
#include "transport/tcp/heartbeat.h"

#include <errno.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "transport/tcp/tcp.h"

void heartbeat_init(struct heartbeat *h, const struct link_config *config)
{
	*h = (struct heartbeat){.beat_ms = config->beat_ms,
		.silence_ms = config->silence_ms,
		.notice_ms = config->notice_ms,
		.on_silence = config->on_silence,
		.arg = config->on_silence_arg,
		.stop = -1};
}

/*
 * Skips a connection on which a thread is sending: its data is as good as a heartbeat. A socket that is writable takes
 * all 24 bytes at once, so this never blocks and never leaves half a frame behind.
 */
static void heartbeat_send(struct link *l)
{
	struct frame_head beat = {.kind = FRAME_BEAT};
	struct pollfd p = {.fd = l->fd, .events = POLLOUT};
	struct tcp *t = l->tcp;

	if (pthread_mutex_trylock(&t->out_lock))
		return;
	if (poll(&p, 1, 0) == 1 && p.revents == POLLOUT)
		stream_send(l, l->fd, &(struct iovec){&beat, sizeof beat}, 1);
	extra_queue_beats(l);
	pthread_mutex_unlock(&t->out_lock);
}

/* Milliseconds since the connection last received data; 0 if received data waits to be read. */
static unsigned connection_silence_ms(int fd)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof info;
	int unread = 0;

	if (ioctl(fd, FIONREAD, &unread) || unread || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size))
		return 0;
	return info.tcpi_last_data_recv;
}

static unsigned link_silence_ms(struct link *l)
{
	struct extras *all = &l->tcp->extras;
	unsigned longest = connection_silence_ms(l->fd), used = load_acquire(&all->count);

	for (unsigned i = 0; i < used; i++) {
		unsigned ms = connection_silence_ms(load_acquire(&all->extra[i].fd));

		longest = ms > longest ? ms : longest;
	}
	return longest;
}

static void heartbeat_check(struct link *l)
{
	struct heartbeat *h = &l->tcp->heartbeat;
	unsigned silence = link_silence_ms(l);
	bool notice = silence >= h->notice_ms;

	if (h->on_silence && notice != h->noticed)
		h->on_silence(h->arg, notice);
	h->noticed = notice;
	if (silence >= h->silence_ms)
		link_break(l, -EPIPE, "the %s has sent nothing for %u s, not even heartbeats",
			l->server ? "client" : "server", silence / 1000);
}

static void *heartbeat_run(void *arg)
{
	struct link *l = arg;
	struct heartbeat *h = &l->tcp->heartbeat;
	struct pollfd stop = {.fd = h->stop, .events = POLLIN};

	while (!link_broken(l)) {
		int n = poll(&stop, 1, (int)h->beat_ms);

		if (n > 0)
			break;
		if (n < 0)
			continue;
		heartbeat_send(l);
		heartbeat_check(l);
	}
	return NULL;
}

int heartbeat_start(struct link *l)
{
	struct heartbeat *h = &l->tcp->heartbeat;
	int err;

	if (!h->beat_ms)
		return 0;
	h->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->stop < 0)
		return -errno;
	err = link_thread(&h->thread, heartbeat_run, l);
	h->running = !err;
	return err;
}

void heartbeat_finish(struct link *l)
{
	struct heartbeat *h = &l->tcp->heartbeat;
	uint64_t one = 1;

	if (h->running && l->owner == getpid() && write(h->stop, &one, sizeof one) == sizeof one)
		pthread_join(h->thread, NULL);
	h->running = false;
	if (h->stop >= 0)
		close(h->stop);
	h->stop = -1;
}
