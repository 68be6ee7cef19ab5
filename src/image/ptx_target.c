/*
 * ptx_target.c - the architecture and ISA version that a PTX text states in its first two directives.
 *
 *	.version 8.4		comments and white space may stand anywhere
 *	.target sm_90a, debug
 *
 * Selecting an entry needs no more than this. Everything else in PTX is read by src/ptx.
 */
#include <errno.h>
#include <string.h>

#include "image/private.h"

struct ptx_cursor {
	const char *at, *end;
};

static char peek_char(const struct ptx_cursor *c, size_t ahead)
{
	return (size_t)(c->end - c->at) > ahead ? c->at[ahead] : 0;
}

/* A comment without an end leaves nothing behind it. */
static void skip_comment(struct ptx_cursor *c, const char *closing)
{
	const char *end = memmem(c->at + 2, (size_t)(c->end - c->at) - 2, closing, strlen(closing));

	c->at = end ? end + strlen(closing) : c->end;
}

static void skip_space(struct ptx_cursor *c)
{
	for (;;) {
		char ch = peek_char(c, 0);

		if (ch == ' ' || (ch >= '\t' && ch <= '\r'))
			c->at++;
		else if (ch == '/' && peek_char(c, 1) == '/')
			skip_comment(c, "\n");
		else if (ch == '/' && peek_char(c, 1) == '*')
			skip_comment(c, "*/");
		else
			return;
	}
}

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/* Skips `word` and the space behind it, if the text goes on with exactly this word. */
static bool accept_word(struct ptx_cursor *c, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) || is_word_char(peek_char(c, n)))
		return false;
	c->at += n;
	skip_space(c);
	return true;
}

static bool read_number(struct ptx_cursor *c, unsigned *value)
{
	const char *from = c->at;

	for (*value = 0; peek_char(c, 0) >= '0' && peek_char(c, 0) <= '9' && *value < 10000; c->at++)
		*value = *value * 10 + (unsigned)(*c->at - '0');
	return c->at != from;
}

static bool read_version(struct ptx_cursor *c, struct image_entry *e)
{
	if (!read_number(c, &e->version_major) || peek_char(c, 0) != '.')
		return false;
	c->at++;
	if (!read_number(c, &e->version_minor) || is_word_char(peek_char(c, 0)))
		return false;
	skip_space(c);
	return true;
}

/* sm_90, sm_90a, sm_100f; other words, such as debug and texmode_independent, are no architecture. */
static void read_architecture(struct ptx_cursor word, struct image_entry *e)
{
	struct image_entry found = {0};
	size_t prefix;

	if (word.end - word.at > 3 && !memcmp(word.at, "sm_", 3))
		prefix = 3;
	else if (word.end - word.at > 8 && !memcmp(word.at, "compute_", 8))
		prefix = 8;
	else
		return;
	word.at += prefix;
	if (!read_number(&word, &found.sm) || !found.sm)
		return;
	found.arch_specific = word.end - word.at == 1 && *word.at == 'a';
	found.family = word.end - word.at == 1 && *word.at == 'f';
	if (word.at + (found.arch_specific || found.family) != word.end)
		return;
	e->sm = found.sm;
	e->arch_specific = found.arch_specific;
	e->family = found.family;
}

static bool read_target(struct ptx_cursor *c, struct image_entry *e)
{
	for (;;) {
		const char *from = c->at;

		while (is_word_char(peek_char(c, 0)))
			c->at++;
		if (c->at == from)
			return false;
		read_architecture((struct ptx_cursor){from, c->at}, e);
		skip_space(c);
		if (peek_char(c, 0) != ',')
			return e->sm != 0;
		c->at++;
		skip_space(c);
	}
}

int image_ptx_target(const char *text, size_t size, struct image_entry *entry)
{
	struct ptx_cursor c = {text, text + size};

	skip_space(&c);
	return accept_word(&c, ".version") && read_version(&c, entry) && accept_word(&c, ".target") &&
			       read_target(&c, entry)
		       ? 0
		       : -EINVAL;
}
