/* libraries.c - which libcuda.so.1, libnvidia-ml.so.1 and libcudart.so a program gets that is started as it
 * is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/doctor/doctor.h"
#include "loader/ldcache.h"
#include "loader/ldconf.h"

static const char *const names[] = {"libcuda.so.1", "libnvidia-ml.so.1", "libcudart.so.12", "libcudart.so.13"};

#define NAMES  (sizeof names / sizeof *names)
#define COPIES 16

/* All files there are for one name, in the loader's order. */
struct copies {
	const struct sysroot *sysroot;
	unsigned n;
	struct copy {
		struct found_library found;
		struct library library;
	} copy[COPIES];
};

static bool keep(void *arg, const struct found_library *found)
{
	struct copies *c = arg;
	struct copy *new = &c->copy[c->n];

	new->found = *found;
	int err = library_inspect(c->sysroot, found->path, &new->library);
	if (!new->found.error)
		new->found.error = err;
	for (unsigned i = 0; i < c->n; i++) /* another way to the same file */
		if (!strcmp(c->copy[i].library.real, new->library.real))
			return false;
	return ++c->n == COPIES;
}

static struct copies *find_copies(const struct doctor *d, const char *name)
{
	struct copies *c = calloc(1, sizeof *c);
	struct library_search s = library_search_from(&d->sysroot);

	if (!c)
		exit(1);
	c->sysroot = &d->sysroot;
	library_search_each(&s, name, NULL, keep, c);
	return c;
}

/* The one the loader takes: it passes over what it may not read. */
static const struct copy *taken(const struct copies *c)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->copy[i].found.error != -EACCES && c->copy[i].found.error != -EPERM)
			return &c->copy[i];
	return NULL;
}

static const char *error_words(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return "may not be read";
	case -EINVAL:
		return "is no library at all";
	default:
		return strerror(-error);
	}
}

/* ---- stubs ---- */

static const struct stub {
	const char *name, *answer;
} stubs[] = {
	{"libcuda.so.1", "CUDA_ERROR_STUB_LIBRARY"},
	{"libnvidia-ml.so.1", "NVML_ERROR_LIBRARY_NOT_FOUND"},
	{"libcublas.so.12", "CUBLAS_STATUS_NOT_INITIALIZED"},
	{"libcublas.so.13", "CUBLAS_STATUS_NOT_INITIALIZED"},
};

static void say_stub(struct doctor *d, const struct copy *c, const struct stub *stub, bool first)
{
	char command[2 * PATH_MAX];
	struct finding *f = say(d, first ? WRONG : LOOK, "%s is a stub for linking: %s, found by %s%s", stub->name,
		c->found.path, found_by_name(c->found.by), first ? "" : ", though another comes before it");

	more(f, "A stub answers %s to every call; its folder belongs on no run-time path.", stub->answer);
	search_path_command(d, &c->found, command, sizeof command);
	fix(f, "%s", command);
	tell(f, "path", "%s", c->found.path);
}

void probe_stubs(struct doctor *d)
{
	for (size_t i = 0; i < sizeof stubs / sizeof *stubs; i++) {
		struct copies *c = find_copies(d, stubs[i].name);

		for (unsigned j = 0; j < c->n; j++)
			if (!c->copy[j].found.error && c->copy[j].library.maker == MAKER_STUB) {
				say_stub(d, &c->copy[j], &stubs[i], taken(c) == &c->copy[j]);
				break;
			}
		free(c);
	}
}

/* ---- LD_PRELOAD ---- */

static void look_at_preload(struct doctor *d, const char *path, const char *where, const char *command)
{
	struct library_search s = library_search_from(&d->sysroot);
	struct found_library found;
	struct library l;
	struct elf_object o;

	if (!library_find(&s, path, NULL, &found)) {
		struct finding *f = say(d, LOOK, "%s names %s, which is not there", where, path);
		fix(f, "%s", command);
		return;
	}
	int fd = sysroot_open(&d->sysroot, found.path);
	if (fd < 0 || elf_object_open(&o, fd))
		return;
	bool answers = elf_object_exports(&o, "cuInit") || elf_object_exports(&o, "cuMemAlloc_v2");
	elf_object_close(&o);
	if (!answers || library_inspect(&d->sysroot, found.path, &l) || l.maker == MAKER_THIS_BUILD)
		return;
	struct finding *f = say(d, WRONG,
		"%s brings %s into every program, and it answers CUDA calls before Gangway can", where, found.path);
	fix(f, "%s", command);
}

static void look_at_list(struct doctor *d, char *list, const char *where, const char *command)
{
	char *save = NULL;

	for (char *p = strtok_r(list, " :\t\n", &save); p; p = strtok_r(NULL, " :\t\n", &save))
		look_at_preload(d, p, where, command);
}

void probe_preload(struct doctor *d)
{
	const char *preload = sysroot_env(&d->sysroot, "LD_PRELOAD");
	char text[PATH_MAX];

	if (preload && *preload) {
		snprintf(text, sizeof text, "%s", preload);
		look_at_list(d, text, "LD_PRELOAD", "unset LD_PRELOAD");
	}
	if (sysroot_read(&d->sysroot, "/etc/ld.so.preload", text, sizeof text) > 0)
		look_at_list(d, text, "/etc/ld.so.preload", "sudo rm /etc/ld.so.preload");
}

/* ---- the libraries themselves ---- */

static void tell_library(struct finding *f, const char *name, const struct copy *c)
{
	char text[256];

	tell(f, "library", "%s", name);
	tell(f, "path", "%s", c->found.path);
	tell(f, "real", "%s", c->library.real);
	tell(f, "by", "%s", found_by_name(c->found.by));
	tell(f, "is", "%s", library_describe(&c->library, text, sizeof text));
	tell(f, "soname", "%s", c->library.soname);
	tell(f, "nodes", "%s", c->library.nodes);
	tell(f, "build_id", "%s", c->library.build_id);
}

static void describe(struct finding *f, const char *name, const struct copies *all, const struct copy *c)
{
	const struct library *l = &c->library;
	char text[256];

	tell_library(f, name, c);
	if (strcmp(l->real, c->found.path))
		more(f, "That is %s.", l->real);
	more(f, "It is %s; SONAME %s, %s%s, build id %.16s.", library_describe(l, text, sizeof text),
		l->soname[0] ? l->soname : "missing", l->nodes[0] ? "nodes " : "no version nodes", l->nodes,
		l->build_id[0] ? l->build_id : "missing");
	for (unsigned i = 0; i < all->n; i++)
		if (&all->copy[i] > c && !all->copy[i].found.error)
			more(f, "Behind it: %s (%s), %s.", all->copy[i].found.path,
				found_by_name(all->copy[i].found.by),
				library_describe(&all->copy[i].library, text, sizeof text));
}

static bool is_ours(const struct copy *c)
{
	return !c->found.error && (c->library.maker == MAKER_THIS_BUILD || c->library.maker == MAKER_OTHER_BUILD);
}

/* Ours has been put on the path, but another copy comes before it. */
static const struct copy *shadowed(const struct copies *all, const struct copy *c)
{
	for (unsigned i = 0; i < all->n; i++)
		if (&all->copy[i] > c && is_ours(&all->copy[i]) && !is_ours(c))
			return &all->copy[i];
	return NULL;
}

static void say_shadowed(
	struct doctor *d, const char *name, const struct copies *all, const struct copy *c, const struct copy *ours)
{
	char dir[PATH_MAX], command[2 * PATH_MAX];
	struct finding *f = say(d, WRONG, "%s: %s, found by %s, comes before Gangway's %s", name, c->found.path,
		found_by_name(c->found.by), ours->found.path);
	const char *list = sysroot_env(&d->sysroot, "LD_LIBRARY_PATH");

	describe(f, name, all, c);
	snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(ours->found.path, '/') - ours->found.path), ours->found.path);
	snprintf(command, sizeof command,
		list && *list ? "export LD_LIBRARY_PATH=%s:$LD_LIBRARY_PATH" : "export LD_LIBRARY_PATH=%s", dir);
	fix(f, "%s", command);
}

static void say_choke(struct doctor *d, const char *name, const struct copy *c)
{
	char command[2 * PATH_MAX];
	struct finding *f = say(d, WRONG, "%s: the loader stops at %s, found by %s, which %s", name, c->found.path,
		found_by_name(c->found.by), error_words(c->found.error));

	search_path_command(d, &c->found, command, sizeof command);
	fix(f, "%s", command);
}

/* A program that was linked with NVIDIA's runtime asks for its node by name. */
static bool lacks_node(const char *name, const struct library *l)
{
	char nodes[300], want[64];

	if (strncmp(name, "libcudart.so.", 13))
		return false;
	snprintf(nodes, sizeof nodes, " %s ", l->nodes);
	snprintf(want, sizeof want, " %s ", name);
	return !strstr(nodes, want);
}

static enum status judge(const struct copy *c)
{
	if (c->library.maker == MAKER_THIS_BUILD)
		return FINE;
	return c->library.maker == MAKER_OTHER_BUILD ? LOOK : FACT;
}

static void say_library(struct doctor *d, const char *name, const struct copies *all)
{
	const struct copy *c = taken(all), *ours = c ? shadowed(all, c) : NULL;
	char command[2 * PATH_MAX];
	struct finding *f;

	if (!c)
		return;
	if (c->found.error)
		return say_choke(d, name, c);
	if (c->library.maker == MAKER_STUB)
		return; /* said already */
	if (ours)
		return say_shadowed(d, name, all, c, ours);
	if (lacks_node(name, &c->library)) {
		f = say(d, WRONG, "%s: %s, found by %s, has no version node %s", name, c->found.path,
			found_by_name(c->found.by), name);
		more(f, "Programs linked with NVIDIA's runtime ask for it: \"version `%s' not found\".", name);
		search_path_command(d, &c->found, command, sizeof command);
		fix(f, "%s", command);
		return;
	}
	f = say(d, judge(c), "%s: %s, found by %s", name, c->found.path, found_by_name(c->found.by));
	describe(f, name, all, c);
	if (c->library.maker == MAKER_OTHER_BUILD) {
		more(f, "This gangway is another build, and the two may not understand each other's servers.");
		fix(f, "gangway run -- PROGRAM  # takes the libraries of this build");
	}
	if (!c->library.soname[0])
		more(f, "Without a SONAME ldconfig makes no link to it, and preloaded it answers to no name.");
}

static enum library_maker maker_of(const struct doctor *d, const char *name, bool *found)
{
	struct copies *c = find_copies(d, name);
	const struct copy *first = taken(c);
	enum library_maker maker = first && !first->found.error ? first->library.maker : MAKER_VENDOR;

	*found = first && !first->found.error;
	free(c);
	return maker == MAKER_OTHER_BUILD ? MAKER_THIS_BUILD : maker;
}

/* Programs ask the one for devices and look the other up by what it said. */
static void check_pair(struct doctor *d)
{
	bool cuda, ml;
	enum library_maker a = maker_of(d, names[0], &cuda), b = maker_of(d, names[1], &ml);

	if (!cuda || !ml || a == b || a == MAKER_STUB || b == MAKER_STUB)
		return;
	struct finding *f = say(d, LOOK, "%s is %s and %s is %s: they will not speak of the same devices", names[0],
		a == MAKER_THIS_BUILD ? "Gangway's" : "a vendor's", names[1],
		b == MAKER_THIS_BUILD ? "Gangway's" : "a vendor's");
	fix(f, "gangway run -- PROGRAM  # takes both from one place");
}

void probe_libraries(struct doctor *d)
{
	char missing[256] = "";

	for (size_t i = 0; i < NAMES; i++) {
		struct copies *c = find_copies(d, names[i]);

		say_library(d, names[i], c);
		if (!taken(c))
			snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s%s",
				*missing ? ", " : "", names[i]);
		free(c);
	}
	check_pair(d);
	if (*missing)
		say(d, FACT, "not on the loader's path: %s", missing);
}

/* ---- the cache ---- */

struct stale {
	struct doctor *d;
	const struct ldcache *cache;
	bool said;
};

static bool is_cuda(const char *name)
{
	for (size_t i = 0; i < NAMES; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool in_cache(const struct ldcache *cache, const char *path)
{
	struct ldcache_entry e;

	for (uint32_t at = 0; ldcache_next(cache, &at, &e);)
		if (!strcmp(e.path, path))
			return true;
	return false;
}

static void look_at_folder(void *arg, const char *file, const char *dir)
{
	struct stale *s = arg;
	char path[PATH_MAX];

	for (size_t i = 0; i < NAMES && !s->said; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		if (!sysroot_is_file(&s->d->sysroot, path) || in_cache(s->cache, path))
			continue;
		fix(say(s->d, WRONG, "%s is in a folder that %s names, but not in the loader's cache", path, file),
			"sudo ldconfig");
		s->said = true;
	}
}

static void look_for_gone(struct doctor *d, const struct ldcache *cache)
{
	struct ldcache_entry e;

	for (uint32_t at = 0; ldcache_next(cache, &at, &e);)
		if (is_cuda(e.name) && ldcache_native(&e) && !sysroot_is_file(&d->sysroot, e.path))
			fix(say(d, WRONG, "the loader's cache says that %s is %s, which is not there", e.name, e.path),
				"sudo ldconfig");
}

void probe_cache(struct doctor *d)
{
	char outside[PATH_MAX];
	struct ldcache cache;
	int err = sysroot_outside(&d->sysroot, LDCACHE_FILE, outside);

	err = err ? err : ldcache_open(&cache, outside);
	if (err == -ENOENT) {
		say(d, FACT,
			"there is no " LDCACHE_FILE ": only the environment and the usual folders lead to libraries");
		return;
	}
	if (err) {
		fix(say(d, WRONG, LDCACHE_FILE " cannot be read: %s",
			    err == -EINVAL ? "it is no cache that glibc would take" : strerror(-err)),
			"sudo ldconfig");
		return;
	}
	look_for_gone(d, &cache);
	struct stale s = {d, &cache, false};
	ldconf_each(&d->sysroot, look_at_folder, &s);
	ldcache_close(&cache);
}
