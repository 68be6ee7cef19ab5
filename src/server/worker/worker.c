/* A worker's life: opens the device, waits for a client, serves it, exits. */
#include "server/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "backend/backend.h"
#include "backend/plugin.h"
#include "cuda/errors.h"
#include "host/machine.h"
#include "server/worker/fd_handoff.h"
#include "server/worker/log.h"
#include "server/worker/ipc_worker.h"
#include "server/worker/parent_channel.h"
#include "server/worker/worker_exec.h"
#include "server/daemon/worker_pool.h"
#include "server/nvml/nvml.h"
#include "server/nvml/nvml_processes.h"
#include "server/quota/account.h"
#include "server/sandbox/sandbox.h"
#include "server/session/session.h"
#include "util/build_note.h"
#include "wire/protocol.h"

/* Stacks of threads (8 MiB each, mostly untouched), code, local memory of kernels, and the store of images in use. */
#define WORKER_OWN_MEMORY (8ull << 30)

static void context_storage_ignore(CUcontext ctx)
{
	(void)ctx;
}

static CUresult call_unsupported(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* No call of a client may find a NULL entry. */
static void table_fill(struct cuda_ops *table)
{
	CUresult (**f)(void) = (CUresult (**)(void))table;

	for (int i = 0; i < cuda_OP_COUNT; i++)
		if (!f[i])
			f[i] = call_unsupported;
}

static void stats_describe_limits(const struct server_config *config, struct stats *stats)
{
	stats->host_quota = quota_of(&config->host_memory, machine_memory());
	stats->object_quota = config->objects;
}

static void stats_describe_devices(const struct cuda_ops *ops, const struct quota_size *quota, struct stats *stats)
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

/* The name of a process on this machine; empty if it cannot be read. */
static void program_name(pid_t pid, char *name, size_t size)
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

static void stats_describe_client(const struct link_peer *peer, struct stats *stats)
{
	struct stats_client *c = &stats->client;

	c->pid = peer->pid;
	c->uid = peer->known ? (int)peer->uid : -1;
	c->local = peer->local;
	c->since = (uint64_t)time(NULL);
	snprintf(c->build, sizeof c->build, "%s", peer->build);
	if (peer->known)
		program_name(peer->pid, c->program, sizeof c->program);
	atomic_store(&stats->connected, true);
}

/* Sets s->ops and s->account.  False: `why` says why not. */
static bool device_open(
	struct session *s, const struct server_config *config, struct stats *stats, char *why, size_t size)
{
	struct cuda_ops *table = calloc(1, sizeof *table);
	const char *device = config->device;
	const struct backend *b = !strcmp(device, "nvidia") ? &nvidia_backend : plugin_backend(device, why, size);
	CUresult r = b && table ? b->open(device, table, context_storage_ignore, why, size) : CUDA_ERROR_NO_DEVICE;

	if (!r && b->use_broker)
		b->use_broker(&worker_ipc_broker);
	if (!r) {
		table_fill(table);
		r = table->cuInit(0);
		if (r)
			snprintf(why, size, "cuInit failed: %s", result_name(r) ? result_name(r) : "an unknown error");
	}
	if (r) {
		free(table);
		return false;
	}
	stats_describe_devices(table, &config->memory, stats);
	stats_describe_limits(config, stats);
	s->account = account_create(table, stats);
	s->ops = table;
	if (s->account && strcmp(device, "nvidia"))
		s->account->granule = ACCOUNT_GRANULE_CPU;
	if (s->account && config->clear && !account_clears(s->account, table))
		s->account = NULL;
	if (!s->account)
		snprintf(why, size, "out of memory");
	return s->account;
}

/*
 * The first device's context, and memory that both the device and a client reach, take most of the time of a start:
 * they are made while no client waits.
 */
static struct link_memory *device_warm_up(struct session *s)
{
	struct link_config config = link_defaults(true);
	CUcontext ctx;

	if (s->ops->cuDevicePrimaryCtxRetain(&ctx, 0) || s->ops->cuCtxSetCurrent(ctx))
		return NULL;
	return registration_prepare(s, &config);
}

static void client_log_end(struct session *s, int r, uint64_t start_ms)
{
	const char *how = !r ? "ended" : r == -EPROTO ? "violated the protocol" : "was disconnected";
	unsigned connections = link_connections(s->link);
	char error[LINK_ERROR_TEXT] = "", over[32] = "";

	if (r == -EPROTO && !link_error(s->link, error))
		snprintf(error, sizeof error, "malformed arguments of call %u", s->op);
	else if (r != -EPROTO)
		snprintf(error, sizeof error, "%s", strerror(-r));
	if (connections > 1)
		snprintf(over, sizeof over, ", over %u connections", connections);
	log_event("client %d %s after %.1f s and %llu calls, %llu of them answered%s%s%s", link_peer(s->link)->pid, how,
		(monotonic_ms() - start_ms) / 1e3, (unsigned long long)s->calls, (unsigned long long)s->answers, over,
		r ? ": " : "", r ? error : "");
}

/* Called by the heartbeat thread of a TCP link. */
static void client_silence_log(void *arg, bool silent)
{
	struct session *s = arg;

	log_event(silent ? "client %d is silent: no heartbeat for 25 s; ends after 10 min" : "client %d is heard again",
		link_peer(s->link)->pid);
}

static void client_serve(
	struct session *s, int client, const struct server_config *set, struct stats *stats, struct link_memory *memory)
{
	struct link_config config = link_defaults(true);
	uint64_t start = monotonic_ms();
	char error[LINK_ERROR_TEXT], from[USAGE_TEXT];

	s->image_cache = set->image_cache;
	s->spin_us = strcmp(set->device, "nvidia") ? 0 : set->spin_us;
	config.spin_us = set->spin_us;
	config.build = build_note_text;
	config.protocol = wire_protocol();
	config.memory = memory;
	nvml_client_address(client, from);
	config.on_silence = client_silence_log;
	config.on_silence_arg = s;
	int r = link_serve(&s->link, client, &config, error);
	if (r) {
		log_event("client refused: %s", error);
		return;
	}
	const struct link_peer *peer = link_peer(s->link);
	log_event("client %d of user %d connected (%s, %s)", peer->pid, peer->known ? (int)peer->uid : -1,
		peer->local ? "shared memory" : "tcp", peer->build);
	stats_describe_client(peer, stats);
	nvml_client_publish(s->nvml, peer, from);
	r = session_start(s);
	if (!r)
		r = session_run(s);
	client_log_end(s, r, start);
}

static void client_refuse(int client, const char *why)
{
	struct link_config config = link_defaults(true);

	config.build = build_note_text;
	config.protocol = wire_protocol();
	link_refuse(client, &config, why);
}

/* Worker and parent end together: limits, accounts and the status need the parent. */
static void signals_init(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_IGN); /* Ctrl-C in a terminal is for the parent, which drains */
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

static struct session *session_create(const char *device)
{
	struct session *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	session_init(s);
	return nvml_init(s, device) ? s : NULL;
}

void process_protect(const struct server_config *config)
{
	prctl(PR_SET_DUMPABLE, config->dumpable ? 1 : 0);
}

void worker_settings_make(struct worker_settings *s, const struct server_config *config)
{
	s->config = *config;
	/* A worker must not learn addresses of the parent. */
	s->config.device = NULL;
	s->config.listen = NULL;
	s->config.metrics = NULL;
	snprintf(s->device, sizeof s->device, "%s", config->device);
}

/* The first message of the parent; NULL if there is none. */
static struct stats *settings_receive(struct worker_settings *s)
{
	struct handoff_message m;
	struct stats *stats = NULL;

	if (handoff_receive(WORKER_CHANNEL, &m, true))
		return NULL;
	if (m.type == HANDOFF_START && m.size == sizeof *s && m.nfds == 1) {
		memcpy(s, m.body, sizeof *s);
		s->config.device = s->device;
		stats = stats_open(m.fds[0]);
		m.fds[0] = -1;
	}
	handoff_discard(&m);
	return stats;
}

/* The client's socket; -1 if the parent is gone or has no client for this worker. */
static int client_receive(uint32_t *user)
{
	struct handoff_message m;
	int client = -1;

	if (handoff_receive(WORKER_CHANNEL, &m, true))
		return -1;
	if (m.type == HANDOFF_CLIENT && m.nfds == 1 && m.size == sizeof *user) {
		memcpy(user, m.body, sizeof *user);
		client = m.fds[0];
		m.fds[0] = -1;
	}
	handoff_discard(&m);
	return client;
}

/* The client belongs to this worker from now on.  False: `why` says why it cannot be served. */
static bool client_take(struct session *s, char why[HANDOFF_TEXT])
{
	handoff_send_fd(WORKER_CHANNEL, HANDOFF_TAKEN, NULL, 0, -1);
	s->parent = parent_channel_create(WORKER_CHANNEL);
	if (!s->parent)
		snprintf(why, HANDOFF_TEXT, "its worker cannot start a thread");
	return s->parent;
}

/*
 * Private memory that a worker of the CPU device can need: all that its client may allocate, and the worker's own.  0 for a GPU,
 * whose driver reserves memory as it likes.
 */
static uint64_t worker_private_memory(const char *device, const struct stats *stats)
{
	uint64_t sum = stats->host_quota + WORKER_OWN_MEMORY;

	if (sandbox_kind(device) != SANDBOX_CPU || !stats->host_quota)
		return 0;
	for (unsigned i = 0; i < atomic_load(&stats->ndevices); i++)
		sum += stats->info[i].quota ? stats->info[i].quota : stats->info[i].memory;
	return sum;
}

/* Sets `why` and returns false if a layer cannot be entered: the worker must not serve then. */
static bool sandbox_enter(int (*enter)(const struct sandbox *s, const char **what), const struct server_config *config,
	struct stats *stats, char *why)
{
	struct sandbox s = {.kind = sandbox_kind(config->device),
		.layers = config->sandbox,
		.capabilities = !(config->sandbox & SANDBOX_FILES) || sandbox_kind(config->device) != SANDBOX_CPU,
		.dumpable = config->dumpable,
		.isolate_user = config->isolate_first,
		.private_memory = worker_private_memory(config->device, stats),
		.forbidden_call = &stats->forbidden_call};
	const char *what;
	int r = enter(&s, &what);

	if (r)
		snprintf(why, HANDOFF_TEXT, "cannot enter the sandbox layer %s: %s", what, strerror(-r));
	return !r;
}

/* Every exit status but 0 means a fault of the worker, whatever the client did. */
static _Noreturn void worker_run(const struct server_config *config, struct stats *stats)
{
	char why[HANDOFF_TEXT] = "";
	struct link_memory *memory = NULL;
	struct session *s; /* never freed: threads that wait for the device use it after the client has ended */
	bool opened, safe;
	uint32_t user = 0;
	int client;

	safe = sandbox_enter(sandbox_before_device, config, stats, why); /* the worker has one thread */
	s = session_create(config->device);
	if (!s)
		_exit(1);
	kernel_output_capture(s);
	opened = safe && device_open(s, config, stats, why, sizeof why);
	if (opened) {
		memory = device_warm_up(s);
		nvml_warm_up(s);
		opened = safe = sandbox_enter(sandbox_before_client, config, stats, why);
	}
	handoff_send_fd(WORKER_CHANNEL, opened ? HANDOFF_READY : HANDOFF_FAILED, why, strlen(why), -1);
	client = client_receive(&user);
	if (client < 0)
		_exit(0);
	if (config->isolate_first && sandbox_change_user(user)) {
		log_event("cannot become user %u: %s", user, strerror(errno));
		_exit(1);
	}
	safe = client_take(s, why) && safe;
	if (!opened && safe) /* the device may have appeared meanwhile */
		opened = device_open(s, config, stats, why, sizeof why) &&
			 sandbox_enter(sandbox_before_client, config, stats, why);
	if (!opened || !safe) {
		log_event("client refused: device %s: %s", config->device, why);
		client_refuse(client, why);
		_exit(0);
	}
	client_serve(s, client, config, stats, memory);
	_exit(0);
}

void worker_main(void)
{
	struct worker_settings settings;
	struct stats *stats;

	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_NAME, "gangway");
	stats = settings_receive(&settings);
	if (!stats)
		return;
	process_protect(&settings.config);
	fcntl(WORKER_CHANNEL, F_SETFD, FD_CLOEXEC);
	signals_init();
	if (parent_gone(WORKER_CHANNEL)) /* the parent ended before the signal was set */
		_exit(0);
	worker_run(&settings.config, stats);
}
