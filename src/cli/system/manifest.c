#include "cli/system/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/system/tree.h"

#define TITLE "gangway-installed 1\n"

static bool listed(const struct manifest *m, const char *path)
{
	for (unsigned i = 0; i < m->count; i++)
		if (!strcmp(m->items[i].path, path))
			return true;
	return false;
}

static struct item *new_item(struct manifest *m, enum item_kind kind, const char *path, size_t length)
{
	struct item *i = &m->items[m->count];

	if (m->count == MANIFEST_ITEMS || length >= sizeof i->path)
		return NULL;
	*i = (struct item){.kind = kind};
	snprintf(i->path, sizeof i->path, "%.*s", (int)length, path);
	m->count++;
	return i;
}

int manifest_add_folders(struct manifest *m, int root, const char *path)
{
	char part[MANIFEST_PATH];

	for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		int there;

		snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
		there = tree_exists(root, part);
		if (there < 0)
			return there;
		if (!there && !listed(m, part) && !new_item(m, ITEM_FOLDER, part, strlen(part)))
			return -E2BIG;
	}
	return 0;
}

int manifest_add(struct manifest *m, int root, const char *path, char *text)
{
	struct item *i;
	int err = manifest_add_folders(m, root, path);

	i = err ? NULL : new_item(m, ITEM_FILE, path, strlen(path));
	if (!i) {
		free(text);
		return err ? err : -E2BIG;
	}
	i->text = text;
	i->size = strlen(text);
	hash_of(text, i->size, i->hash);
	return 0;
}

int manifest_add_output(struct manifest *m, int root, const char *path)
{
	int there = tree_exists(root, path), err;

	if (there)
		return there < 0 ? there : 0;
	err = manifest_add_folders(m, root, path);
	return err ? err : new_item(m, ITEM_OUTPUT, path, strlen(path)) ? 0 : -E2BIG;
}

static const char *const words[] = {"folder ", "file ", "output "};

int manifest_write(const struct manifest *m, int root)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int err;

	if (!f)
		return -ENOMEM;
	fputs(TITLE, f);
	for (unsigned i = 0; i < m->count; i++) {
		const struct item *it = &m->items[i];

		fputs(words[it->kind], f);
		for (int k = 0; it->kind == ITEM_FILE && k < HASH_BYTES; k++)
			fprintf(f, "%02x%s", it->hash[k], k == HASH_BYTES - 1 ? " " : "");
		fprintf(f, "%s\n", it->path);
	}
	err = fclose(f) ? -ENOMEM : tree_write(root, MANIFEST, text, size);
	free(text);
	return err;
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hash(const char *text, uint8_t hash[HASH_BYTES])
{
	for (int i = 0; i < HASH_BYTES; i++) {
		int high = hex(text[2 * i]), low = high < 0 ? -1 : hex(text[2 * i + 1]);

		if (low < 0)
			return false;
		hash[i] = (uint8_t)(high << 4 | low);
	}
	return text[2 * HASH_BYTES] == ' ';
}

static bool read_line(struct manifest *m, const char *line, size_t length)
{
	uint8_t hash[HASH_BYTES] = {0};
	struct item *i;
	unsigned kind = 0;
	size_t skip;

	while (kind <= ITEM_OUTPUT && strncmp(line, words[kind], strlen(words[kind])))
		kind++;
	if (kind > ITEM_OUTPUT)
		return false;
	skip = strlen(words[kind]) + (kind == ITEM_FILE ? 2 * HASH_BYTES + 1 : 0);
	if (length <= skip || line[skip] != '/' || (kind == ITEM_FILE && !read_hash(line + strlen(words[kind]), hash)))
		return false;
	i = new_item(m, kind, line + skip, length - skip);
	if (i)
		memcpy(i->hash, hash, sizeof hash);
	return i != NULL;
}

int manifest_read(struct manifest *m, int root)
{
	char *text, *line, *end;
	size_t size;
	int err = tree_read(root, MANIFEST, &text, &size);

	m->count = 0;
	if (err)
		return err;
	if (strncmp(text, TITLE, strlen(TITLE)))
		err = -EPROTO;
	for (line = text + strlen(TITLE); !err && *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end || !read_line(m, line, (size_t)(end - line)))
			err = -EPROTO;
		if (!end)
			break;
	}
	free(text);
	return err;
}

void manifest_free(struct manifest *m)
{
	for (unsigned i = 0; i < m->count; i++)
		free(m->items[i].text);
	m->count = 0;
}
