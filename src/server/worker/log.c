/* Writes log lines: one write() each, so that lines of several processes do not mix. */
#include "server/worker/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int log_fd = STDERR_FILENO; /* process-wide, like the log itself */

void log_to(int fd)
{
	log_fd = fd;
}

void log_event(const char *format, ...)
{
	char line[1024];
	va_list ap;
	int n = snprintf(line, sizeof line, "gangway[%d]: ", getpid());

	va_start(ap, format);
	n += vsnprintf(line + n, sizeof line - n - 1, format, ap);
	va_end(ap);
	if (n > (int)sizeof line - 2)
		n = sizeof line - 2;
	line[n++] = '\n';
	ssize_t r = write(log_fd, line, n);
	(void)r;
}
