#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/follow/stack.h"
#include "cli/follow/supervise.h"

#define KEPT          64
#define WAIT_KILLABLE (1u << 5)  /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, which older headers lack */
#define STACK         (8u << 20) /* arguments and environment are less: the kernel sees to it */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define SP(regs)     (regs).rsp
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define SP(regs)     (regs).sp
#endif

extern char **environ;

static const char *kept[KEPT + 1];

/* What programs are to have: as in libgangway-follow.so. */
static void keep(void)
{
	size_t n = 0;

	for (char **e = environ; *e; e++)
		if (!strncmp(*e, "LD_AUDIT=", 9))
			kept[n++] = *e;
	for (char **e = environ; n && *e && n < KEPT; e++)
		if (!strncmp(*e, "GANGWAY_", 8) || !strncmp(*e, "GLIBC_TUNABLES=", 15))
			kept[n++] = *e;
}

static void tell(int news, struct supervise_news n)
{
	if (send(news, &n, sizeof n, MSG_NOSIGNAL) < 0)
		return; /* nobody waits any more */
}

static void tell_error(int news, int error, bool started, const char *what)
{
	struct supervise_news n = {.error = error, .started = started};

	snprintf(n.what, sizeof n.what, "%s", what);
	tell(news, n);
}

/* ---- the program ---- */

static int install_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog filter = {sizeof code / sizeof *code, code};
	unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	/* Since 5.19 a signal does not make an execve that we attend to start again. */
	int listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | WAIT_KILLABLE, &filter);

	if (listener < 0 && errno == EACCES && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | WAIT_KILLABLE, &filter);
	if (listener < 0 && errno == EINVAL)
		listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
	return listener;
}

static int send_listener(int to, int listener)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};
	char byte = 0;
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};

	memcpy(CMSG_DATA(&control.head), &listener, sizeof listener);
	return sendmsg(to, &m, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

static int receive_listener(int from)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	int listener = -1;

	if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) == 1 && m.msg_controllen >= CMSG_LEN(sizeof listener))
		memcpy(&listener, CMSG_DATA(&control.head), sizeof listener);
	return listener;
}

__attribute__((noreturn)) static void become(char **argv, const sigset_t *signals, int news, int to)
{
	int listener = install_filter();

	if (listener < 0 || send_listener(to, listener)) {
		tell_error(news, errno, false,
			errno == EBUSY ? "another supervisor (seccomp) is above this one"
				       : "the kernel allows no filter of execve (seccomp)");
		_exit(1);
	}
	close(listener);
	sigprocmask(SIG_SETMASK, signals, NULL);
	execvp(argv[0], argv);
	tell_error(news, errno, true, argv[0]);
	_exit(errno == ENOENT ? 127 : 126);
}

/* ---- one execve ---- */

/*
 * It waits in the kernel meanwhile.  What is under a debugger already is let pass; but the program itself is not, and if
 * we may not attach to it we never may.
 */
static void attend(int listener, pid_t program, int news)
{
	struct seccomp_notif asked = {0};
	struct seccomp_notif_resp answer = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	static bool first = true;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked))
		return;
	if (ptrace(PTRACE_SEIZE, (pid_t)asked.pid, NULL, (void *)PTRACE_O_TRACEEXEC) && first &&
		(pid_t)asked.pid == program) {
		tell_error(news, errno, false, "the kernel allows us no ptrace");
		answer = (struct seccomp_notif_resp){.error = -EPERM};
	}
	first = false;
	answer.id = asked.id;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static size_t read_memory(int memory, uint64_t at, void *data, size_t size)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < size && n > 0) {
		n = pread(memory, (char *)data + done, size - done, (off_t)(at + done));
		done += n > 0 ? (size_t)n : 0;
	}
	return done;
}

/* Before its first instruction. */
static void add_variables(pid_t pid, unsigned char *room)
{
	struct user_regs_struct regs;
	struct iovec io = {&regs, sizeof regs};
	struct stack stack = {0};
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &io) || io.iov_len != sizeof regs)
		return; /* gone, or a program of 32 bits */
	int memory = open(path, O_RDWR | O_CLOEXEC);
	if (memory < 0)
		return;
	size_t size = read_memory(memory, SP(regs), room, STACK);
	if (stack_join(room, size, SP(regs), kept, &stack) == 1 &&
		pwrite(memory, stack.data, stack.size, (off_t)stack.sp) == (ssize_t)stack.size) {
		SP(regs) = stack.sp;
		ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &io);
	}
	free(stack.data);
	close(memory);
}

/* One that we attached to has stopped: it has started its program, or was sent a signal before that. */
static void look_at(pid_t pid, int status, unsigned char *room)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_EXEC) {
		add_variables(pid, room);
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
	} else if (event == PTRACE_EVENT_STOP &&
		   (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)) {
		ptrace(PTRACE_LISTEN, pid, NULL, NULL);
	} else {
		ptrace(PTRACE_CONT, pid, NULL, (void *)(long)(event ? 0 : signal));
	}
}

/* ---- all of them ---- */

/* True: gangway run is gone without the program's having ended: killed, and so is the program. */
static bool is_left(int signals)
{
	struct signalfd_siginfo s;
	bool left = false;

	while (read(signals, &s, sizeof s) == sizeof s)
		left = left || s.ssi_signo == SIGUSR1;
	return left;
}

static void look_at_all(pid_t program, int news, unsigned char *room, bool *ended)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		if (WIFSTOPPED(status)) {
			look_at(pid, status, room);
		} else if (pid == program) {
			*ended = true;
			tell(news, (struct supervise_news){.ended = 1, .status = status});
		}
	}
}

__attribute__((noreturn)) static void attend_all(pid_t program, int listener, int signals, int news)
{
	struct pollfd fds[2] = {{listener, POLLIN, 0}, {signals, POLLIN, 0}};
	unsigned char *room = malloc(STACK);
	bool ended = false;

	while (room && (poll(fds, 2, -1) >= 0 || errno == EINTR)) {
		if (fds[1].revents && is_left(signals) && !ended)
			kill(program, SIGKILL);
		if (fds[0].revents & POLLIN)
			attend(listener, program, news);
		look_at_all(program, news, room, &ended);
		if (fds[0].revents & (POLLHUP | POLLERR))
			fds[0].fd = -1; /* nobody is left under the filter */
		if (ended && fds[0].fd < 0)
			_exit(0);
	}
	_exit(1);
}

void supervise(char **argv, const sigset_t *signals, int news)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE};
	pid_t parent = getppid();
	sigset_t set;
	int pair[2];

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	keep();
	int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0 || getppid() != parent || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		tell_error(news, errno, false, "starting");
		_exit(1);
	}
	pid_t program = fork();
	if (!program) {
		close(pair[0]);
		become(argv, signals, news, pair[1]);
	}
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	close(pair[1]);
	int listener = program < 0 ? -1 : receive_listener(pair[0]);
	if (listener < 0) {
		tell_error(news, errno ? errno : EPERM, false, "supervising");
		_exit(1);
	}
	close(pair[0]);
	tell(news, (struct supervise_news){.program = program});
	attend_all(program, listener, fd, news);
}
