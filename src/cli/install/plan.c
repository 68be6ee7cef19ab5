/* Decide which files to create, replace or skip. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/files.h"
#include "cli/install/plan.h"

#define TEXT_MAX (64 * 1024)
#define SIGNED   "# Written by gangway install --system; gangway uninstall removes it.\n"

static const struct {
	const char *path, *what;
} item_kinds[ITEMS] = {
	[ITEM_CONF] = {"/etc/ld.so.conf.d/000-gangway.conf", "programs that load CUDA libraries by name get Gangway's"},
	[ITEM_UNIT] = {"/etc/systemd/system/gangway.service", "the service gangway serve (not enabled)"},
	[ITEM_USERS] = {"/etc/sysusers.d/gangway.conf", "the user of the service (not created yet)"},
	[ITEM_OLLAMA] = {"/etc/systemd/system/ollama.service.d/gangway.conf", "Ollama and its runners use Gangway"},
};

/* The folders in which systemd searches for units. /lib may be a link to /usr/lib or a folder of its own. */
static const char *const systemd_places[] = {
	"/etc/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd", "/lib/systemd"};
static const char *const vendor_prefixes[] = {"/usr", "/usr/local"};

bool plan_allows_entry(enum entry_kind kind, const char *path)
{
	size_t n = strlen(path);

	if (kind == ENTRY_MADE)
		return !strcmp(path, LD_CACHE) || !strcmp(path, LD_AUX_CACHE);
	for (int i = 0; i < ITEMS; i++) {
		if (kind == ENTRY_FILE && !strcmp(path, item_kinds[i].path))
			return true;
		if (kind == ENTRY_FOLDER && n > 1 && !strncmp(path, item_kinds[i].path, n) &&
			item_kinds[i].path[n] == '/')
			return true;
	}
	return kind == ENTRY_FOLDER && n > 1 &&
	       ((!strncmp(path, MANIFEST_FILE, n) && MANIFEST_FILE[n] == '/') ||
		       (!strncmp(path, LD_AUX_CACHE, n) && LD_AUX_CACHE[n] == '/'));
}

/* Read a file of the installation. Returns NULL if it does not exist. */
static char *read_shipped_file(struct tree *t, const char *prefix, const char *file)
{
	char path[PATH_MAX], *text;
	size_t size;

	if (snprintf(path, sizeof path, "%s/%s", prefix, file) >= PATH_MAX ||
		tree_read(t, path, TEXT_MAX, &text, &size))
		return NULL;
	return text;
}

static bool systemd_searches_prefix(const char *prefix)
{
	for (size_t i = 0; i < sizeof vendor_prefixes / sizeof *vendor_prefixes; i++)
		if (!strcmp(prefix, vendor_prefixes[i]))
			return true;
	return false;
}

/* The unit with the present path of the command, because a tarball may have been unpacked anywhere. */
static char *unit_text(struct tree *t, const char *prefix)
{
	char *shipped = read_shipped_file(t, prefix, "lib/systemd/system/gangway.service"), *text = NULL;
	char *command = shipped ? strstr(shipped, "\nExecStart=/") : NULL;

	if (command) {
		command += strlen("\nExecStart=");
		const char *arguments = command + strcspn(command, " \n");
		if (asprintf(&text, SIGNED "%.*s%s/bin/gangway%s", (int)(command - shipped), shipped, prefix,
			    arguments) < 0)
			text = NULL;
	}
	free(shipped);
	return text;
}

static char *users_text(struct tree *t, const char *prefix)
{
	char *shipped = read_shipped_file(t, prefix, "lib/sysusers.d/gangway.conf"), *text = NULL;

	if (shipped && asprintf(&text, SIGNED "%s", shipped) < 0)
		text = NULL;
	free(shipped);
	return text;
}

/* Skip the file if systemd finds the installation's own file, or if the installation has none. */
static void item_plan_service(
	struct plan_item *i, struct tree *t, const char *prefix, char *(*make)(struct tree *, const char *))
{
	if (systemd_searches_prefix(prefix)) {
		i->action = ACTION_SKIP;
		snprintf(i->why, sizeof i->why, "systemd finds the file in %s/lib by itself", prefix);
		return;
	}
	i->text = make(t, prefix);
	if (!i->text) {
		i->action = ACTION_SKIP;
		snprintf(i->why, sizeof i->why, "this installation does not contain the file");
	}
}

static void item_plan_ollama(struct plan_item *item, struct tree *t, const char *prefix)
{
	char path[128];
	struct stat st;
	bool found = false;

	for (size_t i = 0; i < sizeof systemd_places / sizeof *systemd_places && !found; i++) {
		snprintf(path, sizeof path, "%s/system/ollama.service", systemd_places[i]);
		found = !tree_lstat(t, path, &st);
	}
	if (!found) {
		item->action = ACTION_SKIP;
		snprintf(item->why, sizeof item->why, "there is no ollama.service");
		return;
	}
	/* Ollama up to 0.12 finds us only through LD_LIBRARY_PATH: it searches folders for libcuda.so*. */
	if (asprintf(&item->text,
		    SIGNED "[Service]\nEnvironment=\"LD_LIBRARY_PATH=%s/lib/gangway\"\nEnvironment=\"LD_AUDIT=%s/lib/"
			   "gangway/" AUDIT_FOLLOW ":%s/lib/gangway/" AUDIT_REDIRECT "\"\n",
		    prefix, prefix, prefix) < 0)
		item->text = NULL;
}

/* Compare with the existing file: create, keep or replace it, or refuse if it is not ours. */
static void item_compare(struct plan_item *i, struct tree *t, const struct manifest *m)
{
	char *there;
	size_t size;
	int r = tree_read(t, i->path, TEXT_MAX, &there, &size);

	if (r == -ENOENT) {
		i->action = ACTION_CREATE;
	} else if (r) {
		i->action = ACTION_REFUSE;
		tree_error_text(t, i->path, r, i->why, sizeof i->why);
	} else if (!manifest_has(m, i->path, there, size)) {
		i->action = ACTION_REFUSE;
		snprintf(i->why, sizeof i->why, "%s exists, and gangway install did not write it", i->path);
	} else {
		i->action = strcmp(there, i->text) ? ACTION_REPLACE : ACTION_NONE;
	}
	free(there);
}

bool plan_init(struct plan *p, struct tree *t, const char *prefix, const struct manifest *m)
{
	bool good = true;

	memset(p, 0, sizeof *p);
	for (int i = 0; i < ITEMS; i++)
		p->items[i].path = item_kinds[i].path, p->items[i].what = item_kinds[i].what;
	if (asprintf(&p->items[ITEM_CONF].text, SIGNED "%s/lib/gangway\n", prefix) < 0)
		p->items[ITEM_CONF].text = NULL;
	item_plan_service(&p->items[ITEM_UNIT], t, prefix, unit_text);
	item_plan_service(&p->items[ITEM_USERS], t, prefix, users_text);
	item_plan_ollama(&p->items[ITEM_OLLAMA], t, prefix);
	for (int i = 0; i < ITEMS; i++) {
		if (p->items[i].action == ACTION_SKIP)
			continue;
		if (p->items[i].text)
			item_compare(&p->items[i], t, m);
		else
			good = false;
	}
	return good;
}

void plan_finish(struct plan *p)
{
	for (int i = 0; i < ITEMS; i++)
		free(p->items[i].text);
}
