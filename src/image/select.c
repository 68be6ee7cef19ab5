/*
 * select.c - selects the entry that a device runs, and describes the entries of an image.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "image/private.h"

static bool entry_runs_on(const struct image_entry *e, unsigned sm)
{
	if (e->arch_specific)
		return e->sm == sm;
	/* A cubin, and PTX for a family, also run on later architectures of the same major version. */
	if (e->kind == IMAGE_ENTRY_CUBIN || e->family)
		return e->sm / 10 == sm / 10 && e->sm <= sm;
	return e->sm <= sm;
}

static unsigned entry_rank(const struct image_entry *e)
{
	unsigned special = e->arch_specific ? 2 : e->family;

	/* Cubins before PTX, then the newest architecture, then the most specific variant. */
	return (e->kind == IMAGE_ENTRY_CUBIN) << 30 | (e->sm & 0xffffff) << 2 | special;
}

int image_select(const struct image *image, unsigned part, const struct image_want *want, struct image_entry *entry)
{
	unsigned sm = want->major * 10 + want->minor;
	struct image_iter it;
	struct image_entry e;
	bool found = false;

	for (image_iter_init(&it, image, part); image_next(&it, &e);) {
		if (e.kind == IMAGE_ENTRY_CUBIN ? !(want->kinds & IMAGE_WANT_CUBIN)
						: e.kind != IMAGE_ENTRY_PTX || !(want->kinds & IMAGE_WANT_PTX))
			continue;
		if (!entry_runs_on(&e, sm) || (found && entry_rank(&e) <= entry_rank(entry)))
			continue;
		*entry = e;
		found = true;
	}
	if (it.error)
		return it.error;
	if (!found && want->kinds & IMAGE_WANT_OTHER_PTX)
		return image_select_other(image, part, want, NULL, entry);
	return found ? 0 : -ENOENT;
}

/* Order among the PTX for other devices: plain architectures, then families, then single architectures. */
static unsigned other_rank(const struct image_entry *e)
{
	unsigned special = e->arch_specific ? 2 : e->family;

	return special << 24 | (e->sm & 0xffffff);
}

int image_select_other(const struct image *image, unsigned part, const struct image_want *want,
	const struct image_entry *previous, struct image_entry *entry)
{
	unsigned sm = want->major * 10 + want->minor, least = previous ? other_rank(previous) + 1 : 0;
	struct image_entry e, best;
	struct image_iter it;
	bool found = false;

	for (image_iter_init(&it, image, part); image_next(&it, &e);) {
		if (e.kind != IMAGE_ENTRY_PTX || entry_runs_on(&e, sm) || other_rank(&e) < least)
			continue;
		if (found && other_rank(&e) >= other_rank(&best))
			continue;
		best = e;
		found = true;
	}
	if (it.error)
		return it.error;
	if (found)
		*entry = best;
	return found ? 0 : -ENOENT;
}

struct text_buffer {
	char *at; /* next character */
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void text_append(struct text_buffer *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->at, t->left, format, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n >= t->left)
		n = t->left ? t->left - 1 : 0;
	t->at += n;
	t->left -= n;
}

static const char *arch_suffix(const struct image_entry *e)
{
	return e->arch_specific ? "a" : e->family ? "f" : "";
}

/* Whether both entries are described by the same words. */
static bool entries_same_description(const struct image_entry *a, const struct image_entry *b)
{
	return a->sm == b->sm && a->arch_specific == b->arch_specific && a->family == b->family &&
	       (a->kind != IMAGE_ENTRY_PTX ||
		       (a->version_major == b->version_major && a->version_minor == b->version_minor));
}

/* A program of many fatbins has the same architectures in each; the description names each once. */
static bool list_has_entry(const struct image_entry *list, unsigned n, const struct image_entry *e)
{
	for (unsigned i = 0; i < n; i++)
		if (entries_same_description(&list[i], e))
			return true;
	return false;
}

static void describe_kind(
	struct text_buffer *t, const struct image *image, enum image_entry_kind kind, const char *word)
{
	struct image_entry list[32], e;
	struct image_iter it = {.error = 0};
	unsigned n = 0, part = 0;

	image_iter_init(&it, image, part);
	while (n < 32 && !it.error) {
		if (!image_next(&it, &e)) {
			if (it.error || ++part >= image->nparts)
				break;
			image_iter_init(&it, image, part);
			continue;
		}
		if (e.kind != kind || list_has_entry(list, n, &e))
			continue;
		if (!n)
			text_append(t, "%s", word);
		if (kind == IMAGE_ENTRY_PTX)
			text_append(t, " %u.%u compute_%u%s", e.version_major, e.version_minor, e.sm, arch_suffix(&e));
		else
			text_append(t, " sm_%u%s", e.sm, arch_suffix(&e));
		list[n++] = e;
	}
	if (n == 32)
		text_append(t, " ...");
	if (it.error)
		text_append(t, " (malformed)");
}

char *image_describe(const struct image *image, char *text, size_t size)
{
	static const struct {
		enum image_entry_kind kind;
		const char *word;
	} kinds[] = {{IMAGE_ENTRY_CUBIN, "cubin"}, {IMAGE_ENTRY_PTX, "PTX"}, {IMAGE_ENTRY_LTO, "LTO"}};
	struct text_buffer t = {text, size};

	if (!size)
		return text;
	*text = 0;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		char one[512];
		struct text_buffer o = {one, sizeof one};

		*one = 0;
		describe_kind(&o, image, kinds[i].kind, kinds[i].word);
		if (*one)
			text_append(&t, "%s%s", t.at > text ? ", " : "", one);
	}
	if (t.at == text)
		text_append(&t, "no code");
	return text;
}
