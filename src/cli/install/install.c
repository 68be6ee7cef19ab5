/* gangway install: Gangway as this machine's CUDA driver.  Shows what it would do; --yes does it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "backend/vendor.h"
#include "cli/cli.h"
#include "cli/install/plan.h"
#include "cli/install/refresh.h"

static const char usage[] =
	"usage: gangway install --system [--root DIR] [--yes]\n\n"
	"Makes Gangway, where it is installed now, the CUDA driver of this machine: every program that asks\n"
	"for libcuda.so.1 or libnvidia-ml.so.1 by name gets Gangway's, without gangway run. A vendor's driver\n"
	"stays as it is and is passed through to. Shows what would be written; changes nothing without --yes.\n"
	"No file that is there is replaced, and nothing is written through a symbolic link.\n\n"
	"  --system    for all programs of the machine; there is no other way yet, so it must be said\n"
	"  --yes       do it\n"
	"  --root DIR  do it to the system in DIR, which must have Gangway itself\n"
	"  --help      this text\n\n"
	"gangway uninstall takes it back.\n";

struct site {
	struct tree tree;
	char root[PATH_MAX], prefix[PATH_MAX];
	struct manifest manifest;
	struct plan plan;
};

/* Where the installation lies, as its own system will see it: "/usr/local".  Either we are in that system, or it has
 * one at the same place. */
static int find_prefix(struct site *s)
{
	static const char end[] = "/lib/gangway";
	char dir[PATH_MAX], library[PATH_MAX + 32];
	size_t root = strcmp(s->root, "/") ? strlen(s->root) : 0;
	struct stat st;

	if (!cli_library_dir(dir, sizeof dir))
		return cli_fail("no ../lib/gangway beside this program: is the installation complete?");
	if (strncmp(dir, s->root, root) || dir[root] != '/')
		root = 0;
	size_t n = strlen(dir + root);
	if (n <= strlen(end) || strcmp(dir + root + n - strlen(end), end))
		return cli_fail("this gangway's libraries are in %s, and not in a folder lib/gangway", dir);
	snprintf(s->prefix, sizeof s->prefix, "%.*s", (int)(n - strlen(end)), dir + root);
	snprintf(library, sizeof library, "%s/libcuda.so.1", dir + root);
	if (tree_look(&s->tree, library, &st))
		return cli_fail("there is no %s in %s", library, s->root);
	if (s->prefix[strspn(s->prefix, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+-")])
		return cli_fail("%s has characters in its name that the loader's configuration does not take", s->prefix);
	return 0;
}

/* All programs will load what lies there, so only the one whom the system belongs to may write there. */
static int check_owner(struct site *s)
{
	char path[PATH_MAX + 64], why[PATH_MAX + 128];
	struct stat st, root;
	size_t n = 1;
	int r;

	if (fstat(s->tree.fd, &root))
		return cli_fail("%s: %s", s->root, strerror(errno));
	snprintf(path, sizeof path, "%s/lib/gangway", s->prefix);
	for (size_t length = strlen(path); n <= length; n++) {
		char part[PATH_MAX + 64];

		n += strcspn(path + n, "/");
		snprintf(part, sizeof part, "%.*s", (int)n, path);
		r = tree_look(&s->tree, part, &st);
		if (r)
			return cli_fail("%s", tree_why(&s->tree, part, r, why, sizeof why));
		if ((st.st_uid && st.st_uid != root.st_uid) || (st.st_mode & 022))
			return cli_fail("%s can be written by others than its system's owner (uid %u, mode %03o): programs of all "
					"users would load what they put there. Install Gangway elsewhere: make install PREFIX=/usr/local",
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
		const struct item *item = &s->plan.items[i];

		printf("  %-8s %s: %s\n", words[item->action], item->path, *item->why ? item->why : item->what);
		refused += item->action == ACTION_REFUSE;
		if (item->action == ACTION_CREATE || item->action == ACTION_REPLACE)
			show_text(item->text);
	}
	printf("  %-8s %s: what was done, for gangway uninstall\n", "write", MANIFEST_FILE);
	printf("  %-8s ldconfig -X%s%s%s\n", "run", strcmp(s->root, "/") ? " -r " : "", strcmp(s->root, "/") ? s->root : "",
		refresh_has_systemd((struct tree *)&s->tree) ? ", systemctl daemon-reload" : "");
	return refused;
}

/* Each folder on the way to `path` that is not there. */
static int add_folders(struct site *s, const char *path)
{
	char part[PATH_MAX], why[PATH_MAX + 128];
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
			return cli_fail("%s", tree_why(&s->tree, path, r, why, sizeof why));
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
		const struct item *item = &s->plan.items[i];

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
	char why[PATH_MAX + 128];

	for (unsigned i = 0; i < s->manifest.count; i++) {
		const struct entry *e = &s->manifest.entries[i];

		if (e->kind != ENTRY_FOLDER || !strncmp(e->path, "/var/cache", 10)) /* ldconfig's own */
			continue;
		int r = tree_mkdir(&s->tree, e->path);
		if (r && r != -EEXIST)
			return cli_fail("%s%s", tree_why(&s->tree, e->path, r, why, sizeof why), r == -EACCES ? ": are you root?" : "");
	}
	return 0;
}

static int write_files(struct site *s)
{
	char why[PATH_MAX + 128];
	int r = manifest_write(&s->tree, &s->manifest);

	if (r)
		return cli_fail("%s%s", tree_why(&s->tree, MANIFEST_FILE, r, why, sizeof why), r == -EACCES ? ": are you root?" : "");
	for (int i = 0; i < ITEMS; i++) {
		const struct item *item = &s->plan.items[i];

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
	snprintf(want, sizeof want, "%s/lib/gangway/libcuda.so.1", s->prefix);
	if (!strcmp(path, want))
		return 0;
	return cli_fail("the loader's cache leads to %s for libcuda.so.1, and not to %s: does /etc/ld.so.conf begin with "
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
	if (s->plan.items[ITEM_OLLAMA].action != ACTION_SKIP)
		puts("For Ollama to notice: systemctl restart ollama");
	return 0;
}

static void about_vendor(const struct site *s)
{
	char path[PATH_MAX], why[512];

	if (!strcmp(s->root, "/") && vendor_find(path, sizeof path, why, sizeof why))
		printf("\nThe vendor's driver, %s, stays as it is; Gangway passes through to it.\n", path);
}

static int install(struct site *s, bool yes)
{
	char why[PATH_MAX + 128];
	int r = manifest_read(&s->tree, &s->manifest);

	if (r == -EINVAL)
		return cli_fail("%s is not what gangway install wrote; look at it, and remove it if it is nothing", MANIFEST_FILE);
	if (r && r != -ENOENT)
		return cli_fail("%s", tree_why(&s->tree, MANIFEST_FILE, r, why, sizeof why));
	if (!plan_make(&s->plan, &s->tree, s->prefix, &s->manifest))
		return cli_fail("out of memory");
	printf("Gangway in %s as the CUDA driver of %s:\n\n", s->prefix, strcmp(s->root, "/") ? s->root : "this machine");
	unsigned refused = show(s);
	about_vendor(s);
	fflush(stdout);
	if (refused)
		return cli_fail("nothing was changed: what is in the way is not Gangway's");
	if (!yes) {
		puts("\nNothing was changed. To do this: the same with --yes");
		return 0;
	}
	r = tree_lock(&s->tree);
	return r ? cli_fail("another gangway is installing: %s", strerror(-r)) : apply(s);
}

int cmd_install(int argc, char **argv)
{
	static const struct option options[] = {
		{"system", no_argument, NULL, 's'}, {"yes", no_argument, NULL, 'y'}, {"root", required_argument, NULL, 'r'}, {"help", no_argument, NULL, 'h'}, {0},
	};
	static struct site site;
	const char *root = "/";
	bool system = false, yes = false;
	int c, r;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		switch (c) {
		case 's':
			system = true;
			break;
		case 'y':
			yes = true;
			break;
		case 'r':
			root = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case ':':
			return cli_usage("install", "%s needs a value", argv[optind - 1]);
		default:
			return cli_usage("install", "there is no option %s", argv[optind - 1]);
		}
	}
	if (optind < argc)
		return cli_usage("install", "what is %s for?", argv[optind]);
	if (!system)
		return cli_usage("install", "for the whole machine? Say --system. For one program there is gangway run");
	if (!realpath(root, site.root) || tree_open(&site.tree, site.root))
		return cli_fail("%s: %s", root, strerror(errno));
	r = find_prefix(&site) || check_owner(&site) || install(&site, yes);
	plan_free(&site.plan);
	tree_close(&site.tree);
	return r;
}
