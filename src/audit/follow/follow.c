/*
 * libgangway-follow.so: keeps Gangway in programs that are started with a new environment.
 *
 * ld.so calls la_symbind when a call to execve or posix_spawn is bound to libc; the call then goes through exec.c, a call
 * to system or popen through shell.c, and a call to dlmopen through space.c. On a CPU device, two functions of NVRTC go
 * through nvrtc.c. No other binding changes, no symbol is
 * defined over another, and no other call becomes slower.
 *
 * An environment that still names us is left alone. Otherwise LD_AUDIT, GLIBC_TUNABLES and the GANGWAY_ variables with
 * which this process was started are added, unless the environment contains GANGWAY_FOLLOW=0.
 *
 * This covers calls through a PLT, through the GOT (-fno-plt, as in Rust: got.h) and by address, and functions found by
 * dlsym; but not system calls made directly (Go) and not static programs.
 */
#include <link.h>
#include "audit/answer.h"
#include "audit/base.h"
#include "audit/follow/follow.h"
#include "audit/follow/got.h"
#include "audit/follow/nvrtc.h"
#include "audit/follow/shell.h"
#include "audit/follow/space.h"

#define EXPORT __attribute__((visibility("default")))

static char text[4 * AUDIT_PATH];     /* copies of the kept variables, because the program may overwrite its own */
static const char *kept[FOLLOW_KEPT]; /* pointers into `text`; the first is LD_AUDIT */
static size_t nkept, used;

static void keep_variable(const char *entry)
{
	size_t n = text_length(entry) + 1;

	if (nkept == FOLLOW_KEPT || n > sizeof text - used)
		return;
	for (size_t i = 0; i < n; i++)
		text[used + i] = entry[i];
	kept[nkept++] = text + used;
	used += n;
}

static bool follow_is_disabled(char *const *env)
{
	for (; env && *env; env++)
		if (text_equal(*env, "GANGWAY_FOLLOW=0"))
			return true;
	return false;
}

EXPORT unsigned la_version(unsigned version)
{
	char dir[AUDIT_PATH];

	if (!start_folder(AUDIT_FOLLOW, dir, sizeof dir) || follow_is_disabled(start_environment))
		return 0;
	for (char **e = start_environment; *e; e++)
		if (text_starts(*e, "LD_AUDIT="))
			keep_variable(*e);
	for (char **e = start_environment; nkept && *e; e++)
		if (text_starts(*e, "GANGWAY_") || text_starts(*e, "GLIBC_TUNABLES="))
			keep_variable(*e);
	nvrtc_start();
	return nkept && answer_start() ? version : 0;
}

static const char *find_variable(char *const *env, const char *entry)
{
	size_t n = 0;

	while (entry[n] && entry[n] != '=')
		n++;
	for (; env && *env; env++) {
		size_t i = 0;

		while (i <= n && (*env)[i] == entry[i])
			i++;
		if (i > n)
			return *env;
	}
	return NULL;
}

static bool audit_names_us(const char *audit)
{
	for (const char *s = audit; *s; s++)
		if (text_starts(s, "/" AUDIT_FOLLOW))
			return true;
	return false;
}

struct follow_room follow_room(char *const *env)
{
	struct follow_room room = {0, 0};
	const char *theirs = find_variable(env, kept[0]);
	size_t n = 0;

	while (env && env[n])
		n++;
	if (n > FOLLOW_ENTRIES || follow_is_disabled(env) || (theirs && audit_names_us(theirs)))
		return room;
	room.entries = n + nkept + 1;
	room.text = theirs ? text_length(kept[0]) + text_length(theirs) + 1 : 0;
	return room;
}

void follow_join(char *const *env, struct follow_room room, const char **joined, char *buffer)
{
	const char *theirs = find_variable(env, kept[0]);
	size_t n = 0;

	for (char *const *e = env; e && *e; e++)
		if (*e != theirs)
			joined[n++] = *e;
	for (size_t i = 1; i < nkept; i++)
		if (!find_variable(env, kept[i]))
			joined[n++] = kept[i];
	joined[n] = kept[0];
	if (theirs) {
		const char *value = theirs + sizeof "LD_AUDIT";

		buffer[0] = 0;
		text_append(buffer, room.text, kept[0], text_length(kept[0]));
		text_append(buffer, room.text, ":", 1);
		text_append(buffer, room.text, value, text_length(value));
		joined[n] = buffer;
	}
	joined[n + 1] = NULL;
}

static bool is_replaced(const char *name)
{
	return exec_is_replaced(name) || shell_is_replaced(name) || space_is_replaced(name) || nvrtc_is_replaced(name);
}

/* Audit bindings from all objects to libc, and on a CPU device to NVRTC, in the base namespace only: others have a libc and errno of their own. */
EXPORT unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
	(void)cookie;
	if (space != LM_ID_BASE)
		return 0;
	exec_object_loaded(map);
	if (text_equal(text_last_part(map->l_name), "libc.so.6"))
		return LA_FLG_BINDTO;
	if (nvrtc_is_library(map->l_name))
		return LA_FLG_BINDTO | LA_FLG_BINDFROM;
	got_redirect(map, is_replaced);
	return LA_FLG_BINDFROM;
}

EXPORT uintptr_t la_symbind64(
	Elf64_Sym *sym, unsigned index, uintptr_t *by, uintptr_t *in, unsigned *flags, const char *name)
{
	(void)index, (void)by, (void)flags;
	if (nvrtc_is_replaced(name))
		return nvrtc_replace(name, (const struct link_map *)*in, sym->st_value);
	return space_replace(name, shell_replace(name, exec_replace(name, sym->st_value)));
}
