/*
 * library.h - which file the dynamic loader takes for a library name, by which rule, and who built that file.
 *
 * The search repeats the rules of ld.so instead of asking it, because the files and the environment may be those of
 * another system. The order is: RPATH (of the requesting object and of the objects that led to it, unless the
 * requesting object has a RUNPATH), LD_LIBRARY_PATH, RUNPATH, ld.so.cache, the default folders. In each folder the
 * glibc-hwcaps subfolders for this processor come first.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include "loader/elf_object.h"
#include "loader/sysroot.h"

enum found_by {
	FOUND_NOWHERE,
	FOUND_BY_AUDIT,
	FOUND_BY_PATH,
	FOUND_BY_RPATH,
	FOUND_BY_ENVIRONMENT,
	FOUND_BY_RUNPATH,
	FOUND_BY_CACHE,
	FOUND_BY_DEFAULT
};

struct found_library {
	enum found_by by;
	char path[PATH_MAX];  /* "" if not found */
	char entry[PATH_MAX]; /* the entry of the search list that led to it, unexpanded */
	int error;            /* -errno if the file exists but the loader cannot load it */
};

const char *found_by_name(enum found_by by); /* for messages: "LD_LIBRARY_PATH" */

/* The object that requests a library, and the chain of objects that led to it. */
struct requester {
	const struct elf_object *object; /* may be NULL */
	const char *path;                /* of the file, for $ORIGIN */
	const struct requester *by;
};

struct library_search {
	const struct sysroot *sysroot;
	const char *library_path; /* LD_LIBRARY_PATH, or NULL */
	const char *audit;        /* LD_AUDIT: under gangway run, some names are redirected to our files */
	const char *keep;         /* GANGWAY_KEEP: names that are not redirected */
	const char *device;       /* GANGWAY_DEVICE: some names are redirected on one device only */
};

/* A search with the variables of the system's environment. */
struct library_search library_search_from(const struct sysroot *sys);

/*
 * The file in `dir` that gangway run provides for a name, given the `keep` and `device` of the search. Returns false
 * if gangway run leaves the name alone or this build does not contain the file.
 */
bool library_replacement(const struct sysroot *sys, const char *dir, const struct library_search *s, const char *name,
	char path[PATH_MAX]);

/*
 * Visit all files that the loader would consider, in its order, until `visit` returns true. Files for another
 * processor are skipped, as the loader skips them. A file that is not a library is visited with an error, because the
 * loader stops there.
 */
typedef bool library_visit_fn(void *arg, const struct found_library *found);
void library_search_each(const struct library_search *s, const char *name, const struct requester *requester,
	library_visit_fn *visit, void *arg);

/* Find the file that the loader takes. Returns false if there is none. */
bool library_find(const struct library_search *s, const char *name, const struct requester *requester,
	struct found_library *found);

enum library_maker {
	MAKER_THIS_BUILD, /* Gangway, exactly this build */
	MAKER_OTHER_BUILD,
	MAKER_STUB,         /* for linking only */
	MAKER_VENDOR,       /* anybody but Gangway */
	MAKER_NOT_A_DRIVER, /* has a driver's name, but not its functions */
};

struct library {
	enum library_maker maker;
	char real[PATH_MAX];
	char build[128];  /* the build note, if the file is Gangway's */
	char version[64]; /* from the file name: 580.65.06 of libcuda.so.580.65.06; or "" */
	char soname[256]; /* "" if absent */
	char nodes[256];  /* the version nodes that it defines, separated by blanks; or "" */
	char build_id[64];
	uint64_t size;
};

/* Inspect a file. Returns 0, -EINVAL if it is not a library, -ENOEXEC if it is for another processor, or -errno. */
int library_inspect(const struct sysroot *sys, const char *path, struct library *l);

/* Describe the maker for a message: "Gangway's, from this build", "not Gangway's, version 580.65.06". Returns `text`. */
char *library_describe(const struct library *l, char *text, size_t size);
