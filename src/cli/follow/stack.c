#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "audit/files.h"
#include "cli/follow/stack.h"

#define WORD sizeof(uint64_t)

struct reading {
	const unsigned char *data;
	size_t words, size; /* whole words, and bytes */
	uint64_t sp;
	size_t env, nenv; /* words from the start, and how many variables */
	size_t aux, naux; /* words, its end included */
	bool secure;
};

static uint64_t word(const struct reading *r, size_t i)
{
	uint64_t w;

	memcpy(&w, r->data + i * WORD, WORD);
	return w;
}

/* The text that a word points to; NULL: it does not lie in here. */
static const char *text_at(const struct reading *r, size_t i)
{
	uint64_t at = word(r, i) - r->sp;

	if (word(r, i) < r->sp || at >= r->size || !memchr(r->data + at, 0, r->size - at))
		return NULL;
	return (const char *)r->data + at;
}

static int read_stack(struct reading *r)
{
	size_t i;

	if (!r->words || word(r, 0) >= r->words - 1 || word(r, word(r, 0) + 1))
		return -EINVAL;
	r->env = word(r, 0) + 2;
	for (i = r->env; i < r->words && word(r, i); i++)
		r->nenv++;
	r->aux = ++i;
	for (; i + 1 < r->words; i += 2) {
		if (word(r, i) == AT_SECURE)
			r->secure = word(r, i + 1);
		if (word(r, i) == AT_NULL) {
			r->naux = i + 2 - r->aux;
			return 0;
		}
	}
	return -EINVAL;
}

/* "NAME=" of both is the same. */
static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(b, "=");

	return !strncmp(a, b, n) && a[n] == '=';
}

static const char *find(const struct reading *r, const char *entry, size_t *at)
{
	for (size_t i = 0; i < r->nenv; i++) {
		const char *text = text_at(r, r->env + i);

		if (text && same_name(text, entry)) {
			*at = i;
			return text;
		}
	}
	return NULL;
}

static bool wants_none(const struct reading *r, const char *audit)
{
	size_t at;
	const char *follow = find(r, "GANGWAY_FOLLOW=", &at);

	return r->secure || (follow && !strcmp(follow, "GANGWAY_FOLLOW=0")) ||
	       (audit && (strstr(audit, "/" AUDIT_FOLLOW) || strstr(audit, "/" AUDIT_REDIRECT)));
}

/* Texts are put below what was there, from its end; words from the start. */
struct writing {
	unsigned char data[STACK_ROOM];
	size_t words, texts; /* used: at the start, and at the end */
	bool full;
};

static void put_word(struct writing *w, uint64_t value)
{
	if (w->full || (w->words + 1) * WORD + w->texts > STACK_ROOM) {
		w->full = true;
		return;
	}
	memcpy(w->data + w->words++ * WORD, &value, WORD);
}

/* Where it will be. */
static uint64_t put_text(struct writing *w, uint64_t sp, const char *a, const char *b)
{
	size_t n = strlen(a), m = b ? strlen(b) + 1 : 0;

	if (w->full || w->words * WORD + w->texts + n + m + 1 > STACK_ROOM) {
		w->full = true;
		return 0;
	}
	w->texts += n + m + 1;
	char *to = (char *)w->data + STACK_ROOM - w->texts;
	memcpy(to, a, n + 1);
	if (b) {
		to[n] = ':';
		memcpy(to + n + 1, b, m);
	}
	return sp - w->texts;
}

static void put_environment(
	struct writing *w, const struct reading *r, const char *const *kept, const char *audit, size_t audit_at)
{
	size_t at;

	put_word(w, put_text(w, r->sp, kept[0], audit ? strchr(audit, '=') + 1 : NULL));
	for (size_t i = 0; i < r->nenv; i++)
		if (!audit || i != audit_at)
			put_word(w, word(r, r->env + i));
	for (size_t i = 1; kept[i]; i++)
		if (!find(r, kept[i], &at))
			put_word(w, put_text(w, r->sp, kept[i], NULL));
	put_word(w, 0);
}

/* The words, a gap, the texts: a stack begins at a multiple of 16. */
static int pack(const struct writing *w, uint64_t sp, struct stack *out)
{
	size_t words = w->words * WORD;

	if (sp < 2 * STACK_ROOM)
		return -EINVAL;
	out->sp = (sp - w->texts - words) & ~15ull;
	out->size = sp - out->sp;
	out->data = calloc(1, out->size);
	if (!out->data)
		return -ENOMEM;
	memcpy(out->data, w->data, words);
	memcpy(out->data + out->size - w->texts, w->data + STACK_ROOM - w->texts, w->texts);
	return 1;
}

int stack_join(const void *data, size_t size, uint64_t sp, const char *const *kept, struct stack *out)
{
	struct reading r = {.data = data, .words = size / WORD, .size = size, .sp = sp};
	size_t audit_at = 0;
	int err = read_stack(&r);

	if (err)
		return err;
	const char *audit = find(&r, "LD_AUDIT=", &audit_at);
	if (!kept[0] || wants_none(&r, audit))
		return 0;
	struct writing *w = calloc(1, sizeof *w);
	if (!w)
		return -ENOMEM;
	for (size_t i = 0; i < r.env; i++)
		put_word(w, word(&r, i));
	put_environment(w, &r, kept, audit, audit_at);
	for (size_t i = 0; i < r.naux; i++)
		put_word(w, word(&r, r.aux + i));
	err = w->full ? -E2BIG : pack(w, sp, out);
	free(w);
	return err;
}
