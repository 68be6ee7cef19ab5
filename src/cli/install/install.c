/* gangway install: makes Gangway this machine's CUDA driver. Shows the plan, and carries it out with --yes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "backend/vendor.h"
#include "cli/cli.h"
#include "cli/install/plan.h"
#include "cli/install/refresh.h"
#include "cli/install/site.h"

static const char usage[] =
	"usage: gangway install --system [--root DIR] [--yes]\n\n"
	"Make this installation of Gangway the CUDA driver of the machine: every program that loads libcuda.so.1\n"
	"or libnvidia-ml.so.1 by name gets Gangway's, without gangway run. A vendor driver stays in place, and\n"
	"Gangway passes calls through to it.\n\n"
	"Without --yes, the command only shows what it would do. It never replaces a file that it did not write,\n"
	"and never writes through a symbolic link.\n\n"
	"  --system    install for all programs of the machine (required)\n"
	"  --yes       make the changes\n"
	"  --root DIR  change the system in DIR, which must contain Gangway\n"
	"  --help      show this text\n\n"
	"gangway uninstall undoes the installation.\n";

static char prefix[PATH_MAX]; /* the installation, as a path inside its system: "/usr/local" */
static struct plan plan;

/* Find the prefix. Either this program is inside the system, or the system has Gangway at the same path. */
static int prefix_find(struct site *s)
{
	static const char end[] = "/lib/gangway";
	char dir[PATH_MAX], library[PATH_MAX + 32];
	size_t root = site_is_this_machine(s) ? 0 : strlen(s->root);
	struct stat st;

	if (cli_require_libraries(dir, sizeof dir))
		return 1;
	if (strncmp(dir, s->root, root) || dir[root] != '/')
		root = 0;
	size_t n = strlen(dir + root);
	if (n <= strlen(end) || strcmp(dir + root + n - strlen(end), end))
		return cli_fail("the libraries of this gangway are in %s, but must be in a folder lib/gangway", dir);
	snprintf(prefix, sizeof prefix, "%.*s", (int)(n - strlen(end)), dir + root);
	snprintf(library, sizeof library, "%s/libcuda.so.1", dir + root);
	if (tree_lstat(&s->tree, library, &st))
		return cli_fail("there is no %s in %s; install Gangway in that system first", library, s->root);
	if (prefix[strspn(prefix, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+-")])
		return cli_fail(
			"the name %s has characters that are not allowed in /etc/ld.so.conf; install Gangway elsewhere",
			prefix);
	return 0;
}

/* All programs will load these libraries, so only the owner of the system may be able to write to them. */
static int check_library_owner(struct site *s)
{
	char path[PATH_MAX + 64];
	struct stat st, root;
	size_t n = 1;
	int r;

	if (fstat(s->tree.fd, &root))
		return cli_fail("%s: %s", s->root, strerror(errno));
	snprintf(path, sizeof path, "%s/lib/gangway", prefix);
	for (size_t length = strlen(path); n <= length; n++) {
		char part[PATH_MAX + 64];

		n += strcspn(path + n, "/");
		snprintf(part, sizeof part, "%.*s", (int)n, path);
		r = tree_lstat(&s->tree, part, &st);
		if (r)
			return site_fail(s, part, r);
		if ((st.st_uid && st.st_uid != root.st_uid) || (st.st_mode & 022))
			return cli_fail(
				"%s can be written by others than the owner of the system (uid %u, mode %03o), and the "
				"programs of all users would load what they put there. Install Gangway elsewhere, for "
				"example with make install PREFIX=/usr/local",
				part, st.st_uid, st.st_mode & 0777);
	}
	return 0;
}

static void show_item_text(const char *text)
{
	size_t lines = 0;

	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	if (lines > 8) {
		printf("             (%zu lines)\n", lines);
		return;
	}
	while (*text) {
		size_t n = strcspn(text, "\n");
		printf("             %.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

static unsigned show_plan(const struct site *s)
{
	static const char *const words[] = {"keep", "create", "replace", "skip", "REFUSE"};
	unsigned refused = 0;

	for (int i = 0; i < ITEMS; i++) {
		const struct plan_item *item = &plan.items[i];

		if (item->action == ACTION_REFUSE) /* `why` contains the path */
			printf("  %-8s %s\n", words[item->action], item->why);
		else
			printf("  %-8s %s: %s\n", words[item->action], item->path, *item->why ? item->why : item->what);
		refused += item->action == ACTION_REFUSE;
		if (item->action == ACTION_CREATE || item->action == ACTION_REPLACE)
			show_item_text(item->text);
	}
	printf("  %-8s %s: the list of changes, for gangway uninstall\n", "write", MANIFEST_FILE);
	site_show_run(s, refresh_has_systemd((struct tree *)&s->tree) ? ", systemctl daemon-reload" : "");
	return refused;
}

/* Record each missing folder on the way to `path`. */
static int record_folders(struct site *s, const char *path)
{
	char part[PATH_MAX];
	struct stat st;

	for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
		int r = tree_lstat(&s->tree, part, &st);
		if (r == -ENOENT) {
			manifest_add(&s->manifest, ENTRY_FOLDER, part, NULL);
			continue;
		}
		if (!r && S_ISLNK(st.st_mode)) {
			snprintf(s->tree.link, sizeof s->tree.link, "%s", part);
			r = -ELOOP;
		} else if (!r && !S_ISDIR(st.st_mode)) {
			r = -ENOTDIR;
		}
		if (r)
			return site_fail(s, path, r);
	}
	return 0;
}

static bool path_is_absent(struct site *s, const char *path)
{
	struct stat st;

	return tree_lstat(&s->tree, path, &st) == -ENOENT;
}

/* Record in the manifest everything that will be done, in addition to what was done before. */
static int record_plan(struct site *s)
{
	uint8_t hash[HASH_BYTES];
	int r = record_folders(s, MANIFEST_FILE);

	for (int i = 0; i < ITEMS && !r; i++) {
		const struct plan_item *item = &plan.items[i];

		if (item->action != ACTION_CREATE && item->action != ACTION_REPLACE)
			continue;
		r = record_folders(s, item->path);
		hash_of(item->text, strlen(item->text), hash);
		if (!manifest_add(&s->manifest, ENTRY_FILE, item->path, hash))
			return cli_fail("%s has no room for more entries; run gangway uninstall, then install again",
				MANIFEST_FILE);
	}
	if (path_is_absent(s, LD_CACHE))
		manifest_add(&s->manifest, ENTRY_MADE, LD_CACHE, NULL);
	if (path_is_absent(s, LD_AUX_CACHE))
		manifest_add(&s->manifest, ENTRY_MADE, LD_AUX_CACHE, NULL);
	if (path_is_absent(s, "/var/cache/ldconfig"))
		manifest_add(&s->manifest, ENTRY_FOLDER, "/var/cache/ldconfig", NULL);
	return r;
}

static int make_folders(struct site *s)
{
	for (unsigned i = 0; i < s->manifest.count; i++) {
		const struct manifest_entry *e = &s->manifest.entries[i];

		if (e->kind != ENTRY_FOLDER || !strncmp(e->path, "/var/cache", 10)) /* created by ldconfig */
			continue;
		int r = tree_mkdir(&s->tree, e->path);
		if (r && r != -EEXIST)
			return site_fail(s, e->path, r);
	}
	return 0;
}

static int write_files(struct site *s)
{
	char why[PATH_MAX + 128];
	int r = manifest_write(&s->tree, &s->manifest);

	if (r)
		return site_fail(s, MANIFEST_FILE, r);
	for (int i = 0; i < ITEMS; i++) {
		const struct plan_item *item = &plan.items[i];

		if (item->action != ACTION_CREATE && item->action != ACTION_REPLACE)
			continue;
		r = tree_write(&s->tree, item->path, item->text, strlen(item->text), item->action == ACTION_REPLACE);
		if (r)
			return cli_fail("%s. Run gangway uninstall to remove the files that were already written",
				tree_error_text(&s->tree, item->path, r, why, sizeof why));
	}
	return 0;
}

/* Does the loader find our library now? */
static int check_loader_cache(struct site *s)
{
	char path[PATH_MAX], want[PATH_MAX + 64];

	loader_cache_lookup(&s->tree, "libcuda.so.1", path, sizeof path);
	snprintf(want, sizeof want, "%s/lib/gangway/libcuda.so.1", prefix);
	if (!strcmp(path, want))
		return 0;
	return cli_fail(
		"the loader's cache leads to %s for libcuda.so.1, not to %s. Check that /etc/ld.so.conf begins with "
		"\"include /etc/ld.so.conf.d/*.conf\"",
		*path ? path : "nothing", want);
}

static int install_apply(struct site *s)
{
	if (record_plan(s) || make_folders(s) || write_files(s) || refresh_loader(&s->tree) || check_loader_cache(s))
		return 1;
	refresh_systemd(&s->tree);
	puts("\nDone. gangway uninstall undoes this. To share this machine's device with others as well:\n"
	     "  systemd-sysusers && systemctl enable --now gangway");
	if (plan.items[ITEM_OLLAMA].action != ACTION_SKIP)
		puts("For Ollama to use it: systemctl restart ollama");
	return 0;
}

static void print_vendor_note(const struct site *s)
{
	char path[PATH_MAX], why[512];

	if (site_is_this_machine(s) && vendor_find(path, sizeof path, why, sizeof why))
		printf("\nThe vendor driver %s stays in place; Gangway passes calls through to it.\n", path);
}

static int install_system(struct site *s)
{
	unsigned refused;

	if (prefix_find(s) || check_library_owner(s) || site_read_manifest(s) > 0)
		return 1;
	if (!plan_init(&plan, &s->tree, prefix, &s->manifest))
		return cli_fail("out of memory");
	printf("Make Gangway in %s the CUDA driver of %s:\n\n", prefix,
		site_is_this_machine(s) ? "this machine" : s->root);
	refused = show_plan(s);
	print_vendor_note(s);
	fflush(stdout);
	if (refused)
		return cli_fail("nothing was changed, because the files marked REFUSE are in the way and are not "
				"Gangway's. Move them away and try again");
	return site_apply(s, install_apply);
}

int cmd_install(int argc, char **argv)
{
	static struct site site;
	int r = site_open(&site, argc, argv, usage, true);

	if (r >= 0)
		return r;
	r = install_system(&site);
	plan_finish(&plan);
	site_close(&site);
	return r;
}
