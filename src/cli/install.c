/* install.c - gangway install --system: the machine's programs find Gangway without gangway run. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/files.h"
#include "cli/cli.h"
#include "cli/system/manifest.h"
#include "cli/system/system.h"
#include "cli/system/tree.h"

static const char usage[] =
	"usage: gangway install --system [--yes] [--root DIR]\n\n"
	"Makes Gangway the CUDA driver that programs of this machine find. Without --yes it only shows what would\n"
	"change. It adds files, and never replaces one, writes through a symbolic link or touches a vendor's driver:\n\n"
	"  /etc/ld.so.conf.d/000-gangway.conf    the loader's way to our libraries; then ldconfig\n"
	"  /etc/systemd/system/gangway.service   for gangway serve, where systemd does not have it yet; not enabled\n"
	"  /etc/systemd/system/ollama.service.d/gangway.conf   where there is an ollama.service\n"
	"  " MANIFEST "           what was written, for gangway uninstall\n\n"
	"  --yes       do it\n"
	"  --root DIR  in the system below this folder\n"
	"  --help      this text\n";

#define CONF   "/etc/ld.so.conf.d/000-gangway.conf"
#define UNIT   "/etc/systemd/system/gangway.service"
#define DROPIN "/etc/systemd/system/ollama.service.d/gangway.conf"

/* Root's loader will take what lies here: nobody else may be able to change it. */
static int check_folder(const char *dir)
{
	char part[PATH_MAX];
	struct stat st;

	for (const char *p = dir; p; p = strchr(p + 1, '/')) {
		snprintf(part, sizeof part, "%.*s", p == dir ? 1 : (int)(p - dir), dir);
		if (stat(part, &st))
			return cli_fail("%s: %s", part, strerror(errno));
		if (st.st_uid || st.st_mode & (S_IWGRP | S_IWOTH))
			return cli_fail("%s may be changed by others than root: install Gangway where only root can write "
					"(sudo make install PREFIX=/usr/local), and then run that one",
				part);
	}
	if (!stat(dir, &st) && (st.st_uid || st.st_mode & (S_IWGRP | S_IWOTH)))
		return cli_fail("%s may be changed by others than root: install Gangway where only root can write", dir);
	return 0;
}

static int check_name(const char *dir)
{
	if (!strpbrk(dir, " \t\n#:;\"\\$%"))
		return 0;
	return cli_fail("%s has a character that the loader or systemd would not leave alone", dir);
}

static bool anywhere(int root, const char *unit)
{
	static const char *const folders[] = {
		"/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system", "/usr/local/lib/systemd/system"};
	char path[256];

	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(path, sizeof path, "%s/%s", folders[i], unit);
		if (tree_exists(root, path) == 1)
			return true;
	}
	return false;
}

/* The unit that lies beside us, with the program that we are. */
static char *unit_text(const char *dir)
{
	char path[PATH_MAX + 64], *from, *text = NULL, *start, *end;
	size_t size;
	int slash = tree_open("/");

	snprintf(path, sizeof path, "%.*s/systemd/system/gangway.service", (int)(strrchr(dir, '/') - dir), dir);
	if (slash < 0 || tree_read(slash, path, &from, &size)) {
		if (slash >= 0)
			close(slash);
		return NULL;
	}
	close(slash);
	start = strstr(from, "\nExecStart=");
	end = start ? strchr(start + 1, ' ') : NULL;
	if (!end || asprintf(&text, "%.*s\nExecStart=%.*s/bin/gangway%s", (int)(start - from), from,
			    (int)(strlen(dir) - strlen("/lib/gangway")), dir, end) < 0)
		text = NULL;
	free(from);
	return text;
}

static int plan(struct manifest *m, int root, const char *dir)
{
	char *conf = NULL, *dropin = NULL, *unit = NULL;
	int err = manifest_add_folders(m, root, MANIFEST);

	if (!err && asprintf(&conf, "# Gangway: written by gangway install, taken away by gangway uninstall.\n%s\n", dir) < 0)
		return -ENOMEM;
	err = err ? err : manifest_add(m, root, CONF, conf);
	if (!err && tree_exists(root, "/etc/systemd/system") == 1 && !anywhere(root, "gangway.service") &&
	    (unit = unit_text(dir)))
		err = manifest_add(m, root, UNIT, unit);
	if (!err && anywhere(root, "ollama.service")) {
		if (asprintf(&dropin,
			    "# Gangway: written by gangway install, taken away by gangway uninstall.\n[Service]\n"
			    "Environment=\"LD_LIBRARY_PATH=%s\"\nEnvironment=\"LD_AUDIT=%s/" AUDIT_REDIRECT ":%s/" AUDIT_FOLLOW "\"\n",
			    dir, dir, dir) < 0)
			return -ENOMEM;
		err = manifest_add(m, root, DROPIN, dropin);
	}
	err = err ? err : manifest_add_output(m, root, "/etc/ld.so.cache");
	return err ? err : manifest_add_output(m, root, "/var/cache/ldconfig/aux-cache");
}

/* Whatever is in the way is found before anything is written. */
static int check_plan(const struct manifest *m, int root, const char *below)
{
	for (unsigned i = 0; i < m->count; i++) {
		int there = tree_exists(root, m->items[i].path);

		if (there)
			return system_fail(there < 0 ? there : -EEXIST, below, m->items[i].path);
	}
	return 0;
}

static void show(const struct manifest *m, const char *below, bool yes)
{
	const char *prefix = !strcmp(below, "/") ? "" : below;

	for (unsigned i = 0; i < m->count; i++) {
		const struct item *it = &m->items[i];

		if (it->kind == ITEM_FOLDER)
			printf("%s the folder %s%s\n", yes ? "makes" : "would make", prefix, it->path);
		if (it->kind != ITEM_FILE)
			continue;
		printf("%s %s%s:\n", yes ? "writes" : "would write", prefix, it->path);
		if (strcmp(it->path, UNIT))
			for (const char *p = it->text, *end; *p && (end = strchr(p, '\n')); p = end + 1)
				printf("    %.*s\n", (int)(end - p), p);
		else
			printf("    (as it lies beside Gangway's libraries)\n");
	}
	printf("%s ldconfig\n", yes ? "runs" : "would run");
}

static int write_all(const struct manifest *m, const struct system_request *q, int root)
{
	int err = manifest_write(m, root);

	if (err)
		return system_fail(err, q->root, MANIFEST);
	for (unsigned i = 0; i < m->count && !err; i++)
		if (m->items[i].kind == ITEM_FILE) {
			err = tree_write(root, m->items[i].path, m->items[i].text, m->items[i].size);
			if (err)
				system_fail(err, q->root, m->items[i].path);
		}
	if (err)
		return cli_fail("what was written so far is taken away by: gangway uninstall --yes");
	err = system_ldconfig(q->root);
	system_reload(q->root);
	if (!err)
		printf("Gangway is this machine's CUDA driver now. gangway doctor looks whether all is well;\n"
		       "systemctl enable --now gangway starts the server; gangway uninstall --yes takes it all away.\n");
	return err;
}

static int installed(int root, const char *below)
{
	int there = tree_exists(root, MANIFEST);

	if (there < 0)
		return system_fail(there, below, MANIFEST);
	return there ? cli_fail("Gangway is installed in this system already: gangway uninstall --yes first") : 0;
}

int cmd_install(int argc, char **argv)
{
	static struct manifest m;
	struct system_request q = {0};
	char dir[PATH_MAX];
	int r = system_options("install", argc, argv, &q), root;

	if (r || q.help) {
		if (!r)
			fputs(usage, stdout);
		return r;
	}
	if (!q.system)
		return cli_usage("install", "only --system can be installed into");
	if (!cli_library_dir(dir, sizeof dir))
		return cli_fail("no ../lib/gangway beside this program: is the installation complete?");
	root = tree_open(q.root);
	if (root < 0)
		return cli_fail("%s: %s", q.root, strerror(-root));
	r = check_name(dir);
	r = r || strcmp(q.root, "/") ? r : check_folder(dir);
	r = r ? r : installed(root, q.root);
	if (!r && (r = plan(&m, root, dir)))
		r = system_fail(r, q.root, "/etc");
	r = r ? r : check_plan(&m, root, q.root);
	if (!r)
		show(&m, q.root, q.yes);
	if (!r && q.yes)
		r = write_all(&m, &q, root);
	else if (!r)
		printf("Nothing has been changed. To do it: sudo gangway install --system --yes\n");
	manifest_free(&m);
	close(root);
	return r;
}
