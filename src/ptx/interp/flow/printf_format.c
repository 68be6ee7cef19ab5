/*
 * Formats device printf.  The arguments are laid out like the fields of a C struct: integers of 4 or 8 bytes, doubles
 * and pointers.  The format is hostile: each conversion is parsed and rebuilt before the C library sees it, and
 * unknown conversions are printed unchanged.
 */
#include "ptx/interp/core.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text_buffer {
	char *text;
	size_t len, cap;
	bool failed;
};

static void text_append(struct text_buffer *o, const char *s, size_t n)
{
	char *p;

	if (o->len + n + 1 > o->cap) {
		o->cap = (o->len + n + 1) * 2;
		p = realloc(o->text, o->cap);
		if (!p) {
			o->failed = true;
			return;
		}
		o->text = p;
	}
	memcpy(o->text + o->len, s, n);
	o->len += n;
	o->text[o->len] = 0;
}

__attribute__((format(printf, 2, 3))) static void text_appendf(struct text_buffer *o, const char *fmt, ...)
{
	char buf[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (n > 0)
		text_append(o, buf, (size_t)n < sizeof(buf) ? (size_t)n : sizeof(buf) - 1);
}

struct arg_reader {
	struct warp *w;
	uint64_t at;
	int count;
	bool failed;
};

static uint64_t next_arg(struct arg_reader *r, unsigned size)
{
	uint64_t v = 0, at = (r->at + size - 1) & ~(uint64_t)(size - 1);

	if (r->failed || !mem_accessible(r->w, at, size)) {
		r->failed = true;
		return 0;
	}
	memcpy(&v, (const void *)(uintptr_t)at, size);
	r->at = at + size;
	r->count++;
	return v;
}

/* A conversion such as %-8.3lld. */
struct conversion {
	char flags[8];
	int width, precision; /* -1: absent */
	unsigned size;        /* bytes of an integer: 4 or 8; 1 and 2 for hh and h */
	char type;
};

static int parse_number(const char **p, struct arg_reader *r)
{
	int n = 0;

	if (**p == '*') {
		++*p;
		n = (int32_t)next_arg(r, 4);
	} else {
		while (isdigit((unsigned char)**p) && n < 100000)
			n = n * 10 + *(*p)++ - '0';
	}
	return n > 1000 ? 1000 : n;
}

/* Parses the text after a %. Returns the end of the conversion, or NULL if it is none. */
static const char *parse_conversion(const char *p, struct conversion *s, struct arg_reader *r)
{
	size_t n = 0;

	memset(s, 0, sizeof(*s));
	s->width = s->precision = -1;
	s->size = 4;
	while (*p && strchr("-+ #0", *p)) {
		if (n < 5 && !strchr(s->flags, *p))
			s->flags[n++] = *p;
		p++;
	}
	if (isdigit((unsigned char)*p) || *p == '*') {
		s->width = parse_number(&p, r);
		if (s->width < 0) {
			s->width = s->width < -1000 ? 1000 : -s->width;
			if (!strchr(s->flags, '-'))
				s->flags[n] = '-';
		}
	}
	if (*p == '.') {
		p++;
		s->precision = parse_number(&p, r);
	}
	for (; *p && strchr("hlLqjzt", *p); p++)
		s->size = *p == 'h' ? s->size == 2 ? 1 : 2 : 8;
	s->type = *p;
	return *p && strchr("diouxXcsfFeEgGaAp", *p) ? p + 1 : NULL;
}

static void rebuild_conversion(const struct conversion *s, const char *length, char *buf, size_t size)
{
	char width[16] = "", precision[16] = "";

	if (s->width >= 0)
		snprintf(width, sizeof(width), "%d", s->width);
	if (s->precision >= 0)
		snprintf(precision, sizeof(precision), ".%d", s->precision);
	snprintf(buf, size, "%%%s%s%s%s%c", s->flags, width, precision, length, s->type);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"

static void convert_integer(struct text_buffer *o, const struct conversion *s, struct arg_reader *r)
{
	uint64_t v = next_arg(r, s->size == 8 ? 8 : 4);
	char buf[64];

	if (s->type == 'd' || s->type == 'i') {
		v = s->size == 1 ? (uint64_t)(int8_t)v : s->size == 2 ? (uint64_t)(int16_t)v : v;
		v = s->size == 8 ? v : (uint64_t)(int32_t)v;
	} else if (s->size < 4) {
		v &= s->size == 1 ? 0xff : 0xffff;
	}
	rebuild_conversion(s, "ll", buf, sizeof(buf));
	text_appendf(o, buf, (long long)v);
}

static void convert_string(struct text_buffer *o, const struct conversion *s, struct arg_reader *r)
{
	uint64_t at = next_arg(r, 8);
	char buf[64], text[2048];

	if (r->failed)
		return;
	if (!at)
		strcpy(text, "(null)");
	else if (!mem_string(r->w, at, text, sizeof(text)))
		return;
	rebuild_conversion(s, "", buf, sizeof(buf));
	text_appendf(o, buf, text);
}

static void convert_argument(struct text_buffer *o, struct conversion *s, struct arg_reader *r)
{
	char buf[64];
	uint64_t bits;
	double d;

	switch (s->type) {
	case 's':
		convert_string(o, s, r);
		break;
	case 'c':
		rebuild_conversion(s, "", buf, sizeof(buf));
		text_appendf(o, buf, (int)next_arg(r, 4));
		break;
	case 'p':
		bits = next_arg(r, 8);
		rebuild_conversion(s, "", buf, sizeof(buf));
		text_appendf(o, buf, (void *)(uintptr_t)bits);
		break;
	case 'd':
	case 'i':
	case 'o':
	case 'u':
	case 'x':
	case 'X':
		convert_integer(o, s, r);
		break;
	default:
		bits = next_arg(r, 8);
		memcpy(&d, &bits, 8);
		rebuild_conversion(s, "", buf, sizeof(buf));
		text_appendf(o, buf, d);
	}
}

#pragma GCC diagnostic pop

char *printf_format(struct warp *w, const char *fmt, uint64_t args, size_t *len, int *nargs)
{
	struct text_buffer o = {0};
	struct arg_reader r = {.w = w, .at = args};

	text_append(&o, "", 0);
	while (*fmt && !r.failed && !o.failed) {
		size_t n = strcspn(fmt, "%");
		struct conversion s;
		const char *end;

		text_append(&o, fmt, n);
		fmt += n;
		if (!*fmt)
			break;
		if (fmt[1] == '%') {
			text_append(&o, "%", 1);
			fmt += 2;
			continue;
		}
		end = parse_conversion(fmt + 1, &s, &r);
		if (end)
			convert_argument(&o, &s, &r);
		else
			text_append(&o, fmt, 1);
		fmt = end ? end : fmt + 1;
	}
	if (r.failed)
		warp_fault(w, INTERP_ILLEGAL_ADDRESS, "printf arguments at 0x%llx cannot be read",
			(unsigned long long)args);
	if (r.failed || o.failed) {
		free(o.text);
		return NULL;
	}
	*len = o.len;
	*nargs = r.count;
	return o.text;
}
