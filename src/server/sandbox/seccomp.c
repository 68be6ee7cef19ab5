/*
 * The seccomp filter: syscalls.def as a program that the kernel runs before each system call of the worker.
 *
 * A call with rule KILL raises SIGSYS.  The handler notes the number of the call for the parent's log and ends the
 * worker.  The filter keeps the handler in place; if SIGSYS is blocked, the kernel ends the worker itself.
 */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "server/sandbox/sandbox.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

#define NAMESPACES \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

enum call_rule { YES, NO, KILL, ABSENT, THREAD, SELF, PROBE, NAMES, UNIX, HANDLER, DATA, UNREAD, USER };

static const struct call {
	const char *name;
	enum call_rule rule[SANDBOX_KINDS];
} calls[] = {
#define CALL(name, cpu, nvidia) {#name, {[SANDBOX_CPU] = cpu, [SANDBOX_NVIDIA] = nvidia}},
#include "server/sandbox/syscalls.def"
#undef CALL
};

static _Atomic uint32_t *forbidden_call; /* for the handler, which has no argument */

bool seccomp_offered(void)
{
	uint32_t action = SECCOMP_RET_TRAP;

	return !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
}

void sandbox_call_name(uint32_t call, char text[SANDBOX_TEXT])
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)call);

	if (name)
		snprintf(text, SANDBOX_TEXT, "%s", name);
	else
		snprintf(text, SANDBOX_TEXT, "%u", call);
	free(name);
}

/* SA_RESETHAND: the second SIGSYS has its default action. */
static void forbidden_call_end(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if (forbidden_call)
		atomic_store(forbidden_call, (uint32_t)info->si_syscall);
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
	_exit(128 + SIGSYS);
}

static int handler_install(_Atomic uint32_t *to)
{
	struct sigaction a = {.sa_sigaction = forbidden_call_end, .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER};

	forbidden_call = to;
	return sigaction(SIGSYS, &a, NULL) ? -errno : 0;
}

static int prctl_allow(scmp_filter_ctx f, int nr)
{
	static const unsigned allowed[] = {PR_SET_NAME, PR_GET_NAME, PR_SET_VMA, PR_SET_NO_NEW_PRIVS,
		PR_GET_NO_NEW_PRIVS, PR_GET_DUMPABLE, PR_GET_SECCOMP};
	int r = seccomp_rule_add(
		f, SCMP_ACT_ALLOW, nr, 2, SCMP_A0(SCMP_CMP_EQ, PR_SET_DUMPABLE), SCMP_A1(SCMP_CMP_EQ, 0));

	r = r ? r
	      : seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 2, SCMP_A0(SCMP_CMP_EQ, PR_SET_PDEATHSIG),
			SCMP_A1(SCMP_CMP_EQ, SIGKILL));

	for (size_t i = 0; i < sizeof allowed / sizeof *allowed && !r; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 1, SCMP_A0(SCMP_CMP_EQ, allowed[i]));
	return r;
}

/* prlimit64 names this process by 0, tgkill by its number. */
static int self_allow(scmp_filter_ctx f, int nr)
{
	int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));

	return r ? r : seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 1, SCMP_A0(SCMP_CMP_EQ, 0));
}

static int rule_add(scmp_filter_ctx f, int nr, enum call_rule rule, bool user)
{
	switch (rule) {
	case YES:
		return seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 0);
	case KILL:
		return seccomp_rule_add(f, SCMP_ACT_TRAP, nr, 0);
	case ABSENT:
		return seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), nr, 0);
	case THREAD:
		return seccomp_rule_add(
			f, SCMP_ACT_ALLOW, nr, 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | NAMESPACES, CLONE_THREAD));
	case SELF:
		return self_allow(f, nr);
	case PROBE:
		return seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 1, SCMP_A1(SCMP_CMP_EQ, 0));
	case NAMES:
		return prctl_allow(f, nr);
	case UNIX:
		return seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	case HANDLER:
		return seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 1, SCMP_A0(SCMP_CMP_NE, SIGSYS));
	case DATA:
		return seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	case UNREAD:
		return seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 1, SCMP_A1(SCMP_CMP_EQ, FIONREAD));
	case USER:
		return user ? seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 0) : 0;
	case NO:
		break;
	}
	return 0;
}

/* A call that this machine or this version of libseccomp does not know needs no rule. */
static int filter_fill(scmp_filter_ctx f, const struct sandbox *s)
{
	int r = 0;

	for (size_t i = 0; i < sizeof calls / sizeof *calls && !r; i++) {
		int nr = seccomp_syscall_resolve_name(calls[i].name);
		if (nr >= 0)
			r = rule_add(f, nr, calls[i].rule[s->kind], s->isolate_user);
	}
	return r;
}

int seccomp_enter(const struct sandbox *s)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = f ? handler_install(s->forbidden_call) : -ENOMEM;

	r = r ? r : seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);
	r = r ? r : seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a binary tree instead of a list */
	/*
	 * Without this, some kernels disable speculative store bypass for the whole worker, which costs 10 % of small calls.
	 * The mitigation protects secrets of a process from code inside it; a worker has only its client's data.
	 */
	r = r ? r : seccomp_attr_set(f, SCMP_FLTATR_CTL_SSB, 1);
	r = r ? r : filter_fill(f, s);
	r = r ? r : seccomp_load(f);
	if (f)
		seccomp_release(f);
	return r;
}
