/*
 * ptx-video: compares video instructions of random forms with a model (video.h).
 *
 *	ptx-video [--cuda] [SEED]
 *
 * Uses our interpreter or, with --cuda, the libcuda.so.1 that the loader finds.  Each difference is printed with its
 * inputs, so that the results of a GPU show its rules.
 */
#include "video.h"
#include "spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 64, FORMS = 60, SHOWN = 4 };

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 32) % below);
}

static uint32_t value(void)
{
	static const uint32_t special[] = {0, 1, 2, 5, 31, 32, 33, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000,
		0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x7f80ff01, 0x80007fff, 0xff00ff00};

	return draw(2) ? special[draw(sizeof special / sizeof special[0])] : draw(0x10000) << 16 | draw(0x10000);
}

static struct part draw_part(void)
{
	unsigned n = draw(9);

	return n < 4 ? (struct part){8, n} : n < 6 ? (struct part){16, n - 4} : (struct part){32, 0};
}

static void draw_mad(struct video *v)
{
	v->shift = (unsigned[]){0, 7, 15}[draw(3)];
	v->po = !draw(4);
	if (v->po)
		return;
	v->minus[0] = !draw(3);
	v->minus[1] = !draw(3);
	v->minus[2] = v->minus[0] == v->minus[1] && !draw(3);
}

static void draw_scalar(struct video *v)
{
	v->part[1] = draw_part();
	v->part[2] = draw_part();
	if (v->op == MAD) {
		draw_mad(v);
		return;
	}
	v->second = "\0+<>"[draw(4)];
	do
		v->part[0] = draw_part();
	while (v->part[0].bits == 32);
	v->merge = !v->second && draw(2);
}

static void draw_simd(struct video *v)
{
	v->second = draw(3) ? 0 : '+';
	v->sat = v->sat && !v->second;
	for (int k = 0; k < 3; k++)
		v->selected[k] = draw(2);
	do
		for (unsigned i = 0; i < v->elements; i++)
			v->mask[i] = draw(2);
	while (!v->mask[0] && !v->mask[1] && !v->mask[2] && !v->mask[3]);
	for (unsigned i = 0; i < 4; i++) {
		v->select[0][i] = draw(2 * v->elements);
		v->select[1][i] = draw(2 * v->elements);
	}
}

static struct video draw_form(enum video_op op, unsigned elements)
{
	struct video v = {.op = op, .elements = elements};

	for (int k = 0; k < 3; k++)
		v.sign[k] = draw(2);
	v.sign[2] &= op != SHL && op != SHR;
	v.sat = op != SET && draw(2);
	v.wrap = draw(2);
	v.compare = "=!<>lg"[draw(6)];
	if (elements == 1)
		draw_scalar(&v);
	else
		draw_simd(&v);
	return v;
}

/* ---- as text ---- */

static void print_mnemonic(FILE *o, const struct video *v)
{
	static const char *const names[] = {"add", "sub", "absdiff", "min", "max", "avrg", "shl", "shr", "mad", "set"};
	static const char *const compare[] = {"eq", "ne", "lt", "gt", "le", "ge"};

	fprintf(o, v->elements == 1 ? "v%s" : "v%s%u", names[v->op], v->elements);
	for (int k = v->op == SET; k < 3; k++)
		fputs(v->sign[k] ? ".s32" : ".u32", o);
	if (v->op == SET)
		fprintf(o, ".%s", compare[strchr("=!<>lg", v->compare) - "=!<>lg"]);
	fputs(v->po ? ".po" : "", o);
	fputs(v->sat ? ".sat" : "", o);
	if (v->op == SHL || v->op == SHR)
		fputs(v->wrap ? ".wrap" : ".clamp", o);
	if (v->shift)
		fprintf(o, ".shr%u", v->shift);
	if (v->second)
		fputs(v->second == '+' ? ".add" : v->second == '<' ? ".min" : ".max", o);
}

static void print_selector(FILE *o, const struct video *v, int k)
{
	char letter = v->elements == 2 ? 'h' : 'b';

	if (v->elements == 1) {
		if (k || v->merge)
			fprintf(o, v->part[k].bits == 32 ? "" : v->part[k].bits == 8 ? ".b%u" : ".h%u", v->part[k].at);
		return;
	}
	if (!v->selected[k])
		return;
	fprintf(o, ".%c", letter);
	for (unsigned i = v->elements; i--;)
		if (k)
			fprintf(o, "%u", v->select[k - 1][i]);
		else if (v->mask[i])
			fprintf(o, "%u", i);
}

static void print_form(FILE *o, const struct video *v)
{
	print_mnemonic(o, v);
	for (int k = 0; k < 3; k++) {
		fprintf(o, "%s%s%%r%d", k ? ", " : " ", k && v->minus[k - 1] ? "-" : "", k);
		print_selector(o, v, k);
	}
	if (v->elements > 1 || v->second || v->merge || v->op == MAD)
		fprintf(o, ", %s%%r3", v->minus[2] ? "-" : "");
	fputs(";", o);
}

static char *print_kernel(const struct video *forms)
{
	char *text = NULL;
	size_t size;
	FILE *o = open_memstream(&text, &size);

	if (!o)
		return NULL;
	fputs(".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry t(.param .u64 a, .param .u64 b, "
	      ".param .u64 c, .param .u64 r)\n{\n\t.reg .u64 %p<4>;\n\t.reg .u32 %r<5>;\n\tmov.u32 %r4, %tid.x;\n",
		o);
	for (int i = 0; i < 4; i++)
		fprintf(o, "\tld.param.u64 %%p%d, [%c];\n\tmad.wide.u32 %%p%d, %%r4, 4, %%p%d;\n", i, "abcr"[i], i, i);
	for (int i = 0; i < 3; i++)
		fprintf(o, "\tld.global.u32 %%r%d, [%%p%d];\n", i + 1, i);
	for (unsigned i = 0; i < FORMS; i++) {
		fputc('\t', o);
		print_form(o, &forms[i]);
		fprintf(o, "\n\tst.global.u32 [%%p3+%u], %%r0;\n", i * LANES * 4);
	}
	fputs("\tret;\n}\n", o);
	return fclose(o) ? NULL : text;
}

/* ---- running ---- */

static bool add_buffer(struct spec *s, unsigned n)
{
	struct argument *a = &s->args[s->nargs++];

	a->v.size = 4;
	a->v.n = n;
	a->bytes = n * sizeof(uint32_t);
	a->host = aligned_alloc(256, a->bytes);
	for (unsigned i = 0; a->host && i < n; i++)
		((uint32_t *)a->host)[i] = value();
	return a->host;
}

static struct spec *make_spec(const struct video *forms)
{
	struct spec *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	strcpy(s->kernel, "t");
	for (int k = 0; k < 3; k++)
		s->grid[k] = s->block[k] = 1;
	s->block[0] = LANES;
	s->text = print_kernel(forms);
	s->len = s->text ? strlen(s->text) : 0;
	if (s->text && add_buffer(s, LANES) && add_buffer(s, LANES) && add_buffer(s, LANES) &&
		add_buffer(s, FORMS * LANES))
		return s;
	spec_free(s);
	return NULL;
}

static bool agrees(const struct spec *s, const struct video *v, unsigned form)
{
	const uint32_t *a = s->args[0].host, *b = s->args[1].host, *c = s->args[2].host;
	const uint32_t *r = (const uint32_t *)s->args[3].host + form * LANES;
	unsigned bad = 0;

	for (unsigned i = 0; i < LANES; i++) {
		uint32_t want = video_model(v, a[i], b[i], c[i]);

		if (r[i] == want || bad++ >= SHOWN)
			continue;
		if (bad == 1) {
			print_form(stderr, v);
			fputc('\n', stderr);
		}
		fprintf(stderr, "\t0x%08x 0x%08x 0x%08x is 0x%08x, not 0x%08x\n", a[i], b[i], c[i], r[i], want);
	}
	return !bad;
}

/* The number of forms that differ; -1: the launch failed. */
static int run_forms(run_fn *run, enum video_op op, unsigned elements)
{
	struct video forms[FORMS];
	char message[2000] = "";
	struct spec *s;
	int r, bad = 0;

	for (unsigned i = 0; i < FORMS; i++)
		forms[i] = draw_form(op, elements);
	s = make_spec(forms);
	r = s ? run(s, message, sizeof message) : -2;
	if (r)
		fprintf(stderr, "the launch gave %d: %s\n%s", r, message, s ? s->text : "");
	for (unsigned i = 0; !r && i < FORMS; i++)
		bad += !agrees(s, &forms[i], i);
	spec_free(s);
	return r ? -1 : bad;
}

static bool exists(int op, unsigned elements)
{
	return elements == 1 ? op != AVRG : op != SHL && op != SHR && op != MAD;
}

int main(int argc, char **argv)
{
	run_fn *run = run_interp;
	int forms = 0, bad = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--cuda"))
			run = run_cuda;
		else
			state = strtoull(argv[i], NULL, 0);
	}
	for (int op = ADD; op <= SET; op++)
		for (unsigned n = 1; n <= 4; n *= 2) {
			int r = exists(op, n) ? run_forms(run, (enum video_op)op, n) : 0;

			if (r < 0)
				return 1;
			forms += exists(op, n) ? FORMS : 0;
			bad += r;
		}
	printf("%d forms, %d differ\n", forms, bad);
	return bad != 0;
}
