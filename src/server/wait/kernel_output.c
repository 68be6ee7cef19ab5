/*
 * What kernels print.  A driver writes it to this process's stdout, and what a failed assertion says to
 * stderr; both are files in memory here, and go to the client whenever it waits for the device.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "server/code/code.h"
#include "server/daemon/log.h"
#include "server/wait/wait_threads.h"

static struct {
	int fd;
	off_t told;
} kept[2] = {{-1, 0}, {-1, 0}};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int keep(int fd)
{
	int memory = memfd_create(fd == 1 ? "stdout" : "stderr", MFD_CLOEXEC);

	if (memory < 0 || fcntl(memory, F_SETFL, O_APPEND) || dup2(memory, fd) < 0)
		return -1;
	return memory;
}

/* What a sanitizer finds is about us, not for the client. */
static void sanitizer_to(int fd)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	void __sanitizer_set_report_fd(void *fd);

	__sanitizer_set_report_fd((void *)(intptr_t)fd);
#else
	(void)fd;
#endif
}

void events_capture_output(void)
{
	int log = fcntl(2, F_DUPFD_CLOEXEC, 3);

	fflush(NULL);
	if (log < 0)
		return;
	log_to(log);
	sanitizer_to(log);
	kept[0].fd = keep(1);
	kept[1].fd = keep(2);
}

static void tell(struct session *s, int which)
{
	char text[16384];
	off_t from = kept[which].told;
	ssize_t n;

	while ((n = pread(kept[which].fd, text, sizeof text, kept[which].told)) > 0) {
		events_text(s, which == 1, text, n);
		kept[which].told += n;
	}
	if (kept[which].told > from) /* it need not be kept any longer */
		fallocate(kept[which].fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, kept[which].told - from);
}

void events_flush(struct session *s)
{
	if (!s->prints || !s->events)
		return;
	pthread_mutex_lock(&lock);
	fflush(stdout);
	for (int i = 0; i < 2; i++)
		if (kept[i].fd >= 0)
			tell(s, i);
	pthread_mutex_unlock(&lock);
}

void output_due(struct session *s, CUstream stream)
{
	for (unsigned i = 0; i < s->nprinting && i < SESSION_PRINTING; i++)
		if (s->printing[i] == stream)
			return;
	if (s->nprinting < SESSION_PRINTING)
		s->printing[s->nprinting] = stream;
	if (s->nprinting <= SESSION_PRINTING)
		s->nprinting++;
}

/*
 * Others may finish meanwhile, and what they print is shown as soon; but they are waited for in their turn.  While
 * somebody is still to show what was waited for before, nobody overtakes it.
 */
bool output_look(struct session *s, CUstream stream)
{
	if (!s->nprinting)
		return s->prints && waiters_busy(s->waiters);
	for (unsigned i = 0; i < s->nprinting && s->nprinting <= SESSION_PRINTING; i++)
		if (s->printing[i] == stream) {
			s->printing[i] = s->printing[--s->nprinting];
			break;
		}
	return true;
}
