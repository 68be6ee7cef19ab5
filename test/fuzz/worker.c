/*
 * A hostile client of a complete server. After a valid hello it sends random frames, frames in the wrong order, torn
 * and repeated frames, forged descriptors, false cursors, and wrong data on extra connections, over shared memory and
 * TCP. Its worker may end the session, but it must not die, and the parent must continue to serve.
 *
 *	fuzz_worker SECONDS GANGWAY [SEED]
 *
 * The test fails if the server's log shows that a signal or a sanitizer killed a worker.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "chance.h"
#include "served.h"
#include "transport/tcp/tcp.h"
#include "wire/nvml.h"
#include "wire/protocol.h"
#include "wire/wire.h"

static unsigned any_op(void)
{
	if (roll() % 16 == 0)
		return WIRE_NVML + (unsigned)(roll() % 2 ? roll() % 400 : WIRE_NVML_PLAIN + roll() % 5);
	return roll() % 3 ? (unsigned)(roll() % 700)
			  : WIRE_DEVICES + (unsigned)(roll() % (WIRE_OPS_END - WIRE_DEVICES + 2));
}

static struct link *join(int which)
{
	struct link_config config = link_defaults(false);
	struct link *l = NULL;

	config.protocol = wire_protocol();
	config.timeout_ms = config.patience_ms = 5000;
	config.up_size = config.down_size = 1 << 20;
	config.extras = roll() % 4;
	if (link_connect(&l, served.address[which], &config, NULL))
		_exit(2); /* the server no longer serves */
	return l;
}

static void send_one(struct lane *lane, bool wait)
{
	uint32_t size = roll() % 16 ? 8 + roll() % 200 : roll() % 20000, most = roll() % 8 ? 8192 : 400000;
	struct piece pieces[2] = {{roll() % 128 * 4096, roll() % most}, {roll() % 128 * 4096, roll() % most}};
	uint32_t all = ~0u;
	struct frame reply;
	void *room;

	if (lane_reserve(lane, size, &room))
		_exit(0); /* the worker has ended the session */
	odd_bytes(room, size);
	if (roll() % 2 && size >= 12)
		memcpy((char *)room + 8, &all, 4);
	if (lane_call(lane, any_op(), size, pieces, roll() % 3, NULL))
		_exit(0);
	if (!wait || lane_wait_reply(lane, &reply, 2))
		return;
	for (unsigned i = 8; i + 8 <= reply.size && i < 40; i += 8) {
		uint64_t v;
		memcpy(&v, (const char *)reply.payload + i, 8);
		chance_remember(v);
	}
	lane_release(lane);
}

/* A valid client's first calls, which create handles to misuse. */
static void ask(struct lane *lane, unsigned op, const void *args, uint32_t size)
{
	struct frame reply;
	uint64_t v = 0;
	void *room;

	if (lane_reserve(lane, 8 + size, &room))
		_exit(0);
	memset(room, 0, 8);
	memcpy((char *)room + 8, args, size);
	if (lane_call(lane, op, 8 + size, NULL, 0, NULL) || lane_wait_reply(lane, &reply, 2000))
		_exit(0);
	if (reply.size >= 16)
		memcpy(&v, (const char *)reply.payload + 8, 8);
	chance_remember(v);
	lane_release(lane);
}

static void random_frames(int which)
{
	struct link *l = join(which);
	struct wire_cuDevicePrimaryCtxRetain retain = {.present = 1};
	struct lane *lanes[3];

	for (int i = 0; i < 3; i++)
		if (lane_open(l, &lanes[i]))
			_exit(0);
	for (int i = 0; i < 3; i++)
		ask(lanes[i], NR_cuDevicePrimaryCtxRetain, &retain, sizeof retain);
	for (int i = 0; i < 400; i++)
		send_one(lanes[roll() % 3], roll() % 4 != 0);
}

/* Change bytes of the shared memory while the worker reads them. */
static void lie_in_memory(void)
{
	struct link *l = join(0);
	struct lane *lane;

	if (lane_open(l, &lane))
		_exit(0);
	for (int i = 0; i < 300; i++) {
		uint64_t v = odd_value();
		switch (roll() % 6) {
		case 0:
			memcpy((uint8_t *)l->control + roll() % (l->control_size - 8), &v, 8);
			break;
		case 1:
			memcpy((uint8_t *)lane->control + roll() % 4088, &v, 8);
			break;
		case 2:
			memcpy(lane->up + (lane->up_tail & (l->ring_size - 1)) + roll() % 256, &v, 8);
			break;
		case 3: /* the next slot, with a random position */
			store_ordered(&l->board[load_relaxed(&l->ticket) % BOARD_SLOTS], v);
			atomic_fetch_add(&l->ticket, roll() % 2);
			break;
		case 4: /* repeat an earlier frame */
			lane->up_tail -= roll() % 4 * 64;
			break;
		default:
			send_one(lane, false);
		}
		wait_wake_always(&l->control->reader_sleep);
	}
	usleep(roll() % 3000);
}

/* Descriptors of the wrong kind, size or seals, and unexpected control messages. */
static void forge_descriptors(void)
{
	struct link *l = join(0);

	for (int i = 0; i < 40; i++) {
		int fd = roll() % 2 ? open("/dev/null", O_RDWR | O_CLOEXEC)
				    : memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (fd < 0 || (roll() % 2 && ftruncate(fd, (off_t)(odd_value() % (1 << 24)))))
			continue;
		unix_send(l->fd, (uint32_t)(roll() % 6), roll() % 4 ? l->nlanes : odd_value(), &fd, 1);
		close(fd);
	}
	usleep(roll() % 3000);
}

/* Positions outside the arena, unrequested bytes, marks that are never reached, hellos for other clients' links. */
static void lie_aside(void)
{
	struct link *l = join(1);
	struct extras *all = &l->tcp->extras;
	struct lane *lane;

	if (!all->granted || lane_open(l, &lane))
		_exit(0);
	odd_bytes((uint8_t *)&all->hello.extra, roll() % 8 ? 0 : sizeof all->hello.extra);
	extra_request(l);
	for (int patience = roll() % 4 ? 400 : 0; patience && link_connections(l) == 1; patience--)
		usleep(500);
	for (int i = 0; i < 200; i++) {
		struct extra *s = &all->extra[roll() % all->granted];
		uint64_t v[32];

		odd_bytes((uint8_t *)v, sizeof v);
		if (roll() % 2)
			((struct piece *)v)->size = (uint32_t)(roll() % sizeof v);
		if (s->fd >= 0)
			send(s->fd, v, roll() % 3 ? sizeof v : roll() % sizeof v, MSG_NOSIGNAL | MSG_DONTWAIT);
		s->queued += roll() % 8 ? 0 : odd_value();
		if (roll() % 2)
			send_one(lane, false);
		if (roll() % 32 == 0)
			usleep(1000);
	}
}

/* No valid transport: bytes on the socket, with and without a hello before them. */
static void raw_bytes(int which)
{
	struct link_config config = link_defaults(false);
	uint64_t deadline = wait_now() + 5000000000ull;
	struct hello h, answer;
	uint8_t junk[4096];
	int fd = address_connect(served.address[which], deadline, NULL);

	if (fd < 0)
		_exit(2);
	config.protocol = wire_protocol();
	hello_make(&h, &config);
	if (roll() % 3 == 0)
		odd_bytes((uint8_t *)&h + roll() % 200, 8);
	h.flags |= roll() % 8 == 0; /* an extra connection without a link */
	send(fd, &h, roll() % 4 ? sizeof h : roll() % sizeof h, MSG_NOSIGNAL);
	if (roll() % 2)
		hello_receive(fd, &answer, wait_now() + 50000000);
	for (int i = 0; i < 20; i++) {
		odd_bytes(junk, sizeof junk);
		if (send(fd, junk, 1 + roll() % sizeof junk, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
	}
	close(fd);
}

static void play(uint64_t seed)
{
	chance_state = seed * 0x9e3779b97f4a7c15 | 1;
	alarm(3); /* the worker may make the client wait for ever, which is not an error */
	switch (seed % 6) {
	case 0:
	case 1:
		random_frames((int)(seed % 2));
		break;
	case 2:
		lie_in_memory();
		break;
	case 3:
		forge_descriptors();
		break;
	case 4:
		lie_aside();
		break;
	default:
		raw_bytes((int)(roll() % 2));
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : (uint64_t)time(NULL) << 8, first = seed;
	int status = 0;
	bool failed = false;

	if (argc < 3 || !served_start(argv[2], "null"))
		return printf("the server does not start: %s\n", served.log),
		       served.pid > 0 ? kill(served.pid, SIGKILL) : 0, 1;
	do {
		pid_t pid = fork();
		if (!pid)
			play(seed);
		waitpid(pid, &status, 0);
		failed = WIFEXITED(status) && WEXITSTATUS(status) == 2;
		seed++;
	} while (!failed && time(NULL) < end);
	if (failed)
		printf("seed %llu: new clients cannot connect\n", (unsigned long long)seed - 1);
	failed |= !served_end();
	printf("%llu hostile clients, seeds from %llu; the log: %s\n", (unsigned long long)(seed - first),
		(unsigned long long)first, failed ? served.log : "clean");
	return failed;
}
