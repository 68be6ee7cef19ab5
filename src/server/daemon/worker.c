#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "backend/backend.h"
#include "backend/plugin.h"
#include "server/quota/account.h"
#include "server/code/code.h"
#include "server/daemon/fd_handoff.h"
#include "server/daemon/log.h"
#include "server/nvml/nvml.h"
#include "server/nvml/nvml_processes.h"
#include "server/daemon/worker_pool.h"
#include "server/session/session.h"
#include "server/daemon/worker.h"
#include "cuda/errors.h"
#include "util/build_note.h"
#include "wire/protocol.h"

#define FIRST_FD 3 /* behind stdin, stdout and stderr */

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

static void describe_devices(const struct cuda_ops *ops, const struct quota_size *quota, struct stats *stats)
{
	int n = 0;

	if (ops->cuDeviceGetCount(&n))
		n = 0;
	n = n < STATS_DEVICES ? n : STATS_DEVICES;
	for (int i = 0; i < n; i++) {
		size_t memory = 0;

		ops->cuDeviceGetName(stats->info[i].name, STATS_TEXT, i);
		ops->cuDeviceGetUuid_v2((CUuuid *)stats->info[i].uuid, i);
		ops->cuDeviceTotalMem_v2(&memory, i);
		stats->info[i].memory = memory;
		stats->info[i].quota = quota_of(quota, memory);
	}
	atomic_store(&stats->ndevices, (uint32_t)n);
}

/* Of a process on this machine, as far as we may look. */
static void program_of(pid_t pid, char *name, size_t size)
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/comm", pid);
	fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	n = fd < 0 ? 0 : read(fd, name, size - 1);
	if (fd >= 0)
		close(fd);
	n = n > 0 && name[n - 1] == '\n' ? n - 1 : n;
	name[n > 0 ? n : 0] = 0;
}

static void describe_client(const struct link_peer *peer, struct stats *stats)
{
	struct stats_client *c = &stats->client;

	c->pid = peer->pid;
	c->uid = peer->known ? (int)peer->uid : -1;
	c->local = peer->local;
	c->since = (uint64_t)time(NULL);
	snprintf(c->build, sizeof c->build, "%s", peer->build);
	if (peer->known)
		program_of(peer->pid, c->program, sizeof c->program);
	atomic_store(&stats->connected, true);
}

static const struct cuda_ops *open_device(const struct server_config *set, struct stats *stats, char *why, size_t size)
{
	static struct cuda_ops table;
	const char *device = set->device;
	const struct backend *b = !strcmp(device, "nvidia") ? &nvidia_backend : plugin_backend(device, why, size);
	CUresult r = b ? b->open(device, &table, no_storage, why, size) : CUDA_ERROR_NO_DEVICE;

	if (!r) {
		fill(&table);
		r = table.cuInit(0);
		if (r)
			snprintf(why, size, "its driver does not start: %s",
				result_name(r) ? result_name(r) : "an unknown error");
	}
	if (!r) {
		describe_devices(&table, &set->memory, stats);
		account_wrap(&table, stats);
	}
	return r ? NULL : &table;
}

/*
 * The first device's context, and memory that both it and a client reach, cost most of a start: made now, while nobody
 * waits for them.
 */
static struct link_memory *warm_up(const struct cuda_ops *ops)
{
	struct link_config config = link_defaults(true);
	CUcontext ctx;

	if (ops->cuDevicePrimaryCtxRetain(&ctx, 0) || ops->cuCtxSetCurrent(ctx))
		return NULL;
	return share_ahead(ops, &config);
}

static void serve(int client, const struct cuda_ops *ops, const struct server_config *set, struct stats *stats,
	struct link_memory *memory)
{
	struct link_config config = link_defaults(true);
	uint64_t start = pool_now();
	char error[LINK_ERROR_TEXT];
	static struct session s; /* threads that wait for the device still look at it when the client has ended */

	s.ops = ops;
	s.look_us = strcmp(set->device, "nvidia") ? 0 : set->spin_us;
	config.spin_us = set->spin_us;
	config.build = note_build;
	config.protocol = wire_protocol();
	config.memory = memory;
	char from[USAGE_TEXT];
	nvml_list_address(client, from);
	int r = link_serve(&s.link, client, &config, error);
	if (r) {
		log_event("client refused: %s", error);
		return;
	}
	const struct link_peer *peer = link_peer(s.link);
	log_event("client %d of user %d connected (%s, %s)", peer->pid, peer->known ? (int)peer->uid : -1,
		peer->local ? "shared memory" : "tcp", peer->build);
	describe_client(peer, stats);
	nvml_list_client(peer, from);
	r = session_start(&s);
	if (!r)
		r = session_run(&s);
	if (r == -EPROTO && !link_error(s.link, error))
		snprintf(error, sizeof error, "what came for call %u makes no sense", s.op);
	else if (r != -EPROTO)
		snprintf(error, sizeof error, "%s", strerror(-r));
	unsigned n = link_connections(s.link);
	char by[32] = "";
	if (n > 1)
		snprintf(by, sizeof by, ", by %u connections", n);
	log_event("client %d %s after %.1f s and %llu calls, %llu of them answered%s%s%s", peer->pid,
		!r             ? "ended"
		: r == -EPROTO ? "broke the rules"
			       : "could not be served any longer",
		(pool_now() - start) / 1e3, (unsigned long long)s.calls, (unsigned long long)s.answers, by,
		r ? ": " : "", r ? error : "");
}

/* What the parent holds is none of a worker's business. */
static void keep_only(int fd)
{
	if (fd != FIRST_FD)
		dup3(fd, FIRST_FD, O_CLOEXEC);
	if (syscall(SYS_close_range, FIRST_FD + 1, ~0u, 0) && errno == ENOSYS)
		for (long i = FIRST_FD + 1, end = sysconf(_SC_OPEN_MAX); i < end && i < 65536; i++)
			close((int)i);
}

static void refuse(int client, const char *why)
{
	struct link_config config = link_defaults(true);

	config.build = note_build;
	config.protocol = wire_protocol();
	link_refuse(client, &config, why);
}

_Noreturn void worker_refuse(int client, const char *why)
{
	keep_only(client);
	refuse(FIRST_FD, why);
	_exit(0);
}

/* A spare ends with its parent; a client's own worker goes on until the client ends. */
static void set_signals(void)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_IGN); /* from the terminal it means the parent, which drains */
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

_Noreturn void worker_main(int parent, const struct server_config *config, struct stats *stats)
{
	char why[WORKER_TEXT] = "";
	struct link_memory *memory = NULL;
	const struct cuda_ops *ops;
	int client;

	keep_only(parent);
	set_signals();
	events_capture_output();
	nvml_device(config->device);
	ops = open_device(config, stats, why, sizeof why);
	if (ops) {
		memory = warm_up(ops);
		nvml_warm_up(ops);
	}
	give_say(FIRST_FD, ops ? WORKER_READY : WORKER_FAILED, why);
	client = give_take(FIRST_FD);
	if (client < 0)
		_exit(0);
	prctl(PR_SET_PDEATHSIG, 0);
	give_say(FIRST_FD, WORKER_TAKEN, "");
	close(FIRST_FD);
	if (!ops && !(ops = open_device(config, stats, why, sizeof why))) { /* it may have come by now */
		log_event("client refused: device %s: %s", config->device, why);
		refuse(client, why);
		_exit(0);
	}
	serve(client, ops, config, stats, memory);
	_exit(0); /* whatever the client did, we have not failed: any other status is a fault of ours */
}
