/* A version mismatch, a missing server and a missing answer yield an error message on each side that is present. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "test/transport/pair.h"
#include "transport/hello.h"
#include "transport/private.h"

#define LIMIT 60000 /* ms: no peer is late on purpose */

static uint64_t deadline(void)
{
	return wait_now() + LIMIT * 1000000ull;
}

static int serve_one(int listener, const struct link_config *config, const char *says)
{
	char error[LINK_ERROR_TEXT] = "";
	struct link *l;
	int err = link_serve(&l, link_accept(listener), config, error);

	if (!strstr(error, says) || (err == 0) != !*says)
		fprintf(stderr, "the server says: %d %s\n", err, error), failures++;
	link_destroy(l);
	return RESULT();
}

/* A server process for one client, which must report this error. */
static pid_t server(int listener, const struct link_config *config, const char *says)
{
	pid_t child = fork();

	if (!child)
		_exit(serve_one(listener, config, says));
	return child;
}

static void ended_well(pid_t child)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void mismatch(bool tcp)
{
	struct link_config mine = link_defaults(false), theirs = link_defaults(true);
	char error[LINK_ERROR_TEXT] = "";
	struct pair p;
	int listener;
	pid_t child;

	mine.build = "gangway 0.1.0";
	mine.protocol = 0x1111;
	theirs.build = "gangway\n0.2.0";
	theirs.protocol = 0x2222;
	CHECK(!pair_listen(&p, tcp, &listener));
	child = server(listener, &theirs, "the client is gangway 0.1.0");
	CHECK_EQ(link_connect(&p.link, p.address, &mine, error), -EPROTO);
	CHECK(strstr(error, "the server is gangway?0.2.0") && strstr(error, "2222") &&
		strstr(error, "this client is gangway 0.1.0"));
	ended_well(child);
	theirs.protocol = 0x1111;
	child = server(listener, &theirs, "");
	CHECK_EQ(link_connect(&p.link, p.address, &mine, error), 0);
	CHECK(link_peer(p.link)->local == !tcp);
	CHECK(!strcmp(link_peer(p.link)->build, "gangway?0.2.0"));
	link_destroy(p.link);
	ended_well(child);
	pair_unlisten(&p, listener);
}

static int raw_connect(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
	CHECK_EQ(connect(fd, (struct sockaddr *)&name, sizeof name), 0);
	return fd;
}

/* Valid hellos with one false field each. */
static void lie(int listener, const char *path, size_t at, const void *lie_, size_t size, const char *says)
{
	struct link_config config = link_defaults(true);
	struct hello h;
	pid_t child;
	int fd;

	config.timeout_ms = LIMIT;
	child = server(listener, &config, says);
	fd = raw_connect(path);
	hello_make(&h, &config);
	memcpy((char *)&h + at, lie_, size);
	CHECK_EQ(hello_send(fd, &h, deadline()), 0);
	ended_well(child);
	close(fd);
}

static void lies(void)
{
	uint32_t zero = 0, odd = 12345, huge = 0xffffffff;
	struct pair p;
	int listener;

	CHECK(!pair_listen(&p, false, &listener));
	lie(listener, p.address + 5, 0, "HTTP/1.1", 8, "does not speak Gangway");
	lie(listener, p.address + 5, offsetof(struct hello, order), &odd, 4, "byte order");
	lie(listener, p.address + 5, offsetof(struct hello, version), &odd, 4, "install the same version");
	lie(listener, p.address + 5, offsetof(struct hello, ring_size), &odd, 4, "impossible sizes");
	lie(listener, p.address + 5, offsetof(struct hello, ring_size), &zero, 4, "impossible sizes");
	lie(listener, p.address + 5, offsetof(struct hello, up_size), &zero, 4, "impossible sizes");
	lie(listener, p.address + 5, offsetof(struct hello, words), &zero, 4, "impossible sizes");
	/* Values that are too large are reduced to the maximum. */
	lie(listener, p.address + 5, offsetof(struct hello, up_size), &huge, 4, "");
	pair_unlisten(&p, listener);
}

/* A server that accepts everything, and sends memory of this size with these seals. */
static int send_memory(int listener, size_t extra, int seals)
{
	struct link_config config = link_defaults(true);
	int fd = link_accept(listener), fds[3];
	struct hello ours, theirs;

	hello_make(&ours, &config);
	if (hello_receive(fd, &theirs, deadline()))
		return 1;
	hello_grant(&ours, &theirs);
	hello_send(fd, &ours, deadline());
	size_t sizes[3] = {control_bytes(ours.words), ours.up_size, ours.down_size + extra};
	for (int i = 0; i < 3; i++) {
		fds[i] = memfd_create("memory", MFD_ALLOW_SEALING);
		if (ftruncate(fds[i], (off_t)sizes[i]) || fcntl(fds[i], F_ADD_SEALS, seals))
			return 1;
	}
	if (unix_send(fd, UNIX_MEMORY, 0, fds, 3))
		return 1;
	unix_send(fd, UNIX_READY, 0, NULL, 0);
	return recv(fd, fds, 1, 0) > 0;
}

static void bad_memory(void)
{
	static const struct {
		size_t extra;
		int seals, answer;
	} given[] = {{0, F_SEAL_SHRINK, 0}, {0, F_SEAL_GROW, -EPROTO}, {4096, F_SEAL_SHRINK, -EPROTO},
		{-4096ul, F_SEAL_SHRINK, -EPROTO}};
	struct link_config config = link_defaults(false);
	char error[LINK_ERROR_TEXT];
	struct pair p;
	int listener;
	pid_t child;

	CHECK(!pair_listen(&p, false, &listener));
	for (unsigned i = 0; i < sizeof given / sizeof *given; i++) {
		child = fork();
		if (!child)
			_exit(send_memory(listener, given[i].extra, given[i].seals));
		CHECK_EQ(link_connect(&p.link, p.address, &config, error), given[i].answer);
		link_destroy(p.link);
		ended_well(child);
	}
	pair_unlisten(&p, listener);
}

static void nobody(void)
{
	struct link_config config = link_defaults(false);
	char error[LINK_ERROR_TEXT], address[200];
	struct stat st;
	struct pair p;
	int listener, again;

	config.timeout_ms = config.patience_ms = 100;
	CHECK(!pair_listen(&p, false, &listener));
	CHECK(!stat(p.address + 5, &st) && (st.st_mode & 0777) == 0600);
	CHECK_EQ(link_connect(&p.link, p.address, &config, error), -ETIMEDOUT);
	CHECK(strstr(error, "does not answer"));
	CHECK_EQ(link_listen(p.address, 0600, error), -EADDRINUSE);
	close(listener);
	CHECK_EQ(link_connect(&p.link, p.address, &config, error), -ECONNREFUSED);
	CHECK(strstr(error, "no server is listening"));
	again = link_listen(p.address, 0660, error);
	CHECK(again >= 0 && !stat(p.address + 5, &st) && (st.st_mode & 0777) == 0660);
	pair_unlisten(&p, again);
	CHECK_EQ(link_connect(&p.link, p.address, &config, error), -ENOENT);
	CHECK_EQ(link_connect(&p.link, "gopher://x", &config, error), -EINVAL);
	CHECK_EQ(link_connect(&p.link, "tcp://:1", &config, error), -EINVAL);
	CHECK_EQ(link_connect(&p.link, "tcp://127.0.0.1:", &config, error), -EINVAL);
	snprintf(address, sizeof address, "unix:%0150d", 0);
	CHECK_EQ(link_connect(&p.link, address, &config, error), -ENAMETOOLONG);
	/* A file that is not a socket is not removed. */
	CHECK(!pair_listen(&p, false, &listener));
	close(listener);
	unlink(p.address + 5);
	close(open(p.address + 5, O_CREAT | O_WRONLY, 0600));
	CHECK_EQ(link_listen(p.address, 0600, error), -EADDRINUSE);
	CHECK(!stat(p.address + 5, &st) && S_ISREG(st.st_mode));
	unlink(p.address + 5);
	rmdir(p.folder);
}

/* The server's parent answers a hello that asks for the device, and leaves others in the socket. */
static int answer_one(int listener, const struct link_config *config)
{
	int fd = link_accept(listener);

	CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, LIMIT) == 1);
	if (!link_answer_device(fd, config, "a\tlonger name than the client has room for"))
		link_refuse(fd, config, "no question");
	return RESULT();
}

static void device(bool tcp)
{
	struct link_config mine = link_defaults(false), theirs = link_defaults(true);
	char error[LINK_ERROR_TEXT] = "", name[LINK_DEVICE_TEXT];
	struct pair p;
	int listener;

	CHECK(!pair_listen(&p, tcp, &listener));
	for (int asks = 1; asks >= 0; asks--) {
		pid_t child = fork();

		if (!child)
			_exit(answer_one(listener, &theirs));
		if (asks) {
			CHECK_EQ(link_ask_device(p.address, &mine, name, error), 0);
			CHECK(!strcmp(name, "a?longer name than the client h"));
		} else {
			CHECK_EQ(link_connect(&p.link, p.address, &mine, error), -ECONNREFUSED);
			CHECK(strstr(error, "no question"));
		}
		ended_well(child);
	}
	theirs.protocol++;
	pid_t child = fork();
	if (!child)
		_exit(answer_one(listener, &theirs));
	CHECK_EQ(link_ask_device(p.address, &mine, name, error), -EPROTO);
	ended_well(child);
	close(listener);
	if (!tcp)
		unlink(p.address + 5);
	rmdir(p.folder);
}

int main(void)
{
	device(false);
	device(true);
	mismatch(false);
	mismatch(true);
	lies();
	bad_memory();
	nobody();
	return RESULT();
}
