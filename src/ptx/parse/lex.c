/* The lexer of PTX: tokens, positions to come back to, and the recording of the parser's first error. */
#include "ptx/parse/parse.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool parse_failed(const struct parser *p)
{
	return p->error->line != 0 || p->nomem;
}

static void error_record(struct parser *p, uint32_t line, uint32_t column, const char *fmt, va_list ap)
{
	struct ptx_error *e = p->error;
	const char *s = p->m->text, *end = s + p->m->text_len, *nl;
	uint32_t n;

	for (n = 1; n < line && (nl = memchr(s, '\n', end - s)); n++)
		s = nl + 1;
	nl = memchr(s, '\n', end - s);
	e->text = s;
	e->text_len = (nl ? nl : end) - s;
	e->line = line;
	e->column = column;
	vsnprintf(e->message, sizeof e->message, fmt, ap);
}

void parse_fail(struct parser *p, const struct token *at, const char *fmt, ...)
{
	va_list ap;

	if (parse_failed(p))
		return;
	va_start(ap, fmt);
	error_record(p, at->line, at->column, fmt, ap);
	va_end(ap);
	p->cur = p->end;
	p->tok.kind = T_EOF;
}

struct token parse_token_at(const struct parser *p, uint32_t pos)
{
	struct token t = {.line = 1, .column = 1};

	for (uint32_t i = 0; i < pos && i < p->m->text_len; i++) {
		t.column++;
		if (p->m->text[i] == '\n') {
			t.line++;
			t.column = 1;
		}
	}
	return t;
}

void parse_fail_memory(struct parser *p)
{
	p->nomem = true;
	p->cur = p->end;
	p->tok.kind = T_EOF;
}

static bool is_ident_start(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static bool is_ident(int c)
{
	return is_ident_start(c) || is_digit(c);
}

static void lex_newline(struct parser *p)
{
	p->line++;
	p->line_start = p->cur + 1;
}

static uint32_t column_of(const struct parser *p, const char *s)
{
	return s - p->line_start + 1;
}

static void skip_block_comment(struct parser *p)
{
	struct token at = {.line = p->line, .column = column_of(p, p->cur)};

	for (p->cur += 2; p->end - p->cur >= 2; p->cur++) {
		if (p->cur[0] == '*' && p->cur[1] == '/') {
			p->cur += 2;
			return;
		}
		if (*p->cur == '\n')
			lex_newline(p);
	}
	parse_fail(p, &at, "comment is not closed");
}

static void skip_space(struct parser *p)
{
	while (p->cur < p->end) {
		int c = *p->cur;

		if (c == '\n') {
			lex_newline(p);
			p->cur++;
		} else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == 0) {
			p->cur++; /* some images pad their text with NUL */
		} else if (c == '/' && p->end - p->cur > 1 && p->cur[1] == '/') {
			const char *nl = memchr(p->cur, '\n', p->end - p->cur);

			p->cur = nl ? nl : p->end;
		} else if (c == '/' && p->end - p->cur > 1 && p->cur[1] == '*') {
			skip_block_comment(p);
		} else {
			return;
		}
	}
}

static int digit_value(int c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

static void lex_digits(struct parser *p, int base)
{
	struct token *t = &p->tok;
	bool over = false;
	const char *from = p->cur;

	for (; p->cur < p->end && digit_value(*p->cur) < base; p->cur++) {
		over |= __builtin_mul_overflow(t->u, (uint64_t)base, &t->u);
		over |= __builtin_add_overflow(t->u, (uint64_t)digit_value(*p->cur), &t->u);
	}
	if (over)
		parse_fail(p, t, "integer does not fit in 64 bits");
	else if (p->cur == from)
		parse_fail(p, t, "number without digits");
}

static void lex_hex_float(struct parser *p, int kind, int digits)
{
	const char *from = p->cur += 2;

	lex_digits(p, 16);
	p->tok.kind = kind;
	if (!parse_failed(p) && p->cur - from != digits)
		parse_fail(p, &p->tok, "expected %d hexadecimal digits", digits);
}

/* strtod depends on the locale of the program: use the C locale. Such literals are rare, so that this may be slow. */
static void lex_decimal_float(struct parser *p)
{
	char buf[64];
	size_t n = p->cur - p->tok.s;
	locale_t c;
	double d;

	if (n >= sizeof buf) {
		parse_fail(p, &p->tok, "floating-point literal is too long");
		return;
	}
	memcpy(buf, p->tok.s, n);
	buf[n] = 0;
	c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c) {
		parse_fail_memory(p);
		return;
	}
	d = strtod_l(buf, NULL, c);
	freelocale(c);
	p->tok.kind = T_F64;
	memcpy(&p->tok.u, &d, sizeof d);
}

/* At a decimal number: moves past it if it has a fraction or an exponent; false for an integer. */
static bool scan_fraction(struct parser *p)
{
	const char *s = p->cur;
	bool real = false;

	while (s < p->end && is_digit(*s))
		s++;
	if (s < p->end && *s == '.') {
		real = true;
		for (s++; s < p->end && is_digit(*s); s++)
			;
	}
	if (p->end - s > 1 && (*s == 'e' || *s == 'E')) {
		const char *e = s + 1;

		if (*e == '+' || *e == '-')
			e++;
		if (e < p->end && is_digit(*e)) {
			real = true;
			for (s = e; s < p->end && is_digit(*s); s++)
				;
		}
	}
	if (real)
		p->cur = s;
	return real;
}

static void lex_number(struct parser *p)
{
	int c1 = p->end - p->cur > 1 ? p->cur[1] | 0x20 : 0;
	struct token *t = &p->tok;

	t->kind = T_INT;
	if (*p->cur == '0' && c1 == 'f') {
		lex_hex_float(p, T_F32, 8);
	} else if (*p->cur == '0' && c1 == 'd') {
		lex_hex_float(p, T_F64, 16);
	} else if (*p->cur == '0' && c1 == 'x') {
		p->cur += 2;
		lex_digits(p, 16);
	} else if (*p->cur == '0' && c1 == 'b') {
		p->cur += 2;
		lex_digits(p, 2);
	} else if (scan_fraction(p)) {
		lex_decimal_float(p);
	} else {
		lex_digits(p, *p->cur == '0' ? 8 : 10);
	}
	if (t->kind == T_INT && p->cur < p->end && *p->cur == 'U')
		p->cur++;
	if (!parse_failed(p) && p->cur < p->end && is_ident(*p->cur))
		parse_fail(p, t, "malformed number");
}

static void lex_word(struct parser *p)
{
	struct token *t = &p->tok;

	t->kind = T_DOT;
	t->s = ++p->cur;
	while (p->cur < p->end) {
		if (is_ident(*p->cur))
			p->cur++;
		else if (*p->cur == ':' && p->end - p->cur > 2 && p->cur[1] == ':' && is_ident(p->cur[2]))
			p->cur += 2;
		else
			break;
	}
	if (p->cur == t->s)
		parse_fail(p, t, "expected a word after '.'");
}

static void lex_string(struct parser *p)
{
	struct token *t = &p->tok;

	t->kind = T_STRING;
	t->s = ++p->cur;
	while (p->cur < p->end && *p->cur != '"' && *p->cur != '\n')
		p->cur += *p->cur == '\\' && p->end - p->cur > 1 && p->cur[1] != '\n' ? 2 : 1;
	if (p->cur >= p->end || *p->cur != '"') {
		parse_fail(p, t, "string is not closed");
		return;
	}
	t->len = p->cur++ - t->s;
}

static void lex_punctuation(struct parser *p)
{
	static const struct {
		char s[3];
		uint8_t kind;
	} pairs[] = {{"<<", T_SHL}, {">>", T_SHR}, {"<=", T_LE}, {">=", T_GE}, {"==", T_EQ}, {"!=", T_NE},
		{"&&", T_ANDAND}, {"||", T_OROR}};
	struct token *t = &p->tok;

	for (size_t i = 0; p->end - p->cur > 1 && i < sizeof pairs / sizeof *pairs; i++) {
		if (!memcmp(p->cur, pairs[i].s, 2)) {
			t->kind = pairs[i].kind;
			p->cur += 2;
			return;
		}
	}
	t->kind = (unsigned char)*p->cur;
	if (t->kind < '!' || t->kind > '~') {
		parse_fail(p, t, "unexpected character 0x%02x", t->kind);
		return;
	}
	p->cur++;
}

static void lex_token(struct parser *p)
{
	struct token *t = &p->tok;

	skip_space(p);
	*t = (struct token){.s = p->cur, .line = p->line, .column = column_of(p, p->cur)};
	if (p->cur >= p->end)
		return;
	if (is_ident_start(*p->cur)) {
		t->kind = T_IDENT;
		while (p->cur < p->end && is_ident(*p->cur))
			p->cur++;
	} else if (is_digit(*p->cur)) {
		lex_number(p);
	} else if (*p->cur == '.') {
		lex_word(p);
	} else if (*p->cur == '"') {
		lex_string(p);
		return;
	} else {
		lex_punctuation(p);
	}
	t->len = p->cur - t->s;
}

void parse_next(struct parser *p)
{
	if (!parse_failed(p))
		lex_token(p);
	if (parse_failed(p))
		p->tok.kind = T_EOF;
}

void parse_start(struct parser *p, struct ptx_module *m, struct ptx_error *e, size_t from, size_t to, uint32_t line,
	uint32_t column)
{
	*p = (struct parser){.m = m, .error = e, .line = line};
	p->cur = m->text + from;
	p->line_start = p->cur - (column - 1);
	p->end = m->text + to;
	parse_next(p);
}

bool token_is(const struct token *t, int kind, const char *text)
{
	return t->kind == kind && strlen(text) == t->len && !memcmp(t->s, text, t->len);
}

bool parse_accept(struct parser *p, int kind)
{
	if (p->tok.kind != kind)
		return false;
	parse_next(p);
	return true;
}

bool parse_accept_word(struct parser *p, const char *word)
{
	if (!token_is(&p->tok, T_DOT, word))
		return false;
	parse_next(p);
	return true;
}

const char *token_text(const struct token *t, char *buf, size_t size)
{
	if (t->kind == T_EOF)
		snprintf(buf, size, "end of text");
	else
		snprintf(buf, size, "'%s%.*s'", t->kind == T_DOT ? "." : "", t->len > 60 ? 60 : (int)t->len, t->s);
	return buf;
}

bool parse_expect(struct parser *p, int kind, const char *what)
{
	char buf[80];

	if (parse_accept(p, kind))
		return true;
	parse_fail(p, &p->tok, "expected %s before %s", what, token_text(&p->tok, buf, sizeof buf));
	return false;
}

char *token_copy(struct parser *p, const struct token *t)
{
	char *s = arena_strndup(p->m->arena, t->s, t->len);

	if (!s)
		parse_fail_memory(p);
	return s;
}

/* Ignores braces inside comments and strings. */
bool parse_skip_braces(struct parser *p)
{
	struct token open = p->tok;
	unsigned depth = 1;

	p->ninner = 0;
	p->inner = NULL;
	while (p->cur < p->end && depth) {
		int c = *p->cur;

		if (c == '"') {
			p->tok = (struct token){.line = p->line, .column = column_of(p, p->cur)};
			lex_string(p);
		} else if (c == '/' || c == '\n') {
			const char *before = p->cur;

			skip_space(p);
			p->cur += p->cur == before;
		} else {
			if (c == '.')
				inner_var_note(p);
			depth += (c == '{') - (c == '}');
			p->body_end = p->cur++;
		}
	}
	if (depth)
		parse_fail(p, &open, "'{' is not closed");
	else
		parse_next(p);
	return !parse_failed(p);
}

void parse_mark(const struct parser *p, struct parse_mark *k)
{
	*k = (struct parse_mark){p->cur, p->line_start, p->line, p->tok};
}

void parse_rewind(struct parser *p, const struct parse_mark *k)
{
	if (parse_failed(p))
		return;
	p->cur = k->cur;
	p->line_start = k->line_start;
	p->line = k->line;
	p->tok = k->tok;
}

int ptx_error_format(const struct ptx_error *e, char *buf, size_t size)
{
	uint32_t n = e->text_len > 200 ? 200 : e->text_len;
	uint32_t pad = e->column ? e->column - 1 : 0;
	char caret[202];

	if (!e->line)
		return snprintf(buf, size, "no error");
	if (!e->text || pad > n)
		return snprintf(buf, size, "%u:%u: %s", e->line, e->column, e->message);
	for (uint32_t i = 0; i < pad; i++)
		caret[i] = e->text[i] == '\t' ? '\t' : ' ';
	caret[pad] = '^';
	caret[pad + 1] = 0;
	return snprintf(buf, size, "%u:%u: %s\n%.*s\n%s", e->line, e->column, e->message, (int)n, e->text, caret);
}
