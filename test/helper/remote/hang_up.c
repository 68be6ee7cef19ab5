/*
 * Closes the socket between a worker and its parent: hang_up WORKER takes a copy of the worker's descriptor and shuts the
 * connection down, as if both sides had closed it.  hang_up WORKER try: only finds out whether that is permitted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "server/worker/worker_exec.h"

int main(int argc, char **argv)
{
	int pidfd = argc > 1 ? (int)syscall(SYS_pidfd_open, atoi(argv[1]), 0) : -1;
	int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, WORKER_CHANNEL, 0);

	if (fd < 0 || (argc < 3 && shutdown(fd, SHUT_RDWR)))
		return perror("hang_up"), 1;
	return 0;
}
