/*
 * libgangway-audit.so: whatever name or path a program, a library or a bundled copy asks the loader for, a
 * library that is ours to answer for is answered by the one beside this file.
 *
 * ld.so asks la_objsearch before it looks anywhere, in every namespace, under its own lock.  No symbol is
 * bound differently and no call costs more.  Not redirected is what one of our own libraries, or the gangway
 * command, opens by its path: that is how the pass-through gets at the vendor's driver.
 */
#include <link.h>
#include "audit/base.h"
#include "audit/log.h"
#include "audit/names.h"

#define EXPORT __attribute__((visibility("default")))

static char dir[AUDIT_PATH];	     /* where our libraries are */
static char kept[AUDIT_PATH];	     /* GANGWAY_KEEP: names left to the application */
static char answer[AUDIT_PATH + 64]; /* ld.so copies it before it asks again */
static unsigned found_by;	     /* the search that ld.so is at */
static bool logging, program_is_ours;

EXPORT unsigned la_version(unsigned version)
{
	const char *keep = start_variable("GANGWAY_KEEP");

	if (!start_folder(AUDIT_REDIRECT, dir, sizeof dir))
		return 0; /* no use for us here */
	program_is_ours = start_is_ours();
	if (keep)
		text_append(kept, sizeof kept, keep, text_length(keep));
	logging = log_start();
	if (logging)
		log_line("start", start_program(), NULL);
	return version;
}

/* libcuda.so, libcuda.so.1, libcuda.so.580.159.03; not libcuda.so.old nor libcudadevrt.so. */
static bool is_version(const char *s)
{
	for (; *s == '.'; s++) {
		if (s[1] < '0' || s[1] > '9')
			return false;
		while (s[1] >= '0' && s[1] <= '9')
			s++;
	}
	return !*s;
}

static const struct ours *find(const char *name)
{
	const char *last = text_last_part(name);

	for (size_t i = 0; i < OURS; i++)
		if (text_starts(last, ours[i].stem) && is_version(last + text_length(ours[i].stem)))
			return &ours[i];
	return NULL;
}

static bool in_folder(const char *file, size_t n)
{
	answer[0] = 0;
	return text_append(answer, sizeof answer, dir, text_length(dir)) && text_append(answer, sizeof answer, "/", 1) &&
	       text_append(answer, sizeof answer, file, n) && sys_access(answer) == 0;
}

/* The file of ours for a name: libcudart.so.12.8.90 may be there under this name, as .so.12.8 or .so.12. */
static bool locate(const struct ours *o, const char *name)
{
	const char *last = text_last_part(name);
	size_t stem = text_length(o->stem), n = text_length(last);

	if (o->soname)
		return in_folder(o->soname, text_length(o->soname));
	if (n == stem)
		return in_folder(last, n);
	while (n > stem) {
		if (in_folder(last, n))
			return true;
		while (last[--n] != '.') {
		}
	}
	return false;
}

/* GANGWAY_KEEP=libcudart:libcublas */
static bool is_kept(const char *stem)
{
	const char *list = kept, *next;
	size_t name = text_length(stem) - 3; /* without ".so" */

	for (; list; list = next) {
		size_t n = text_entry(list, &next);

		if (n != name)
			continue;
		while (n && list[n - 1] == stem[n - 1])
			n--;
		if (!n)
			return true;
	}
	return false;
}

static bool has_slash(const char *name)
{
	return text_last_part(name) != name;
}

/* One of our libraries, by where it was loaded from, or the gangway command: a server has the vendor's driver, too. */
static bool is_own(const struct link_map *by)
{
	const char *name = by && by->l_name ? by->l_name : "";
	size_t n = text_length(dir);

	if (!*name)
		return program_is_ours;
	return text_starts(name, dir) && name[n] == '/' && text_last_part(name) == name + n + 1;
}

/* What becomes of a name; the word is the log's. */
static const char *decide(const char *name, const struct link_map *by, const char **result)
{
	const struct ours *o = find(name);

	*result = name;
	if (!o)
		return "other";
	if (has_slash(name) && is_own(by))
		return "own";
	if (is_kept(o->stem))
		return "kept";
	if (!locate(o, name))
		return "absent";
	if (text_equal(name, answer))
		return "ours";
	*result = answer;
	return "redirected";
}

/* ld.so's cookies are its link maps, as long as nobody changes them. */
EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
	const struct link_map *by = cookie ? (const struct link_map *)*cookie : NULL;
	const char *result, *how;

	found_by = flag;
	if (flag != LA_SER_ORIG)
		return (char *)name;
	how = decide(name, by, &result);
	if (logging)
		log_line("asked", name, by && by->l_name && *by->l_name ? by->l_name : "-", how, result, NULL);
	return (char *)result;
}

static const char *search_name(unsigned flag)
{
	switch (flag) {
	case LA_SER_ORIG:
		return "path";
	case LA_SER_LIBPATH:
		return "environment";
	case LA_SER_RUNPATH:
		return "runpath";
	case LA_SER_CONFIG:
		return "cache";
	case LA_SER_DEFAULT:
		return "default";
	default:
		return "-";
	}
}

/* For the log alone: nothing of what the object binds is of interest. */
EXPORT unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
	(void)cookie;
	if (logging)
		log_line("loaded", *map->l_name ? map->l_name : start_program(), search_name(found_by),
			space == LM_ID_BASE ? "base" : "other", NULL);
	found_by = 0;
	return 0;
}
