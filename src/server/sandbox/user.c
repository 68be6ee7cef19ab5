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

int sandbox_keep_capabilities(uint64_t kept)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets[i].effective = sets[i].permitted = (uint32_t)(kept >> 32 * i), sets[i].inheritable = 0;
	return syscall(SYS_capset, &head, sets) ? -errno : 0;
}

/* The C library changes the user of all threads; the kernel clears the capabilities of each. */
int sandbox_change_user(uid_t user)
{
	struct rlimit threads;

	if (!user || getrlimit(RLIMIT_NPROC, &threads))
		return -EINVAL;
	threads.rlim_max = threads.rlim_max < USER_THREADS ? threads.rlim_max : USER_THREADS;
	threads.rlim_cur = threads.rlim_cur < threads.rlim_max ? threads.rlim_cur : threads.rlim_max;
	if (setrlimit(RLIMIT_NPROC, &threads) || setgroups(0, NULL) || setresgid(user, user, user) ||
		setresuid(user, user, user))
		return -errno;
	/* The change of the user has undone these. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	return sandbox_keep_capabilities(0);
}
