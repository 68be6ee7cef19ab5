/* Names the layers, and enters those that need no file of their own. */
#include "server/sandbox/sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct {
	unsigned layer;
	const char *name;
} layer_names[] = {
	{SANDBOX_PRIVILEGES, "privileges"},
	{SANDBOX_LIMITS, "limits"},
	{SANDBOX_FILES, "files"},
	{SANDBOX_NETWORK, "network"},
	{SANDBOX_SCOPE, "scope"},
	{SANDBOX_SECCOMP, "system calls"},
};

enum sandbox_kind sandbox_kind(const char *device)
{
	return strcmp(device, "nvidia") ? SANDBOX_CPU : SANDBOX_NVIDIA;
}

unsigned sandbox_offered(void)
{
	return SANDBOX_PRIVILEGES | SANDBOX_LIMITS | landlock_offered() | (seccomp_offered() ? SANDBOX_SECCOMP : 0);
}

void sandbox_describe(unsigned layers, char text[SANDBOX_TEXT])
{
	size_t n = 0;

	snprintf(text, SANDBOX_TEXT, "none");
	for (size_t i = 0; i < sizeof layer_names / sizeof *layer_names; i++)
		if (layers & layer_names[i].layer)
			n += (size_t)snprintf(text + n, SANDBOX_TEXT - n, "%s%s", n ? ", " : "", layer_names[i].name);
}

static int privileges_enter(const struct sandbox *s)
{
	uint64_t user = 1ull << CAP_SETUID | 1ull << CAP_SETGID;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || (!s->dumpable && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)))
		return -errno;
	return s->capabilities || geteuid() ? 0 : sandbox_keep_capabilities(s->isolate_user ? user : 0);
}

static int limit_lower(int resource, rlim_t most)
{
	struct rlimit l;

	if (getrlimit(resource, &l))
		return -errno;
	if (l.rlim_max <= most && l.rlim_cur <= most)
		return 0;
	l.rlim_max = l.rlim_max < most ? l.rlim_max : most;
	l.rlim_cur = l.rlim_cur < l.rlim_max ? l.rlim_cur : l.rlim_max;
	return setrlimit(resource, &l) ? -errno : 0;
}

/* Bytes of private writable memory, touched or not, as RLIMIT_DATA counts them.  0: unknown, and small beside the limit. */
static uint64_t private_memory_now(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * Not limited here: RLIMIT_AS, because drivers reserve address space far beyond the memory they use; RLIMIT_FSIZE, because
 * it counts memfds, which hold the memory of clients; RLIMIT_NPROC, because it counts all processes of a user.
 */
static int limits_enter(const struct sandbox *s)
{
	static const struct {
		int resource;
		rlim_t most;
	} limits[] = {
		{RLIMIT_NOFILE, 65536}, /* the CPU device has one descriptor for each shared allocation */
		{RLIMIT_MSGQUEUE, 0},
		{RLIMIT_NICE, 0},
		{RLIMIT_RTPRIO, 0},
	};
	int r = s->dumpable ? 0 : limit_lower(RLIMIT_CORE, 0); /* a core file contains the data of the client */

	if (!r && s->private_memory)
		r = limit_lower(RLIMIT_DATA, private_memory_now() + s->private_memory);
	for (size_t i = 0; i < sizeof limits / sizeof *limits && !r; i++)
		r = limit_lower(limits[i].resource, limits[i].most);
	return r;
}

int sandbox_before_device(const struct sandbox *s, const char **what)
{
	int r = s->layers & SANDBOX_PRIVILEGES ? privileges_enter(s) : 0;

	*what = "privileges";
	if (!r && s->layers & SANDBOX_LANDLOCK) {
		*what = "files";
		r = landlock_enter(s);
	}
	return r;
}

int sandbox_before_client(const struct sandbox *s, const char **what)
{
	int r = s->layers & SANDBOX_LIMITS ? limits_enter(s) : 0;

	*what = "limits";
	if (!r && s->layers & SANDBOX_SECCOMP) {
		*what = "system calls";
		r = seccomp_enter(s);
	}
	return r;
}
