#include <gnu/libc-version.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/files.h"
#include "backend/vendor.h"
#include "cli/cli.h"
#include "loader/closure.h"
#include "cli/environment.h"
#include "transport/default_socket.h"

#define TLS_TUNABLE "glibc.rtld.optional_static_tls="
#define TLS_SPARE   4608 /* glibc's own 512, and what an allocator wants; small threads' stacks have it, too */
#define TLS_MOST    (16ul << 20)

/* Ours comes first, what was there stays behind it. */
static int put_first(const char *variable, const char *ours, const char *old)
{
	char *list;

	if (asprintf(&list, old && *old ? "%s:%s" : "%s", ours, old) < 0)
		return -1;
	int r = setenv(variable, list, 1);
	free(list);
	return r;
}

static bool is_last_part(const char *entry, size_t n, const char *name)
{
	size_t want = strlen(name);

	return n > want && entry[n - want - 1] == '/' && !memcmp(entry + n - want, name, want);
}

/* Without audit libraries of a Gangway, this one or another: two would redirect each other's answers. */
static char *others(const char *list)
{
	char *rest = calloc(1, strlen(list) + 1), *at = rest;

	while (rest && *list) {
		size_t n = strcspn(list, ":");

		if (n && !is_last_part(list, n, AUDIT_REDIRECT) && !is_last_part(list, n, AUDIT_FOLLOW))
			at += sprintf(at, "%s%.*s", at == rest ? "" : ":", (int)n, list);
		list += n + (list[n] == ':');
	}
	return rest;
}

/* Before 2.35 an audit library that looks at bindings slows calls down and breaks some. */
static bool may_follow(void)
{
	int major = 0, minor = 0;

	return sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) == 2 && (major > 2 || minor >= 35);
}

/* The follower first: glibc 2.36 tells of what dlsym binds only as far as the first library that does not listen. */
static int set_audit(const char *dir)
{
	const char *old = getenv("LD_AUDIT");
	char *rest = others(old ? old : ""), *ours = NULL;
	int r = -1;

	if (rest && asprintf(&ours, may_follow() ? "%s/" AUDIT_FOLLOW ":%s/" AUDIT_REDIRECT : "%s/" AUDIT_REDIRECT, dir,
			    dir) >= 0)
		r = put_first("LD_AUDIT", ours, rest);
	free(ours);
	free(rest);
	return r;
}

/* No more than a sanitizer does. */
size_t surround_tls_wanted(const struct program *program)
{
	struct sysroot sysroot;
	struct closure closure;
	size_t sum = 0;

	if (program->kind != PROGRAM_DYNAMIC || sysroot_init(&sysroot, NULL))
		return 0;
	if (!closure_init(&closure, &sysroot, program->path, ""))
		for (unsigned i = 1; i < closure.n; i++) {
			const struct elf_object *o = &closure.parts[i]->object;

			if (closure.parts[i]->is_open && o->static_tls && o->tls < TLS_MOST)
				sum += o->tls + 64; /* and its alignment */
		}
	closure_finish(&closure);
	sysroot_finish(&sysroot);
	return sum < TLS_MOST ? sum : TLS_MOST;
}

static size_t theirs(const char *tunable)
{
	return strncmp(tunable, TLS_TUNABLE, strlen(TLS_TUNABLE)) ? 0 : strtoul(tunable + strlen(TLS_TUNABLE), NULL, 0);
}

size_t surround_tls_room(const struct program *program)
{
	size_t room = TLS_SPARE + surround_tls_wanted(program);

	for (const char *t = getenv("GLIBC_TUNABLES"); t; t = *t ? t + 1 : NULL) {
		if (theirs(t) > room)
			room = theirs(t);
		t += strcspn(t, ":");
	}
	return room;
}

/* The user's other tunables stay. */
static int set_tunables(size_t room)
{
	const char *old = getenv("GLIBC_TUNABLES");
	char *rest = calloc(1, old ? strlen(old) + 2 : 1), *at = rest, number[64];

	while (rest && old && *old) {
		size_t n = strcspn(old, ":");

		if (n && strncmp(old, TLS_TUNABLE, strlen(TLS_TUNABLE)))
			at += sprintf(at, "%s%.*s", at == rest ? "" : ":", (int)n, old);
		old += n + (old[n] == ':');
	}
	snprintf(number, sizeof number, TLS_TUNABLE "%zu", room);
	int r = rest ? put_first("GLIBC_TUNABLES", number, rest) : -1;
	free(rest);
	return r;
}

const char *surround_device(void)
{
	char server[PATH_MAX + 16];

	return !default_socket_find(server, sizeof server) && !vendor_has_device() ? "cpu" : NULL;
}

static bool is_first(const char *list, const char *dir)
{
	size_t n = strlen(dir);

	return list && !strncmp(list, dir, n) && (!list[n] || list[n] == ':');
}

int surround(const char *dir, const struct program *program)
{
	const char *path = getenv("LD_LIBRARY_PATH");

	if (strpbrk(dir, ":;$"))
		return cli_fail(
			"Gangway is installed in %s, and the loader takes no folder with : ; or $ in its name", dir);
	if ((!is_first(path, dir) && put_first("LD_LIBRARY_PATH", dir, path)) || set_audit(dir) ||
		set_tunables(surround_tls_room(program)) || setenv("GANGWAY_EXPLAIN", "1", 0))
		return cli_fail("out of memory");
	return 0;
}
