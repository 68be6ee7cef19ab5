/*
 * Landlock: the files that a device needs, and nothing outside.
 *
 * A process under Landlock cannot attach to processes outside its domain, nor read their /proc/PID/mem, fd, maps and
 * environ, whatever the rules say; so all of /proc is readable.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "server/sandbox/sandbox.h"
#include "host/usage_folder.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

#define ABI_MAX 6 /* the newest version whose rights are used here */

/* The kernel's numbers, which older headers lack. */
enum {
	RIGHT_EXECUTE = 1 << 0,
	RIGHT_WRITE_FILE = 1 << 1,
	RIGHT_READ_FILE = 1 << 2,
	RIGHT_READ_DIR = 1 << 3,
	RIGHT_REMOVE_FILE = 1 << 5,
	RIGHT_MAKE_DIR = 1 << 7,
	RIGHT_MAKE_REG = 1 << 8,
	RIGHT_TRUNCATE = 1 << 14,
	RIGHT_IOCTL_DEV = 1 << 15,
};
enum { NETWORK_BIND_TCP = 1, NETWORK_CONNECT_TCP = 2 };
enum { SCOPE_ABSTRACT_SOCKET = 1, SCOPE_SIGNAL = 2 };

#define READ   (RIGHT_READ_FILE | RIGHT_READ_DIR)
#define CHANGE (READ | RIGHT_WRITE_FILE | RIGHT_TRUNCATE | RIGHT_MAKE_REG | RIGHT_MAKE_DIR | RIGHT_REMOVE_FILE)
#define DEVICE (RIGHT_READ_FILE | RIGHT_WRITE_FILE | RIGHT_IOCTL_DEV)

struct ruleset_attr {
	uint64_t files, network, scope;
};

struct path_attr {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

/* The rights on files that each version of the interface knows. */
static const uint64_t abi_files[ABI_MAX + 1] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff, 0xffff};

/* 0: the kernel has no Landlock. */
static int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

	return abi < 0 ? 0 : abi > ABI_MAX ? ABI_MAX : (int)abi;
}

/* A sanitizer reads the program's files when it reports, and needs the names of functions for its suppressions. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

unsigned landlock_offered(void)
{
	int abi = SANITIZED ? 0 : landlock_abi();

	return (abi >= 1 ? SANDBOX_FILES : 0) | (abi >= 4 ? SANDBOX_NETWORK : 0) | (abi >= 6 ? SANDBOX_SCOPE : 0);
}

/* A path that does not exist needs no rule. */
static void rule_add(int ruleset, const char *path, uint64_t rights)
{
	struct path_attr a = {.parent = open(path, O_PATH | O_CLOEXEC)};
	struct stat st;

	if (a.parent < 0)
		return;
	if (!fstat(a.parent, &st) && !S_ISDIR(st.st_mode))
		rights &= RIGHT_EXECUTE | RIGHT_WRITE_FILE | RIGHT_READ_FILE | RIGHT_TRUNCATE | RIGHT_IOCTL_DEV;
	a.allowed = rights & abi_files[landlock_abi()];
	syscall(SYS_landlock_add_rule, ruleset, 1, &a, 0);
	close(a.parent);
}

static void rule_add_all(int ruleset, const char *const *paths, uint64_t rights)
{
	for (; *paths; paths++)
		rule_add(ruleset, *paths, rights);
}

static void rule_add_pattern(int ruleset, const char *pattern, uint64_t rights)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		rule_add(ruleset, found.gl_pathv[i], rights);
	globfree(&found);
}

/* A folder that the worker may make itself. */
static void rule_add_own(int ruleset, const char *folder, const char *below, uint64_t rights)
{
	char path[PATH_MAX];

	if (!folder || *folder != '/' || snprintf(path, sizeof path, "%s%s", folder, below) >= (int)sizeof path)
		return;
	for (char *at = path + strlen(folder); at && *at; at = strchr(at + 1, '/')) {
		*at = 0;
		mkdir(path, 0700);
		*at = '/';
	}
	mkdir(path, 0700);
	rule_add(ruleset, path, rights);
}

/* The folders of a list such as LD_LIBRARY_PATH. */
static void rule_add_list(int ruleset, const char *list)
{
	char *copy = list ? strdup(list) : NULL, *rest;

	for (char *one = copy ? strtok_r(copy, ":", &rest) : NULL; one; one = strtok_r(NULL, ":", &rest))
		rule_add(ruleset, one, READ);
	free(copy);
}

static void rule_add_folder_of(int ruleset, const char *file)
{
	char folder[PATH_MAX];

	if (!file || !strchr(file, '/') || snprintf(folder, sizeof folder, "%s", file) >= (int)sizeof folder)
		return;
	*strrchr(folder, '/') = 0;
	rule_add(ruleset, folder, READ);
}

/* The plug-in and its libraries: PREFIX/lib beside PREFIX/bin/gangway. */
static void rule_add_prefix(int ruleset)
{
	char path[PATH_MAX + 8];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	path[n > 0 ? n : 0] = 0;
	for (int up = 0; up < 2 && (slash = strrchr(path, '/')); up++)
		*slash = 0;
	strcat(path, "/lib");
	rule_add(ruleset, path, READ);
}

static void rules_common(int ruleset)
{
	static const char *const system[] = {"/usr", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/machine-id",
		"/etc/localtime", "/proc", "/sys/devices", "/sys/fs/cgroup", "/sys/kernel/mm", "/dev/urandom", NULL};
	const char *cache = secure_getenv("XDG_CACHE_HOME");
	char usage[256];
	int folder = usage_folder_open(true, usage, sizeof usage);

	rule_add_all(ruleset, system, READ);
	rule_add(ruleset, "/dev/null", READ | RIGHT_WRITE_FILE);
	rule_add_prefix(ruleset);
	rule_add_list(ruleset, secure_getenv("LD_LIBRARY_PATH"));
	if (folder >= 0) {
		close(folder);
		rule_add(ruleset, usage, CHANGE & ~RIGHT_TRUNCATE);
		if (strchr(usage, '.')) /* has a random name, which is found by listing the folders beside it */
			rule_add(ruleset, "/dev/shm", RIGHT_READ_DIR);
	}
	if (cache && *cache == '/')
		rule_add_own(ruleset, cache, "/gangway/images", CHANGE);
	else
		rule_add_own(ruleset, secure_getenv("HOME"), "/.cache/gangway/images", CHANGE);
}

/* Files that the operator of the server names. */
static void rules_logs(int ruleset)
{
	static const char *const names[] = {"GANGWAY_NULL_LOG", "GANGWAY_TRACE", "GANGWAY_AUDIT_LOG"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *path = secure_getenv(names[i]);
		int fd = path && *path == '/' ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
		if (fd < 0)
			continue;
		close(fd);
		rule_add(ruleset, path, RIGHT_READ_FILE | RIGHT_WRITE_FILE);
	}
}

static void rules_nvidia(int ruleset)
{
	static const char *const read[] = {"/opt", "/etc/nvidia", "/etc/vulkan", "/etc/OpenCL", "/sys",
		"/run/nvidia-persistenced", "/var/run/nvidia-persistenced", "/run/nvidia-fabricmanager",
		"/var/run/nvidia-fabricmanager", "/tmp/nvidia-mps", NULL};
	const char *cache = secure_getenv("CUDA_CACHE_PATH");

	rule_add_all(ruleset, read, READ);
	rule_add_pattern(ruleset, "/dev/nvidia*", DEVICE | RIGHT_READ_DIR);
	rule_add(ruleset, "/dev/dri", DEVICE | RIGHT_READ_DIR);
	rule_add(ruleset, "/dev/zero", DEVICE);
	rule_add(ruleset, "/dev/shm", CHANGE);
	/* The driver names its threads in /proc/self/task/ID/comm; cuInit fails if it cannot. */
	rule_add(ruleset, "/proc/self/task", READ | RIGHT_WRITE_FILE | RIGHT_TRUNCATE);
	rule_add_folder_of(ruleset, secure_getenv("GANGWAY_NVIDIA_LIBRARY"));
	rule_add_folder_of(ruleset, secure_getenv("GANGWAY_NVIDIA_ML_LIBRARY"));
	if (cache)
		rule_add_own(ruleset, cache, "", CHANGE);
	else
		rule_add_own(ruleset, secure_getenv("HOME"), "/.nv/ComputeCache", CHANGE);
}

static int ruleset_create(unsigned layers)
{
	int abi = landlock_abi();
	struct ruleset_attr a = {0};

	if (layers & SANDBOX_FILES)
		a.files = abi_files[abi];
	if (layers & SANDBOX_NETWORK)
		a.network = NETWORK_BIND_TCP | NETWORK_CONNECT_TCP;
	if (layers & SANDBOX_SCOPE)
		a.scope = SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL;
	size_t size = abi >= 6 ? sizeof a : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
	int fd = (int)syscall(SYS_landlock_create_ruleset, &a, size, 0);
	return fd < 0 ? -errno : fd;
}

int landlock_enter(const struct sandbox *s)
{
	int ruleset = ruleset_create(s->layers), r;

	if (ruleset < 0)
		return ruleset;
	if (s->layers & SANDBOX_FILES) {
		rules_common(ruleset);
		rules_logs(ruleset);
		if (s->kind == SANDBOX_NVIDIA)
			rules_nvidia(ruleset);
	}
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* the kernel asks for it */
	r = syscall(SYS_landlock_restrict_self, ruleset, 0) ? -errno : 0;
	close(ruleset);
	return r;
}
