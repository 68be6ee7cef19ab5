/* gangway uninstall: takes back what gangway install wrote, and nothing else.  Shows what it would do; --yes does it. */
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

enum state { STATE_GONE, STATE_OURS, STATE_CHANGED };

/* A file of ours that was changed is not ours any more. */
static enum state state_of(struct site *s, const struct entry *e)
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

/* The same file may be listed with several contents. */
static bool is_first(const struct manifest *m, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (m->entries[k].kind == ENTRY_FILE && !strcmp(m->entries[k].path, m->entries[i].path))
			return false;
	return true;
}

/* Returns how many files are in the way. */
static unsigned show(struct site *s)
{
	static const char *const words[] = {"is gone", "remove", "CHANGED"};
	unsigned changed = 0;

	for (unsigned i = 0; i < s->manifest.count; i++) {
		const struct entry *e = &s->manifest.entries[i];

		if (e->kind == ENTRY_MADE) {
			printf("  %-8s %s, which was not there before\n", "remove", e->path);
		} else if (e->kind == ENTRY_FOLDER) {
			printf("  %-8s %s, if it is empty\n", "remove", e->path);
		} else if (is_first(&s->manifest, i)) {
			enum state state = state_of(s, e);

			printf("  %-8s %s\n", words[state], e->path);
			changed += state == STATE_CHANGED;
		}
	}
	return changed;
}

static bool has_made(const struct manifest *m, const char *path)
{
	for (unsigned i = 0; i < m->count; i++)
		if (m->entries[i].kind == ENTRY_MADE && !strcmp(m->entries[i].path, path))
			return true;
	return false;
}

static int remove_entry(struct site *s, const struct entry *e)
{
	int r = tree_remove(&s->tree, e->path);

	return !r || r == -ENOENT ? 0 : site_fail(s, e->path, r);
}

static int remove_files(struct site *s)
{
	for (unsigned i = 0; i < s->manifest.count; i++) {
		const struct entry *e = &s->manifest.entries[i];

		if (e->kind == ENTRY_FILE && state_of(s, e) == STATE_OURS && remove_entry(s, e))
			return 1;
	}
	return 0;
}

/* The caches: as ldconfig makes them now, or none where there was none. */
static int put_caches_right(struct site *s)
{
	int r = has_made(&s->manifest, LD_CACHE) ? 0 : refresh_loader(&s->tree);

	for (unsigned i = 0; i < s->manifest.count; i++)
		if (s->manifest.entries[i].kind == ENTRY_MADE)
			r |= remove_entry(s, &s->manifest.entries[i]);
	return r;
}

static int apply(struct site *s)
{
	static const struct entry list = {.kind = ENTRY_FILE, .path = MANIFEST_FILE};

	if (remove_files(s) || put_caches_right(s) || remove_entry(s, &list))
		return 1;
	for (unsigned i = s->manifest.count; i-- > 0;)
		if (s->manifest.entries[i].kind == ENTRY_FOLDER)
			tree_rmdir(&s->tree, s->manifest.entries[i].path); /* others may have put something there */
	refresh_systemd(&s->tree);
	puts("\nDone.");
	return 0;
}

static bool wrote_unit(struct site *s)
{
	for (unsigned i = 0; i < s->manifest.count; i++)
		if (!strcmp(s->manifest.entries[i].path, "/etc/systemd/system/gangway.service"))
			return true;
	return false;
}

static int uninstall(struct site *s)
{
	struct stat st;
	int r = site_read_manifest(s);

	if (r == -ENOENT) {
		puts("Nothing was installed here by gangway install.");
		return 0;
	}
	if (r)
		return r;
	puts("What gangway install did is taken back:\n");
	unsigned changed = show(s);
	site_show_run(s, "");
	fflush(stdout);
	if (changed)
		return cli_fail("nothing was changed: what was changed since it was written is not Gangway's to "
				"remove. Move it away, "
				"and do this again");
	if (wrote_unit(s) && !tree_look(&s->tree, UNIT_WANTS, &st))
		return cli_fail("nothing was changed: the service is enabled. First: systemctl disable --now gangway");
	return site_go_on(s, apply);
}

int cmd_uninstall(int argc, char **argv)
{
	static struct site site;
	int r = site_open(&site, argc, argv, usage, false);

	if (r >= 0)
		return r;
	r = uninstall(&site);
	site_close(&site);
	return r;
}
