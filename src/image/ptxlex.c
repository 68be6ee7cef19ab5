/*
 * ptxlex.c - see ptxlex.h.
 */
#include <string.h>

#include "image/ptxlex.h"

void ptxlex_init(struct ptxlex *lex, const char *text, size_t size)
{
	*lex = (struct ptxlex){.at = text, .end = text + size, .line = 1};
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool starts_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool in_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || is_digit(c);
}

static char peek(const struct ptxlex *lex, size_t ahead)
{
	return (size_t)(lex->end - lex->at) > ahead ? lex->at[ahead] : 0;
}

static void skip_line(struct ptxlex *lex)
{
	const char *end = memchr(lex->at, '\n', lex->end - lex->at);

	lex->at = end ? end : lex->end;
}

static void skip_comment(struct ptxlex *lex)
{
	lex->at += 2;
	while (lex->at < lex->end && !(peek(lex, 0) == '*' && peek(lex, 1) == '/'))
		lex->line += *lex->at++ == '\n';
	if (lex->at < lex->end)
		lex->at += 2;
	else
		lex->bad = true;
}

/* Returns whether there was any. */
static bool skip_space(struct ptxlex *lex)
{
	const char *from = lex->at;

	while (lex->at < lex->end) {
		char c = *lex->at;

		if (c == ' ' || (c >= '\t' && c <= '\r'))
			lex->line += *lex->at++ == '\n';
		else if (c == '/' && peek(lex, 1) == '/')
			skip_line(lex);
		else if (c == '/' && peek(lex, 1) == '*')
			skip_comment(lex);
		else
			break;
	}
	return lex->at != from;
}

static void take_string(struct ptxlex *lex)
{
	lex->at++;
	while (lex->at < lex->end && *lex->at != '"' && *lex->at != '\n') {
		if (*lex->at == '\\' && lex->end - lex->at > 1)
			lex->at++;
		lex->line += *lex->at++ == '\n';
	}
	if (peek(lex, 0) == '"')
		lex->at++;
	else
		lex->bad = true;
}

static void take_name(struct ptxlex *lex)
{
	do
		lex->at++;
	while (lex->at < lex->end && in_name(*lex->at));
}

static void take_number(struct ptxlex *lex)
{
	do
		lex->at++;
	while (lex->at < lex->end && (in_name(*lex->at) || (*lex->at == '.' && is_digit(peek(lex, 1)))));
}

static enum word_kind take(struct ptxlex *lex)
{
	char c = *lex->at;

	if (c == '.' && in_name(peek(lex, 1))) {
		take_name(lex);
		return WORD_DIRECTIVE;
	}
	if (starts_name(c)) {
		take_name(lex);
		return WORD_NAME;
	}
	if (is_digit(c)) {
		take_number(lex);
		return WORD_NUMBER;
	}
	if (c == '"') {
		take_string(lex);
		return WORD_STRING;
	}
	lex->at++;
	return WORD_MARK;
}

struct word ptxlex_next(struct ptxlex *lex)
{
	struct word w = {.kind = WORD_END};

	w.glued = !skip_space(lex);
	w.text = lex->at;
	if (lex->bad || lex->at == lex->end || !*lex->at) {
		lex->at = lex->end; /* a NUL ends the text */
		return w;
	}
	w.kind = take(lex);
	w.size = lex->at - w.text;
	return w;
}

bool ptxword_is(const struct word *w, const char *text)
{
	return w->size == strlen(text) && !memcmp(w->text, text, w->size);
}

static int digit_of(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

bool ptxword_number(const struct word *w, uint64_t *value)
{
	size_t i = 0, n = w->size;
	int base = 10;

	if (w->kind != WORD_NUMBER)
		return false;
	if (n > 1 && w->text[n - 1] == 'U')
		n--;
	if (n > 1 && w->text[0] == '0') {
		char c = w->text[1];

		base = c == 'x' || c == 'X' ? 16 : c == 'b' || c == 'B' ? 2 : 8;
		i = base == 8 ? 1 : 2;
		if (i == n)
			return false;
	}
	for (*value = 0; i < n; i++) {
		int d = digit_of(w->text[i]);

		if (d >= base || __builtin_mul_overflow(*value, (uint64_t)base, value) ||
			__builtin_add_overflow(*value, (uint64_t)d, value))
			return false;
	}
	return true;
}
