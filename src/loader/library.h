/*
 * library.h - which file the loader takes for a name, from where, and whose it is.
 *
 * ld.so is not asked, it is retraced: the environment and the files may be another's.  Its order is RPATH (of
 * the object that asks, and of those that led to it, unless it has a RUNPATH), LD_LIBRARY_PATH, RUNPATH, the
 * cache, the usual folders; in a folder first what glibc-hwcaps has for this processor.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include "loader/elf_object.h"
#include "loader/world.h"

enum found_by { BY_NOBODY, BY_AUDIT, BY_PATH, BY_RPATH, BY_ENVIRONMENT, BY_RUNPATH, BY_CACHE, BY_DEFAULT };

struct found {
	enum found_by by;
	char path[PATH_MAX];  /* "": not found */
	char entry[PATH_MAX]; /* the entry of the list that led there: a folder as it is written */
	int error;            /* -errno: it is there, but the loader will choke on it */
};

const char *found_by_name(enum found_by by); /* "LD_LIBRARY_PATH" */

/* The object that asks for a library, and the one that asked for it. */
struct asker {
	const struct object *object; /* NULL: nobody in particular */
	const char *path;            /* of the file, for $ORIGIN */
	const struct asker *by;
};

struct search {
	const struct world *world;
	const char *library_path; /* LD_LIBRARY_PATH; NULL: unset */
	const char *audit;        /* LD_AUDIT: where gangway run has set it, ours is the answer to some names */
	const char *keep;         /* GANGWAY_KEEP: but not to these */
	const char *device;       /* GANGWAY_DEVICE: some are ours on one device only */
};

struct search world_search(const struct world *w);

/* One that gangway run answers for, as `keep` and `device` of s are: the file in `dir`.  False: left alone, or not shipped. */
bool library_of_ours(
	const struct world *w, const char *dir, const struct search *s, const char *name, char path[PATH_MAX]);

/*
 * All files that the loader could take, in its order, until `take` answers true.  A file of another machine's
 * kind is passed over as the loader does; one that is no library at all is handed over with an error, for the
 * loader stops at it.
 */
typedef bool take_fn(void *arg, const struct found *found);
void library_search(const struct search *s, const char *name, const struct asker *asker, take_fn *take, void *arg);

/* The first of them.  False: none. */
bool library_find(const struct search *s, const char *name, const struct asker *asker, struct found *found);

enum maker {
	MADE_BY_US, /* this very build */
	MADE_BY_OTHER_BUILD,
	MADE_FOR_LINKING, /* a stub */
	MADE_BY_VENDOR,   /* or whoever: not ours */
};

struct library {
	enum maker maker;
	char real[PATH_MAX];
	char build[128];  /* our note, where it is ours */
	char version[64]; /* libcuda.so.580.65.06: what the file's name says; "" */
	char soname[256]; /* "": none */
	char nodes[256];  /* version nodes it defines, with blanks between; "" */
	char build_id[64];
	uint64_t size;
};

/* What there is to know of the file at `path`; 0 or -errno: -EINVAL no library, -ENOEXEC another machine's.
 */
int library_look(const struct world *w, const char *path, struct library *l);

/* "ours, this build", "a vendor's 580.65.06", ... */
char *library_describe(const struct library *l, char *text, size_t size);
