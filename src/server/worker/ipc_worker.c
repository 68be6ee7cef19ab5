/* The worker's side of IPC handles of the CPU device: asks the parent, which passes descriptors between workers. */
#include "server/worker/ipc_worker.h"

#include <errno.h>
#include <string.h>
#include "server/daemon/ipc_registry.h"
#include "server/worker/parent_channel.h"
#include "server/session/session.h"

/* Sends a request and gets the answer's body.  The descriptor of the answer, or -1, is in *fd, which may be NULL. */
static int ipc_ask(enum handoff_type type, struct handoff_ipc *a, int give, int *fd)
{
	struct handoff_message m = {.type = type, .size = sizeof *a, .nfds = give >= 0, .fds = {give}}, answer;
	int r;

	if (!worker_session->parent)
		return -ENOTCONN;
	memcpy(m.body, a, sizeof *a);
	r = parent_ask(worker_session->parent, &m, &answer);
	if (r)
		return r;
	if (answer.size != sizeof *a) {
		handoff_discard(&answer);
		return -EPROTO;
	}
	memcpy(a, answer.body, sizeof *a);
	if (fd && answer.nfds == 1) {
		*fd = answer.fds[0];
		answer.fds[0] = -1;
	}
	handoff_discard(&answer);
	return a->result;
}

static int publish(const unsigned char secret[IPC_SECRET], uint32_t kind, int store, uint64_t offset, uint64_t size)
{
	struct handoff_ipc a = {.kind = kind, .offset = offset, .size = size};

	memcpy(a.secret, secret, sizeof a.secret);
	return ipc_ask(HANDOFF_IPC_PUBLISH, &a, store, NULL);
}

static void revoke(const unsigned char secret[IPC_SECRET])
{
	struct handoff_ipc a = {.kind = 0};

	memcpy(a.secret, secret, sizeof a.secret);
	ipc_ask(HANDOFF_IPC_REVOKE, &a, -1, NULL);
}

static int open_place(const unsigned char secret[IPC_SECRET], uint32_t kind, uint64_t *offset, uint64_t *size)
{
	struct handoff_ipc a = {.kind = kind};
	int fd = -1, r;

	memcpy(a.secret, secret, sizeof a.secret);
	r = ipc_ask(HANDOFF_IPC_OPEN, &a, -1, &fd);
	*offset = a.offset;
	*size = a.size;
	return r ? r : fd < 0 ? -EMFILE : fd;
}

static bool process_alive(int pid)
{
	struct handoff_ipc a = {.offset = (uint64_t)pid};

	return pid > 0 && !ipc_ask(HANDOFF_IPC_ALIVE, &a, -1, NULL);
}

const struct ipc_broker worker_ipc_broker = {publish, revoke, open_place, process_alive};
