#include "spec.h"
#include "ptx/interp/alu/half.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned spec_type_size(const char *type)
{
	unsigned bits = (unsigned)atoi(type + strcspn(type, "0123456789"));

	return strchr("usbf", type[0]) && (bits == 8 || bits == 16 || bits == 32 || bits == 64) ? bits / 8 : 0;
}

static bool is_float(const char *type)
{
	return type[0] == 'f' || !strcmp(type, "bf16");
}

static double to_double(const char *type, uint64_t bits)
{
	if (!strcmp(type, "f64"))
		return bits_f64(bits);
	if (!strcmp(type, "f32"))
		return bits_f32((uint32_t)bits);
	return !strcmp(type, "bf16") ? bf16_to_f32((uint32_t)bits) : f16_to_f32((uint32_t)bits);
}

static uint64_t from_double(const char *type, double v)
{
	if (!strcmp(type, "f64"))
		return f64_bits(v);
	if (!strcmp(type, "f32"))
		return v != v ? 0x7fffffff : f32_bits((float)v);
	return !strcmp(type, "bf16") ? f32_to_bf16((float)v) : f32_to_f16((float)v);
}

/* Reads one value at *p; false at the end of the list. */
static bool parse_value(const char **p, struct values *v, char *any)
{
	const char *s = *p;
	char *end;
	uint64_t bits;

	*any = 0;
	if (*s == '*') {
		bits = 0;
		*any = 2;
		end = (char *)s + 1;
	} else if (!strncmp(s, "0x", 2)) {
		bits = strtoull(s, &end, 16);
	} else if (is_float(v->type)) {
		bits = from_double(v->type, strtod(s, &end));
		*any = !strncmp(s, "nan", 3);
	} else {
		bits = *s == '-' ? (uint64_t)strtoll(s, &end, 10) : strtoull(s, &end, 10);
	}
	if (end == s)
		return false;
	v->bits[v->n] = v->size < 8 ? bits & ((1ull << 8 * v->size) - 1) : bits;
	*p = end;
	return true;
}

/* A list may continue in the following comment lines. */
static const char *skip_gap(const char *p)
{
	p += strspn(p, " \t\r\n");
	if (p[0] == '/' && p[1] == '/')
		p += 2;
	return p + strspn(p, " \t");
}

const char *spec_list(const char *p, struct values *v)
{
	v->bits = calloc(MAX_VALUES, sizeof *v->bits);
	v->any = calloc(MAX_VALUES, 1);
	if (!v->size || !v->bits || !v->any)
		return NULL;
	p = skip_gap(p);
	for (;;) {
		if (v->n == MAX_VALUES || !parse_value(&p, v, &v->any[v->n]))
			return NULL;
		v->n++;
		if (*p != ',')
			return p;
		p = skip_gap(p + 1);
	}
}

/* Reads name=type:v,v,v and returns its end, or NULL. */
static const char *parse_values(const char *p, struct values *v)
{
	int n = 0;

	if (sscanf(p, "%15[a-z0-9_]=%7[a-z0-9]:%n", v->name, v->type, &n) != 2 || !n)
		return NULL;
	v->size = spec_type_size(v->type);
	return spec_list(p + n, v);
}

static bool make_buffer(struct argument *a, bool fill)
{
	void *mem;

	a->bytes = (size_t)a->v.n * a->v.size;
	if (posix_memalign(&mem, 256, a->bytes ? a->bytes : 1)) /* the alignment of cuMemAlloc */
		return false;
	a->host = mem;
	memset(a->host, 0xcc, a->bytes);
	for (unsigned i = 0; fill && i < a->v.n; i++)
		memcpy((char *)a->host + i * a->v.size, &a->v.bits[i], a->v.size);
	return true;
}

static bool is_image(const char *p)
{
	p += strcspn(p, "= \n");
	return !strncmp(p, "=tex.", 5) || !strncmp(p, "=surf.", 6);
}

static const char *parse_argument(const char *p, struct spec *s)
{
	struct argument *a = &s->args[s->nargs];
	char value[40];
	int n = 0;

	if (s->nargs == MAX_ARGS)
		return NULL;
	s->nargs++;
	if (sscanf(p, "out=%15[a-z0-9_]:%7[a-z0-9]:%u%n", a->v.name, a->v.type, &a->v.n, &n) == 3 && n) {
		a->v.size = spec_type_size(a->v.type);
		return a->v.size && a->v.n <= MAX_VALUES && make_buffer(a, false) ? p + n : NULL;
	}
	if (sscanf(p, "%15[a-z0-9_]=%7[a-z0-9]!%39[^ \n]%n", a->v.name, a->v.type, value, &n) == 3 && n) {
		const char *q = value;
		char any;

		a->scalar = true;
		a->v.size = spec_type_size(a->v.type);
		a->v.bits = calloc(1, sizeof *a->v.bits);
		return a->v.size && a->v.bits && parse_value(&q, &a->v, &any) ? p + n : NULL;
	}
	p = is_image(p) ? spec_image(p, a) : parse_values(p, &a->v);
	return p && make_buffer(a, true) ? p : NULL;
}

static const char *parse_dims(const char *p, const char *word, unsigned d[3])
{
	size_t n = strlen(word);
	char *end;

	d[0] = d[1] = d[2] = 1;
	if (strncmp(p, word, n))
		return NULL;
	p += n;
	for (int i = 0; i < 3; i++) {
		d[i] = (unsigned)strtoul(p, &end, 10);
		if (end == p)
			return NULL;
		p = end;
		if (*p != ',')
			break;
		p++;
	}
	return p + strspn(p, " \t");
}

static const char *parse_launch(const char *p, struct spec *s)
{
	int n = 0;

	if (sscanf(p, " %63[A-Za-z0-9_] %n", s->kernel, &n) != 1)
		return NULL;
	p = parse_dims(p + n, "grid=", s->grid);
	p = p ? parse_dims(p, "block=", s->block) : NULL;
	if (p && sscanf(p, "shared=%u %n", &s->shared, &n) == 1)
		p += n;
	while (p) {
		p += strspn(p, " \t");
		if (!strncmp(p, "\n//\t", 4))
			p = skip_gap(p);
		if (!*p || *p == '\n')
			break;
		p = parse_argument(p, s);
	}
	return p;
}

static const char *parse_expect(const char *p, struct spec *s)
{
	struct expectation *e = &s->expect[s->nexpect];
	char *end;

	if (s->nexpect == MAX_ARGS)
		return NULL;
	s->nexpect++;
	while (*p == '~') {
		double t = strtod(p + 1, &end);
		bool ulp = !strncmp(end, "ulp", 3);

		*(ulp ? &e->ulp : &e->absolute) = t;
		p = end + (ulp ? 3 : 0);
	}
	return parse_values(p + strspn(p, " "), &e->v);
}

static bool parse_directive(const char *p, struct spec *s)
{
	p += strspn(p, " ");
	if (!strncmp(p, "launch", 6))
		return parse_launch(p + 6, s);
	if (!strncmp(p, "expect", 6))
		return parse_expect(p + 6, s);
	if (!strncmp(p, "error", 5))
		return (s->error = atoi(p + 5)) > 0;
	return s->refuse = !strncmp(p, "refuse", 6);
}

static bool read_file(const char *path, struct spec *s)
{
	FILE *f = fopen(path, "r");
	size_t room = 1 << 20;

	s->text = f ? calloc(1, room) : NULL;
	if (s->text)
		s->len = fread(s->text, 1, room - 1, f);
	if (f)
		fclose(f);
	return s->text;
}

struct spec *spec_read(const char *path)
{
	struct spec *s = calloc(1, sizeof *s);
	unsigned line = 1;

	if (!s || !read_file(path, s)) {
		free(s);
		return NULL;
	}
	for (const char *p = s->text; *p; line++) {
		const char *eol = strchrnul(p, '\n');

		if (!strncmp(p, "// >>>", 6) && !parse_directive(p + 6, s)) {
			snprintf(s->why, sizeof s->why, "line %u is malformed", line);
			break;
		}
		p = *eol ? eol + 1 : eol;
	}
	if (!s->why[0] && (!s->kernel[0] || (!s->nexpect && !s->error && !s->refuse)))
		snprintf(s->why, sizeof s->why, "no launch or nothing expected");
	return s;
}

void spec_free(struct spec *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < MAX_ARGS; i++) {
		free(s->args[i].v.bits);
		free(s->args[i].v.any);
		free(s->args[i].host);
		free(s->expect[i].v.bits);
		free(s->expect[i].v.any);
	}
	free(s->text);
	free(s);
}

/* ---- comparing ---- */

/* Maps a float to an integer so that neighbouring floats differ by one, also across zero. */
static int64_t ordered(const struct values *v, uint64_t bits)
{
	uint64_t top = 1ull << (8 * v->size - 1);

	return bits & top ? -(int64_t)(bits & ~top) : (int64_t)bits;
}

static bool agrees(const struct expectation *e, unsigned i, uint64_t got)
{
	uint64_t want = e->v.bits[i];
	double g, w;

	if (e->v.any[i] == 2 || got == want)
		return true;
	if (!is_float(e->v.type))
		return fabs((double)(int64_t)(got - want)) <= e->absolute;
	g = to_double(e->v.type, got);
	w = to_double(e->v.type, want);
	if (g != g || w != w)
		return g != g && w != w && (e->v.any[i] || e->ulp > 0 || e->absolute > 0);
	if (e->ulp > 0 && (double)llabs(ordered(&e->v, got) - ordered(&e->v, want)) <= e->ulp)
		return true;
	return e->absolute > 0 && fabs(g - w) <= e->absolute;
}

static void print_value(const struct values *v, uint64_t bits)
{
	if (is_float(v->type))
		fprintf(stderr, "0x%0*llx (%.9g)", 2 * v->size, (unsigned long long)bits, to_double(v->type, bits));
	else
		fprintf(stderr, "0x%0*llx", 2 * v->size, (unsigned long long)bits);
}

static unsigned compare_one(const struct spec *s, const struct expectation *e, const char *path)
{
	const struct argument *a = NULL;
	unsigned bad = 0;

	for (unsigned i = 0; i < s->nargs; i++)
		if (!strcmp(s->args[i].v.name, e->v.name))
			a = &s->args[i];
	if (!a || !a->host || a->bytes < (size_t)e->v.n * e->v.size) {
		fprintf(stderr, "%s: no buffer '%s' of that size\n", path, e->v.name);
		return 1;
	}
	for (unsigned i = 0; i < e->v.n; i++) {
		uint64_t got = 0;

		memcpy(&got, (char *)a->host + i * e->v.size, e->v.size);
		if (agrees(e, i, got))
			continue;
		if (bad++ < 8) {
			fprintf(stderr, "%s: %s[%u] is ", path, e->v.name, i);
			print_value(&e->v, got);
			fprintf(stderr, ", not ");
			print_value(&e->v, e->v.bits[i]);
			fprintf(stderr, "\n");
		}
	}
	return bad;
}

unsigned spec_compare(const struct spec *s, const char *path)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < s->nexpect; i++)
		bad += compare_one(s, &s->expect[i], path);
	return bad;
}
