/* gangway uninstall: takes back what gangway install wrote, and nothing else.  Shows what it would do; --yes does it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/install/plan.h"
#include "cli/install/refresh.h"

static const char usage[] =
	"usage: gangway uninstall [--root DIR] [--yes]\n\n"
	"Takes back what gangway install --system did: removes each file that it wrote and that is still as it\n"
	"was written, each folder that it made and that is empty, and has ldconfig make its cache anew. Shows\n"
	"what would be removed; changes nothing without --yes. Gangway itself stays where it is installed.\n\n"
	"  --yes       do it\n"
	"  --root DIR  do it to the system in DIR\n"
	"  --help      this text\n";

enum state { STATE_GONE, STATE_OURS, STATE_CHANGED };

struct removal {
	struct tree tree;
	char root[PATH_MAX];
	struct manifest manifest;
};

/* A file of ours that was changed is not ours any more. */
static enum state state_of(struct removal *u, const struct entry *e)
{
	char *text;
	size_t size;
	int r = tree_read(&u->tree, e->path, 1 << 20, &text, &size);
	bool ours = !r && manifest_has(&u->manifest, e->path, text, size);

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
static unsigned show(struct removal *u)
{
	static const char *const words[] = {"is gone", "remove", "CHANGED"};
	unsigned changed = 0;

	for (unsigned i = 0; i < u->manifest.count; i++) {
		const struct entry *e = &u->manifest.entries[i];

		if (e->kind == ENTRY_MADE) {
			printf("  %-8s %s, which was not there before\n", "remove", e->path);
		} else if (e->kind == ENTRY_FOLDER) {
			printf("  %-8s %s, if it is empty\n", "remove", e->path);
		} else if (is_first(&u->manifest, i)) {
			enum state state = state_of(u, e);

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

static int remove_entry(struct removal *u, const struct entry *e)
{
	char why[PATH_MAX + 128];
	int r = tree_remove(&u->tree, e->path);

	if (!r || r == -ENOENT)
		return 0;
	return cli_fail("%s%s", tree_why(&u->tree, e->path, r, why, sizeof why), r == -EACCES ? ": are you root?" : "");
}

static int remove_files(struct removal *u)
{
	for (unsigned i = 0; i < u->manifest.count; i++) {
		const struct entry *e = &u->manifest.entries[i];

		if (e->kind == ENTRY_FILE && state_of(u, e) == STATE_OURS && remove_entry(u, e))
			return 1;
	}
	return 0;
}

/* The caches: as ldconfig makes them now, or none where there was none. */
static int put_caches_right(struct removal *u)
{
	int r = has_made(&u->manifest, LD_CACHE) ? 0 : refresh_loader(&u->tree);

	for (unsigned i = 0; i < u->manifest.count; i++)
		if (u->manifest.entries[i].kind == ENTRY_MADE)
			r |= remove_entry(u, &u->manifest.entries[i]);
	return r;
}

static int apply(struct removal *u)
{
	static const struct entry list = {.kind = ENTRY_FILE, .path = MANIFEST_FILE};

	if (remove_files(u) || put_caches_right(u) || remove_entry(u, &list))
		return 1;
	for (unsigned i = u->manifest.count; i-- > 0;)
		if (u->manifest.entries[i].kind == ENTRY_FOLDER)
			tree_rmdir(&u->tree, u->manifest.entries[i].path); /* others may have put something there */
	refresh_systemd(&u->tree);
	puts("\nDone.");
	return 0;
}

static bool wrote_unit(struct removal *u)
{
	for (unsigned i = 0; i < u->manifest.count; i++)
		if (!strcmp(u->manifest.entries[i].path, "/etc/systemd/system/gangway.service"))
			return true;
	return false;
}

static int uninstall(struct removal *u, bool yes)
{
	char why[PATH_MAX + 128];
	struct stat st;
	int r = manifest_read(&u->tree, &u->manifest);

	if (r == -ENOENT) {
		puts("Nothing was installed here by gangway install.");
		return 0;
	}
	if (r == -EINVAL)
		return cli_fail("%s is not what gangway install wrote: nothing was changed", MANIFEST_FILE);
	if (r)
		return cli_fail("%s", tree_why(&u->tree, MANIFEST_FILE, r, why, sizeof why));
	puts("What gangway install did is taken back:\n");
	unsigned changed = show(u);
	printf("  %-8s ldconfig -X%s%s\n", "run", strcmp(u->root, "/") ? " -r " : "", strcmp(u->root, "/") ? u->root : "");
	fflush(stdout);
	if (changed)
		return cli_fail("nothing was changed: what was changed since it was written is not Gangway's to remove. Move it away, "
				"and do this again");
	if (wrote_unit(u) && !tree_look(&u->tree, UNIT_WANTS, &st))
		return cli_fail("nothing was changed: the service is enabled. First: systemctl disable --now gangway");
	if (!yes) {
		puts("\nNothing was changed. To do this: the same with --yes");
		return 0;
	}
	r = tree_lock(&u->tree);
	return r ? cli_fail("another gangway is installing: %s", strerror(-r)) : apply(u);
}

int cmd_uninstall(int argc, char **argv)
{
	static const struct option options[] = {
		{"yes", no_argument, NULL, 'y'}, {"root", required_argument, NULL, 'r'}, {"help", no_argument, NULL, 'h'}, {0},
	};
	static struct removal removal;
	const char *root = "/";
	bool yes = false;
	int c, r;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		switch (c) {
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
			return cli_usage("uninstall", "%s needs a value", argv[optind - 1]);
		default:
			return cli_usage("uninstall", "there is no option %s", argv[optind - 1]);
		}
	}
	if (optind < argc)
		return cli_usage("uninstall", "what is %s for?", argv[optind]);
	if (!realpath(root, removal.root) || tree_open(&removal.tree, removal.root))
		return cli_fail("%s: %s", root, strerror(errno));
	r = uninstall(&removal, yes);
	tree_close(&removal.tree);
	return r;
}
