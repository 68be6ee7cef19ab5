/* The messages of the checked mode. */
#include "backend/cpu/check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/soft/check.h"
#include "backend/soft/engine.h"
#include "ptx/ptx.h"

enum {
	MAX_MESSAGES = 100,
	MAX_NAME = 160 /* characters of a name in a message */
};

/* An error that was reported. Counters are never freed: decoded instructions point to them. */
struct error {
	enum check_kind kind;
	atomic_ullong repeats;
	struct error *next;
};

struct check_log {
	struct interp_checks checks;
	bool leaks;
	int status; /* of exit() */
	pid_t process;
	pthread_mutex_t lock; /* protects what follows */
	struct error *errors;
	unsigned long long n, nleaks, leaked;
	atomic_ullong uncounted; /* for errors without memory for a struct error */
};

/* ---- text ------------------------------------------------------------------------------------------- */

struct message {
	char text[2048];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void message_add(struct message *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(m->text + m->used, sizeof m->text - m->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		m->used = m->used + (size_t)n < sizeof m->text ? m->used + (size_t)n : sizeof m->text - 1;
}

static void message_print(const struct message *m)
{
	if (write(STDERR_FILENO, m->text, m->used) < 0)
		return; /* standard error is closed */
}

/* The C++ library of the program, if it is loaded, demangles the names of kernels. */
static void message_add_name(struct message *m, const char *name)
{
	typedef char *demangler(const char *name, char *out, size_t *size, int *status);
	demangler *demangle = (demangler *)(uintptr_t)dlsym(RTLD_DEFAULT, "__cxa_demangle");
	int status;
	char *plain = demangle && !strncmp(name, "_Z", 2) ? demangle(name, NULL, NULL, &status) : NULL;
	const char *text = plain ? plain : name;

	message_add(m, "%.*s%s", MAX_NAME, text, strlen(text) > MAX_NAME ? "..." : "");
	free(plain);
}

static void message_add_place(struct message *m, const struct check_place *p)
{
	if (p->file)
		message_add(m, "%s:%u (line %u of the PTX)", p->file, p->line, p->ptx_line);
	else
		message_add(m, "line %u of the PTX", p->ptx_line);
}

static const char *access_name(enum check_access a)
{
	return a == CHECK_READ ? "read" : a == CHECK_WRITE ? "write" : "atomic operation";
}

static const char *space_name(unsigned space)
{
	return space == PTX_SHARED ? "shared" : space == PTX_LOCAL ? "local" : "global";
}

static const char *plural_ending(unsigned long long n)
{
	return n == 1 ? "" : "s";
}

/* Where an interval lies in relation to a block of memory. */
static void message_add_distance(struct message *m, int64_t offset, uint64_t size, uint64_t limit)
{
	unsigned long long n;

	if (offset < 0) {
		n = (unsigned long long)-offset;
		message_add(m, "%llu byte%s before the start of", n, plural_ending(n));
	} else if ((uint64_t)offset >= limit) {
		n = (unsigned long long)offset - limit;
		if (n)
			message_add(m, "%llu byte%s past the end of", n, plural_ending(n));
		else
			message_add(m, "directly past the end of");
	} else {
		n = size - (limit - (uint64_t)offset);
		message_add(m, "the last %llu byte%s past the end of", n, plural_ending(n));
	}
}

static void message_add_global_place(struct message *m, const struct check_report *r)
{
	uint64_t base, size;

	message_add(m, "    at 0x%llx, ", (unsigned long long)r->address);
	if (soft_check_freed(r->address, &base, &size) && !soft_accessible(r->address, NULL, NULL)) {
		message_add(m, "offset %llu in an allocation of %llu bytes at 0x%llx that was freed\n",
			(unsigned long long)(r->address - base), (unsigned long long)size, (unsigned long long)base);
	} else if (r->kind == CHECK_OUT_OF_BOUNDS && !soft_nearest(r->address, &base, &size)) {
		message_add(m, "in no allocation\n");
	} else if (r->kind == CHECK_OUT_OF_BOUNDS) {
		message_add_distance(m, (int64_t)(r->address - base), r->size, size);
		message_add(m, " an allocation of %llu bytes at 0x%llx\n", (unsigned long long)size,
			(unsigned long long)base);
	} else if (soft_accessible(r->address, &base, &size)) {
		message_add(m, "offset %llu in an allocation of %llu bytes at 0x%llx\n",
			(unsigned long long)(r->address - base), (unsigned long long)size, (unsigned long long)base);
	} else {
		message_add(m, "in no allocation\n");
	}
}

static void message_add_memory(struct message *m, const struct check_report *r)
{
	const char *name = r->space == PTX_SHARED ? "the block's shared memory" : "the thread's local memory";

	if (r->variable && r->kind == CHECK_OUT_OF_BOUNDS) {
		message_add(m, "    ");
		message_add_distance(m, r->offset, r->size, r->limit);
		message_add(m, " the variable ");
		message_add_name(m, r->variable);
		message_add(m, " of %llu bytes\n", (unsigned long long)r->limit);
	} else if (r->variable) {
		message_add(m, "    at offset %lld in the variable ", (long long)r->offset);
		message_add_name(m, r->variable);
		message_add(m, "\n");
	} else if (r->space == PTX_GLOBAL) {
		message_add_global_place(m, r);
	} else if (r->kind == CHECK_OUT_OF_BOUNDS) {
		message_add(m, "    ");
		message_add_distance(m, (int64_t)r->address, r->size, r->limit);
		message_add(m, " %s of %llu bytes\n", name, (unsigned long long)r->limit);
	} else {
		message_add(m, "    at offset %llu in %s\n", (unsigned long long)r->address, name);
	}
}

static void message_add_headline(struct message *m, const struct check_report *r)
{
	const char *access = access_name(r->access), *space = space_name(r->space);
	unsigned long long n = r->size;

	switch (r->kind) {
	case CHECK_OUT_OF_BOUNDS:
		message_add(m, "invalid %s of %llu byte%s in %s memory\n", access, n, plural_ending(n), space);
		break;
	case CHECK_MISALIGNED:
		message_add(m, "misaligned %s of %llu byte%s in %s memory\n", access, n, plural_ending(n), space);
		break;
	case CHECK_UNINITIALIZED:
		message_add(m, "%s of %llu uninitialized byte%s in %s memory\n", access, n, plural_ending(n), space);
		break;
	default:
		message_add(m,
			"race in shared memory: %s of %llu byte%s after a %s by another thread, without a "
			"barrier between\n",
			access, n, plural_ending(n), access_name(r->other_access));
	}
}

static void message_add_report(struct message *m, const struct check_report *r)
{
	message_add(m, "gangway check: ");
	message_add_headline(m, r);
	message_add_memory(m, r);
	message_add(m, "    in kernel ");
	message_add_name(m, r->kernel);
	if (strcmp(r->kernel, r->at.function)) {
		message_add(m, ", function ");
		message_add_name(m, r->at.function);
	}
	message_add(m, ", ");
	message_add_place(m, &r->at);
	message_add(m, "\n    by thread (%u,%u,%u) of block (%u,%u,%u)\n", r->thread[0], r->thread[1], r->thread[2],
		r->block[0], r->block[1], r->block[2]);
	if (r->kind != CHECK_RACE)
		return;
	message_add(m, "    the earlier %s, ", access_name(r->other_access));
	message_add_place(m, &r->other_at);
	if (r->other_known)
		message_add(m, ", by thread (%u,%u,%u)\n", r->other_thread[0], r->other_thread[1], r->other_thread[2]);
	else
		message_add(m, ", by several threads\n");
}

/* ---- callbacks -------------------------------------------------------------------------------------- */

static bool check_find(void *arg, uint64_t addr, struct check_memory *m)
{
	const struct check_log *log = arg;

	if (!soft_check_find(addr, &m->base, &m->size, &m->written))
		return false;
	if (!(log->checks.what & CHECK_INIT))
		m->written = NULL;
	return true;
}

static atomic_ullong *check_report(void *arg, const struct check_report *r)
{
	struct check_log *log = arg;
	struct error *e = calloc(1, sizeof *e);
	struct message m = {.used = 0};

	message_add_report(&m, r);
	pthread_mutex_lock(&log->lock);
	if (log->n < MAX_MESSAGES)
		message_print(&m);
	log->n++;
	if (e) {
		e->kind = r->kind;
		e->next = log->errors;
		log->errors = e;
	}
	pthread_mutex_unlock(&log->lock);
	return e ? &e->repeats : &log->uncounted;
}

/* ---- the end ---------------------------------------------------------------------------------------- */

static void leak_print(uint64_t addr, uint64_t size, const char *kind, void *arg)
{
	struct check_log *log = arg;
	struct message m = {.used = 0};

	if (log->nleaks++ < MAX_MESSAGES) {
		message_add(&m, "gangway check: leak of %llu byte%s of %s at 0x%llx\n", (unsigned long long)size,
			plural_ending(size), kind, (unsigned long long)addr);
		message_print(&m);
	}
	log->leaked += size;
}

static void summary_add_kind(struct message *m, const struct check_log *log, enum check_kind kind, const char *name)
{
	unsigned long long n = 0, times = 0;

	for (const struct error *e = log->errors; e; e = e->next)
		if (e->kind == kind) {
			n++;
			times += 1 + atomic_load(&((struct error *)(uintptr_t)e)->repeats);
		}
	if (n)
		message_add(m, "    %s: %llu instruction%s, %llu time%s\n", name, n, plural_ending(n), times,
			plural_ending(times));
}

static void summary_print(const struct check_log *log)
{
	struct message m = {.used = 0};

	if (!log->n && !log->nleaks)
		message_add(&m, "gangway check: no errors\n");
	if (log->n)
		message_add(&m, "gangway check: %llu error%s%s\n", log->n, plural_ending(log->n),
			log->n > MAX_MESSAGES ? "; the first 100 were printed" : "");
	summary_add_kind(&m, log, CHECK_OUT_OF_BOUNDS, "invalid accesses");
	summary_add_kind(&m, log, CHECK_MISALIGNED, "misaligned accesses");
	summary_add_kind(&m, log, CHECK_UNINITIALIZED, "uninitialized reads");
	summary_add_kind(&m, log, CHECK_RACE, "races");
	if (log->nleaks)
		message_add(&m, "gangway check: %llu leak%s of %llu bytes\n", log->nleaks, plural_ending(log->nleaks),
			log->leaked);
	message_print(&m);
}

static void status_note(int status, void *arg)
{
	((struct check_log *)arg)->status = status;
}

/* Runs when the library is unloaded: after the program's own destructors, which may still free memory. */
__attribute__((destructor)) static void check_end(void)
{
	struct check_log *log = soft_check_log();

	if (!log || log->process != getpid())
		return;
	if (log->leaks)
		soft_check_leaks(leak_print, log);
	summary_print(log);
	if ((log->n || log->nleaks) && !log->status) {
		fflush(NULL);
		_exit(CHECK_EXIT);
	}
}

/* ---- the beginning ---------------------------------------------------------------------------------- */

enum { WHAT_LEAKS = 1 << 8, WHAT_MEMORY = 1 << 9 };

/* The bits of one word of the list; 0: unknown. */
static unsigned what_named(const char *word, size_t n)
{
	static const struct {
		const char *name;
		unsigned what;
	} words[] = {
		{"1", CHECK_INIT | CHECK_RACES},
		{"memory", WHAT_MEMORY},
		{"init", CHECK_INIT},
		{"race", CHECK_RACES},
		{"leaks", WHAT_LEAKS},
		{"all", CHECK_INIT | CHECK_RACES | WHAT_LEAKS},
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i].name) == n && !memcmp(words[i].name, word, n))
			return words[i].what;
	return 0;
}

static bool what_parse(const char *list, unsigned *what)
{
	*what = 0;
	while (*list) {
		size_t n = strcspn(list, ",");
		unsigned bits = what_named(list, n);

		if (!bits)
			return false;
		*what |= bits;
		list += n + (list[n] == ',');
	}
	return true;
}

bool check_begin(char *why, size_t size)
{
	const char *list = secure_getenv("GANGWAY_CHECK");
	struct check_log *log;
	unsigned what;

	if (!list || !*list || !strcmp(list, "0") || soft_check_log())
		return true;
	if (!what_parse(list, &what)) {
		snprintf(why, size, "GANGWAY_CHECK=%.40s is invalid: give a list of memory, init, race, leaks, or all",
			list);
		return false;
	}
	log = calloc(1, sizeof *log);
	if (!log) {
		snprintf(why, size, "out of memory");
		return false;
	}
	log->checks = (struct interp_checks){
		.arg = log, .what = what & (CHECK_INIT | CHECK_RACES), .find = check_find, .report = check_report};
	log->leaks = what & WHAT_LEAKS;
	log->process = getpid();
	pthread_mutex_init(&log->lock, NULL);
	on_exit(status_note, log);
	soft_check_begin(log);
	return true;
}

const struct interp_checks *check_callbacks(void)
{
	const struct check_log *log = soft_check_log();

	return log ? &log->checks : NULL;
}
