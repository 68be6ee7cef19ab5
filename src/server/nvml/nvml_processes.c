/* Lists the processes on a device as one client may see them. */
#include "server/nvml/nvml_processes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "backend/nvml/process_list.h"

/* Scratch memory for one list. */
struct visible_processes {
	nvmlProcessInfo_t infos[WIRE_NVML_PROCESSES_MAX];
	nvmlProcessUtilizationSample_t samples[WIRE_NVML_PROCESSES_MAX];
	unsigned nworkers;
	struct {
		pid_t pid;
		struct usage_client client;
	} workers[WIRE_NVML_PROCESSES_MAX];
	int asking_depth; /* pid namespaces between the worker and the asking client; 0: not known yet */
};

/* ---- The client of this worker ---- */

void nvml_client_address(int fd, char text[USAGE_TEXT])
{
	struct sockaddr_storage a;
	socklen_t size = sizeof a;

	text[0] = 0;
	if (getpeername(fd, (struct sockaddr *)&a, &size))
		return;
	if (a.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&a)->sin_addr, text, USAGE_TEXT);
	else if (a.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&a)->sin6_addr, text, USAGE_TEXT);
}

void nvml_client_publish(struct nvml_state *n, const struct link_peer *peer, const char *from)
{
	n->client = (struct usage_client){.pid = peer->pid, .uid = peer->uid, .known = peer->known};
	snprintf(n->client.from, sizeof n->client.from, "%s", from);
	usage_client(usage_open("served"), &n->client);
}

void nvml_client_set_onlooker(struct nvml_state *n, bool onlooker)
{
	n->client.onlooker = onlooker;
	usage_client(usage_open("served"), &n->client);
}

struct client_holding {
	const struct usage_client *client;
	unsigned device;
	uint64_t bytes;
};

static bool page_add_held(const struct usage_page *p, void *arg)
{
	struct client_holding *h = arg;
	const struct usage_client *c = &p->client, *ours = h->client;

	if (c->pid == ours->pid && c->uid == ours->uid && c->known == ours->known &&
		!strncmp(c->from, ours->from, sizeof c->from))
		h->bytes += atomic_load_explicit(&p->device[h->device].memory, memory_order_relaxed);
	return true;
}

uint64_t nvml_client_held(const struct nvml_state *n, unsigned device)
{
	struct client_holding h = {&n->client, device, 0};

	if (device < USAGE_DEVICES)
		usage_each("served", page_add_held, &h);
	return h.bytes;
}

/* ---- Process ids ---- */

/*
 * How many pid namespaces a process is in, from the worker's inwards, and its innermost id.  0: there is no such
 * process.
 */
static int namespace_depth(pid_t pid, pid_t *innermost)
{
	char path[64], line[256];
	int n = 0;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	while (f && !n && fgets(line, sizeof line, f)) {
		char *at = line + 6, *end;
		if (strncmp(line, "NSpid:", 6))
			continue;
		for (long v = strtol(at, &end, 10); end != at; at = end, v = strtol(at, &end, 10)) {
			*innermost = (pid_t)v;
			n++;
		}
	}
	if (f)
		fclose(f);
	return n;
}

static ino_t pid_namespace(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/ns/pid", pid);
	return stat(path, &st) ? 0 : st.st_ino; /* 0: no permission, as under Landlock */
}

/* The id of a process in the pid namespace of the asking client; 0: it has none. */
static pid_t pid_for_client(struct visible_processes *l, pid_t pid, pid_t asking)
{
	pid_t inner, asking_inner;

	if (!l->asking_depth)
		l->asking_depth = namespace_depth(asking, &asking_inner);
	if (l->asking_depth == 1) /* the worker's own namespace */
		return kill(pid, 0) && errno == ESRCH ? 0 : pid;
	if (!l->asking_depth || !namespace_depth(pid, &inner))
		return 0;
	if (pid == asking)
		return inner;
	ino_t space = pid_namespace(pid), asking_space = pid_namespace(asking);
	return space && space == asking_space ? inner : 0;
}

static bool process_owner(pid_t pid, uid_t *uid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d", pid);
	if (stat(path, &st))
		return false;
	*uid = st.st_uid;
	return true;
}

/* A child of the parent that has published no client: a spare, which no client sees. */
static bool process_is_spare(pid_t pid)
{
	char path[64], line[512], *behind;
	int parent = 0;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	FILE *f = fopen(path, "re");
	if (f && fgets(line, sizeof line, f) && (behind = strrchr(line, ')')))
		if (sscanf(behind, ") %*c %d", &parent) != 1)
			parent = 0;
	if (f)
		fclose(f);
	return parent == getppid();
}

/* ---- Visibility ---- */

static bool page_add_worker(const struct usage_page *p, void *arg)
{
	struct visible_processes *l = arg;

	l->workers[l->nworkers].pid = (pid_t)p->pid;
	l->workers[l->nworkers++].client = p->client;
	return l->nworkers < WIRE_NVML_PROCESSES_MAX;
}

static const struct usage_client *worker_client(const struct visible_processes *l, pid_t worker)
{
	for (unsigned i = 0; i < l->nworkers; i++)
		if (l->workers[i].pid == worker)
			return &l->workers[i].client;
	return NULL;
}

static bool user_visible(const struct link_peer *asking, uid_t owner)
{
	return asking->known && (asking->uid == owner || asking->uid == 0 || asking->uid == geteuid());
}

/* The id under which the asking client sees a process on the device; 0: not at all. */
static pid_t visible_pid(struct nvml_state *n, pid_t pid, const struct link_peer *asking)
{
	const struct usage_client *c = worker_client(n->processes, pid);
	uid_t owner;

	if (c && c->onlooker)
		return 0;
	if (c && !c->known) /* over TCP: the id is the one that the client reports, on its own machine */
		return !asking->known && !strcmp(c->from, n->client.from) ? c->pid : 0;
	if (c)
		return user_visible(asking, c->uid) ? pid_for_client(n->processes, c->pid, asking->pid) : 0;
	if (!process_owner(pid, &owner) || !user_visible(asking, owner) || process_is_spare(pid))
		return 0;
	return pid_for_client(n->processes, pid, asking->pid);
}

/* ---- The list ---- */

static nvmlReturn_t driver_list(
	const struct nvml_ops *ops, nvmlDevice_t device, unsigned kind, unsigned *n, nvmlProcessInfo_t *infos)
{
	switch (kind) {
	case PROCESS_COMPUTE:
	case PROCESS_LOAD:
		return ops->nvmlDeviceGetComputeRunningProcesses_v3(device, n, infos);
	case PROCESS_GRAPHICS:
		return ops->nvmlDeviceGetGraphicsRunningProcesses_v3(device, n, infos);
	case PROCESS_MPS:
		return ops->nvmlDeviceGetMPSComputeRunningProcesses_v3(device, n, infos);
	default:
		return NVML_ERROR_INVALID_ARGUMENT;
	}
}

static void process_set_load(
	struct wire_nvml_process *p, pid_t pid, const nvmlProcessUtilizationSample_t *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (s[i].pid == (unsigned)pid) {
			p->kernels = s[i].smUtil;
			p->copies = s[i].memUtil;
		}
}

/* On the wire an instance is its number plus 1; 0: the device is not divided. */
static uint32_t wire_instance(unsigned instance)
{
	return instance == ~0u ? 0 : instance + 1;
}

nvmlReturn_t nvml_processes_list(struct nvml_state *n, nvmlDevice_t device, const struct wire_nvml_ask *ask,
	const struct link_peer *asking, struct wire_nvml_processes *page)
{
	unsigned count = WIRE_NVML_PROCESSES_MAX, nsamples = WIRE_NVML_PROCESSES_MAX;
	struct visible_processes *l = n->processes;
	nvmlReturn_t r;

	if (!l)
		l = n->processes = calloc(1, sizeof *l);
	r = l ? driver_list(&n->ops, device, ask->what, &count, l->infos) : NVML_ERROR_MEMORY;
	if (r)
		return r;
	if (!count || ask->what != PROCESS_LOAD ||
		n->ops.nvmlDeviceGetProcessUtilization(device, l->samples, &nsamples, 0))
		nsamples = 0;
	l->nworkers = 0;
	if (count)
		usage_each("served", page_add_worker, l);
	for (unsigned i = 0; i < count && i < WIRE_NVML_PROCESSES_MAX; i++) {
		pid_t pid = visible_pid(n, (pid_t)l->infos[i].pid, asking);
		if (pid <= 0 || page->count++ < ask->first || page->here == WIRE_NVML_PAGE)
			continue;
		struct wire_nvml_process *p = &page->process[page->here++];
		*p = (struct wire_nvml_process){.pid = (uint32_t)pid,
			.memory = l->infos[i].usedGpuMemory,
			.instance = wire_instance(l->infos[i].gpuInstanceId),
			.compute_instance = wire_instance(l->infos[i].computeInstanceId)};
		process_set_load(p, (pid_t)l->infos[i].pid, l->samples, nsamples);
	}
	return NVML_SUCCESS;
}
