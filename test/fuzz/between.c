/*
 * A relay between real programs and a complete server changes the programs' requests: values, forged handles, other
 * calls, truncated and extended frames, repeated and older frames, other pieces. The changed requests were valid, so
 * they reach the same code in the server as the programs' own.
 *
 *	fuzz_between SECONDS GANGWAY DEVICE SEED PROGRAM...		SEED 0: any
 *
 * With LIES=FOLDER in the environment the relay changes the server's replies instead, and stores the sanitizer reports
 * of the programs in that folder. The programs must not crash in our code (said.h), and must exit after their link
 * ends.
 *
 *	program ── tcp ── relay: parses frames, changes them and renumbers them ── tcp ── worker
 *	program ── unix ─ relay: forwards and keeps descriptors, and writes into the rings ─ unix ── worker
 *
 * Otherwise the programs' results do not matter. A worker may end a session, but it must not die, and the parent must
 * continue to serve. The fuzzer checks the server's log for this.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include "change.h"
#include "said.h"
#include "served.h"
#include "transport/hello.h"
#include "transport/private.h"
#include "wire/nvml.h"
#include "wire/wire.h"

#define ROUND_MS 4000
#define LAST_MS  100000 /* time limit of a program after its links have ended */
#define LINKS    64
#define QUIET_MS 600 /* without traffic in either direction: one side waits for a frame that will not arrive */
#define SAVED    32
#define KEPT     (64u << 10) /* bytes of pieces kept for repetition */
#define TICKETS  (1u << 16)

static struct tally {
	_Atomic unsigned long frames, changed, links;
	_Atomic unsigned reached[WIRE_NVML_END], answered[WIRE_NVML_END]; /* per call; answered: with success */
} *tally;                                                                 /* shared with the relays */

static const char *lies; /* folder for sanitizer reports; if set, the relay changes the server's replies */

/* ---- TCP ---- */

static struct {
	int client, server;
	pthread_mutex_t lock;
	uint64_t next;          /* ticket of the next frame to the server */
	uint64_t back[TICKETS]; /* the client's ticket for that frame; ~0: the client did not send it */
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

/* Number of bytes that follow a frame. */
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

/* Sends a frame with the next ticket; ours: the client does not know it. Sends no more than the body holds. */
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

/* Repeats an earlier frame or this one; our own bytes replace the bytes of its pieces. */
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
	left = tail(m); /* the bytes of the pieces follow, whatever the changed frame says */
	if (lies && now_is_the_time(n)) {
		tally->changed++;
		change(m);
	}
	size_t size = frame_bytes(m->head.payload, m->head.npieces) - sizeof m->head;
	if (passed && (!put(relay.client, &m->head, sizeof m->head) ||
			      !put(relay.client, m->body, size < sizeof m->body ? size : sizeof m->body)))
		return false;
	while (left) {
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

#include "poke.h"

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
		_exit(2); /* the server no longer serves */
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

	dup2(null, 0);
	if (!getenv("SPARE") && !getenv("LOUD"))
		dup2(null, 1), dup2(null, 2);
	setenv("GANGWAY_DEVICE", address, 1);
	setenv("NO_RESULTS", "1", 1);
	setenv("GANGWAY_CONNECTIONS", "1", 1); /* the relay parses one connection */
	said_to(lies);
	execl(program, program, (char *)NULL);
	_exit(127);
}

/* End the relays and so the program's links; the program must then exit. 4: it did not; 8: it crashed in our code. */
static int last_words(
	const char *program, uint64_t seed, pid_t pid, int status, bool ended, const pid_t *relays, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		kill(relays[i], SIGKILL);
	for (uint64_t end = wait_now() + LAST_MS * 1000000ull; !ended && wait_now() < end; usleep(2000))
		ended = waitpid(pid, &status, WNOHANG) == pid;
	if (!ended)
		return printf("seed %llu: %s hangs\n", (unsigned long long)seed, program), 4;
	return said_ours(lies, program, seed, pid, status) ? 8 : 0;
}

/* Run one program with a relay for each of its links. 2: the server no longer answers. */
static int play(const char *program, uint64_t seed)
{
	char where[256], address[256], error[LINK_ERROR_TEXT];
	unsigned tcp = seed % 4 != 0, links = 0;
	int listener, status, result = 0;
	pid_t pid, child, relays[LINKS];
	bool ended = false;

	chance_state = seed * 0x9e3779b97f4a7c15 | 1;
	rarely = 1u << (1 + roll() % 8);
	spared = (unsigned)(roll() % (roll() % 2 ? 8 : 400));
	if (getenv("SPARE")) /* check that the relay alone does no harm */
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
			serve_link(fd, tcp, roll() + links);
		}
		if (fd >= 0)
			close(fd), relays[links++ % LINKS] = child;
		child = waitpid(-1, &status, WNOHANG);
		result |= child > 0 && child != pid && WIFEXITED(status) ? WEXITSTATUS(status) & 2 : 0;
		if ((ended = child == pid))
			break;
	}
	if (lies) {
		shutdown(listener, SHUT_RDWR);
		result |= last_words(program, seed, pid, status, ended, relays, links < LINKS ? links : LINKS);
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
			printf("operation %u: %u calls, %u successful\n", op, tally->reached[op], tally->answered[op]);
	}
	printf("%u programs, seeds from %llu, %lu links; %lu frames, %lu changed; %u operations called, %u with "
	       "success; the log: %s\n",
		rounds, (unsigned long long)first, tally->links, tally->frames, tally->changed, reached, answered,
		failed ? served.log : "clean");
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 0,
		 first = seed = seed ? seed : (uint64_t)time(NULL) << 8;
	unsigned rounds = 0, bad = 0;
	bool failed = false;

	lies = getenv("LIES");
	tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc < 6 || tally == MAP_FAILED || !served_start(argv[2], argv[3]))
		return printf("the server does not start: %s\n", served.log),
		       served.pid > 0 ? kill(served.pid, SIGKILL) : 0, 1;
	do {
		fflush(NULL);
		/* a separate process waits for everything that the round starts */
		pid_t pid = fork();
		int status = 0;
		if (!pid)
			status = play(argv[5 + seed % (unsigned)(argc - 5)], seed), fflush(stdout), _exit(status);
		waitpid(pid, &status, 0);
		bad += WIFEXITED(status) && WEXITSTATUS(status) & 12; /* a failed program; other rounds continue */
		failed = !WIFEXITED(status) || WEXITSTATUS(status) & 2 ||
			 waitpid(served.pid, &status, WNOHANG) == served.pid;
		rounds++;
		seed++;
	} while (!failed && time(NULL) < end);
	if (failed)
		printf("seed %llu: new clients cannot connect\n", (unsigned long long)seed - 1);
	failed |= !served_end();
	report(rounds, first, failed);
	if (bad)
		printf("%u programs crashed in our code, or hang\n", bad);
	return failed || bad;
}
