/* Build the initial stack of a program with more environment variables. */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "audit/files.h"
#include "cli/follow/stack.h"

#define WORD_BYTES sizeof(uint64_t)

struct stack_view {
	const unsigned char *data;
	size_t words, size; /* in words and in bytes */
	uint64_t sp;
	size_t env, nenv; /* index of the first variable, and their number */
	size_t aux, naux; /* auxiliary vector: index and length in words, with AT_NULL */
	bool secure;
};

static uint64_t stack_word(const struct stack_view *r, size_t i)
{
	uint64_t w;

	memcpy(&w, r->data + i * WORD_BYTES, WORD_BYTES);
	return w;
}

/* Returns the text that a word points to, or NULL if it is not inside the copy. */
static const char *stack_text(const struct stack_view *r, size_t i)
{
	uint64_t at = stack_word(r, i) - r->sp;

	if (stack_word(r, i) < r->sp || at >= r->size || !memchr(r->data + at, 0, r->size - at))
		return NULL;
	return (const char *)r->data + at;
}

static int stack_parse(struct stack_view *r)
{
	size_t i;

	if (!r->words || stack_word(r, 0) >= r->words - 1 || stack_word(r, stack_word(r, 0) + 1))
		return -EINVAL;
	r->env = stack_word(r, 0) + 2;
	for (i = r->env; i < r->words && stack_word(r, i); i++)
		r->nenv++;
	r->aux = ++i;
	for (; i + 1 < r->words; i += 2) {
		if (stack_word(r, i) == AT_SECURE)
			r->secure = stack_word(r, i + 1);
		if (stack_word(r, i) == AT_NULL) {
			r->naux = i + 2 - r->aux;
			return 0;
		}
	}
	return -EINVAL;
}

/* Do both assignments have the same name? */
static bool has_same_name(const char *a, const char *b)
{
	size_t n = strcspn(b, "=");

	return !strncmp(a, b, n) && a[n] == '=';
}

static const char *find_variable(const struct stack_view *r, const char *entry, size_t *at)
{
	for (size_t i = 0; i < r->nenv; i++) {
		const char *text = stack_text(r, r->env + i);

		if (text && has_same_name(text, entry)) {
			*at = i;
			return text;
		}
	}
	return NULL;
}

static bool needs_no_variables(const struct stack_view *r, const char *audit)
{
	size_t at;
	const char *follow = find_variable(r, "GANGWAY_FOLLOW=", &at);

	return r->secure || (follow && !strcmp(follow, "GANGWAY_FOLLOW=0")) ||
	       (audit && (strstr(audit, "/" AUDIT_FOLLOW) || strstr(audit, "/" AUDIT_REDIRECT)));
}

/* The new part of the stack: words grow from the start, texts from the end downwards. */
struct stack_builder {
	unsigned char data[STACK_ROOM];
	size_t words, texts; /* words at the start, bytes of text at the end */
	bool full;
};

static void builder_add_word(struct stack_builder *w, uint64_t value)
{
	if (w->full || (w->words + 1) * WORD_BYTES + w->texts > STACK_ROOM) {
		w->full = true;
		return;
	}
	memcpy(w->data + w->words++ * WORD_BYTES, &value, WORD_BYTES);
}

/* Add a text, or two joined by a colon. Returns its future address. */
static uint64_t builder_add_text(struct stack_builder *w, uint64_t sp, const char *a, const char *b)
{
	size_t n = strlen(a), m = b ? strlen(b) + 1 : 0;

	if (w->full || w->words * WORD_BYTES + w->texts + n + m + 1 > STACK_ROOM) {
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

static void builder_add_environment(struct stack_builder *w, const struct stack_view *r, const char *const *kept,
	const char *audit, size_t audit_at)
{
	size_t at;

	builder_add_word(w, builder_add_text(w, r->sp, kept[0], audit ? strchr(audit, '=') + 1 : NULL));
	for (size_t i = 0; i < r->nenv; i++)
		if (!audit || i != audit_at)
			builder_add_word(w, stack_word(r, r->env + i));
	for (size_t i = 1; kept[i]; i++)
		if (!find_variable(r, kept[i], &at))
			builder_add_word(w, builder_add_text(w, r->sp, kept[i], NULL));
	builder_add_word(w, 0);
}

/* Join words, a gap and texts. The stack pointer must be a multiple of 16. */
static int builder_finish(const struct stack_builder *w, uint64_t sp, struct stack *out)
{
	size_t words = w->words * WORD_BYTES;

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
	struct stack_view r = {.data = data, .words = size / WORD_BYTES, .size = size, .sp = sp};
	size_t audit_at = 0;
	int err = stack_parse(&r);

	if (err)
		return err;
	const char *audit = find_variable(&r, "LD_AUDIT=", &audit_at);
	if (!kept[0] || needs_no_variables(&r, audit))
		return 0;
	struct stack_builder *w = calloc(1, sizeof *w);
	if (!w)
		return -ENOMEM;
	for (size_t i = 0; i < r.env; i++)
		builder_add_word(w, stack_word(&r, i));
	builder_add_environment(w, &r, kept, audit, audit_at);
	for (size_t i = 0; i < r.naux; i++)
		builder_add_word(w, stack_word(&r, r.aux + i));
	err = w->full ? -E2BIG : builder_finish(w, sp, out);
	free(w);
	return err;
}
