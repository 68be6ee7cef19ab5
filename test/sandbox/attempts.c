/*
 * A worker in the sandbox cannot reach other processes, files, programs and the network: each attempt succeeds without the
 * sandbox, fails with each layer that is to stop it and with no other layer on, and fails with all layers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "server/sandbox/sandbox.h"
#include "test/check.h"

#define NOBODY         65534
#define PRIVATE_MEMORY (1ul << 30)

static char folder[] = "/tmp/gangway-sandbox-XXXXXX";
static char secret[32] = "memory of another client";
static struct sockaddr_in tcp_address;
static struct sockaddr_un path_address = {.sun_family = AF_UNIX}, abstract_address = {.sun_family = AF_UNIX};
static socklen_t abstract_size;
static pid_t victim;

/* ---- The attempts: true if the worker got what it should not ---- */

static bool memory_read(void)
{
	char copy[sizeof secret] = "";
	struct iovec here = {copy, sizeof copy}, there = {secret, sizeof secret};

	return process_vm_readv(victim, &here, 1, &there, 1, 0) == sizeof copy && !strcmp(copy, secret);
}

static bool memory_file_read(void)
{
	char path[64], copy[sizeof secret] = "";

	snprintf(path, sizeof path, "/proc/%d/mem", victim);
	int fd = open(path, O_RDONLY);
	return fd >= 0 && pread(fd, copy, sizeof copy, (off_t)(uintptr_t)secret) == sizeof copy &&
	       !strcmp(copy, secret);
}

static bool process_attach(void)
{
	if (ptrace(PTRACE_SEIZE, victim, NULL, NULL))
		return false;
	ptrace(PTRACE_DETACH, victim, NULL, NULL);
	return true;
}

static bool descriptor_take(void)
{
	int process = (int)syscall(SYS_pidfd_open, victim, 0);

	return process >= 0 && syscall(SYS_pidfd_getfd, process, 0, 0) >= 0;
}

static bool descriptor_open(void)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/fd/0", victim);
	return open(path, O_RDONLY) >= 0;
}

static bool signal_send(void)
{
	return !kill(victim, SIGWINCH); /* ignored by default */
}

static bool program_execute(void)
{
	execl("/bin/true", "true", NULL);
	return false;
}

static bool child_start(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid > 0 && waitpid(pid, NULL, 0) == pid;
}

static bool address_connect(int family, const void *address, socklen_t size)
{
	int fd = socket(family, SOCK_STREAM, 0);

	return fd >= 0 && !connect(fd, address, size);
}

static bool tcp_connect(void)
{
	return address_connect(AF_INET, &tcp_address, sizeof tcp_address);
}

static bool tcp_bind(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(0)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd >= 0 && !bind(fd, (struct sockaddr *)&any, sizeof any);
}

static bool udp_send(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return fd >= 0 && sendto(fd, "x", 1, 0, (struct sockaddr *)&tcp_address, sizeof tcp_address) == 1;
}

static bool path_connect(void)
{
	return address_connect(AF_UNIX, &path_address, sizeof path_address);
}

static bool abstract_connect(void)
{
	return address_connect(AF_UNIX, &abstract_address, abstract_size);
}

static bool file_create(void)
{
	char path[64];

	snprintf(path, sizeof path, "%s/created", folder);
	unlink(path);
	return open(path, O_WRONLY | O_CREAT, 0600) >= 0;
}

static bool file_read(void)
{
	char path[64];

	snprintf(path, sizeof path, "%s/secret", folder);
	return open(path, O_RDONLY) >= 0;
}

static bool users_read(void)
{
	return open("/etc/passwd", O_RDONLY) >= 0;
}

static bool file_remove(void)
{
	char path[64];

	snprintf(path, sizeof path, "%s/victim", folder);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	return !unlink(path);
}

static bool code_make(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static bool namespace_make(void)
{
	return !unshare(CLONE_NEWNS);
}

static bool handler_replace(void)
{
	return signal(SIGSYS, SIG_IGN) != SIG_ERR;
}

static bool ring_make(void)
{
	char params[120] = {0};

	return syscall(SYS_io_uring_setup, 1, params) >= 0;
}

/* A core file is left if its limit is not 0. */
static bool core_allowed(void)
{
	struct rlimit l;

	return !getrlimit(RLIMIT_CORE, &l) && l.rlim_max;
}

/* Private memory beyond the limit; untouched pages count. */
static bool memory_take(void)
{
	return mmap(NULL, 2 * PRIVATE_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		       0) != MAP_FAILED;
}

/* ---- A set-uid program ---- */

/* Runs the set-uid copy of this program, which reports whether it has become root. */
static bool user_become_root(void)
{
	char path[64];
	int status;
	pid_t pid = fork();

	snprintf(path, sizeof path, "%s/become-root", folder);
	if (!pid) {
		execl(path, path, "report", NULL);
		_exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static bool copy_set_uid(const char *self)
{
	char command[256];

	snprintf(command, sizeof command, "cp '%s' %s/become-root && chmod 4755 %s/become-root && chmod 755 %s", self,
		folder, folder, folder);
	return !system(command);
}

/* ---- The table ---- */

#define LANDLOCK (1u << 30) /* every layer of Landlock separates processes */

static const struct attempt {
	const char *name;
	bool (*succeeds)(void);
	unsigned layers[SANDBOX_KINDS]; /* each of which stops it alone */
	bool nobody;                    /* as another user than root, if the test runs as root */
} attempts[] = {
	{"read the memory of another process", memory_read, {SANDBOX_SECCOMP | LANDLOCK, SANDBOX_SECCOMP | LANDLOCK}},
	{"read /proc/PID/mem", memory_file_read, {LANDLOCK, LANDLOCK}},
	{"attach to another process", process_attach, {SANDBOX_SECCOMP | LANDLOCK, SANDBOX_SECCOMP | LANDLOCK}},
	{"take a descriptor of another process", descriptor_take,
		{SANDBOX_SECCOMP | LANDLOCK, SANDBOX_SECCOMP | LANDLOCK}},
	{"open /proc/PID/fd/0", descriptor_open, {LANDLOCK, LANDLOCK}},
	{"signal another process", signal_send, {SANDBOX_SECCOMP | SANDBOX_SCOPE, SANDBOX_SECCOMP | SANDBOX_SCOPE}},
	{"execute a program", program_execute, {SANDBOX_SECCOMP | SANDBOX_FILES, SANDBOX_SECCOMP | SANDBOX_FILES}},
	{"start a process", child_start, {SANDBOX_SECCOMP, SANDBOX_SECCOMP}},
	{"connect over TCP", tcp_connect, {SANDBOX_SECCOMP | SANDBOX_NETWORK, SANDBOX_SECCOMP | SANDBOX_NETWORK}},
	{"bind a TCP port", tcp_bind, {SANDBOX_SECCOMP | SANDBOX_NETWORK, SANDBOX_SECCOMP | SANDBOX_NETWORK}},
	{"send over UDP", udp_send, {SANDBOX_SECCOMP, SANDBOX_SECCOMP}},
	{"connect to a unix socket", path_connect, {SANDBOX_SECCOMP, SANDBOX_SECCOMP}},
	{"connect to an abstract socket", abstract_connect,
		{SANDBOX_SECCOMP | SANDBOX_SCOPE, SANDBOX_SECCOMP | SANDBOX_SCOPE}},
	{"create a file", file_create, {SANDBOX_FILES, SANDBOX_FILES}},
	{"read a file", file_read, {SANDBOX_FILES, SANDBOX_FILES}},
	{"read /etc/passwd", users_read, {SANDBOX_FILES, SANDBOX_FILES}},
	{"remove a file", file_remove, {SANDBOX_SECCOMP | SANDBOX_FILES, SANDBOX_FILES}},
	{"make executable memory", code_make, {SANDBOX_SECCOMP, 0}},
	{"make a namespace", namespace_make, {SANDBOX_SECCOMP, SANDBOX_SECCOMP}},
	{"make an io_uring", ring_make, {SANDBOX_SECCOMP, SANDBOX_SECCOMP}},
	{"ignore the sandbox's signal", handler_replace, {SANDBOX_SECCOMP, SANDBOX_SECCOMP}},
	{"leave a core", core_allowed, {SANDBOX_LIMITS, SANDBOX_LIMITS}},
	{"take memory beyond the limit", memory_take, {SANDBOX_LIMITS, 0}},
	{"become root by a set-uid program", user_become_root,
		{SANDBOX_PRIVILEGES | SANDBOX_SECCOMP | SANDBOX_FILES,
			SANDBOX_PRIVILEGES | SANDBOX_SECCOMP | SANDBOX_FILES},
		true},
};

static void sandbox_enter(enum sandbox_kind kind, unsigned layers)
{
	struct sandbox s = {.kind = kind,
		.layers = layers,
		.capabilities = kind != SANDBOX_CPU,
		.private_memory = kind == SANDBOX_CPU ? PRIVATE_MEMORY : 0};
	const char *what = "";
	int r = sandbox_before_device(&s, &what);

	r = r ? r : sandbox_before_client(&s, &what);
	if (r) {
		printf("cannot enter %s: %s\n", what, strerror(-r));
		fflush(stdout);
		_exit(77);
	}
}

/* True if the attempt succeeds in a process with these layers. */
static bool attempt_succeeds(const struct attempt *a, enum sandbox_kind kind, unsigned layers)
{
	int status = -1;

	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		if (a->nobody &&
			(setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY)))
			_exit(1);
		sandbox_enter(kind, layers);
		_exit(a->succeeds() ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status))
		CHECK(WEXITSTATUS(status) != 77);
	else
		CHECK(WTERMSIG(status) == SIGSYS);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void attempt_check(const struct attempt *a, enum sandbox_kind kind, unsigned offered)
{
	static const char *const kinds[] = {"cpu", "nvidia"};
	unsigned stops = a->layers[kind];
	char name[SANDBOX_TEXT];

	if (stops & LANDLOCK)
		stops = (stops & ~LANDLOCK) | SANDBOX_LANDLOCK;
	if (!attempt_succeeds(a, kind, 0)) {
		printf("note: not possible here without a sandbox: %s\n", a->name);
		return;
	}
	for (unsigned layer = 1; layer < SANDBOX_ALL; layer <<= 1)
		if (stops & offered & layer && attempt_succeeds(a, kind, layer)) {
			sandbox_describe(layer, name);
			printf("%s: the layer %s does not stop: %s\n", kinds[kind], name, a->name);
			CHECK(false);
		}
	if (stops & offered && attempt_succeeds(a, kind, offered)) {
		printf("%s: all layers together do not stop: %s\n", kinds[kind], a->name);
		CHECK(false);
	}
}

/* ---- Those who are attacked ---- */

static pid_t victim_start(void)
{
	int ready[2];
	char byte;

	if (pipe(ready))
		exit(1);
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		dup2(ready[0], 0);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	return pid;
}

static void listeners_open(void)
{
	int tcp = socket(AF_INET, SOCK_STREAM, 0), path = socket(AF_UNIX, SOCK_STREAM, 0),
	    abstract = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t size = sizeof tcp_address;

	tcp_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	CHECK(!bind(tcp, (struct sockaddr *)&tcp_address, sizeof tcp_address) && !listen(tcp, 64));
	CHECK(!getsockname(tcp, (struct sockaddr *)&tcp_address, &size));
	snprintf(path_address.sun_path, sizeof path_address.sun_path, "%s/socket", folder);
	CHECK(!bind(path, (struct sockaddr *)&path_address, sizeof path_address) && !listen(path, 64));
	int n = snprintf(abstract_address.sun_path + 1, sizeof abstract_address.sun_path - 1, "%s", folder);
	abstract_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	CHECK(!bind(abstract, (struct sockaddr *)&abstract_address, abstract_size) && !listen(abstract, 64));
}

static void folder_fill(void)
{
	char path[64];

	CHECK(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/secret", folder);
	close(open(path, O_WRONLY | O_CREAT, 0644));
}

/* ---- The other direction: a process of the same user looks into a worker ---- */

static bool worker_memory_seen(unsigned layers)
{
	int ready[2], status = -1;
	char byte, path[64];

	if (pipe(ready))
		return true;
	fflush(stdout);
	pid_t worker = fork();
	if (!worker) {
		if (!geteuid() && (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY)))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		sandbox_enter(SANDBOX_CPU, layers);
		if (write(ready[1], "r", 1) == 1)
			pause();
		_exit(0);
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	pid_t other = fork();
	if (!other) {
		if (!geteuid() && (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY)))
			_exit(1);
		snprintf(path, sizeof path, "/proc/%d/mem", worker);
		_exit(open(path, O_RDONLY) < 0);
	}
	CHECK(waitpid(other, &status, 0) == other);
	kill(worker, SIGKILL);
	waitpid(worker, NULL, 0);
	return !status;
}

static void dumpable_check(void)
{
	if (!worker_memory_seen(0))
		printf("note: not possible here without a sandbox: look into a worker of the same user\n");
	else
		CHECK(!worker_memory_seen(SANDBOX_PRIVILEGES));
}

/* The parent learns which call ended the worker. */
static void forbidden_call_check(unsigned offered)
{
	_Atomic uint32_t *call = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sandbox s = {.kind = SANDBOX_CPU, .layers = SANDBOX_SECCOMP, .forbidden_call = call};
	const char *what;
	char name[SANDBOX_TEXT];
	int status;

	if (!(offered & SANDBOX_SECCOMP))
		return;
	pid_t pid = fork();
	if (!pid) {
		if (!sandbox_before_client(&s, &what))
			program_execute();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	sandbox_call_name(*call, name);
	CHECK(!strcmp(name, "execve"));
}

int main(int argc, char **argv)
{
	unsigned offered = sandbox_offered();
	char missing[SANDBOX_TEXT], command[128];

	if (argc > 1)
		return geteuid() != 0; /* the set-uid copy */
	setenv("GANGWAY_USAGE", "0", 1);
	setenv("HOME", "/nonexistent", 1);
	folder_fill();
	listeners_open();
	victim = victim_start();
	bool root = !geteuid() && copy_set_uid(argv[0]);
	for (int kind = 0; kind < SANDBOX_KINDS; kind++)
		for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
			if (root || !attempts[i].nobody)
				attempt_check(&attempts[i], (enum sandbox_kind)kind, offered);
	dumpable_check();
	forbidden_call_check(offered);
	sandbox_describe(SANDBOX_ALL & ~offered, missing);
	printf("layers that this kernel and this build lack: %s\n", missing);
	kill(victim, SIGKILL);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	CHECK(!system(command));
	return RESULT();
}
