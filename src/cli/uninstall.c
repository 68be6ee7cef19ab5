/* uninstall.c - gangway uninstall: takes away what gangway install has written, and nothing else. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/system/manifest.h"
#include "cli/system/system.h"
#include "cli/system/tree.h"

static const char usage[] =
	"usage: gangway uninstall [--yes] [--root DIR]\n\n"
	"Takes away what gangway install --system has written. Without --yes it only shows what would change. A file\n"
	"that was changed since is left where it is, and said so.\n\n"
	"  --yes       do it\n"
	"  --root DIR  in the system below this folder\n"
	"  --help      this text\n";

/* 1: as we have written it; 0: it is gone; -EEXIST: somebody has changed it. */
static int look(int root, const struct item *i)
{
	uint8_t hash[HASH_BYTES];
	char *text;
	size_t size;
	int err = tree_read(root, i->path, &text, &size);

	if (err)
		return err == -ENOENT ? 0 : err;
	hash_of(text, size, hash);
	free(text);
	return memcmp(hash, i->hash, sizeof hash) ? -EEXIST : 1;
}

static int remove_file(int root, const struct item *i, const struct system_request *q)
{
	const char *below = !strcmp(q->root, "/") ? "" : q->root;
	int state = look(root, i);

	if (state == -EEXIST)
		return cli_fail("%s%s was changed since it was installed, and stays: remove it yourself", below, i->path);
	if (state < 0)
		return system_fail(state, q->root, i->path);
	if (!state)
		return 0;
	printf("%s %s%s\n", q->yes ? "removes" : "would remove", below, i->path);
	state = q->yes ? tree_remove(root, i->path) : 0;
	return state ? system_fail(state, q->root, i->path) : 0;
}

/* What is deepest goes first; a folder that somebody else uses now stays. */
static void remove_rest(const struct manifest *m, int root)
{
	for (unsigned i = m->count; i--;)
		if (m->items[i].kind == ITEM_OUTPUT)
			tree_remove(root, m->items[i].path);
	tree_remove(root, MANIFEST);
	for (unsigned i = m->count; i--;)
		if (m->items[i].kind == ITEM_FOLDER)
			tree_remove_folder(root, m->items[i].path);
}

static int uninstall(const struct manifest *m, int root, const struct system_request *q)
{
	int r = 0;

	for (unsigned i = m->count; i--;)
		if (m->items[i].kind == ITEM_FILE)
			r |= remove_file(root, &m->items[i], q);
	printf("%s ldconfig\n", q->yes ? "runs" : "would run");
	if (!q->yes) {
		printf("Nothing has been changed. To do it: sudo gangway uninstall --yes\n");
		return r;
	}
	r |= system_ldconfig(q->root);
	system_reload(q->root);
	remove_rest(m, root);
	return r;
}

int cmd_uninstall(int argc, char **argv)
{
	static struct manifest m;
	struct system_request q = {0};
	int r = system_options("uninstall", argc, argv, &q), root;

	if (r || q.help) {
		if (!r)
			fputs(usage, stdout);
		return r;
	}
	root = tree_open(q.root);
	if (root < 0)
		return cli_fail("%s: %s", q.root, strerror(-root));
	r = manifest_read(&m, root);
	if (r == -ENOENT)
		r = cli_fail("Gangway is not installed in this system: there is no %s", MANIFEST);
	else if (r == -EPROTO)
		r = cli_fail("%s makes no sense: it is not removed, nor is anything else", MANIFEST);
	else if (r)
		r = system_fail(r, q.root, MANIFEST);
	else
		r = uninstall(&m, root, &q);
	close(root);
	return r;
}
