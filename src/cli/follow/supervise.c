/* The supervisor: a seccomp filter, ptrace, and the event loop. */
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

#define KEPT_MAX      64
#define WAIT_KILLABLE (1u << 5)  /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, which older headers lack */
#define STACK_BYTES   (8u << 20) /* the kernel limits arguments and environment to less */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define SP(regs)     (regs).rsp
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define SP(regs)     (regs).sp
#endif

extern char **environ;

static const char *kept[KEPT_MAX + 1];

/* Keep the variables for new programs, as libgangway-follow.so does. */
static void keep_variables(void)
{
	size_t n = 0;

	for (char **e = environ; *e; e++)
		if (!strncmp(*e, "LD_AUDIT=", 9))
			kept[n++] = *e;
	for (char **e = environ; n && *e && n < KEPT_MAX; e++)
		if (!strncmp(*e, "GANGWAY_", 8) || !strncmp(*e, "GLIBC_TUNABLES=", 15))
			kept[n++] = *e;
}

static void send_news(int news, struct supervise_news n)
{
	if (send(news, &n, sizeof n, MSG_NOSIGNAL) < 0)
		return; /* gangway run has ended */
}

static void send_error(int news, int error, bool started, const char *what)
{
	struct supervise_news n = {.error = error, .started = started};

	snprintf(n.what, sizeof n.what, "%s", what);
	send_news(news, n);
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
	/* Since Linux 5.19, WAIT_KILLABLE keeps signals from restarting a stopped execve. */
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

__attribute__((noreturn)) static void exec_program(char **argv, const sigset_t *signals, int news, int to)
{
	int listener = install_filter();

	if (listener < 0 || send_listener(to, listener)) {
		send_error(news, errno, false,
			errno == EBUSY ? "this process is already supervised (seccomp)"
				       : "the kernel does not allow a filter for execve (seccomp)");
		_exit(1);
	}
	close(listener);
	sigprocmask(SIG_SETMASK, signals, NULL);
	execvp(argv[0], argv);
	send_error(news, errno, true, argv[0]);
	_exit(errno == ENOENT ? 127 : 126);
}

/* ---- one execve ---- */

/*
 * The process waits in the kernel meanwhile. Processes under a debugger are let pass. The program itself is not under a
 * debugger: if attaching to it fails, ptrace is not permitted at all.
 */
static void handle_execve(int listener, pid_t program, int news)
{
	struct seccomp_notif asked = {0};
	struct seccomp_notif_resp answer = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	static bool first = true;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked))
		return;
	if (ptrace(PTRACE_SEIZE, (pid_t)asked.pid, NULL, (void *)PTRACE_O_TRACEEXEC) && first &&
		(pid_t)asked.pid == program) {
		send_error(news, errno, false, "the kernel does not permit ptrace");
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

/* Add the variables before the first instruction of the program. */
static void add_variables(pid_t pid, unsigned char *room)
{
	struct user_regs_struct regs;
	struct iovec io = {&regs, sizeof regs};
	struct stack stack = {0};
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &io) || io.iov_len != sizeof regs)
		return; /* has ended, or is a 32-bit program */
	int memory = open(path, O_RDWR | O_CLOEXEC);
	if (memory < 0)
		return;
	size_t size = read_memory(memory, SP(regs), room, STACK_BYTES);
	if (stack_join(room, size, SP(regs), kept, &stack) == 1 &&
		pwrite(memory, stack.data, stack.size, (off_t)stack.sp) == (ssize_t)stack.size) {
		SP(regs) = stack.sp;
		ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &io);
	}
	free(stack.data);
	close(memory);
}

/* An attached process has stopped: at the start of its new program, or for a signal before that. */
static void handle_stop(pid_t pid, int status, unsigned char *room)
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

/* ---- event loop ---- */

/* Was gangway run killed while the program was running? The program is then killed, too. */
static bool parent_was_killed(int signals)
{
	struct signalfd_siginfo s;
	bool left = false;

	while (read(signals, &s, sizeof s) == sizeof s)
		left = left || s.ssi_signo == SIGUSR1;
	return left;
}

static void handle_children(pid_t program, int news, unsigned char *room, bool *ended)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		if (WIFSTOPPED(status)) {
			handle_stop(pid, status, room);
		} else if (pid == program) {
			*ended = true;
			send_news(news, (struct supervise_news){.ended = 1, .status = status});
		}
	}
}

__attribute__((noreturn)) static void supervise_loop(pid_t program, int listener, int signals, int news)
{
	struct pollfd fds[2] = {{listener, POLLIN, 0}, {signals, POLLIN, 0}};
	unsigned char *room = malloc(STACK_BYTES);
	bool ended = false;

	while (room && (poll(fds, 2, -1) >= 0 || errno == EINTR)) {
		if (fds[1].revents && parent_was_killed(signals) && !ended)
			kill(program, SIGKILL);
		if (fds[0].revents & POLLIN)
			handle_execve(listener, program, news);
		handle_children(program, news, room, &ended);
		if (fds[0].revents & (POLLHUP | POLLERR))
			fds[0].fd = -1; /* no process is left under the filter */
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
	keep_variables();
	int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0 || getppid() != parent || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		send_error(news, errno, false, "starting the supervisor");
		_exit(1);
	}
	pid_t program = fork();
	if (!program) {
		close(pair[0]);
		exec_program(argv, signals, news, pair[1]);
	}
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	close(pair[1]);
	int listener = program < 0 ? -1 : receive_listener(pair[0]);
	if (listener < 0) {
		send_error(news, errno ? errno : EPERM, false, "installing the filter");
		_exit(1);
	}
	close(pair[0]);
	send_news(news, (struct supervise_news){.program = program});
	supervise_loop(program, listener, fd, news);
}
