#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/files.h"
#include "cli/install/plan.h"

#define TEXT_MOST (64 * 1024)
#define SIGNED    "# Written by gangway install --system; gangway uninstall takes it away.\n"

static const struct {
	const char *path, *what;
} kinds[ITEMS] = {
	[ITEM_CONF] = {"/etc/ld.so.conf.d/000-gangway.conf", "programs find Gangway's libraries by their names"},
	[ITEM_UNIT] = {"/etc/systemd/system/gangway.service", "gangway serve as a service, not enabled"},
	[ITEM_USERS] = {"/etc/sysusers.d/gangway.conf", "the user that the service runs as, not made yet"},
	[ITEM_OLLAMA] = {"/etc/systemd/system/ollama.service.d/gangway.conf",
		"Ollama's runners find Gangway, whatever they look for"},
};

/* Where systemd looks for what packages bring; /lib is a link to /usr/lib by now, or a folder of its own. */
static const char *const systemd_places[] = {
	"/etc/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd", "/lib/systemd"};
static const char *const vendor_prefixes[] = {"/usr", "/usr/local"};

bool plan_may_hold(enum entry_kind kind, const char *path)
{
	size_t n = strlen(path);

	if (kind == ENTRY_MADE)
		return !strcmp(path, LD_CACHE) || !strcmp(path, LD_AUX_CACHE);
	for (int i = 0; i < ITEMS; i++) {
		if (kind == ENTRY_FILE && !strcmp(path, kinds[i].path))
			return true;
		if (kind == ENTRY_FOLDER && n > 1 && !strncmp(path, kinds[i].path, n) && kinds[i].path[n] == '/')
			return true;
	}
	return kind == ENTRY_FOLDER && n > 1 &&
	       ((!strncmp(path, MANIFEST_FILE, n) && MANIFEST_FILE[n] == '/') ||
		       (!strncmp(path, LD_AUX_CACHE, n) && LD_AUX_CACHE[n] == '/'));
}

/* A file that belongs to the installation: it was built with it, and says what its paths were. */
static char *installed(struct tree *t, const char *prefix, const char *file)
{
	char path[PATH_MAX], *text;
	size_t size;

	if (snprintf(path, sizeof path, "%s/%s", prefix, file) >= PATH_MAX ||
		tree_read(t, path, TEXT_MOST, &text, &size))
		return NULL;
	return text;
}

static bool in_systemds_places(const char *prefix)
{
	for (size_t i = 0; i < sizeof vendor_prefixes / sizeof *vendor_prefixes; i++)
		if (!strcmp(prefix, vendor_prefixes[i]))
			return true;
	return false;
}

/* The unit with the command where it is now: the tarball may have been unpacked anywhere. */
static char *unit_text(struct tree *t, const char *prefix)
{
	char *shipped = installed(t, prefix, "lib/systemd/system/gangway.service"), *text = NULL;
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
	char *shipped = installed(t, prefix, "lib/sysusers.d/gangway.conf"), *text = NULL;

	if (shipped && asprintf(&text, SIGNED "%s", shipped) < 0)
		text = NULL;
	free(shipped);
	return text;
}

/* systemd has the service already, or the installation has none to give. */
static void plan_service(struct item *i, struct tree *t, const char *prefix, char *(*make)(struct tree *, const char *))
{
	if (in_systemds_places(prefix)) {
		i->action = ACTION_SKIP;
		snprintf(i->why, sizeof i->why, "systemd looks into %s/lib by itself", prefix);
		return;
	}
	i->text = make(t, prefix);
	if (!i->text) {
		i->action = ACTION_SKIP;
		snprintf(i->why, sizeof i->why, "this installation has none to copy");
	}
}

static void plan_ollama(struct item *item, struct tree *t, const char *prefix)
{
	char path[128];
	struct stat st;
	bool found = false;

	for (size_t i = 0; i < sizeof systemd_places / sizeof *systemd_places && !found; i++) {
		snprintf(path, sizeof path, "%s/system/ollama.service", systemd_places[i]);
		found = !tree_look(t, path, &st);
	}
	if (!found) {
		item->action = ACTION_SKIP;
		snprintf(item->why, sizeof item->why, "there is no ollama.service");
		return;
	}
	/* Ollama up to 0.12 looks for files called libcuda.so* in LD_LIBRARY_PATH, and nowhere that we are. */
	if (asprintf(&item->text,
		    SIGNED "[Service]\nEnvironment=\"LD_LIBRARY_PATH=%s/lib/gangway\"\nEnvironment=\"LD_AUDIT=%s/lib/"
			   "gangway/" AUDIT_FOLLOW ":%s/lib/gangway/" AUDIT_REDIRECT "\"\n",
		    prefix, prefix, prefix) < 0)
		item->text = NULL;
}

/* What is there already: ours, or somebody's. */
static void compare(struct item *i, struct tree *t, const struct manifest *m)
{
	char *there;
	size_t size;
	int r = tree_read(t, i->path, TEXT_MOST, &there, &size);

	if (r == -ENOENT) {
		i->action = ACTION_CREATE;
	} else if (r) {
		i->action = ACTION_REFUSE;
		tree_why(t, i->path, r, i->why, sizeof i->why);
	} else if (!manifest_has(m, i->path, there, size)) {
		i->action = ACTION_REFUSE;
		snprintf(i->why, sizeof i->why, "%s is there, and is not what gangway install wrote", i->path);
	} else {
		i->action = strcmp(there, i->text) ? ACTION_REPLACE : ACTION_NONE;
	}
	free(there);
}

bool plan_make(struct plan *p, struct tree *t, const char *prefix, const struct manifest *m)
{
	bool good = true;

	memset(p, 0, sizeof *p);
	for (int i = 0; i < ITEMS; i++)
		p->items[i].path = kinds[i].path, p->items[i].what = kinds[i].what;
	if (asprintf(&p->items[ITEM_CONF].text, SIGNED "%s/lib/gangway\n", prefix) < 0)
		p->items[ITEM_CONF].text = NULL;
	plan_service(&p->items[ITEM_UNIT], t, prefix, unit_text);
	plan_service(&p->items[ITEM_USERS], t, prefix, users_text);
	plan_ollama(&p->items[ITEM_OLLAMA], t, prefix);
	for (int i = 0; i < ITEMS; i++) {
		if (p->items[i].action == ACTION_SKIP)
			continue;
		if (p->items[i].text)
			compare(&p->items[i], t, m);
		else
			good = false;
	}
	return good;
}

void plan_free(struct plan *p)
{
	for (int i = 0; i < ITEMS; i++)
		free(p->items[i].text);
}
