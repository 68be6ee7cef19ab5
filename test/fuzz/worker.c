/*
 * A hostile client against a whole server: it speaks the hello, and then random frames, frames in the wrong
 * order, torn and repeated ones, forged descriptors, and cursors that lie, over shared memory and TCP.  Its
 * worker may end the session; it must not die, and the parent must go on serving.
 *
 *	fuzz_worker SECONDS GANGWAY [SEED]
 *
 * The server's log tells: a worker that was ended by a signal or a sanitizer fails the test.
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
#include "transport/hello.h"
#include "transport/private.h"
#include "wire/protocol.h"
#include "wire/wire.h"

static char address[2][256], folder[128], log_path[160];

static unsigned any_op(void)
{
	return roll() % 3 ? (unsigned)(roll() % 700) : WIRE_DEVICES + (unsigned)(roll() % (WIRE_OPS_END - WIRE_DEVICES + 2));
}

static struct link *join(int which)
{
	struct link_config config = link_defaults(false);
	struct link *l = NULL;

	config.protocol = wire_protocol();
	config.timeout_ms = config.patience_ms = 5000;
	config.up_size = config.down_size = 1 << 20;
	if (link_connect(&l, address[which], &config, NULL))
		_exit(2); /* the server does not serve any more */
	return l;
}

static void send_one(struct lane *lane, bool wait)
{
	uint32_t size = roll() % 16 ? 8 + roll() % 200 : roll() % 20000;
	struct piece pieces[2] = {{roll() % 128 * 4096, roll() % 8192}, {roll() % 128 * 4096, roll() % 8192}};
	uint32_t all = ~0u;
	struct frame reply;
	void *room;

	if (lane_reserve(lane, size, &room))
		_exit(0); /* it has had enough of us */
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

/* What an honest client asks first, so that there are handles to misuse. */
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

/* Bytes of the memory that both sides map change under the worker's eyes. */
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
		case 3: /* the next slot, pointing anywhere */
			store_ordered(&l->board[load_relaxed(&l->ticket) % BOARD_SLOTS], v);
			atomic_fetch_add(&l->ticket, roll() % 2);
			break;
		case 4: /* a frame that was there before, again */
			lane->up_tail -= roll() % 4 * 64;
			break;
		default:
			send_one(lane, false);
		}
		wait_wake_always(&l->control->reader_sleep);
	}
	usleep(roll() % 3000);
}

/* Descriptors of the wrong kind, size or seals, and control messages nobody expects. */
static void forge_descriptors(void)
{
	struct link *l = join(0);

	for (int i = 0; i < 40; i++) {
		int fd = roll() % 2 ? open("/dev/null", O_RDWR | O_CLOEXEC) : memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (fd < 0 || (roll() % 2 && ftruncate(fd, (off_t)(odd_value() % (1 << 24)))))
			continue;
		unix_send(l->fd, (uint32_t)(roll() % 6), roll() % 4 ? l->nlanes : odd_value(), &fd, 1);
		close(fd);
	}
	usleep(roll() % 3000);
}

/* No transport at all: bytes on the socket, with and without a hello before them. */
static void raw_bytes(int which)
{
	struct link_config config = link_defaults(false);
	uint64_t deadline = wait_now() + 5000000000ull;
	struct hello h, answer;
	uint8_t junk[4096];
	int fd = address_connect(address[which], deadline, NULL);

	if (fd < 0)
		_exit(2);
	config.protocol = wire_protocol();
	hello_make(&h, &config);
	if (roll() % 3 == 0)
		odd_bytes((uint8_t *)&h + roll() % 200, 8);
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
	alarm(3); /* it may be made to wait for ever: that is its own loss */
	switch (seed % 5) {
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
	default:
		raw_bytes((int)(roll() % 2));
	}
	_exit(0);
}

static pid_t start_server(const char *gangway)
{
	char listen[200];
	pid_t pid;

	const char *tmp = getenv("TMPDIR");

	snprintf(folder, sizeof folder, "%s/gangway-XXXXXX", tmp ? tmp : P_tmpdir);
	if (!mkdtemp(folder))
		return -1;
	snprintf(listen, sizeof listen, "unix:%s/socket", folder);
	snprintf(log_path, sizeof log_path, "%s/log", folder);
	pid = fork();
	if (!pid) {
		int fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
		dup2(fd, 2);
		setenv("GANGWAY_DEVICE_MEMORY", "256M", 1);
		execl(gangway, "gangway", "serve", "--on", "null", "--listen", listen, "--listen", "tcp://:0", (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* Both addresses, once they are in the log. */
static bool find_addresses(void)
{
	char line[1024];

	for (int i = 0; i < 200; i++, usleep(100000)) {
		FILE *f = fopen(log_path, "r");
		int n = 0;
		while (f && n < 2 && fgets(line, sizeof line, f)) {
			char *at = strstr(line, "listening on ");
			if (at)
				sscanf(at + 13, "%255s", address[n++]);
		}
		if (f)
			fclose(f);
		if (n == 2)
			return true;
	}
	return false;
}

/* Lines that must not be there; prints them. */
static int complaints(void)
{
	static const char *const bad[] = {"ended by signal", "exit status", "Sanitizer", "runtime error", "cannot start"};
	char line[1024];
	int n = 0;
	FILE *f = fopen(log_path, "r");

	while (f && fgets(line, sizeof line, f))
		for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
			if (strstr(line, bad[i]) && ++n < 20)
				fputs(line, stdout);
	if (f)
		fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : (uint64_t)time(NULL) << 8, first = seed;
	pid_t server = argc > 2 ? start_server(argv[2]) : -1;
	int status = 0, failed = 0;

	if (server < 0 || !find_addresses())
		return printf("the server does not start: %s\n", log_path), server > 0 ? kill(server, SIGKILL) : 0, 1;
	do {
		pid_t pid = fork();
		if (!pid)
			play(seed);
		waitpid(pid, &status, 0);
		failed = WIFEXITED(status) && WEXITSTATUS(status) == 2;
		seed++;
	} while (!failed && time(NULL) < end);
	if (failed)
		printf("seed %llu: nobody can connect any more\n", (unsigned long long)seed - 1);
	usleep(300000);
	failed |= complaints() != 0;
	if (waitpid(server, &status, WNOHANG) == server)
		failed = 1, printf("the parent died: status %x\n", (unsigned)status);
	else
		kill(server, SIGTERM), kill(server, SIGTERM), waitpid(server, &status, 0);
	printf("%llu hostile clients, seeds from %llu; the log: %s\n", (unsigned long long)(seed - first),
		(unsigned long long)first, failed ? log_path : "clean");
	if (!failed)
		unlink(log_path), rmdir(folder);
	return failed;
}
