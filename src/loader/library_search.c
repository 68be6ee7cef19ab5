/* search.c - the loader's way to a library; see library.h. */
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

struct walk {
	const struct search *search;
	const char *name;
	take_fn *take;
	void *arg;
};

const char *found_by_name(enum found_by by)
{
	static const char *const names[] = {[BY_NOBODY] = "",
		[BY_AUDIT] = "LD_AUDIT",
		[BY_PATH] = "its path",
		[BY_RPATH] = "RPATH",
		[BY_ENVIRONMENT] = "LD_LIBRARY_PATH",
		[BY_RUNPATH] = "RUNPATH",
		[BY_CACHE] = "ld.so.cache",
		[BY_DEFAULT] = "the usual folders"};

	return names[by];
}

/* What the loader would say to the file: it goes on, it takes it, or it stops there. */
static bool offer(const struct walk *w, struct found *f)
{
	struct object o;
	struct stat st;
	int err = world_stat(w->search->world, f->path, &st);

	if ((err && err != -EACCES && err != -EPERM) || (!err && !S_ISREG(st.st_mode)))
		return false;
	int fd = err ? err : world_open(w->search->world, f->path);
	if (fd < 0) { /* there, and not to be had: the loader tries the next place */
		f->error = fd;
		return w->take(w->arg, f);
	}
	err = object_open(&o, fd);
	close(fd);
	bool other = !err && !o.native;
	f->error = !err && !o.dynamic ? -EINVAL : err;
	if (!err)
		object_close(&o);
	return !other && w->take(w->arg, f);
}

/* ---- folders ---- */

/* For the processor we run on, best first. */
static unsigned hwcaps(const char *list[4])
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

static bool in_folder(const struct walk *w, const char *dir, enum found_by by, const char *entry)
{
	struct found f = {.by = by};
	const char *caps[4];
	unsigned n = hwcaps(caps);

	snprintf(f.entry, sizeof f.entry, "%s", entry);
	for (unsigned i = 0; i <= n; i++) {
		int len = i < n ? snprintf(f.path, sizeof f.path, "%s/glibc-hwcaps/%s/%s", dir, caps[i], w->name)
				: snprintf(f.path, sizeof f.path, "%s/%s", dir, w->name);
		f.error = 0;
		if (len < (int)sizeof f.path && offer(w, &f))
			return true;
	}
	return false;
}

/* $ORIGIN, $LIB, $PLATFORM, with or without braces.  False: it does not fit, or nobody knows the origin. */
static bool expand(const char *from, size_t n, const char *origin, char out[PATH_MAX])
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

static bool in_list(
	const struct walk *w, const char *list, const char *separators, const char *origin, enum found_by by)
{
	char dir[PATH_MAX], entry[PATH_MAX];

	while (list) {
		size_t n = strcspn(list, separators);

		if (n < sizeof entry && expand(list, n, origin, dir)) {
			snprintf(entry, sizeof entry, "%.*s", (int)n, list);
			if (in_folder(w, n ? dir : ".", by, n ? entry : "(an empty entry: the current folder)"))
				return true;
		}
		list = list[n] ? list + n + 1 : NULL;
	}
	return false;
}

/* ---- the cache ---- */

static bool suits(const char *caps)
{
	const char *list[4];
	unsigned n = hwcaps(list);

	for (unsigned i = 0; caps && i < n; i++)
		if (!strcmp(caps, list[i]))
			return true;
	return !caps || !*caps;
}

static bool in_cache(const struct walk *w)
{
	char outside[PATH_MAX];
	struct ldcache cache;
	struct ldcache_entry e;
	bool taken = false;

	if (world_outside(w->search->world, LDCACHE_FILE, outside) || ldcache_open(&cache, outside))
		return false;
	for (uint32_t at = 0; !taken && ldcache_next(&cache, &at, &e);) {
		struct found f = {.by = BY_CACHE};

		if (strcmp(e.name, w->name) || !ldcache_native(&e) || !suits(e.hwcaps) ||
			snprintf(f.path, sizeof f.path, "%s", e.path) >= (int)sizeof f.path)
			continue;
		snprintf(f.entry, sizeof f.entry, "%s", e.path);
		taken = offer(w, &f);
	}
	ldcache_close(&cache);
	return taken;
}

/* ---- our audit library ---- */

/* GANGWAY_KEEP=libcudart:libcublas: left to the application. */
static bool is_kept(const char *list, const char *stem)
{
	size_t n = strlen(stem) - 3; /* without ".so" */

	for (; list && *list; list += strcspn(list, ":"), list += *list == ':')
		if (strcspn(list, ":") == n && !strncmp(list, stem, n))
			return true;
	return false;
}

static bool has_file(const struct world *w, const char *dir, const char *name, size_t n, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/%.*s", dir, (int)n, name) < PATH_MAX && world_is_file(w, path);
}

static bool folder_of(const struct ours *o, const char *dir, const char *device, char folder[PATH_MAX])
{
	if (o->device && (!device || strcmp(device, o->device)))
		return false;
	return snprintf(folder, PATH_MAX, "%s%s%s", dir, o->device ? "/" : "", o->device ? o->device : "") < PATH_MAX;
}

/* As audit/redirect.c does it: libcudart.so.12.8.90 may be there under this name, as .so.12.8 or .so.12. */
bool library_of_ours(
	const struct world *w, const char *dir, const struct search *s, const char *name, char path[PATH_MAX])
{
	const char *last = basename(name);
	char folder[PATH_MAX];

	for (size_t i = 0; *dir && i < OURS; i++) {
		size_t stem = strlen(ours[i].stem);

		if (strncmp(last, ours[i].stem, stem) || (last[stem] && last[stem] != '.') ||
			is_kept(s->keep, ours[i].stem) || !folder_of(&ours[i], dir, s->device, folder))
			continue;
		if (ours[i].soname && has_file(w, folder, ours[i].soname, strlen(ours[i].soname), path))
			return true;
		for (size_t n = strlen(last); !ours[i].soname && n >= stem; n--)
			if ((!last[n] || last[n] == '.') && (n > stem || !last[stem]) &&
				has_file(w, folder, last, n, path))
				return true;
	}
	*path = 0;
	return false;
}

/* The folder of our audit library, where LD_AUDIT has it. */
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

static bool by_audit(const struct walk *w)
{
	struct found f = {.by = BY_AUDIT};

	return audit_folder(w->search->audit, f.entry) &&
	       library_of_ours(w->search->world, f.entry, w->search, w->name, f.path) && offer(w, &f);
}

struct search world_search(const struct world *w)
{
	return (struct search){w, world_env(w, "LD_LIBRARY_PATH"), world_env(w, "LD_AUDIT"),
		world_env(w, "GANGWAY_KEEP"), world_env(w, "GANGWAY_DEVICE")};
}

/* ---- all of it ---- */

/* What a distribution built into its loader. */
static bool in_default(const struct walk *w)
{
	static const char *const debian[] = {"/lib/" MULTIARCH, "/usr/lib/" MULTIARCH, "/lib", "/usr/lib"};
	static const char *const others[] = {"/lib64", "/usr/lib64"};
	bool multiarch = world_is_dir(w->search->world, debian[1]);
	const char *const *list = multiarch ? debian : others;

	for (unsigned i = 0; i < (multiarch ? 4 : 2); i++)
		if (in_folder(w, list[i], BY_DEFAULT, list[i]))
			return true;
	return false;
}

static void origin_of(const char *path, char origin[PATH_MAX])
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	snprintf(origin, PATH_MAX, "%.*s", slash ? (int)(slash - path) : 0, path ? path : "");
}

static bool in_object(const struct walk *w, const struct asker *a, enum found_by by)
{
	const char *list = !a->object ? NULL : by == BY_RPATH ? a->object->rpath : a->object->runpath;
	char origin[PATH_MAX];

	origin_of(a->path, origin);
	return list && *list && in_list(w, list, ":", origin, by);
}

void library_search(const struct search *s, const char *name, const struct asker *asker, take_fn *take, void *arg)
{
	struct walk w = {s, name, take, arg};
	struct found f = {.by = BY_PATH};
	char origin[PATH_MAX] = "";

	if (by_audit(&w))
		return;
	if (strchr(name, '/')) {
		if (snprintf(f.path, sizeof f.path, "%s", name) < (int)sizeof f.path)
			offer(&w, &f);
		return;
	}
	for (const struct asker *a = asker; a && !(asker->object && asker->object->runpath); a = a->by)
		if (!(a->object && a->object->runpath) && in_object(&w, a, BY_RPATH))
			return;
	if (asker)
		for (const struct asker *a = asker; a; a = a->by)
			origin_of(a->path, origin); /* the program's, in the end */
	if (s->library_path && *s->library_path && in_list(&w, s->library_path, ":;", origin, BY_ENVIRONMENT))
		return;
	if (asker && in_object(&w, asker, BY_RUNPATH))
		return;
	if (!in_cache(&w))
		in_default(&w);
}

static bool take_first(void *arg, const struct found *found)
{
	if (found->error == -EACCES || found->error == -EPERM)
		return false;
	*(struct found *)arg = *found;
	return true;
}

bool library_find(const struct search *s, const char *name, const struct asker *asker, struct found *found)
{
	*found = (struct found){0};
	library_search(s, name, asker, take_first, found);
	return found->path[0];
}
