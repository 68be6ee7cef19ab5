/* A worker becomes a user of its own when it has a client: --isolate user. */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "server/sandbox/sandbox.h"

#define USER_THREADS 32768 /* of all workers of the user: the kernel counts per user */

static int capabilities_drop(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return syscall(SYS_capset, &head, none) ? -errno : 0;
}

/* The C library changes the user of all threads; the kernel clears the capabilities of each. */
int sandbox_change_user(uid_t user)
{
	const struct rlimit threads = {USER_THREADS, USER_THREADS};

	if (!user || setrlimit(RLIMIT_NPROC, &threads) || setgroups(0, NULL) || setresgid(user, user, user) ||
		setresuid(user, user, user))
		return user ? -errno : -EINVAL;
	/* The change of the user has undone these. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	return capabilities_drop();
}
