/* gangway install: Gangway as this machine's CUDA driver.  Shows what it would do; --yes does it. */
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

static char prefix[PATH_MAX]; /* the installation, as its own system will see it: "/usr/local" */
static struct plan plan;

/* Either we are in that system, or it has an installation at the same place. */
static int find_prefix(struct site *s)
{
	static const char end[] = "/lib/gangway";
	char dir[PATH_MAX], library[PATH_MAX + 32];
	size_t root = site_is_here(s) ? 0 : strlen(s->root);
	struct stat st;

	if (cli_require_libraries(dir, sizeof dir))
		return 1;
	if (strncmp(dir, s->root, root) || dir[root] != '/')
		root = 0;
	size_t n = strlen(dir + root);
	if (n <= strlen(end) || strcmp(dir + root + n - strlen(end), end))
		return cli_fail("this gangway's libraries are in %s, and not in a folder lib/gangway", dir);
	snprintf(prefix, sizeof prefix, "%.*s", (int)(n - strlen(end)), dir + root);
	snprintf(library, sizeof library, "%s/libcuda.so.1", dir + root);
	if (tree_look(&s->tree, library, &st))
		return cli_fail("there is no %s in %s", library, s->root);
	if (prefix[strspn(prefix, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+-")])
		return cli_fail("%s has characters in its name that the loader's configuration does not take", prefix);
	return 0;
}

/* All programs will load what lies there, so only the one whom the system belongs to may write there. */
static int check_owner(struct site *s)
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
		r = tree_look(&s->tree, part, &st);
		if (r)
			return site_fail(s, part, r);
		if ((st.st_uid && st.st_uid != root.st_uid) || (st.st_mode & 022))
			return cli_fail("%s can be written by others than its system's owner (uid %u, mode %03o): "
					"programs of all "
					"users would load what they put there. Install Gangway elsewhere: make install "
					"PREFIX=/usr/local",
				part, st.st_uid, st.st_mode & 0777);
	}
	return 0;
}

static void show_text(const char *text)
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

static unsigned show(const struct site *s)
{
	static const char *const words[] = {"there is", "create", "replace", "skip", "REFUSE"};
	unsigned refused = 0;

	for (int i = 0; i < ITEMS; i++) {
		const struct item *item = &plan.items[i];

		if (item->action == ACTION_REFUSE) /* which says of what */
			printf("  %-8s %s\n", words[item->action], item->why);
		else
			printf("  %-8s %s: %s\n", words[item->action], item->path, *item->why ? item->why : item->what);
		refused += item->action == ACTION_REFUSE;
		if (item->action == ACTION_CREATE || item->action == ACTION_REPLACE)
			show_text(item->text);
	}
	printf("  %-8s %s: what was done, for gangway uninstall\n", "write", MANIFEST_FILE);
	site_show_run(s, refresh_has_systemd((struct tree *)&s->tree) ? ", systemctl daemon-reload" : "");
	return refused;
}

/* Each folder on the way to `path` that is not there. */
static int add_folders(struct site *s, const char *path)
{
	char part[PATH_MAX];
	struct stat st;

	for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
		int r = tree_look(&s->tree, part, &st);
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

static bool is_absent(struct site *s, const char *path)
{
	struct stat st;

	return tree_look(&s->tree, path, &st) == -ENOENT;
}

/* The manifest of everything that is going to be done, and of what was done before. */
static int foresee(struct site *s)
{
	uint8_t hash[HASH_BYTES];
	int r = add_folders(s, MANIFEST_FILE);

	for (int i = 0; i < ITEMS && !r; i++) {
		const struct item *item = &plan.items[i];

		if (item->action != ACTION_CREATE && item->action != ACTION_REPLACE)
			continue;
		r = add_folders(s, item->path);
		hash_of(item->text, strlen(item->text), hash);
		if (!manifest_add(&s->manifest, ENTRY_FILE, item->path, hash))
			return cli_fail("%s has no room: gangway uninstall, then install again", MANIFEST_FILE);
	}
	if (is_absent(s, LD_CACHE))
		manifest_add(&s->manifest, ENTRY_MADE, LD_CACHE, NULL);
	if (is_absent(s, LD_AUX_CACHE))
		manifest_add(&s->manifest, ENTRY_MADE, LD_AUX_CACHE, NULL);
	if (is_absent(s, "/var/cache/ldconfig"))
		manifest_add(&s->manifest, ENTRY_FOLDER, "/var/cache/ldconfig", NULL);
	return r;
}

static int make_folders(struct site *s)
{
	for (unsigned i = 0; i < s->manifest.count; i++) {
		const struct entry *e = &s->manifest.entries[i];

		if (e->kind != ENTRY_FOLDER || !strncmp(e->path, "/var/cache", 10)) /* ldconfig's own */
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
		const struct item *item = &plan.items[i];

		if (item->action != ACTION_CREATE && item->action != ACTION_REPLACE)
			continue;
		r = tree_write(&s->tree, item->path, item->text, strlen(item->text), item->action == ACTION_REPLACE);
		if (r)
			return cli_fail("%s. What was written before it, gangway uninstall takes back",
				tree_why(&s->tree, item->path, r, why, sizeof why));
	}
	return 0;
}

/* Does a program find us now? */
static int check_cache(struct site *s)
{
	char path[PATH_MAX], want[PATH_MAX + 64];

	refresh_cached(&s->tree, "libcuda.so.1", path, sizeof path);
	snprintf(want, sizeof want, "%s/lib/gangway/libcuda.so.1", prefix);
	if (!strcmp(path, want))
		return 0;
	return cli_fail(
		"the loader's cache leads to %s for libcuda.so.1, and not to %s: does /etc/ld.so.conf begin with "
		"\"include /etc/ld.so.conf.d/*.conf\"?",
		*path ? path : "nothing", want);
}

static int apply(struct site *s)
{
	if (foresee(s) || make_folders(s) || write_files(s) || refresh_loader(&s->tree) || check_cache(s))
		return 1;
	refresh_systemd(&s->tree);
	puts("\nDone. gangway uninstall takes it back. To offer this machine's device to others as well:\n"
	     "  systemd-sysusers && systemctl enable --now gangway");
	if (plan.items[ITEM_OLLAMA].action != ACTION_SKIP)
		puts("For Ollama to notice: systemctl restart ollama");
	return 0;
}

static void about_vendor(const struct site *s)
{
	char path[PATH_MAX], why[512];

	if (site_is_here(s) && vendor_find(path, sizeof path, why, sizeof why))
		printf("\nThe vendor's driver, %s, stays as it is; Gangway passes through to it.\n", path);
}

static int install(struct site *s)
{
	unsigned refused;

	if (find_prefix(s) || check_owner(s) || site_read_manifest(s) > 0)
		return 1;
	if (!plan_make(&plan, &s->tree, prefix, &s->manifest))
		return cli_fail("out of memory");
	printf("Gangway in %s as the CUDA driver of %s:\n\n", prefix, site_is_here(s) ? "this machine" : s->root);
	refused = show(s);
	about_vendor(s);
	fflush(stdout);
	if (refused)
		return cli_fail("nothing was changed: what is in the way is not Gangway's");
	return site_go_on(s, apply);
}

int cmd_install(int argc, char **argv)
{
	static struct site site;
	int r = site_open(&site, argc, argv, usage, true);

	if (r >= 0)
		return r;
	r = install(&site);
	plan_free(&plan);
	site_close(&site);
	return r;
}
