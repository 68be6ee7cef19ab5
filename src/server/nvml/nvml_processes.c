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
#include "backend/nvml/process.h"

/* ---- telling for whom we work ---- */

static struct usage_client our_client; /* from "": this machine, over a unix socket */

void nvml_list_address(int fd, char text[USAGE_TEXT])
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

void nvml_list_client(const struct link_peer *peer, const char *from)
{
	our_client = (struct usage_client){.pid = peer->pid, .uid = peer->uid, .known = peer->known};
	snprintf(our_client.from, sizeof our_client.from, "%s", from);
	usage_client(usage_open("served"), &our_client);
}

void nvml_list_onlooker(bool is)
{
	our_client.onlooker = is;
	usage_client(usage_open("served"), &our_client);
}

struct holding {
	unsigned device;
	uint64_t bytes;
};

static bool add_held(const struct usage_page *p, void *arg)
{
	const struct usage_client *c = &p->client;
	struct holding *h = arg;

	if (c->pid == our_client.pid && c->uid == our_client.uid && c->known == our_client.known &&
		!strncmp(c->from, our_client.from, sizeof c->from))
		h->bytes += atomic_load_explicit(&p->device[h->device].memory, memory_order_relaxed);
	return true;
}

uint64_t nvml_list_held(unsigned device)
{
	struct holding h = {device, 0};

	if (device < USAGE_DEVICES)
		usage_each("served", add_held, &h);
	return h.bytes;
}

/* ---- numbers of processes ---- */

/* Its numbers from our namespace inwards: how many, and the innermost; 0: there is no such process. */
static int namespaces(pid_t pid, pid_t *innermost)
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

static ino_t namespace_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/ns/pid", pid);
	return stat(path, &st) ? 0 : st.st_ino; /* not ours to look at */
}

/* What the one who asks calls a process that we call `pid`; 0: nothing. */
static pid_t number_for(pid_t pid, pid_t asks)
{
	static pid_t asked; /* one client a process: where it is does not change */
	static int depth_asks;
	pid_t inner, inner_asks;

	if (asked != asks)
		depth_asks = namespaces(asks, &inner_asks);
	asked = asks;
	if (depth_asks == 1) /* it is in ours */
		return kill(pid, 0) && errno == ESRCH ? 0 : pid;
	if (!depth_asks || !namespaces(pid, &inner))
		return 0;
	ino_t space = namespace_of(pid), space_asks = namespace_of(asks);
	return space && space == space_asks ? inner : 0;
}

static bool owner_of(pid_t pid, uid_t *uid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d", pid);
	if (stat(path, &st))
		return false;
	*uid = st.st_uid;
	return true;
}

/* A worker of our own server that has no client: of interest to nobody. */
static bool is_spare(pid_t pid)
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

/* ---- who sees what ---- */

/* Workers and their clients, as they were when the list was asked for. */
static struct {
	unsigned count;
	struct {
		pid_t worker;
		struct usage_client client;
	} by[WIRE_NVML_PROCESSES_MAX];
} served;

static bool add_worker(const struct usage_page *p, void *arg)
{
	(void)arg;
	served.by[served.count].worker = (pid_t)p->pid;
	served.by[served.count++].client = p->client;
	return served.count < WIRE_NVML_PROCESSES_MAX;
}

static const struct usage_client *client_of(pid_t worker)
{
	for (unsigned i = 0; i < served.count; i++)
		if (served.by[i].worker == worker)
			return &served.by[i].client;
	return NULL;
}

static bool may_see(const struct link_peer *asks, uid_t owner)
{
	return asks->known && (asks->uid == owner || asks->uid == 0 || asks->uid == geteuid());
}

/* The number under which the one who asks sees a process on the device; 0: not at all. */
static pid_t seen_as(pid_t pid, const struct link_peer *asks)
{
	const struct usage_client *c = client_of(pid);
	uid_t owner;

	if (c && c->onlooker)
		return 0;
	if (c && !c->known) /* over TCP: its number is what it says itself, on its own machine */
		return !asks->known && !strcmp(c->from, our_client.from) ? c->pid : 0;
	if (c)
		return may_see(asks, c->uid) ? number_for(c->pid, asks->pid) : 0;
	return owner_of(pid, &owner) && may_see(asks, owner) && !is_spare(pid) ? number_for(pid, asks->pid) : 0;
}

/* ---- the list ---- */

static nvmlReturn_t read_list(
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

static void add_load(struct wire_nvml_process *p, pid_t pid, const nvmlProcessUtilizationSample_t *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (s[i].pid == (unsigned)pid) {
			p->kernels = s[i].smUtil;
			p->copies = s[i].memUtil;
		}
}

/* ~0 where the device is whole. */
static uint32_t part(unsigned instance)
{
	return instance == ~0u ? 0 : instance + 1;
}

nvmlReturn_t nvml_list(const struct nvml_ops *ops, nvmlDevice_t device, const struct wire_nvml_ask *ask,
	const struct link_peer *asks, struct wire_nvml_processes *page)
{
	static nvmlProcessInfo_t infos[WIRE_NVML_PROCESSES_MAX]; /* one dispatcher a process */
	static nvmlProcessUtilizationSample_t samples[WIRE_NVML_PROCESSES_MAX];
	unsigned n = WIRE_NVML_PROCESSES_MAX, nsamples = WIRE_NVML_PROCESSES_MAX;
	nvmlReturn_t r = read_list(ops, device, ask->what, &n, infos);

	if (r)
		return r;
	if (!n || ask->what != PROCESS_LOAD || ops->nvmlDeviceGetProcessUtilization(device, samples, &nsamples, 0))
		nsamples = 0;
	served.count = 0;
	if (n)
		usage_each("served", add_worker, NULL);
	for (unsigned i = 0; i < n && i < WIRE_NVML_PROCESSES_MAX; i++) {
		pid_t as = seen_as((pid_t)infos[i].pid, asks);
		if (as <= 0 || page->count++ < ask->first || page->here == WIRE_NVML_PAGE)
			continue;
		struct wire_nvml_process *p = &page->process[page->here++];
		*p = (struct wire_nvml_process){.pid = (uint32_t)as,
			.memory = infos[i].usedGpuMemory,
			.instance = part(infos[i].gpuInstanceId),
			.compute_instance = part(infos[i].computeInstanceId)};
		add_load(p, (pid_t)infos[i].pid, samples, nsamples);
	}
	return NVML_SUCCESS;
}
