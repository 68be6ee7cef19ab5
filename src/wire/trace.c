/* GANGWAY_TRACE: formats each call as one line and writes it to stderr or to a file. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "wire/trace.h"

#define LINE 1024

/* A line under construction; text that does not fit is cut off. */
struct text {
	char s[LINE];
	size_t n;
};

static int fd = -1;
static bool verbose;
static pthread_once_t once = PTHREAD_ONCE_INIT;

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	int n = vsnprintf(t->s + t->n, LINE - t->n, format, ap);
	va_end(ap);
	if (n > 0)
		t->n = t->n + n < LINE - 2 ? t->n + n : LINE - 2;
}

static void flush(struct text *t)
{
	t->s[t->n++] = '\n';
	ssize_t r = write(fd, t->s, t->n);
	(void)r; /* a full disk is no reason to fail a CUDA call */
}

static void open_output(void)
{
	const char *to = secure_getenv("GANGWAY_TRACE");

	if (!to || !*to || !strcmp(to, "0"))
		return;
	verbose = !strcmp(to, "2");
	if (verbose || !strcmp(to, "1")) {
		fd = fcntl(2, F_DUPFD_CLOEXEC, 3);
		if (fd < 0 && errno == EMFILE)
			fd = 2;
	} else {
		fd = open(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	}
}

bool trace_on(void)
{
	pthread_once(&once, open_output);
	return fd >= 0;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void put_head(struct text *t)
{
	t->n = 0;
	put(t, "[%d.%ld] ", getpid(), syscall(SYS_gettid));
}

static uint64_t load(const void *p, unsigned size)
{
	uint64_t v = 0;

	memcpy(&v, p, size <= 8 ? size : 8);
	return v;
}

static void put_number(struct text *t, char kind, unsigned size, uint64_t v)
{
	float f;

	switch (kind) {
	case 'h':
		put(t, "0x%llx", (unsigned long long)v);
		break;
	case 'u':
		put(t, "%llu", (unsigned long long)v);
		break;
	case 'f':
		memcpy(&f, &v, sizeof f);
		put(t, "%g", f);
		break;
	default:
		put(t, "%lld", size <= 4 ? (long long)(int32_t)v : (long long)v);
	}
}

/* Prints an argument with the value it had when the call was made. */
static void put_in(struct text *t, const struct trace_entry *c, const uint64_t *a, int i)
{
	const struct trace_arg *arg = &c->args[i];
	const void *p = (const void *)(uintptr_t)a[i];

	put(t, "%s=", c->names + arg->name);
	if (arg->dir == 'v' && arg->kind != 'S')
		put_number(t, arg->kind, arg->size, a[i]);
	else if (!p)
		put(t, "NULL");
	else if (arg->kind == 's')
		put(t, "\"%.200s\"", (const char *)p);
	else if (arg->dir == 'i' && arg->len >= 0 && c->args[arg->len].dir == 'v')
		put(t, arg->kind == 'p' ? "%p[%llu bytes]" : "%p[%llu]", p, (unsigned long long)a[arg->len]);
	else if ((arg->dir == 'i' || arg->dir == 'x') && arg->len == -1 && arg->size <= 8 && arg->kind != 'p')
		put_number(t, arg->kind, arg->size, load(p, arg->size));
	else
		put(t, "%p", p);
}

static void put_out(struct text *t, const struct trace_entry *c, const uint64_t *a, int i)
{
	const struct trace_arg *arg = &c->args[i];
	const void *p = (const void *)(uintptr_t)a[i];

	if ((arg->dir != 'o' && arg->dir != 'x') || !p || arg->kind == 'p' || arg->len == -2)
		return;
	if (arg->len >= 0) {
		if (arg->size == 1) /* text: cuDeviceGetName */
			put(t, " %s=\"%.*s\"", c->names + arg->name, (int)(a[arg->len] < 200 ? a[arg->len] : 200),
				(const char *)p);
		return;
	}
	if (arg->size > 8)
		return;
	put(t, " %s=", c->names + arg->name);
	put_number(t, arg->kind, arg->size, load(p, arg->size));
}

static void put_call(struct text *t, const struct trace_entry *c, const uint64_t *a)
{
	put_head(t);
	put(t, "%s(", c->name);
	for (int i = 0; i < c->nargs; i++) {
		if (c->args[i].dir == 'o')
			continue;
		if (t->s[t->n - 1] != '(')
			put(t, ", ");
		put_in(t, c, a, i);
	}
	put(t, ")");
}

uint64_t trace_begin(const struct trace_entry *c, const uint64_t *a)
{
	struct text t;

	if (verbose) {
		put_call(&t, c, a);
		put(&t, " ...");
		flush(&t);
	}
	return now();
}

void trace_end(const struct trace_entry *c, const uint64_t *a, int result, uint64_t start)
{
	double us = (now() - start) / 1e3;
	const char *name = c->result(result);
	struct text t;

	put_call(&t, c, a);
	if (name)
		put(&t, " = %s", name);
	else
		put(&t, " = %d", result);
	for (int i = 0; i < c->nargs && !result; i++)
		put_out(&t, c, a, i);
	put(&t, " %.1fus", us);
	flush(&t);
}

void trace_vnote(const char *who, const char *format, va_list args)
{
	char message[LINE / 2];
	struct text t;

	pthread_once(&once, open_output);
	if (fd < 0)
		return;
	vsnprintf(message, sizeof message, format, args);
	put_head(&t);
	put(&t, "# %s: %s", who ? who : "", message);
	flush(&t);
}

void trace_note(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	trace_vnote("gangway", format, ap);
	va_end(ap);
}
