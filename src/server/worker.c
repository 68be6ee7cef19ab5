#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "backend/backend.h"
#include "backend/plugin.h"
#include "server/log.h"
#include "server/session.h"
#include "server/wait.h"
#include "server/worker.h"
#include "util/note.h"
#include "wire/protocol.h"

static int pass_fd(int socket, int fd)
{
	char byte = 0;
	struct iovec iov = {&byte, 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	return sendmsg(socket, &m, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static int take_fd(int socket)
{
	char byte;
	struct iovec iov = {&byte, 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	struct cmsghdr *c;
	int fd;

	if (recvmsg(socket, &m, MSG_CMSG_CLOEXEC) != 1)
		return -1; /* the parent is gone, or does not need us */
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof fd))
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

int worker_give(int worker, int client)
{
	return pass_fd(worker, client);
}

static void no_storage(CUcontext ctx)
{
	(void)ctx;
}

static CUresult unsupported(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* So that no call of a client's can find a hole. */
static void fill(struct cuda_ops *table)
{
	CUresult (**f)(void) = (CUresult (**)(void))table;

	for (int i = 0; i < cuda_OP_COUNT; i++)
		if (!f[i])
			f[i] = unsupported;
}

static const struct cuda_ops *open_device(const char *device)
{
	static struct cuda_ops table;
	char why[512] = "";
	const struct backend *b =
		!strcmp(device, "nvidia") ? &nvidia_backend : plugin_backend(device, why, sizeof why);
	CUresult r = b ? b->open(device, &table, no_storage, why, sizeof why) : CUDA_ERROR_NO_DEVICE;

	if (!r) {
		fill(&table);
		r = table.cuInit(0);
		if (r)
			snprintf(why, sizeof why, "the driver does not start (CUresult %d)", r);
	}
	if (r) {
		log_event("device %s: %s", device, why);
		return NULL;
	}
	return &table;
}

/* The first device's context costs most of a start: made now, while nobody waits for it. */
static void warm_up(const struct cuda_ops *ops)
{
	CUcontext ctx;

	if (!ops->cuDevicePrimaryCtxRetain(&ctx, 0))
		ops->cuCtxSetCurrent(ctx);
}

static int serve(int client, const struct cuda_ops *ops)
{
	struct link_config config = link_defaults(true);
	char error[LINK_ERROR_TEXT];
	struct session s = {.ops = ops};

	config.build = note_build;
	config.protocol = wire_protocol();
	int r = link_serve(&s.link, client, &config, error);
	if (r) {
		log_event("client refused: %s", error);
		return r;
	}
	const struct link_peer *peer = link_peer(s.link);
	log_event("client %d of user %d connected (%s, %s)", peer->pid, peer->known ? (int)peer->uid : -1,
		peer->local ? "shared memory" : "tcp", peer->build);
	s.handles = handles_create();
	s.waiters = waiters_create(&s);
	if (!s.handles || !s.waiters)
		return -ENOMEM;
	ops->cuCtxGetCurrent(&s.context);
	session_share(&s);
	serve_init();
	r = session_run(&s);
	if (r)
		link_error(s.link, error);
	log_event("client %d %s after %llu calls, %llu of them answered%s%s", peer->pid, r ? "broke the rules" : "ended",
		(unsigned long long)s.calls, (unsigned long long)s.answers, r ? ": " : "", r ? error : "");
	return r;
}

_Noreturn void worker_main(int parent, const char *device)
{
	const struct cuda_ops *ops;
	int client;

	prctl(PR_SET_PDEATHSIG, SIGTERM); /* a spare one; a client's own goes on until the client ends */
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	ops = open_device(device);
	if (ops)
		warm_up(ops);
	client = take_fd(parent);
	if (client < 0)
		_exit(0);
	prctl(PR_SET_PDEATHSIG, 0);
	_exit(ops && !serve(client, ops) ? 0 : 1);
}
