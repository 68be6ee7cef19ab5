/*
 * Somebody sits between real programs and a whole server, and changes what the programs say: values, forged
 * handles, other calls, cut and longer frames, the same again, older ones, other pieces.  What is changed was right
 * a moment ago, so it gets as deep into the server as the programs do.
 *
 *	fuzz_between SECONDS GANGWAY DEVICE SEED PROGRAM...		SEED 0: any
 *
 * With LIES=FOLDER in the environment it is the server's words that are changed, over TCP, and what a sanitizer says of
 * the programs is left in that folder.
 *
 *	program ── tcp ── relay: takes frames apart, changes them, numbers them anew ── tcp ── worker
 *	program ── unix ─ relay: passes descriptors on, keeps them, and writes into the rings ─ unix ── worker
 *
 * What becomes of the programs does not matter.  A worker may end a session; it must not die, and the parent must go
 * on serving: the log tells.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include "change.h"
#include "served.h"
#include "transport/hello.h"
#include "transport/private.h"
#include "wire/nvml.h"
#include "wire/wire.h"

#define ROUND_MS 4000
#define QUIET_MS 600 /* nothing goes either way: somebody waits for what will not come */
#define SAVED	 32
#define KEPT	 (64u << 10) /* bytes of pieces that are kept to be sent again */
#define TICKETS	 (1u << 16)

static struct tally {
	_Atomic unsigned long frames, changed, links;
	_Atomic unsigned reached[WIRE_NVML_END], answered[WIRE_NVML_END]; /* by call; answered: with success */
} *tally; /* shared with the relays */

static const char *lies; /* where the programs' last words are left: the server's are changed */

/* ---- TCP ---- */

static struct {
	int client, server;
	pthread_mutex_t lock;
	uint64_t next;		 /* the number of the next frame that the server gets */
	uint64_t back[TICKETS]; /* what the client calls it; ~0: it has not sent that */
} relay;

static bool get(int fd, void *to, size_t size)
{
	ssize_t n;

	for (uint8_t *p = to; size; p += n, size -= (size_t)n)
		if ((n = recv(fd, p, size, 0)) <= 0)
			return false;
	return true;
}

static bool put(int fd, const void *from, size_t size)
{
	ssize_t n;

	for (const uint8_t *p = from; size; p += n, size -= (size_t)n)
		if ((n = send(fd, p, size, MSG_NOSIGNAL)) <= 0)
			return false;
	return true;
}

/* Bytes that follow a frame. */
static size_t tail(const struct message *m)
{
	struct piece p;
	size_t n = 0;

	for (unsigned i = 0; i < m->head.npieces; i++) {
		memcpy(&p, m->body + ((m->head.payload + 7) & ~7u) + i * sizeof p, sizeof p);
		n += p.size;
	}
	return n;
}

static bool receive(int fd, struct message *m)
{
	if (!get(fd, &m->head, sizeof m->head) || m->head.payload > PAYLOAD || m->head.npieces > LINK_PIECES)
		return false;
	return get(fd, m->body, frame_bytes(m->head.payload, m->head.npieces) - sizeof m->head);
}

static bool move_bytes(size_t size)
{
	static uint8_t some[65536];

	while (size) {
		size_t n = size < sizeof some ? size : sizeof some;
		if (!get(relay.client, some, n) || !put(relay.server, some, n))
			return false;
		size -= n;
	}
	return true;
}

/* With the next number; ours: the client knows nothing of it.  A head that lies has no more behind it than there is. */
static bool send_up(struct message *m, bool ours)
{
	size_t size = frame_bytes(m->head.payload, m->head.npieces) - sizeof m->head;
	uint64_t theirs = m->head.ticket;
	bool sent;

	pthread_mutex_lock(&relay.lock);
	relay.back[relay.next % TICKETS] = ours ? ~0ull : theirs;
	m->head.ticket = relay.next++;
	pthread_mutex_unlock(&relay.lock);
	if (m->head.op < WIRE_NVML_END)
		tally->reached[m->head.op]++;
	sent = put(relay.server, &m->head, sizeof m->head) &&
	       put(relay.server, m->body, size < sizeof m->body ? size : sizeof m->body);
	m->head.ticket = theirs;
	return sent;
}

/* One that was sent before, or this one once more: with bytes of our own where it has pieces. */
static bool send_again(const struct message *old)
{
	static struct message copy;
	static uint8_t junk[KEPT];

	copy = *old;
	if (roll() % 2)
		change(&copy);
	if (copy.head.payload > PAYLOAD || copy.head.npieces > LINK_PIECES || tail(&copy) > sizeof junk)
		return true;
	return send_up(&copy, true) && put(relay.server, junk, tail(&copy));
}

static void *upwards(void *arg)
{
	static struct message m, saved[SAVED];
	unsigned nsaved = 0;

	chance_state = (uintptr_t)arg;
	for (unsigned long n = 0; receive(relay.client, &m); n++) {
		size_t bytes = tail(&m);
		bool fine = true;
		tally->frames++;
		learn(m.body, m.head.payload);
		if (bytes <= KEPT && roll() % 2)
			saved[nsaved++ % SAVED] = m;
		if (!lies && now_is_the_time(n)) {
			tally->changed++;
			if (roll() % 5 || !nsaved)
				change(&m);
			else
				fine = send_again(&saved[roll() % (nsaved < SAVED ? nsaved : SAVED)]);
		}
		if (!fine || !send_up(&m, false) || !move_bytes(bytes))
			break;
	}
	shutdown(relay.server, SHUT_WR);
	return NULL;
}

static bool downwards(struct message *m, unsigned long n)
{
	static uint8_t bytes[1 << 20];
	int32_t result = 0;
	uint64_t theirs;
	bool passed = true;
	size_t left;

	if (m->head.kind == FRAME_PLAIN) {
		pthread_mutex_lock(&relay.lock);
		theirs = relay.back[m->head.ticket % TICKETS];
		pthread_mutex_unlock(&relay.lock);
		memcpy(&result, m->body, m->head.payload >= 4 ? 4 : 0);
		if (m->head.op < WIRE_NVML_END && !result)
			tally->answered[m->head.op]++;
		learn(m->body + 8, m->head.payload >= 8 ? m->head.payload - 8 : 0);
		passed = theirs != ~0ull;
		m->head.ticket = theirs;
	}
	if (lies && !m->head.npieces && now_is_the_time(n)) {
		tally->changed++;
		change(m);
	}
	size_t size = frame_bytes(m->head.payload, m->head.npieces) - sizeof m->head;
	if (passed && (!put(relay.client, &m->head, sizeof m->head) ||
			      !put(relay.client, m->body, size < sizeof m->body ? size : sizeof m->body)))
		return false;
	if (m->head.payload > PAYLOAD || m->head.npieces > LINK_PIECES)
		return true; /* a lie of ours: nothing comes behind it */
	for (left = tail(m); left;) {
		size_t n = left < sizeof bytes ? left : sizeof bytes;
		if (!get(relay.server, bytes, n) || (passed && !put(relay.client, bytes, n)))
			return false;
		left -= n;
	}
	return true;
}

static void relay_tcp(uint64_t seed)
{
	static struct message m;
	pthread_t up;

	chance_state = roll() | 1;
	pthread_mutex_init(&relay.lock, NULL);
	pthread_create(&up, NULL, upwards, (void *)(uintptr_t)(seed | 1));
	for (unsigned long n = 0; receive(relay.server, &m) && downwards(&m, n); n++)
		;
}

/* ---- Shared memory ---- */

static struct {
	struct control *control; /* and the board behind it */
	struct lane_control *lanes[LINK_LANES];
	uint64_t at[LINK_LANES]; /* where the next frame of each begins */
	_Atomic unsigned nlanes;
	uint32_t ring;
} shared;

static void *map_all(int fd, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* The server's first message has the memory, the client's bring lanes. */
static void keep(const uint32_t *message, const int *fds, unsigned nfds, const struct hello *agreed)
{
	if (message[0] == UNIX_MEMORY && nfds == 3)
		shared.control = map_all(fds[0], 4096 + BOARD_SLOTS * sizeof(uint64_t) + agreed->words * sizeof(struct word));
	if (message[0] == UNIX_LANE && nfds == 1 && shared.nlanes < LINK_LANES) {
		shared.lanes[shared.nlanes] = map_all(fds[0], 4096 + 2 * (size_t)shared.ring);
		shared.nlanes += shared.lanes[shared.nlanes] != NULL;
	}
}

/* A message with its descriptors, from one to the other. */
static bool pass_on(int from, int to, bool up, const struct hello *agreed)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} space;
	uint32_t text[64];
	struct iovec iov = {text, sizeof text};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &space, .msg_controllen = sizeof space};
	ssize_t n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	unsigned nfds = c ? (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int)) : 0;
	int *fds = c ? (int *)CMSG_DATA(c) : NULL;

	if (n <= 0)
		return false;
	if (n >= 4)
		keep(text, fds, nfds, agreed);
	if (up && shared.control && now_is_the_time(spared) && roll() % 4 == 0)
		change_values((uint8_t *)text, (size_t)n);
	iov.iov_len = (size_t)n;
	msg.msg_controllen = c ? c->cmsg_len : 0;
	n = sendmsg(to, &msg, MSG_NOSIGNAL);
	for (unsigned i = 0; i < nfds; i++)
		close(fds[i]);
	return n > 0;
}

/* The frame that was published just now, if the worker has not yet taken it. */
static void poke_frame(unsigned lane, unsigned long n)
{
	uint8_t *record = (uint8_t *)shared.lanes[lane] + 4096 + (shared.at[lane] & (shared.ring - 1));
	uint8_t *end = (uint8_t *)shared.lanes[lane] + 4096 + 2 * (size_t)shared.ring;
	struct frame_head head;

	memcpy(&head, record, sizeof head);
	if (head.payload > shared.ring / 2 || head.npieces > LINK_PIECES)
		return;
	tally->frames++;
	if (head.op < WIRE_NVML_END)
		tally->reached[head.op]++;
	size_t size = head.payload < (size_t)(end - record) - sizeof head ? head.payload : 0; /* it may wrap: let it */
	learn(record + sizeof head, size);
	if (now_is_the_time(n)) {
		tally->changed++;
		change_values(record + (roll() % 8 ? sizeof head : 0), size);
	}
	shared.at[lane] += record_bytes(head.payload, head.npieces);
}

/* Cursors, flags, words and the board itself. */
static void poke_cursors(void)
{
	uint64_t v = odd_value();
	unsigned lane = (unsigned)(roll() % shared.nlanes);

	if (roll() % 2)
		memcpy((uint8_t *)shared.lanes[lane] + roll() % 512 * 8, &v, 8);
	else
		memcpy((uint8_t *)shared.control + roll() % (roll() % 2 ? 512 : 4096) * 8, &v, 8);
}

static _Noreturn void poke(uint64_t seed)
{
	_Atomic uint64_t *board = (_Atomic uint64_t *)((uint8_t *)shared.control + 4096);
	uint64_t next = 0, entry, last = wait_now();

	chance_state = seed;
	while (wait_now() - last < QUIET_MS * 1000000ull) {
		entry = load_acquire(&board[next % BOARD_SLOTS]);
		unsigned lane = entry & 0xffff;
		if (entry >> LANE_BITS == next + 1 && lane < shared.nlanes) {
			poke_frame(lane, next++);
			last = wait_now();
			if (next > spared && roll() % (64ul * rarely) == 0)
				poke_cursors();
		} else {
			sched_yield();
		}
	}
	_exit(0);
}

static void *start_poking(void *seed)
{
	poke((uintptr_t)seed | 1);
}

static void relay_unix(uint64_t seed, const struct hello *agreed)
{
	struct pollfd p[] = {{relay.client, POLLIN, 0}, {relay.server, POLLIN, 0}};
	bool fine = true, poking = false;
	pthread_t thread;

	chance_state = seed | 1;
	shared.ring = agreed->ring_size;
	while (fine && poll(p, 2, -1) > 0) {
		if (p[0].revents)
			fine = pass_on(relay.client, relay.server, true, agreed);
		if (fine && p[1].revents)
			fine = pass_on(relay.server, relay.client, false, agreed);
		if (!poking && shared.nlanes && shared.control)
			poking = !pthread_create(&thread, NULL, start_poking, (void *)(uintptr_t)roll());
	}
}

/* ---- Rounds ---- */

static void set_quiet(int fd)
{
	struct timeval t = {.tv_usec = QUIET_MS * 1000};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	socket_tune(fd);
}

static void serve_link(int client, unsigned tcp, uint64_t seed)
{
	uint64_t deadline = wait_now() + ROUND_MS * 1000000ull;
	struct hello asked, answer;

	relay.client = client;
	relay.server = address_connect(served.address[tcp], deadline, NULL);
	if (relay.server < 0)
		_exit(2); /* the server does not serve any more */
	fcntl(relay.server, F_SETFL, 0);
	if (hello_receive(client, &asked, deadline) || hello_send(relay.server, &asked, deadline) ||
	    hello_receive(relay.server, &answer, deadline) || hello_send(client, &answer, deadline))
		_exit(0);
	tally->links++;
	if (tcp) {
		set_quiet(client);
		set_quiet(relay.server);
		relay_tcp(seed);
	}
	if (!tcp)
		relay_unix(seed, &answer);
	_exit(0);
}

static void run_program(const char *program, const char *address)
{
	int null = open("/dev/null", O_RDWR);
	char options[512];

	dup2(null, 0);
	if (!getenv("SPARE"))
		dup2(null, 1), dup2(null, 2);
	setenv("GANGWAY_DEVICE", address, 1);
	setenv("NO_RESULTS", "1", 1);
	setenv("GANGWAY_CONNECTIONS", "1", 1); /* the relay takes one apart */
	snprintf(options, sizeof options, "detect_leaks=0%s%s%s", lies ? ":log_path=" : "", lies ? lies : "", lies ? "/said" : "");
	setenv("ASAN_OPTIONS", options, 1);
	execl(program, program, (char *)NULL);
	_exit(127);
}

/* One program, with a relay for each of its links.  2: nobody answers any more. */
static int play(const char *program, uint64_t seed)
{
	char where[256], address[256], error[LINK_ERROR_TEXT];
	unsigned tcp = lies || seed % 4 != 0;
	int listener, status, result = 0;
	pid_t pid, child, links = 0;

	chance_state = seed * 0x9e3779b97f4a7c15 | 1;
	rarely = 1u << (1 + roll() % 8);
	spared = (unsigned)(roll() % (roll() % 2 ? 8 : 400));
	if (getenv("SPARE")) /* to see that the relay itself does no harm */
		spared = ~0u;
	snprintf(where, sizeof where, tcp ? "tcp://127.0.0.1:0" : "unix:%s/between", served.folder);
	listener = link_listen(where, 0600, error);
	if (listener < 0 || link_address(listener, address, sizeof address))
		return printf("%s\n", error), 2;
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_program(program, address);
	}
	setpgid(pid, pid);
	for (uint64_t end = wait_now() + ROUND_MS * 1000000ull; wait_now() < end;) {
		struct pollfd p = {listener, POLLIN, 0};
		int fd = poll(&p, 1, 20) > 0 ? link_accept(listener) : -1;
		if (fd >= 0 && !(child = fork())) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			setpgid(0, pid);
			alarm(2 * ROUND_MS / 1000);
			serve_link(fd, tcp, roll() + (uint64_t)links);
		}
		if (fd >= 0)
			close(fd), links++;
		child = waitpid(-1, &status, WNOHANG);
		result |= child > 0 && child != pid && WIFEXITED(status) ? WEXITSTATUS(status) & 2 : 0;
		if (child == pid)
			break;
	}
	kill(-pid, SIGKILL);
	while (waitpid(-1, &status, 0) > 0 || errno == EINTR)
		;
	close(listener);
	if (!tcp)
		unlink(where + 5);
	return result;
}

static void report(unsigned rounds, uint64_t first, bool failed)
{
	unsigned reached = 0, answered = 0;

	for (unsigned op = 0; op < WIRE_NVML_END; op++) {
		reached += tally->reached[op] != 0;
		answered += tally->answered[op] != 0;
		if (getenv("LIST") && tally->reached[op])
			printf("call %u: %u times, %u with success\n", op, tally->reached[op], tally->answered[op]);
	}
	printf("%u programs, seeds from %llu, %lu links; %lu frames, %lu changed; %u kinds of calls, %u answered with success; the log: %s\n",
		rounds, (unsigned long long)first, tally->links, tally->frames, tally->changed, reached, answered,
		failed ? served.log : "clean");
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 0, first = seed = seed ? seed : (uint64_t)time(NULL) << 8;
	unsigned rounds = 0;
	bool failed = false;

	lies = getenv("LIES");
	tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc < 6 || tally == MAP_FAILED || !served_start(argv[2], argv[3]))
		return printf("the server does not start: %s\n", served.log), served.pid > 0 ? kill(served.pid, SIGKILL) : 0, 1;
	do {
		fflush(NULL);
		/* a process of its own: whatever it starts, it alone waits for */
		pid_t pid = fork();
		int status = 0;
		if (!pid)
			_exit(play(argv[5 + seed % (unsigned)(argc - 5)], seed));
		waitpid(pid, &status, 0);
		failed = status != 0 || waitpid(served.pid, &status, WNOHANG) == served.pid;
		rounds++;
		seed++;
	} while (!failed && time(NULL) < end);
	if (failed)
		printf("seed %llu: nobody can connect any more\n", (unsigned long long)seed - 1);
	failed |= !served_end();
	report(rounds, first, failed);
	return failed;
}
