/* Check which libcuda.so.1, libnvidia-ml.so.1 and libcudart.so a program gets without gangway run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/doctor/doctor.h"
#include "loader/ldcache.h"
#include "loader/ldconf.h"

static const char *const checked_names[] = {"libcuda.so.1", "libnvidia-ml.so.1", "libcudart.so.12", "libcudart.so.13"};

#define CHECKED_NAMES (sizeof checked_names / sizeof *checked_names)
#define COPIES_MAX    16

/* All files for one name, in the order of the loader's search. */
struct library_copies {
	const struct sysroot *sysroot;
	unsigned n;
	struct library_copy {
		struct found_library found;
		struct library library;
	} copy[COPIES_MAX];
};

static bool copies_add(void *arg, const struct found_library *found)
{
	struct library_copies *c = arg;
	struct library_copy *new = &c->copy[c->n];

	new->found = *found;
	int err = library_inspect(c->sysroot, found->path, &new->library);
	if (!new->found.error)
		new->found.error = err;
	for (unsigned i = 0; i < c->n; i++) /* the same file, found in another way */
		if (!strcmp(c->copy[i].library.real, new->library.real))
			return false;
	return ++c->n == COPIES_MAX;
}

static struct library_copies *copies_find(const struct doctor *d, const char *name)
{
	struct library_copies *c = calloc(1, sizeof *c);
	struct library_search s = library_search_from(&d->sysroot);

	if (!c)
		exit(1);
	c->sysroot = &d->sysroot;
	library_search_each(&s, name, NULL, copies_add, c);
	return c;
}

/* The file that the loader takes: the first readable one. */
static const struct library_copy *copy_taken(const struct library_copies *c)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->copy[i].found.error != -EACCES && c->copy[i].found.error != -EPERM)
			return &c->copy[i];
	return NULL;
}

static const char *library_error_text(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return "cannot be read";
	case -EINVAL:
		return "is not a library";
	default:
		return strerror(-error);
	}
}

/* ---- stubs ---- */

static const struct known_stub {
	const char *name, *answer;
} known_stubs[] = {
	{"libcuda.so.1", "CUDA_ERROR_STUB_LIBRARY"},
	{"libnvidia-ml.so.1", "NVML_ERROR_LIBRARY_NOT_FOUND"},
	{"libcublas.so.12", "CUBLAS_STATUS_NOT_INITIALIZED"},
	{"libcublas.so.13", "CUBLAS_STATUS_NOT_INITIALIZED"},
};

static void report_stub(struct doctor *d, const struct library_copy *c, const struct known_stub *stub, bool first)
{
	char command[2 * PATH_MAX];
	struct finding *f = finding_add(d, first ? STATUS_WRONG : STATUS_LOOK,
		"%s is a stub for linking: %s, found by %s%s", stub->name, c->found.path, found_by_name(c->found.by),
		first ? "" : ", but another library comes before it");

	finding_detail(
		f, "A stub returns %s from every call; its folder must not be on a run-time path.", stub->answer);
	search_path_command(d, &c->found, command, sizeof command);
	finding_fix(f, "%s", command);
	finding_fact(f, "path", "%s", c->found.path);
}

void probe_stubs(struct doctor *d)
{
	for (size_t i = 0; i < sizeof known_stubs / sizeof *known_stubs; i++) {
		struct library_copies *c = copies_find(d, known_stubs[i].name);

		for (unsigned j = 0; j < c->n; j++)
			if (!c->copy[j].found.error && c->copy[j].library.maker == MAKER_STUB) {
				report_stub(d, &c->copy[j], &known_stubs[i], copy_taken(c) == &c->copy[j]);
				break;
			}
		free(c);
	}
}

/* ---- LD_PRELOAD ---- */

static void check_preload(struct doctor *d, const char *path, const char *where, const char *command)
{
	struct library_search s = library_search_from(&d->sysroot);
	struct found_library found;
	struct library l;
	struct elf_object o;

	if (!library_find(&s, path, NULL, &found)) {
		struct finding *f = finding_add(d, STATUS_LOOK, "%s names %s, which does not exist", where, path);
		finding_fix(f, "%s", command);
		return;
	}
	int fd = sysroot_open(&d->sysroot, found.path);
	if (fd < 0 || elf_object_open(&o, fd))
		return;
	bool answers = elf_object_exports(&o, "cuInit") || elf_object_exports(&o, "cuMemAlloc_v2");
	elf_object_close(&o);
	if (!answers || library_inspect(&d->sysroot, found.path, &l) || l.maker == MAKER_THIS_BUILD)
		return;
	struct finding *f = finding_add(d, STATUS_WRONG,
		"%s loads %s into every program, and that library answers CUDA calls instead of Gangway", where,
		found.path);
	finding_fix(f, "%s", command);
}

static void check_preload_list(struct doctor *d, char *list, const char *where, const char *command)
{
	char *save = NULL;

	for (char *p = strtok_r(list, " :\t\n", &save); p; p = strtok_r(NULL, " :\t\n", &save))
		check_preload(d, p, where, command);
}

void probe_preload(struct doctor *d)
{
	const char *preload = sysroot_env(&d->sysroot, "LD_PRELOAD");
	char text[PATH_MAX];

	if (preload && *preload) {
		snprintf(text, sizeof text, "%s", preload);
		check_preload_list(d, text, "LD_PRELOAD", "unset LD_PRELOAD");
	}
	if (sysroot_read(&d->sysroot, "/etc/ld.so.preload", text, sizeof text) > 0)
		check_preload_list(d, text, "/etc/ld.so.preload", "sudo rm /etc/ld.so.preload");
}

/* ---- the libraries themselves ---- */

static void add_library_facts(struct finding *f, const char *name, const struct library_copy *c)
{
	char text[256];

	finding_fact(f, "library", "%s", name);
	finding_fact(f, "path", "%s", c->found.path);
	finding_fact(f, "real", "%s", c->library.real);
	finding_fact(f, "by", "%s", found_by_name(c->found.by));
	finding_fact(f, "is", "%s", library_describe(&c->library, text, sizeof text));
	finding_fact(f, "soname", "%s", c->library.soname);
	finding_fact(f, "nodes", "%s", c->library.nodes);
	finding_fact(f, "build_id", "%s", c->library.build_id);
}

static void describe_library(
	struct finding *f, const char *name, const struct library_copies *all, const struct library_copy *c)
{
	const struct library *l = &c->library;
	char text[256];

	add_library_facts(f, name, c);
	if (strcmp(l->real, c->found.path))
		finding_detail(f, "It is a link to %s.", l->real);
	finding_detail(f, "It is %s; SONAME %s, %s%s, build id %.16s.", library_describe(l, text, sizeof text),
		l->soname[0] ? l->soname : "missing", l->nodes[0] ? "version nodes " : "no version nodes", l->nodes,
		l->build_id[0] ? l->build_id : "missing");
	for (unsigned i = 0; i < all->n; i++)
		if (&all->copy[i] > c && !all->copy[i].found.error)
			finding_detail(f, "Also found: %s (%s), %s.", all->copy[i].found.path,
				found_by_name(all->copy[i].found.by),
				library_describe(&all->copy[i].library, text, sizeof text));
}

static bool copy_is_ours(const struct library_copy *c)
{
	return !c->found.error && (c->library.maker == MAKER_THIS_BUILD || c->library.maker == MAKER_OTHER_BUILD);
}

/* Our copy that is on the path, but comes after `c`, which is not ours. */
static const struct library_copy *find_shadowed(const struct library_copies *all, const struct library_copy *c)
{
	for (unsigned i = 0; i < all->n; i++)
		if (&all->copy[i] > c && copy_is_ours(&all->copy[i]) && !copy_is_ours(c))
			return &all->copy[i];
	return NULL;
}

static void report_shadowed(struct doctor *d, const char *name, const struct library_copies *all,
	const struct library_copy *c, const struct library_copy *ours)
{
	char dir[PATH_MAX], command[2 * PATH_MAX];
	struct finding *f = finding_add(d, STATUS_WRONG, "%s: %s, found by %s, comes before Gangway's %s", name,
		c->found.path, found_by_name(c->found.by), ours->found.path);
	const char *list = sysroot_env(&d->sysroot, "LD_LIBRARY_PATH");

	describe_library(f, name, all, c);
	snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(ours->found.path, '/') - ours->found.path), ours->found.path);
	snprintf(command, sizeof command,
		list && *list ? "export LD_LIBRARY_PATH=%s:$LD_LIBRARY_PATH" : "export LD_LIBRARY_PATH=%s", dir);
	finding_fix(f, "%s", command);
}

static void report_impostor(struct doctor *d, const char *name, const struct library_copy *c)
{
	char command[2 * PATH_MAX];
	struct finding *f = finding_add(d, STATUS_WRONG, "%s: %s, found by %s, is not a CUDA driver: it has no %s",
		name, c->found.path, found_by_name(c->found.by), strstr(name, "-ml") ? "nvmlInit_v2" : "cuInit");

	if (c->library.soname[0])
		finding_detail(f, "Its SONAME is %s.", c->library.soname);
	search_path_command(d, &c->found, command, sizeof command);
	finding_fix(f, "%s", command);
}

static void report_unloadable(struct doctor *d, const char *name, const struct library_copy *c)
{
	char command[2 * PATH_MAX];
	struct finding *f = finding_add(d, STATUS_WRONG, "%s: the loader stops at %s, found by %s, which %s", name,
		c->found.path, found_by_name(c->found.by), library_error_text(c->found.error));

	search_path_command(d, &c->found, command, sizeof command);
	finding_fix(f, "%s", command);
}

/* Programs linked with NVIDIA's runtime need its version node. */
static bool lacks_version_node(const char *name, const struct library *l)
{
	char nodes[300], want[64];

	if (strncmp(name, "libcudart.so.", 13))
		return false;
	snprintf(nodes, sizeof nodes, " %s ", l->nodes);
	snprintf(want, sizeof want, " %s ", name);
	return !strstr(nodes, want);
}

static enum finding_status library_status(const struct library_copy *c)
{
	if (c->library.maker == MAKER_THIS_BUILD)
		return STATUS_FINE;
	return c->library.maker == MAKER_OTHER_BUILD ? STATUS_LOOK : STATUS_FACT;
}

static void report_library(struct doctor *d, const char *name, const struct library_copies *all)
{
	const struct library_copy *c = copy_taken(all), *ours = c ? find_shadowed(all, c) : NULL;
	char command[2 * PATH_MAX];
	struct finding *f;

	if (!c)
		return;
	if (c->found.error)
		return report_unloadable(d, name, c);
	if (c->library.maker == MAKER_STUB)
		return; /* reported by probe_stubs */
	if (c->library.maker == MAKER_NOT_A_DRIVER)
		return report_impostor(d, name, c);
	if (ours)
		return report_shadowed(d, name, all, c, ours);
	if (lacks_version_node(name, &c->library)) {
		f = finding_add(d, STATUS_WRONG, "%s: %s, found by %s, has no version node %s", name, c->found.path,
			found_by_name(c->found.by), name);
		finding_detail(f,
			"Programs linked with NVIDIA's runtime need it, and fail with \"version `%s' not found\".",
			name);
		search_path_command(d, &c->found, command, sizeof command);
		finding_fix(f, "%s", command);
		return;
	}
	f = finding_add(d, library_status(c), "%s: %s, found by %s", name, c->found.path, found_by_name(c->found.by));
	describe_library(f, name, all, c);
	if (c->library.maker == MAKER_OTHER_BUILD) {
		finding_detail(
			f, "This gangway is another build; the two may not be able to use each other's servers.");
		finding_fix(f, "gangway run -- PROGRAM  # uses the libraries of this build");
	}
	if (!c->library.soname[0])
		finding_detail(f, "Without a SONAME, ldconfig creates no link to it, and preloading it replaces no "
				  "other library.");
}

static enum library_maker find_maker(const struct doctor *d, const char *name, bool *found)
{
	struct library_copies *c = copies_find(d, name);
	const struct library_copy *first = copy_taken(c);
	enum library_maker maker = first && !first->found.error ? first->library.maker : MAKER_VENDOR;

	*found = first && !first->found.error;
	free(c);
	return maker == MAKER_OTHER_BUILD ? MAKER_THIS_BUILD : maker;
}

/* Programs look up the devices of one library in the other, so both must come from the same maker. */
static void check_driver_pair(struct doctor *d)
{
	bool cuda, ml;
	enum library_maker a = find_maker(d, checked_names[0], &cuda), b = find_maker(d, checked_names[1], &ml);

	if (!cuda || !ml || a == b || a == MAKER_STUB || b == MAKER_STUB || a == MAKER_NOT_A_DRIVER ||
		b == MAKER_NOT_A_DRIVER)
		return;
	struct finding *f = finding_add(d, STATUS_LOOK, "%s is %s and %s is %s: they report different devices",
		checked_names[0], a == MAKER_THIS_BUILD ? "Gangway's" : "the vendor's", checked_names[1],
		b == MAKER_THIS_BUILD ? "Gangway's" : "the vendor's");
	finding_fix(f, "gangway run -- PROGRAM  # uses both of Gangway's");
}

void probe_libraries(struct doctor *d)
{
	char missing[256] = "";

	for (size_t i = 0; i < CHECKED_NAMES; i++) {
		struct library_copies *c = copies_find(d, checked_names[i]);

		report_library(d, checked_names[i], c);
		if (!copy_taken(c))
			snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s%s",
				*missing ? ", " : "", checked_names[i]);
		free(c);
	}
	check_driver_pair(d);
	if (*missing)
		finding_add(d, STATUS_FACT, "the loader does not find: %s", missing);
}

/* ---- the cache ---- */

struct cache_check {
	struct doctor *d;
	const struct ldcache *cache;
	bool said;
};

static bool is_checked_name(const char *name)
{
	for (size_t i = 0; i < CHECKED_NAMES; i++)
		if (!strcmp(name, checked_names[i]))
			return true;
	return false;
}

static bool cache_has_path(const struct ldcache *cache, const char *path)
{
	struct ldcache_entry e;

	for (uint32_t at = 0; ldcache_next(cache, &at, &e);)
		if (!strcmp(e.path, path))
			return true;
	return false;
}

static void check_conf_folder(void *arg, const char *file, const char *dir)
{
	struct cache_check *s = arg;
	char path[PATH_MAX];

	for (size_t i = 0; i < CHECKED_NAMES && !s->said; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, checked_names[i]);
		if (!sysroot_is_file(&s->d->sysroot, path) || cache_has_path(s->cache, path))
			continue;
		finding_fix(finding_add(s->d, STATUS_WRONG,
				    "%s is in a folder listed in %s, but not in the loader's cache", path, file),
			"sudo ldconfig");
		s->said = true;
	}
}

static void check_cached_files(struct doctor *d, const struct ldcache *cache)
{
	struct ldcache_entry e;

	for (uint32_t at = 0; ldcache_next(cache, &at, &e);)
		if (is_checked_name(e.name) && ldcache_native(&e) && !sysroot_is_file(&d->sysroot, e.path))
			finding_fix(finding_add(d, STATUS_WRONG,
					    "the loader's cache has %s as %s, which does not exist", e.name, e.path),
				"sudo ldconfig");
}

void probe_cache(struct doctor *d)
{
	char outside[PATH_MAX];
	struct ldcache cache;
	int err = sysroot_outside(&d->sysroot, LDCACHE_FILE, outside);

	err = err ? err : ldcache_open(&cache, outside);
	if (err == -ENOENT) {
		finding_add(d, STATUS_FACT,
			"there is no " LDCACHE_FILE
			": the loader searches only the environment and the default folders");
		return;
	}
	if (err) {
		finding_fix(finding_add(d, STATUS_WRONG, LDCACHE_FILE " cannot be read: %s",
				    err == -EINVAL ? "glibc does not accept its format" : strerror(-err)),
			"sudo ldconfig");
		return;
	}
	check_cached_files(d, &cache);
	struct cache_check s = {d, &cache, false};
	ldconf_each(&d->sysroot, check_conf_folder, &s);
	ldcache_close(&cache);
}
