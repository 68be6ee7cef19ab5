/* Repeat ld.so's search for a library. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "audit/files.h"
#include "audit/names.h"
#include "loader/library.h"
#include "loader/ldcache.h"

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#define PLATFORM  "aarch64"
#else
#define MULTIARCH "x86_64-linux-gnu"
#define PLATFORM  "x86_64"
#endif

struct search_walk {
	const struct library_search *search;
	const char *name;
	library_visit_fn *visit;
	void *arg;
};

const char *found_by_name(enum found_by by)
{
	static const char *const names[] = {[FOUND_NOWHERE] = "",
		[FOUND_BY_AUDIT] = "LD_AUDIT",
		[FOUND_BY_PATH] = "its path",
		[FOUND_BY_RPATH] = "RPATH",
		[FOUND_BY_ENVIRONMENT] = "LD_LIBRARY_PATH",
		[FOUND_BY_RUNPATH] = "RUNPATH",
		[FOUND_BY_CACHE] = "ld.so.cache",
		[FOUND_BY_DEFAULT] = "the default folders"};

	return names[by];
}

/* Visit a file if it exists and is for this processor. Returns true if the search ends here. */
static bool walk_visit(const struct search_walk *w, struct found_library *f)
{
	struct elf_object o;
	struct stat st;
	int err = sysroot_stat(w->search->sysroot, f->path, &st);

	if ((err && err != -EACCES && err != -EPERM) || (!err && !S_ISREG(st.st_mode)))
		return false;
	int fd = err ? err : sysroot_open(w->search->sysroot, f->path);
	if (fd < 0) { /* exists but is unreadable: the loader tries the next place */
		f->error = fd;
		return w->visit(w->arg, f);
	}
	err = elf_object_open(&o, fd);
	close(fd);
	bool other = !err && !o.native;
	f->error = !err && !o.dynamic ? -EINVAL : err;
	if (!err)
		elf_object_close(&o);
	return !other && w->visit(w->arg, f);
}

/* ---- folders ---- */

/* The glibc-hwcaps subfolders for this processor, best first. */
static unsigned processor_hwcaps(const char *list[4])
{
	unsigned n = 0;

#if defined(__x86_64__) && defined(__GNUC__) && __GNUC__ >= 12
	if (__builtin_cpu_supports("x86-64-v4"))
		list[n++] = "x86-64-v4";
	if (__builtin_cpu_supports("x86-64-v3"))
		list[n++] = "x86-64-v3";
	if (__builtin_cpu_supports("x86-64-v2"))
		list[n++] = "x86-64-v2";
#else
	(void)list;
#endif
	return n;
}

static bool walk_folder(const struct search_walk *w, const char *dir, enum found_by by, const char *entry)
{
	struct found_library f = {.by = by};
	const char *caps[4];
	unsigned n = processor_hwcaps(caps);

	snprintf(f.entry, sizeof f.entry, "%s", entry);
	for (unsigned i = 0; i <= n; i++) {
		int len = i < n ? snprintf(f.path, sizeof f.path, "%s/glibc-hwcaps/%s/%s", dir, caps[i], w->name)
				: snprintf(f.path, sizeof f.path, "%s/%s", dir, w->name);
		f.error = 0;
		if (len < (int)sizeof f.path && walk_visit(w, &f))
			return true;
	}
	return false;
}

/* Expand $ORIGIN, $LIB and $PLATFORM, with or without braces. Returns false if the result does not fit. */
static bool expand_tokens(const char *from, size_t n, const char *origin, char out[PATH_MAX])
{
	const struct token {
		const char *name, *value;
	} tokens[] = {{"ORIGIN", origin}, {"LIB", "lib/" MULTIARCH}, {"PLATFORM", PLATFORM}};
	size_t used = 0;

	for (size_t i = 0; i < n;) {
		const char *value = NULL;
		size_t skip = 0;

		for (unsigned t = 0; from[i] == '$' && !value && t < sizeof tokens / sizeof *tokens; t++) {
			size_t len = strlen(tokens[t].name), brace = i + 1 < n && from[i + 1] == '{';

			if (i + 1 + brace + len + brace <= n && !strncmp(from + i + 1 + brace, tokens[t].name, len) &&
				(!brace || from[i + 1 + brace + len] == '}')) {
				value = tokens[t].value ? tokens[t].value : "";
				skip = 1 + brace + len + brace;
			}
		}
		if (used + (value ? strlen(value) : 1) >= PATH_MAX)
			return false;
		if (value)
			used += (size_t)sprintf(out + used, "%s", value), i += skip;
		else
			out[used++] = from[i++];
	}
	out[used] = 0;
	return true;
}

static bool walk_list(
	const struct search_walk *w, const char *list, const char *separators, const char *origin, enum found_by by)
{
	char dir[PATH_MAX], entry[PATH_MAX];

	while (list) {
		size_t n = strcspn(list, separators);

		if (n < sizeof entry && expand_tokens(list, n, origin, dir)) {
			snprintf(entry, sizeof entry, "%.*s", (int)n, list);
			if (walk_folder(w, n ? dir : ".", by, n ? entry : "(an empty entry, the current folder)"))
				return true;
		}
		list = list[n] ? list + n + 1 : NULL;
	}
	return false;
}

/* ---- the cache ---- */

static bool hwcaps_supported(const char *caps)
{
	const char *list[4];
	unsigned n = processor_hwcaps(list);

	for (unsigned i = 0; caps && i < n; i++)
		if (!strcmp(caps, list[i]))
			return true;
	return !caps || !*caps;
}

static bool walk_cache(const struct search_walk *w)
{
	char outside[PATH_MAX];
	struct ldcache cache;
	struct ldcache_entry e;
	bool done = false;

	if (sysroot_outside(w->search->sysroot, LDCACHE_FILE, outside) || ldcache_open(&cache, outside))
		return false;
	for (uint32_t at = 0; !done && ldcache_next(&cache, &at, &e);) {
		struct found_library f = {.by = FOUND_BY_CACHE};

		if (strcmp(e.name, w->name) || !ldcache_native(&e) || !hwcaps_supported(e.hwcaps) ||
			snprintf(f.path, sizeof f.path, "%s", e.path) >= (int)sizeof f.path)
			continue;
		snprintf(f.entry, sizeof f.entry, "%s", e.path);
		done = walk_visit(w, &f);
	}
	ldcache_close(&cache);
	return done;
}

/* ---- our audit library ---- */

/* Is the library named in GANGWAY_KEEP ("libcudart:libcublas")? */
static bool is_kept(const char *list, const char *stem)
{
	size_t n = strlen(stem) - 3; /* without ".so" */

	for (; list && *list; list += strcspn(list, ":"), list += *list == ':')
		if (strcspn(list, ":") == n && !strncmp(list, stem, n))
			return true;
	return false;
}

static bool find_versioned_file(
	const struct sysroot *sys, const char *dir, const char *name, size_t n, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/%.*s", dir, (int)n, name) < PATH_MAX && sysroot_is_file(sys, path);
}

static bool replacement_folder(
	const struct redirected_library *o, const char *dir, const char *device, char folder[PATH_MAX])
{
	if (o->device && (!device || strcmp(device, o->device)))
		return false;
	return snprintf(folder, PATH_MAX, "%s%s%s", dir, o->device ? "/" : "", o->device ? o->device : "") < PATH_MAX;
}

/* The rules of audit/redirect.c: libcudart.so.12.8.90 is matched under this name, as .so.12.8 or as .so.12. */
bool library_replacement(const struct sysroot *sys, const char *dir, const struct library_search *s, const char *name,
	char path[PATH_MAX])
{
	const char *last = basename(name);
	char folder[PATH_MAX];

	for (size_t i = 0; *dir && i < REDIRECTED_LIBRARIES; i++) {
		size_t stem = strlen(redirected_libraries[i].stem);

		if (strncmp(last, redirected_libraries[i].stem, stem) || (last[stem] && last[stem] != '.') ||
			is_kept(s->keep, redirected_libraries[i].stem) ||
			!replacement_folder(&redirected_libraries[i], dir, s->device, folder))
			continue;
		if (redirected_libraries[i].soname && find_versioned_file(sys, folder, redirected_libraries[i].soname,
							      strlen(redirected_libraries[i].soname), path))
			return true;
		for (size_t n = strlen(last); !redirected_libraries[i].soname && n >= stem; n--)
			if ((!last[n] || last[n] == '.') && (n > stem || !last[stem]) &&
				find_versioned_file(sys, folder, last, n, path))
				return true;
	}
	*path = 0;
	return false;
}

/* Find our audit library in LD_AUDIT; its folder is the folder of our libraries. */
static bool audit_folder(const char *list, char dir[PATH_MAX])
{
	static const char name[] = "/" AUDIT_REDIRECT;

	for (; list && *list; list += strcspn(list, ":"), list += *list == ':') {
		size_t n = strcspn(list, ":"), last = sizeof name - 1;

		if (n <= last || n - last >= PATH_MAX || strncmp(list + n - last, name, last))
			continue;
		snprintf(dir, PATH_MAX, "%.*s", (int)(n - last), list);
		return true;
	}
	return false;
}

static bool walk_audit(const struct search_walk *w)
{
	struct found_library f = {.by = FOUND_BY_AUDIT};

	return audit_folder(w->search->audit, f.entry) &&
	       library_replacement(w->search->sysroot, f.entry, w->search, w->name, f.path) && walk_visit(w, &f);
}

struct library_search library_search_from(const struct sysroot *sys)
{
	const char *device = sysroot_env(sys, "GANGWAY_DEVICE");

	if (!device || strchr(device, ':')) /* a server's */
		device = sysroot_env(sys, "GANGWAY_SERVED");
	return (struct library_search){sys, sysroot_env(sys, "LD_LIBRARY_PATH"), sysroot_env(sys, "LD_AUDIT"),
		sysroot_env(sys, "GANGWAY_KEEP"), device};
}

/* ---- the whole search ---- */

/* The folders built into the loader: Debian's multiarch folders, or lib64. */
static bool walk_default_folders(const struct search_walk *w)
{
	static const char *const debian[] = {"/lib/" MULTIARCH, "/usr/lib/" MULTIARCH, "/lib", "/usr/lib"};
	static const char *const others[] = {"/lib64", "/usr/lib64"};
	bool multiarch = sysroot_is_dir(w->search->sysroot, debian[1]);
	const char *const *list = multiarch ? debian : others;

	for (unsigned i = 0; i < (multiarch ? 4 : 2); i++)
		if (walk_folder(w, list[i], FOUND_BY_DEFAULT, list[i]))
			return true;
	return false;
}

static void origin_folder(const char *path, char origin[PATH_MAX])
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	snprintf(origin, PATH_MAX, "%.*s", slash ? (int)(slash - path) : 0, path ? path : "");
}

static bool walk_object_path(const struct search_walk *w, const struct requester *a, enum found_by by)
{
	const char *list = !a->object ? NULL : by == FOUND_BY_RPATH ? a->object->rpath : a->object->runpath;
	char origin[PATH_MAX];

	origin_folder(a->path, origin);
	return list && *list && walk_list(w, list, ":", origin, by);
}

void library_search_each(const struct library_search *s, const char *name, const struct requester *requester,
	library_visit_fn *visit, void *arg)
{
	struct search_walk w = {s, name, visit, arg};
	struct found_library f = {.by = FOUND_BY_PATH};
	char origin[PATH_MAX] = "";

	if (walk_audit(&w))
		return;
	if (strchr(name, '/')) {
		if (snprintf(f.path, sizeof f.path, "%s", name) < (int)sizeof f.path)
			walk_visit(&w, &f);
		return;
	}
	for (const struct requester *a = requester; a && !(requester->object && requester->object->runpath); a = a->by)
		if (!(a->object && a->object->runpath) && walk_object_path(&w, a, FOUND_BY_RPATH))
			return;
	if (requester)
		for (const struct requester *a = requester; a; a = a->by)
			origin_folder(a->path, origin); /* the last one is the program's */
	if (s->library_path && *s->library_path && walk_list(&w, s->library_path, ":;", origin, FOUND_BY_ENVIRONMENT))
		return;
	if (requester && walk_object_path(&w, requester, FOUND_BY_RUNPATH))
		return;
	if (!walk_cache(&w))
		walk_default_folders(&w);
}

static bool visit_first(void *arg, const struct found_library *found)
{
	if (found->error == -EACCES || found->error == -EPERM)
		return false;
	*(struct found_library *)arg = *found;
	return true;
}

bool library_find(const struct library_search *s, const char *name, const struct requester *requester,
	struct found_library *found)
{
	*found = (struct found_library){0};
	library_search_each(s, name, requester, visit_first, found);
	return found->path[0];
}
