/* Captures the text that kernels print and forwards it to the client. */
#include "server/wait/kernel_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "server/worker/log.h"
#include "server/session/session.h"
#include "server/wait/callbacks.h"
#include "server/wait/wait_threads.h"

/* Puts a memfd in place of stdout or stderr.  -1 on failure. */
static int descriptor_capture(int fd)
{
	int memory = memfd_create(fd == STDOUT_FILENO ? "stdout" : "stderr", MFD_CLOEXEC);

	if (memory < 0 || fcntl(memory, F_SETFL, O_APPEND) || dup2(memory, fd) < 0)
		return -1;
	return memory;
}

/* A sanitizer's report is about the worker, not for the client. */
static void sanitizer_report_to(int fd)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	void __sanitizer_set_report_fd(void *fd);

	__sanitizer_set_report_fd((void *)(intptr_t)fd);
#else
	(void)fd;
#endif
}

void kernel_output_capture(struct session *s)
{
	int log = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	fflush(NULL);
	if (log < 0)
		return;
	log_to(log);
	sanitizer_report_to(log);
	s->output.captured[0].fd = descriptor_capture(STDOUT_FILENO);
	s->output.captured[1].fd = descriptor_capture(STDERR_FILENO);
	if (s->output.captured[0].fd < 0 || s->output.captured[1].fd < 0)
		log_event("the output of kernels cannot be captured, and goes to this log: %s", strerror(errno));
}

/* Lock held. */
static void captured_forward(struct session *s, int which)
{
	int fd = s->output.captured[which].fd;
	off_t *sent = &s->output.captured[which].sent, from = *sent;
	char text[16384];
	ssize_t n;

	while ((n = pread(fd, text, sizeof text, *sent)) > 0) {
		callback_print(s, which == 1, text, n);
		*sent += n;
	}
	if (*sent > from)
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, *sent - from);
}

void kernel_output_flush(struct session *s)
{
	if (!s->output.kinds || !s->callbacks)
		return;
	pthread_mutex_lock(&s->output.lock);
	fflush(stdout);
	for (int i = 0; i < 2; i++)
		if (s->output.captured[i].fd >= 0)
			captured_forward(s, i);
	pthread_mutex_unlock(&s->output.lock);
}

void kernel_output_expect(struct session *s, CUstream stream)
{
	struct kernel_output *o = &s->output;

	for (unsigned i = 0; i < o->nstreams && i < KERNEL_OUTPUT_STREAMS; i++)
		if (o->stream[i] == stream)
			return;
	if (o->nstreams < KERNEL_OUTPUT_STREAMS)
		o->stream[o->nstreams] = stream;
	if (o->nstreams <= KERNEL_OUTPUT_STREAMS)
		o->nstreams++;
}

/*
 * Other streams may finish meanwhile, and their output is forwarded as soon; but the client waits for each of them in
 * turn.  While a wait thread still has output to forward for an earlier wait, no later signal may overtake it.
 */
bool kernel_output_wanted(struct session *s, CUstream stream)
{
	struct kernel_output *o = &s->output;

	if (!o->nstreams)
		return o->kinds && wait_threads_busy(s->wait_threads);
	for (unsigned i = 0; i < o->nstreams && o->nstreams <= KERNEL_OUTPUT_STREAMS; i++)
		if (o->stream[i] == stream) {
			o->stream[i] = o->stream[--o->nstreams];
			break;
		}
	return true;
}
