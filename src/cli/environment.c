/* Set the variables that lead the dynamic loader to our libraries. */
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
#define TLS_SPARE   4608 /* glibc's own 512, and room for an allocator; every thread's stack pays for it */
#define TLS_MAX     (16ul << 20)

/* Put `ours` in front of the variable's old value. */
static int variable_prepend(const char *variable, const char *ours, const char *old)
{
	char *list;

	if (asprintf(&list, old && *old ? "%s:%s" : "%s", ours, old) < 0)
		return -1;
	int r = setenv(variable, list, 1);
	free(list);
	return r;
}

static bool path_ends_in(const char *entry, size_t n, const char *name)
{
	size_t want = strlen(name);

	return n > want && entry[n - want - 1] == '/' && !memcmp(entry + n - want, name, want);
}

/* The list without the audit libraries of any Gangway: two would redirect each other's answers. */
static char *list_without_ours(const char *list)
{
	char *rest = calloc(1, strlen(list) + 1), *at = rest;

	while (rest && *list) {
		size_t n = strcspn(list, ":");

		if (n && !path_ends_in(list, n, AUDIT_REDIRECT) && !path_ends_in(list, n, AUDIT_FOLLOW))
			at += sprintf(at, "%s%.*s", at == rest ? "" : ":", (int)n, list);
		list += n + (list[n] == ':');
	}
	return rest;
}

/* Before glibc 2.35, an audit library with la_symbind slows calls down and breaks some. */
static bool glibc_supports_follow(void)
{
	int major = 0, minor = 0;

	return sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) == 2 && (major > 2 || minor >= 35);
}

/* libgangway-follow comes first: glibc 2.36 reports dlsym bindings only up to the first library without la_symbind. */
static int set_ld_audit(const char *dir)
{
	const char *old = getenv("LD_AUDIT");
	char *rest = list_without_ours(old ? old : ""), *ours = NULL;
	int r = -1;

	if (rest && asprintf(&ours,
			    glibc_supports_follow() ? "%s/" AUDIT_FOLLOW ":%s/" AUDIT_REDIRECT : "%s/" AUDIT_REDIRECT,
			    dir, dir) >= 0)
		r = variable_prepend("LD_AUDIT", ours, rest);
	free(ours);
	free(rest);
	return r;
}

size_t environment_tls_needed(const struct program *program)
{
	struct sysroot sysroot;
	struct closure closure;
	size_t sum = 0;

	if (program->kind != PROGRAM_DYNAMIC || sysroot_init(&sysroot, NULL))
		return 0;
	if (!closure_init(&closure, &sysroot, program->path, ""))
		for (unsigned i = 1; i < closure.n; i++) {
			const struct elf_object *o = &closure.parts[i]->object;

			if (closure.parts[i]->is_open && o->static_tls && o->tls < TLS_MAX)
				sum += o->tls + 64; /* for alignment */
		}
	closure_finish(&closure);
	sysroot_finish(&sysroot);
	return sum < TLS_MAX ? sum : TLS_MAX;
}

static size_t tunable_tls(const char *tunable)
{
	return strncmp(tunable, TLS_TUNABLE, strlen(TLS_TUNABLE)) ? 0 : strtoul(tunable + strlen(TLS_TUNABLE), NULL, 0);
}

size_t environment_tls_room(const struct program *program)
{
	size_t room = TLS_SPARE + environment_tls_needed(program);

	for (const char *t = getenv("GLIBC_TUNABLES"); t; t = *t ? t + 1 : NULL) {
		if (tunable_tls(t) > room)
			room = tunable_tls(t);
		t += strcspn(t, ":");
	}
	return room;
}

/* Set the TLS tunable and keep the user's other tunables. */
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
	int r = rest ? variable_prepend("GLIBC_TUNABLES", number, rest) : -1;
	free(rest);
	return r;
}

const char *environment_default_device(void)
{
	char server[PATH_MAX + 16];

	return !default_socket_find(server, sizeof server) && !vendor_has_device() ? "cpu" : NULL;
}

static bool list_starts_with(const char *list, const char *dir)
{
	size_t n = strlen(dir);

	return list && !strncmp(list, dir, n) && (!list[n] || list[n] == ':');
}

int environment_set(const char *dir, const struct program *program)
{
	const char *path = getenv("LD_LIBRARY_PATH");

	if (strpbrk(dir, ":;$"))
		return cli_fail("the loader cannot use Gangway's folder %s, because its name contains : ; or $. "
				"Install Gangway elsewhere",
			dir);
	if ((!list_starts_with(path, dir) && variable_prepend("LD_LIBRARY_PATH", dir, path)) || set_ld_audit(dir) ||
		set_tunables(environment_tls_room(program)) || setenv("GANGWAY_EXPLAIN", "1", 0))
		return cli_fail("out of memory");
	return 0;
}
