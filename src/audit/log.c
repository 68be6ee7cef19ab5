/* Write the audit log without libc. */
#include <stdarg.h>
#include "audit/base.h"
#include "audit/log.h"

static char log_file[AUDIT_PATH]; /* empty if a descriptor is used */
static int log_descriptor = -1;
static uint64_t log_identity[2]; /* of the descriptor when we started */

/* Returns the number, or -1 if the text is a path. */
static int parse_descriptor(const char *s)
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
	log_descriptor = parse_descriptor(to);
	if (log_descriptor >= 0)
		return sys_identity(log_descriptor, log_identity);
	return text_append(log_file, sizeof log_file, to, text_length(to));
}

static size_t append_escaped(char *line, size_t used, size_t room, const char *field)
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

static const char *format_decimal(long n, char text[24])
{
	char *p = text + 23;

	*p = 0;
	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	return p;
}

/* The program may have closed the descriptor and reused its number, so its identity is checked. */
static void write_line(const char *line, size_t n)
{
	uint64_t now[2];

	if (log_descriptor >= 0) {
		if (sys_identity(log_descriptor, now) && now[0] == log_identity[0] && now[1] == log_identity[1])
			sys_write(log_descriptor, line, n);
		return;
	}
	long fd = sys_open_append(log_file);
	if (fd < 0)
		return;
	sys_write((int)fd, line, n);
	sys_close((int)fd);
}

void log_line(const char *event, ...)
{
	char line[2 * AUDIT_PATH], pid[24];
	size_t n = append_escaped(line, 0, sizeof line, event);
	const char *field;
	va_list ap;

	line[n++] = '\t';
	n = append_escaped(line, n, sizeof line, format_decimal(sys_getpid(), pid));
	va_start(ap, event);
	while ((field = va_arg(ap, const char *)) && n + 8 < sizeof line) {
		line[n++] = '\t';
		n = append_escaped(line, n, sizeof line, field);
	}
	va_end(ap);
	line[n++] = '\n';
	write_line(line, n);
}
