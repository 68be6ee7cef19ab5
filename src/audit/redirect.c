/*
 * libgangway-audit.so: redirects requests for the libraries that we provide to the files next to this one, whether they
 * are requested by name, by path, or as a bundled copy.
 *
 * ld.so calls la_objsearch before it searches, in every namespace, under its own lock. No binding changes, and no call
 * becomes slower. A library that is opened by path from one of our own libraries or from the gangway command is not
 * redirected: this is how pass-through loads the vendor's driver.
 */
#include <link.h>
#include "audit/answer.h"
#include "audit/base.h"
#include "audit/log.h"

#define EXPORT __attribute__((visibility("default")))

static char file[ANSWER_PATH]; /* ld.so copies it before the next request */
static unsigned found_by;      /* the present search of ld.so: LA_SER_* */
static bool logging, program_is_ours;

EXPORT unsigned la_version(unsigned version)
{
	if (!answer_start())
		return 0; /* unload this library */
	program_is_ours = start_is_ours();
	logging = log_start();
	if (logging)
		log_line("start", start_program(), NULL);
	return version;
}

/* Is the requester one of our libraries, by its folder, or the gangway command, whose server uses the vendor's driver? */
static bool requester_is_ours(const struct link_map *by)
{
	const char *name = by && by->l_name ? by->l_name : "";
	size_t n = text_length(answer_dir);

	if (!*name)
		return program_is_ours;
	return text_starts(name, answer_dir) && name[n] == '/';
}

/* Decide about a request. Returns the word for the log. */
static const char *decide_request(const char *name, const struct link_map *by, const char **result)
{
	enum answer answer = answer_to(name, file);

	*result = name;
	if (answer == ANSWER_OTHER)
		return "other";
	if (text_has_slash(name) && requester_is_ours(by))
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

/* The cookies are link maps, because we do not change them. */
EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
	const struct link_map *by = cookie ? (const struct link_map *)*cookie : NULL;
	const char *result, *how;

	found_by = flag;
	if (flag == LA_SER_DEFAULT && answer_fallback(name, file)) {
		if (logging)
			log_line("asked", name, "-", "fallback", file, NULL);
		return file;
	}
	if (flag != LA_SER_ORIG)
		return (char *)name;
	how = decide_request(name, by, &result);
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

/* Only for the log; returns 0 because we audit no bindings. */
EXPORT unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
	(void)cookie;
	if (logging)
		log_line("loaded", *map->l_name ? map->l_name : start_program(), search_name(found_by),
			space == LM_ID_BASE ? "base" : "other", NULL);
	found_by = 0;
	return 0;
}
