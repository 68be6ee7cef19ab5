/* Replacements of the exec functions and posix_spawn that add our variables to a new environment. */
#include <spawn.h>
#include <stdarg.h>
#include "audit/base.h"
#include "audit/follow/follow.h"
#include "audit/follow/symbol.h"

typedef int execve_fn(const char *path, char *const argv[], char *const env[]);
typedef int fexecve_fn(int fd, char *const argv[], char *const env[]);
typedef int execveat_fn(int fd, const char *path, char *const argv[], char *const env[], int flags);
typedef int spawn_fn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const argv[], char *const env[]);

/* libc's functions with an environment argument; the others are implemented by these. */
static execve_fn *real_execve, *real_execvpe;
static fexecve_fn *real_fexecve;
static execveat_fn *real_execveat;
static spawn_fn *real_spawn, *real_spawnp;
static char ***environment; /* libc's environ, or the program's copy of it */

/* Declare env_, the environment for the new program; its memory is in the caller's frame. */
#define JOIN(env) \
	struct follow_room room_ = follow_room(env); \
	const char *joined_[room_.entries + 1]; \
	char buffer_[room_.text + 1]; \
	char *const *env_ = (char *const *)joined_; \
	if (room_.entries) \
		follow_join(env, room_, joined_, buffer_); \
	else \
		env_ = env

static int follow_execve(const char *path, char *const argv[], char *const env[])
{
	JOIN(env);
	return real_execve(path, argv, env_);
}

static int follow_execvpe(const char *file, char *const argv[], char *const env[])
{
	JOIN(env);
	return real_execvpe(file, argv, env_);
}

static int follow_execv(const char *path, char *const argv[])
{
	return follow_execve(path, argv, *environment);
}

static int follow_execvp(const char *file, char *const argv[])
{
	return follow_execvpe(file, argv, *environment);
}

static int follow_fexecve(int fd, char *const argv[], char *const env[])
{
	JOIN(env);
	return real_fexecve(fd, argv, env_);
}

static int follow_execveat(int fd, const char *path, char *const argv[], char *const env[], int flags)
{
	JOIN(env);
	return real_execveat(fd, path, argv, env_, flags);
}

static int follow_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	JOIN(env);
	return real_spawn(pid, path, actions, attr, argv, env_);
}

static int follow_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	JOIN(env);
	return real_spawnp(pid, file, actions, attr, argv, env_);
}

/* For execl and the like: the number of arguments. For execle, the environment follows the final NULL. */
static size_t count_arguments(va_list ap)
{
	size_t n = 1;

	while (va_arg(ap, char *))
		n++;
	return n;
}

#define LIST(fn, env) \
	va_list ap; \
	va_start(ap, first); \
	size_t n = first ? count_arguments(ap) : 0; \
	va_end(ap); \
	const char *argv[n + 1]; \
	argv[0] = first; \
	va_start(ap, first); \
	for (size_t i = 1; i <= n; i++) \
		argv[i] = va_arg(ap, char *); \
	char *const *env_list = env; \
	va_end(ap); \
	return fn(path, (char *const *)argv, env_list)

static int follow_execl(const char *path, const char *first, ...)
{
	LIST(follow_execve, *environment);
}

static int follow_execlp(const char *path, const char *first, ...)
{
	LIST(follow_execvpe, *environment);
}

static int follow_execle(const char *path, const char *first, ...)
{
	LIST(follow_execve, va_arg(ap, char *const *));
}

static const struct replacement {
	const char *name;
	uintptr_t by;
	void *real;  /* where to store libc's function when it is bound; or NULL */
	void *needs; /* the function of libc that must be known; or NULL */
} replacements[] = {
	{"execve", (uintptr_t)follow_execve, NULL, &real_execve},
	{"execvpe", (uintptr_t)follow_execvpe, NULL, &real_execvpe},
	{"execv", (uintptr_t)follow_execv, NULL, &real_execve},
	{"execvp", (uintptr_t)follow_execvp, NULL, &real_execvpe},
	{"execl", (uintptr_t)follow_execl, NULL, &real_execve},
	{"execlp", (uintptr_t)follow_execlp, NULL, &real_execvpe},
	{"execle", (uintptr_t)follow_execle, NULL, &real_execve},
	{"fexecve", (uintptr_t)follow_fexecve, &real_fexecve, NULL},
	{"execveat", (uintptr_t)follow_execveat, &real_execveat, NULL},
	{"posix_spawn", (uintptr_t)follow_spawn, &real_spawn, NULL},
	{"posix_spawnp", (uintptr_t)follow_spawnp, &real_spawnp, NULL},
};

#define REPLACEMENTS (sizeof replacements / sizeof *replacements)

/* The program is loaded first. Its copy of environ, if it has one, takes precedence over libc's. */
void exec_object_loaded(const struct link_map *map)
{
	if (!*map->l_name) {
		environment = symbol_find(map, "environ");
	} else if (text_equal(text_last_part(map->l_name), "libc.so.6")) {
		if (!environment)
			environment = symbol_find(map, "environ");
		real_execve = (execve_fn *)symbol_find(map, "execve");
		real_execvpe = (execve_fn *)symbol_find(map, "execvpe");
	}
}

bool exec_environment_known(void)
{
	return environment;
}

char *const *exec_environment(void)
{
	return *environment;
}

/* Another symbol version of the same function is not replaced. */
static bool remember_real(void **real, uintptr_t address)
{
	if (!*real)
		*real = (void *)address;
	return (uintptr_t)*real == address;
}

static const struct replacement *find_replacement(const char *name)
{
	/* rejects most names quickly */
	if ((name[0] != 'e' || name[1] != 'x') && !text_starts(name, "fexecve") && !text_starts(name, "posix_spawn"))
		return NULL;
	for (size_t i = 0; i < REPLACEMENTS; i++)
		if (text_equal(name, replacements[i].name))
			return &replacements[i];
	return NULL;
}

bool exec_is_replaced(const char *name)
{
	return find_replacement(name);
}

uintptr_t exec_replace(const char *name, uintptr_t address)
{
	const struct replacement *r = find_replacement(name);

	if (!r || (r->real ? !remember_real(r->real, address) : !environment || !*(void **)r->needs))
		return address;
	return r->by;
}
