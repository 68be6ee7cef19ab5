/* Read and write the list of installed files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/install/manifest.h"
#include "cli/install/plan.h"

#define MANIFEST_HEADER "gangway manifest 1\n"
#define MANIFEST_BYTES  (64 * 1024)

static const char *const kind_words[] = {"folder", "file", "made"};

static bool parse_hash(const char *text, uint8_t hash[HASH_BYTES])
{
	for (int i = 0; i < HASH_BYTES; i++) {
		unsigned byte;

		if (strspn(text, "0123456789abcdef") < 2 || sscanf(text, "%2x", &byte) != 1)
			return false;
		hash[i] = (uint8_t)byte;
		text += 2;
	}
	return *text == ' ';
}

static bool parse_line(const char *line, size_t n, struct manifest *m)
{
	uint8_t hash[HASH_BYTES] = {0};
	char text[512];

	if (n >= sizeof text || memchr(line, 0, n))
		return false;
	memcpy(text, line, n);
	text[n] = 0;
	for (int k = 0; k < 3; k++) {
		size_t word = strlen(kind_words[k]);
		const char *path = text + word + 1;

		if (strncmp(text, kind_words[k], word) || text[word] != ' ')
			continue;
		if (k == ENTRY_FILE) {
			if (!parse_hash(path, hash))
				return false;
			path += 2 * HASH_BYTES + 1;
		}
		return plan_allows_entry(k, path) && manifest_add(m, k, path, hash);
	}
	return false;
}

bool manifest_parse(const char *text, struct manifest *m)
{
	m->count = 0;
	if (strncmp(text, MANIFEST_HEADER, strlen(MANIFEST_HEADER)))
		return false;
	for (text += strlen(MANIFEST_HEADER); *text;) {
		size_t n = strcspn(text, "\n");

		if (!text[n] || !parse_line(text, n, m))
			return false;
		text += n + 1;
	}
	return true;
}

int manifest_read(struct tree *t, struct manifest *m)
{
	char *text;
	size_t size;

	m->count = 0;
	int r = tree_read(t, MANIFEST_FILE, MANIFEST_BYTES, &text, &size);
	if (r)
		return r == -ENOTDIR ? -ENOENT : r;
	bool good = strlen(text) == size && manifest_parse(text, m);
	free(text);
	return good ? 0 : -EINVAL;
}

int manifest_write(struct tree *t, const struct manifest *m)
{
	char *text = calloc(1, MANIFEST_BYTES), *at = text;
	struct stat st;

	if (!text)
		return -ENOMEM;
	at += sprintf(at, MANIFEST_HEADER);
	for (unsigned i = 0; i < m->count; i++) {
		const struct manifest_entry *e = &m->entries[i];

		at += sprintf(at, "%s ", kind_words[e->kind]);
		for (int b = 0; e->kind == ENTRY_FILE && b < HASH_BYTES; b++)
			at += sprintf(at, "%02x", e->hash[b]);
		at += sprintf(at, e->kind == ENTRY_FILE ? " %s\n" : "%s\n", e->path);
	}
	int r = tree_write(t, MANIFEST_FILE, text, (size_t)(at - text), !tree_lstat(t, MANIFEST_FILE, &st));
	free(text);
	return r;
}

bool manifest_add(struct manifest *m, enum entry_kind kind, const char *path, const uint8_t *hash)
{
	struct manifest_entry e = {.kind = kind};

	if (snprintf(e.path, sizeof e.path, "%s", path) >= (int)sizeof e.path)
		return false;
	if (kind == ENTRY_FILE)
		memcpy(e.hash, hash, sizeof e.hash);
	for (unsigned i = 0; i < m->count; i++)
		if (m->entries[i].kind == kind && !strcmp(m->entries[i].path, path) &&
			!memcmp(m->entries[i].hash, e.hash, sizeof e.hash))
			return true;
	if (m->count == MANIFEST_ENTRIES_MAX)
		return false;
	m->entries[m->count++] = e;
	return true;
}

bool manifest_has(const struct manifest *m, const char *path, const char *text, size_t size)
{
	uint8_t hash[HASH_BYTES];

	hash_of(text, size, hash);
	for (unsigned i = 0; i < m->count; i++)
		if (m->entries[i].kind == ENTRY_FILE && !strcmp(m->entries[i].path, path) &&
			!memcmp(m->entries[i].hash, hash, sizeof hash))
			return true;
	return false;
}
