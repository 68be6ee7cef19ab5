#include <stdarg.h>
#include "audit/base.h"
#include "audit/log.h"

static char file[AUDIT_PATH]; /* empty: to a descriptor */
static int descriptor = -1;
static uint64_t identity[2]; /* which file that was when we started */

/* A number or a path. */
static int number(const char *s)
{
	int n = 0;

	if (!*s)
		return -1;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || n > 1 << 20)
			return -1;
		n = n * 10 + (*s - '0');
	}
	return n;
}

bool log_start(void)
{
	const char *to = start_variable("GANGWAY_AUDIT_LOG");

	if (!to || !*to)
		return false;
	descriptor = number(to);
	if (descriptor >= 0)
		return sys_identity(descriptor, identity);
	return text_append(file, sizeof file, to, text_length(to));
}

static size_t put(char *line, size_t used, size_t room, const char *field)
{
	static const char digits[] = "0123456789abcdef";

	for (; *field && used + 8 < room; field++) {
		unsigned char c = (unsigned char)*field;

		if (c >= ' ' && c != '\\' && c != 127) {
			line[used++] = (char)c;
			continue;
		}
		line[used++] = '\\';
		line[used++] = 'x';
		line[used++] = digits[c >> 4];
		line[used++] = digits[c & 15];
	}
	return used;
}

static const char *decimal(long n, char text[24])
{
	char *p = text + 23;

	*p = 0;
	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	return p;
}

/* The descriptor may have been closed, and its number given to a file of the program's. */
static void emit(const char *line, size_t n)
{
	uint64_t now[2];

	if (descriptor >= 0) {
		if (sys_identity(descriptor, now) && now[0] == identity[0] && now[1] == identity[1])
			sys_write(descriptor, line, n);
		return;
	}
	long fd = sys_open_append(file);
	if (fd < 0)
		return;
	sys_write((int)fd, line, n);
	sys_close((int)fd);
}

void log_line(const char *event, ...)
{
	char line[2 * AUDIT_PATH], pid[24];
	size_t n = put(line, 0, sizeof line, event);
	const char *field;
	va_list ap;

	line[n++] = '\t';
	n = put(line, n, sizeof line, decimal(sys_getpid(), pid));
	va_start(ap, event);
	while ((field = va_arg(ap, const char *)) && n + 8 < sizeof line) {
		line[n++] = '\t';
		n = put(line, n, sizeof line, field);
	}
	va_end(ap);
	line[n++] = '\n';
	emit(line, n);
}
