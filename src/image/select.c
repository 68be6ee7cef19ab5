/*
 * select.c - which entry a device would run, and a sentence about what there is.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "image/private.h"

static bool runs_on(const struct image_entry *e, unsigned sm)
{
	if (e->arch_specific)
		return e->sm == sm;
	/* Machine code goes up within a generation, and so do the features of a family. */
	if (e->kind == IMAGE_ENTRY_CUBIN || e->family)
		return e->sm / 10 == sm / 10 && e->sm <= sm;
	return e->sm <= sm;
}

static unsigned rank(const struct image_entry *e)
{
	unsigned special = e->arch_specific ? 2 : e->family;

	/* A cubin beats any text; then the newest architecture, then the most special variant. */
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
		if (!runs_on(&e, sm) || (found && rank(&e) <= rank(entry)))
			continue;
		*entry = e;
		found = true;
	}
	if (it.error)
		return it.error;
	return found ? 0 : -ENOENT;
}

struct text {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
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

static const char *suffix(const struct image_entry *e)
{
	return e->arch_specific ? "a" : e->family ? "f" : "";
}

/* Would they be the same words? */
static bool alike(const struct image_entry *a, const struct image_entry *b)
{
	return a->sm == b->sm && a->arch_specific == b->arch_specific && a->family == b->family &&
	       (a->kind != IMAGE_ENTRY_PTX ||
		       (a->version_major == b->version_major && a->version_minor == b->version_minor));
}

/* A program has one entry an architecture in each of its hundred fatbins. */
static bool seen(const struct image_entry *list, unsigned n, const struct image_entry *e)
{
	for (unsigned i = 0; i < n; i++)
		if (alike(&list[i], e))
			return true;
	return false;
}

static void describe_kind(struct text *t, const struct image *image, enum image_entry_kind kind, const char *word)
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
		if (e.kind != kind || seen(list, n, &e))
			continue;
		if (!n)
			add(t, "%s", word);
		if (kind == IMAGE_ENTRY_PTX)
			add(t, " %u.%u compute_%u%s", e.version_major, e.version_minor, e.sm, suffix(&e));
		else
			add(t, " sm_%u%s", e.sm, suffix(&e));
		list[n++] = e;
	}
	if (n == 32)
		add(t, " ...");
	if (it.error)
		add(t, " (malformed)");
}

char *image_describe(const struct image *image, char *text, size_t size)
{
	static const struct {
		enum image_entry_kind kind;
		const char *word;
	} kinds[] = {{IMAGE_ENTRY_CUBIN, "cubin"}, {IMAGE_ENTRY_PTX, "PTX"}, {IMAGE_ENTRY_LTO, "LTO"}};
	struct text t = {text, size};

	if (!size)
		return text;
	*text = 0;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		char one[512];
		struct text o = {one, sizeof one};

		*one = 0;
		describe_kind(&o, image, kinds[i].kind, kinds[i].word);
		if (*one)
			add(&t, "%s%s", t.at > text ? ", " : "", one);
	}
	if (t.at == text)
		add(&t, "no code");
	return text;
}
