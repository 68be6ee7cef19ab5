/* gangway uninstall: removes exactly what gangway install wrote. Shows the plan, and carries it out with --yes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/install/plan.h"
#include "cli/install/refresh.h"
#include "cli/install/site.h"

static const char usage[] =
	"usage: gangway uninstall [--root DIR] [--yes]\n\n"
	"Undo gangway install --system: remove the files that it wrote, if they are unchanged, and the folders\n"
	"that it created, if they are empty; then update the loader's cache with ldconfig. Gangway itself stays\n"
	"installed.\n\n"
	"Without --yes, the command only shows what it would do.\n\n"
	"  --yes       make the changes\n"
	"  --root DIR  change the system in DIR\n"
	"  --help      show this text\n";

enum file_state { STATE_GONE, STATE_OURS, STATE_CHANGED };

static enum file_state entry_state(struct site *s, const struct manifest_entry *e)
{
	char *text;
	size_t size;
	int r = tree_read(&s->tree, e->path, 1 << 20, &text, &size);
	bool ours = !r && manifest_has(&s->manifest, e->path, text, size);

	free(text);
	if (r == -ENOENT)
		return STATE_GONE;
	return ours ? STATE_OURS : STATE_CHANGED;
}

/* A file may be listed several times, with different hashes. */
static bool entry_is_first(const struct manifest *m, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (m->entries[k].kind == ENTRY_FILE && !strcmp(m->entries[k].path, m->entries[i].path))
			return false;
	return true;
}

/* Returns the number of changed files. */
static unsigned show_entries(struct site *s)
{
	static const char *const words[] = {"missing", "remove", "CHANGED"};
	unsigned changed = 0;

	for (unsigned i = 0; i < s->manifest.count; i++) {
		const struct manifest_entry *e = &s->manifest.entries[i];

		if (e->kind == ENTRY_MADE) {
			printf("  %-8s %s, which did not exist before\n", "remove", e->path);
		} else if (e->kind == ENTRY_FOLDER) {
			printf("  %-8s %s, if it is empty\n", "remove", e->path);
		} else if (entry_is_first(&s->manifest, i)) {
			enum file_state state = entry_state(s, e);

			printf("  %-8s %s\n", words[state], e->path);
			changed += state == STATE_CHANGED;
		}
	}
	return changed;
}

static bool manifest_has_made(const struct manifest *m, const char *path)
{
	for (unsigned i = 0; i < m->count; i++)
		if (m->entries[i].kind == ENTRY_MADE && !strcmp(m->entries[i].path, path))
			return true;
	return false;
}

static int remove_entry(struct site *s, const struct manifest_entry *e)
{
	int r = tree_remove(&s->tree, e->path);

	return !r || r == -ENOENT ? 0 : site_fail(s, e->path, r);
}

static int remove_files(struct site *s)
{
	for (unsigned i = 0; i < s->manifest.count; i++) {
		const struct manifest_entry *e = &s->manifest.entries[i];

		if (e->kind == ENTRY_FILE && entry_state(s, e) == STATE_OURS && remove_entry(s, e))
			return 1;
	}
	return 0;
}

/* Let ldconfig update the loader's caches, or remove them if they did not exist before. */
static int restore_caches(struct site *s)
{
	int r = manifest_has_made(&s->manifest, LD_CACHE) ? 0 : refresh_loader(&s->tree);

	for (unsigned i = 0; i < s->manifest.count; i++)
		if (s->manifest.entries[i].kind == ENTRY_MADE)
			r |= remove_entry(s, &s->manifest.entries[i]);
	return r;
}

static int uninstall_apply(struct site *s)
{
	static const struct manifest_entry list = {.kind = ENTRY_FILE, .path = MANIFEST_FILE};

	if (remove_files(s) || restore_caches(s) || remove_entry(s, &list))
		return 1;
	for (unsigned i = s->manifest.count; i-- > 0;)
		if (s->manifest.entries[i].kind == ENTRY_FOLDER)
			tree_rmdir(&s->tree, s->manifest.entries[i].path); /* fails if the folder is not empty */
	refresh_systemd(&s->tree);
	puts("\nDone.");
	return 0;
}

static bool manifest_has_unit(struct site *s)
{
	for (unsigned i = 0; i < s->manifest.count; i++)
		if (!strcmp(s->manifest.entries[i].path, "/etc/systemd/system/gangway.service"))
			return true;
	return false;
}

static int uninstall_system(struct site *s)
{
	struct stat st;
	int r = site_read_manifest(s);

	if (r == -ENOENT) {
		puts("gangway install has not been used here: there is nothing to undo.");
		return 0;
	}
	if (r)
		return r;
	puts("Undo gangway install:\n");
	unsigned changed = show_entries(s);
	site_show_run(s, "");
	fflush(stdout);
	if (changed)
		return cli_fail("nothing was changed, because the files marked CHANGED differ from what gangway "
				"install wrote. Move "
				"them away and try again");
	if (manifest_has_unit(s) && !tree_lstat(&s->tree, UNIT_WANTS, &st))
		return cli_fail("nothing was changed, because the service is enabled. First run systemctl disable "
				"--now gangway");
	return site_apply(s, uninstall_apply);
}

int cmd_uninstall(int argc, char **argv)
{
	static struct site site;
	int r = site_open(&site, argc, argv, usage, false);

	if (r >= 0)
		return r;
	r = uninstall_system(&site);
	site_close(&site);
	return r;
}
