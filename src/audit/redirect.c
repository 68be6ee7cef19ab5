/*
 * libgangway-audit.so: whatever name or path a program, a library or a bundled copy asks the loader for, a
 * library that is ours to answer for is answered by the one beside this file.
 *
 * ld.so asks la_objsearch before it looks anywhere, in every namespace, under its own lock.  No symbol is
 * bound differently and no call costs more.  Not redirected is what one of our own libraries, or the gangway
 * command, opens by its path: that is how the pass-through gets at the vendor's driver.
 */
#include <link.h>
#include "audit/answer.h"
#include "audit/base.h"
#include "audit/log.h"

#define EXPORT __attribute__((visibility("default")))

static char file[ANSWER_PATH]; /* ld.so copies it before it asks again */
static unsigned found_by;      /* the search that ld.so is at */
static bool logging, program_is_ours;

EXPORT unsigned la_version(unsigned version)
{
	if (!answer_start())
		return 0; /* no use for us here */
	program_is_ours = start_is_ours();
	logging = log_start();
	if (logging)
		log_line("start", start_program(), NULL);
	return version;
}

/* One of our libraries, by where it was loaded from, or the gangway command: a server has the vendor's driver, too. */
static bool is_own(const struct link_map *by)
{
	const char *name = by && by->l_name ? by->l_name : "";
	size_t n = text_length(answer_dir);

	if (!*name)
		return program_is_ours;
	return text_starts(name, answer_dir) && name[n] == '/' && text_last_part(name) == name + n + 1;
}

/* What becomes of a name; the word is the log's. */
static const char *decide(const char *name, const struct link_map *by, const char **result)
{
	enum answer answer = answer_to(name, file);

	*result = name;
	if (answer == ANSWER_OTHER)
		return "other";
	if (text_has_slash(name) && is_own(by))
		return "own";
	if (answer == ANSWER_KEPT)
		return "kept";
	if (answer == ANSWER_ABSENT)
		return "absent";
	if (text_equal(name, file))
		return "ours";
	*result = file;
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
