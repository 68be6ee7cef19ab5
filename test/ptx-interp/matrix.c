/*
 * Matrix instructions that access memory: wmma of every shape, type and layout, compared with products in C; ldmatrix
 * and stmatrix; and their invalid forms.
 */
#include "test/check.h"
#include "rig.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 32, AREA = 8192, PAD = 8 };

/* The number of registers of each fragment, by the PTX manual. */
static const struct form {
	unsigned m, n, k;
	const char *type, *out; /* of A and B; of C and D */
	unsigned a, b, c;
} forms[] = {
	{16, 16, 16, "f16", "f32", 8, 8, 8},
	{32, 8, 16, "f16", "f32", 8, 8, 8},
	{8, 32, 16, "f16", "f32", 8, 8, 8},
	{16, 16, 16, "f16", "f16", 8, 8, 4},
	{16, 16, 16, "bf16", "f32", 4, 4, 8},
	{32, 8, 16, "bf16", "f32", 8, 2, 8},
	{8, 32, 16, "bf16", "f32", 2, 8, 8},
	{16, 16, 8, "tf32", "f32", 4, 4, 8},
	{8, 8, 4, "f64", "f64", 1, 1, 2},
	{16, 16, 16, "s8", "s32", 2, 2, 8},
	{32, 8, 16, "u8", "s32", 4, 1, 8},
	{8, 32, 16, "s8", "s32", 1, 4, 8},
	{8, 8, 32, "s4", "s32", 1, 1, 2},
	{8, 8, 32, "u4", "s32", 1, 1, 2},
};

static unsigned bits_of(const char *type)
{
	return !strcmp(type, "tf32") ? 32 : (unsigned)atoi(type + strcspn(type, "0123456789"));
}

/* ---- elements in memory ----------------------------------------------------------------------------- */

/* Small integers, so that every format represents them and their sums of products exactly. */
static void put(uint8_t *p, const char *type, unsigned i, int v)
{
	unsigned bits = bits_of(type);
	float f = (float)v;
	double d = v;
	uint32_t u;
	_Float16 h = (_Float16)f;

	memcpy(&u, &f, 4);
	if (!strcmp(type, "f64"))
		memcpy(p + 8 * i, &d, 8);
	else if (!strcmp(type, "f32") || !strcmp(type, "tf32"))
		memcpy(p + 4 * i, &f, 4);
	else if (!strcmp(type, "f16"))
		memcpy(p + 2 * i, &h, 2);
	else if (!strcmp(type, "bf16"))
		memcpy(p + 2 * i, (uint8_t *)&u + 2, 2);
	else if (bits == 32)
		memcpy(p + 4 * i, &v, 4);
	else if (bits == 8)
		p[i] = (uint8_t)v;
	else
		p[i / 2] = (uint8_t)((p[i / 2] & (i % 2 ? 0x0f : 0xf0)) | (v & 15) << 4 * (i % 2));
}

static int get(const uint8_t *p, const char *type, unsigned i)
{
	_Float16 h;
	float f;
	double d;
	int v;

	memcpy(&h, p + 2 * i, 2);
	memcpy(&f, p + 4 * i, 4);
	memcpy(&d, p + 8 * i, 8);
	memcpy(&v, p + 4 * i, 4);
	return !strcmp(type, "f16") ? (int)(float)h : !strcmp(type, "f32") ? (int)f : !strcmp(type, "f64") ? (int)d : v;
}

/* ---- wmma ------------------------------------------------------------------------------------------- */

static char text[1 << 18];
static size_t len;

static void say_list(const char *name, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, "%s%%%s%u", i ? ", " : "{", name, i);
	len += (size_t)snprintf(text + len, sizeof text - len, "}");
}

#define SAY(...) (len += (size_t)snprintf(text + len, sizeof text - len, __VA_ARGS__))

static void say_kernel(unsigned which, const struct form *f, unsigned layouts)
{
	const char *la = layouts & 1 ? "col" : "row", *lb = layouts & 2 ? "col" : "row",
		   *lc = layouts & 4 ? "col" : "row";
	const char *reg = !strcmp(f->type, "f64") ? "f64" : "b32";
	char shape[32], types[64];

	snprintf(shape, sizeof shape, "m%un%uk%u", f->m, f->n, f->k);
	snprintf(types, sizeof types, strcmp(f->type, "f16") ? "%s.%s.%s.%s" : "%s.%s", f->out,
		strcmp(f->type, "f16") ? f->type : f->out, f->type, f->out);
	SAY(".visible .entry k%u_%u(.param .u64 d, .param .u64 a, .param .u64 b, .param .u64 c, .param .u64 la,\n",
		which, layouts);
	SAY("	.param .u64 lb, .param .u64 lc)\n{ .reg .%s %%a<8>, %%b<8>, %%c<8>; .reg .b64 %%p<8>; .reg .b32 "
	    "%%s<4>;\n",
		reg);
	SAY("ld.param.u64 %%p0, [d]; ld.param.u64 %%p1, [a]; ld.param.u64 %%p2, [b]; ld.param.u64 %%p3, [c];\n");
	SAY("ld.param.u32 %%s0, [la]; ld.param.u32 %%s1, [lb]; ld.param.u32 %%s2, [lc];\n");
	SAY("wmma.load.a.sync.aligned.%s.%s.global.%s ", la, shape, f->type);
	say_list("a", f->a);
	SAY(", [%%p1], %%s0;\nwmma.load.b.sync.aligned.%s.%s.%s ", lb, shape, f->type);
	say_list("b", f->b);
	SAY(", [%%p2], %%s1;\nwmma.load.c.sync.aligned.%s.%s.global.%s ", lc, shape, f->out);
	say_list("c", f->c);
	SAY(", [%%p3], %%s2;\nwmma.mma.sync.aligned.%s.%s.%s.%s%s ", la, lb, shape, types,
		!strcmp(f->type, "f64") ? ".rn" : "");
	say_list("c", f->c);
	SAY(", ");
	say_list("a", f->a);
	SAY(", ");
	say_list("b", f->b);
	SAY(", ");
	say_list("c", f->c);
	SAY(";\nwmma.store.d.sync.aligned.%s.%s.global.%s [%%p0], ", lc, shape, f->out);
	say_list("c", f->c);
	SAY(", %%s2; ret; }\n");
}

/* Elements of less than a byte exist only with A by rows and B by columns. */
static bool exists(const struct form *f, unsigned layouts)
{
	return bits_of(f->type) >= 8 || (layouts & 3) == 2;
}

static unsigned place(bool col, unsigned ld, unsigned row, unsigned column)
{
	return col ? column * ld + row : row * ld + column;
}

static void test_wmma(struct rig *r, unsigned which, const struct form *f, unsigned layouts)
{
	bool ca = layouts & 1, cb = layouts & 2, cc = layouts & 4;
	unsigned pad = bits_of(f->type) < 8 ? 32 : PAD;
	unsigned la = (ca ? f->m : f->k) + pad, lb = (cb ? f->k : f->n) + pad, lc = (cc ? f->m : f->n) + PAD;
	static uint8_t *a, *b, *c, *d;
	int va[32][32], vb[32][32], low = *f->type == 'u' ? 0 : -8, high = bits_of(f->type) == 4 && low ? 15 : 16;
	char name[32];

	if (!a) {
		a = rig_alloc(r, AREA);
		b = rig_alloc(r, AREA);
		c = rig_alloc(r, AREA);
		d = rig_alloc(r, AREA);
	}
	memset(d, 0x55, AREA);
	for (unsigned k = 0; k < f->k; k++) {
		for (unsigned i = 0; i < f->m; i++)
			put(a, f->type, place(ca, la, i, k), va[i][k] = low + rand() % high);
		for (unsigned j = 0; j < f->n; j++)
			put(b, f->type, place(cb, lb, k, j), vb[k][j] = low + rand() % high);
	}
	for (unsigned i = 0; i < f->m; i++)
		for (unsigned j = 0; j < f->n; j++)
			put(c, f->out, place(cc, lc, i, j), rand() % 200 - 100);
	snprintf(name, sizeof name, "k%u_%u", which, layouts);
	CHECK_EQ(RUN(r, name, DIM(1, 1, 1), DIM(LANES, 1, 1), 0, P(d), P(a), P(b), P(c), la, lb, lc), INTERP_OK);
	for (unsigned i = 0; i < f->m; i++)
		for (unsigned j = 0; j < f->n; j++) {
			int want = get(c, f->out, place(cc, lc, i, j)), got = get(d, f->out, place(cc, lc, i, j));

			for (unsigned k = 0; k < f->k; k++)
				want += va[i][k] * vb[k][j];
			if (want == got)
				continue;
			fprintf(stderr, "%s.%s m%u layouts %u: %d at %u, %u, not %d\n", f->type, f->out, f->m, layouts,
				got, i, j, want);
			failures++;
			return;
		}
}

/* ---- ldmatrix and stmatrix -------------------------------------------------------------------------- */

static const char rows[] =
	".visible .entry ldm%u%s(.param .u64 out, .param .u64 in)\n"
	"{ .reg .b32 %%v<4>, %%r<8>; .reg .b64 %%p<8>; .reg .pred %%q; .shared .align 16 .b8 box[512];\n"
	"ld.param.u64 %%p0, [out]; ld.param.u64 %%p1, [in]; mov.u32 %%r0, %%tid.x;\n"
	"mov.u32 %%v0, 9; mov.u32 %%v1, 9; mov.u32 %%v2, 9; mov.u32 %%v3, 9;\n"
	"mad.wide.u32 %%p2, %%r0, 16, %%p1; ld.global.v2.u64 {%%p3, %%p4}, [%%p2];\n"
	"xor.b32 %%r1, %%r0, 3; mov.u32 %%r2, box; mad.lo.u32 %%r1, %%r1, 16, %%r2; st.shared.v2.u64 [%%r1], {%%p3, "
	"%%p4};\n"
	"setp.ge.u32 %%q, %%r0, %u; @%%q mov.u32 %%r1, -1; bar.warp.sync -1;\n" /* unused addresses */
	"ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 %s, [%%r1];\n"
	"mad.wide.u32 %%p2, %%r0, 16, %%p0; st.global.v4.u32 [%%p2], {%%v0, %%v1, %%v2, %%v3}; ret; }\n"
	".visible .entry stm%u%s(.param .u64 out, .param .u64 in)\n"
	"{ .reg .b32 %%v<4>, %%r<8>; .reg .b64 %%p<8>;\n"
	"ld.param.u64 %%p0, [out]; ld.param.u64 %%p1, [in]; mov.u32 %%r0, %%tid.x;\n"
	"mad.wide.u32 %%p2, %%r0, 16, %%p1; ld.global.v4.u32 {%%v0, %%v1, %%v2, %%v3}, [%%p2];\n"
	"mad.wide.u32 %%p2, %%r0, 16, %%p0; stmatrix.sync.aligned.m8n8.x%u%s.b16 [%%p2], %s; ret; }\n";

static void say_rows(unsigned n, const char *trans)
{
	const char *list = n == 1 ? "{%v0}" : n == 2 ? "{%v0, %v1}" : "{%v0, %v1, %v2, %v3}";
	const char *name = *trans ? "t" : "";

	SAY(rows, n, name, 8 * n, n, trans, list, n, name, n, trans, list);
}

/* Element h of lane l in matrix i: row l / 4, column 2 (l % 4) + h, or transposed. */
static void test_rows(struct rig *r, unsigned n, bool trans)
{
	uint16_t *in = rig_alloc(r, 512), *out = rig_alloc(r, 512);
	char name[16];

	for (unsigned i = 0; i < 256; i++)
		in[i] = (uint16_t)(i + 1);
	snprintf(name, sizeof name, "ldm%u%s", n, trans ? "t" : "");
	CHECK_EQ(RUN(r, name, DIM(1, 1, 1), DIM(LANES, 1, 1), 0, P(out), P(in)), INTERP_OK);
	for (unsigned l = 0; l < LANES; l++)
		for (unsigned i = 0; i < 4; i++)
			for (unsigned h = 0; h < 2; h++) {
				unsigned a = l / 4, b = l % 4 * 2 + h, row = 8 * i + (trans ? b : a);

				CHECK_EQ(out[8 * l + 2 * i + h], i >= n ? (h ? 0 : 9) : 8 * row + (trans ? a : b) + 1);
			}
	memset(out, 0, 512);
	snprintf(name, sizeof name, "stm%u%s", n, trans ? "t" : "");
	CHECK_EQ(RUN(r, name, DIM(1, 1, 1), DIM(LANES, 1, 1), 0, P(out), P(in)), INTERP_OK);
	for (unsigned l = 0; l < LANES; l++)
		for (unsigned i = 0; i < n; i++)
			for (unsigned h = 0; h < 2; h++) {
				unsigned a = l / 4, b = l % 4 * 2 + h;

				CHECK_EQ(out[8 * (8 * i + (trans ? b : a)) + (trans ? a : b)], in[8 * l + 2 * i + h]);
			}
}

/* ---- invalid forms ---------------------------------------------------------------------------------- */

/* Registers of the wrong width, and too few registers. */
static void test_refused(void)
{
	static const char *const wrong[] = {
		"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%h0,%h1,%h2,%h3,%h4,%h5,%h6,%h7}, [%p];",
		"wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%r0}, [%p];",
		"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6}, [%p];",
		"wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%p], {%d0,%d1,%d2,%d3,%d4,%d5,%d6,%d7};",
		"wmma.load.b.sync.aligned.row.m8n8k32.global.s4 {%r0}, [%p];",
		"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%h0,%h1,%h2,%h3}, [%r0];",
		"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0,%r1,%r2,%r3}, [%r0];",
		"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%h0,%h1,%h2,%h3}, {%r0,%r1,%r2,%r3}, {%r0,%r1}, "
		"{%r0,%r1,%r2,%r3};",
	};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char ptx[1024], why[256] = "";
		struct ptx_module *m;
		struct interp_program *p;
		struct interp_kernel *k;

		snprintf(ptx, sizeof ptx,
			PTX_HEAD ".visible .entry k(.param .u64 x) { .reg .b16 %%h<8>; .reg .b32 %%r<8>;\n"
				 ".reg .b64 %%d<8>; .reg .b64 %%p; ld.param.u64 %%p, [x];\n%s ret; }",
			wrong[i]);
		m = ptx_module_create(ptx, strlen(ptx));
		p = interp_create(m);
		CHECK(interp_kernel(p, ptx_function_find(m, "k"), &k, why, sizeof why) != 0);
		CHECK(strstr(why, "line 6"));
		interp_destroy(p);
		ptx_module_destroy(m);
	}
}

static void test_faults(struct rig *r)
{
	uint8_t *p = rig_alloc(r, 16 * 16 * 2), *d = rig_alloc(r, 16 * 16 * 4);

	CHECK_EQ(RUN(r, "k0_0", DIM(1, 1, 1), DIM(LANES, 1, 1), 0, P(d), P(p), P(p), P(d), 16, 16, 16), INTERP_OK);
	CHECK_EQ(RUN(r, "k0_0", DIM(1, 1, 1), DIM(LANES, 1, 1), 0, P(d), P(p), P(p), P(d), 17, 16, 16),
		INTERP_ILLEGAL_ADDRESS);
	CHECK_EQ(RUN(r, "k0_0", DIM(1, 1, 1), DIM(LANES, 1, 1), 0, P(d), P(p), P(p), P(d), 16, 16, 1u << 31),
		INTERP_ILLEGAL_ADDRESS);
	CHECK_EQ(RUN(r, "stm4", DIM(1, 1, 1), DIM(LANES, 1, 1), 0, P(d) + 1000, P(p)), INTERP_MISALIGNED_ADDRESS);
	CHECK_EQ(RUN(r, "stm4", DIM(1, 1, 1), DIM(LANES, 1, 1), 0, P(d) + 1008, P(p)), INTERP_ILLEGAL_ADDRESS);
}

int main(void)
{
	static struct rig r;
	size_t nforms = sizeof forms / sizeof *forms;

	SAY(PTX_HEAD);
	for (unsigned i = 0; i < nforms; i++)
		for (unsigned layouts = 0; layouts < 8; layouts++)
			if (exists(&forms[i], layouts))
				say_kernel(i, &forms[i], layouts);
	for (unsigned n = 1; n <= 4; n *= 2) {
		say_rows(n, "");
		say_rows(n, ".trans");
	}
	rig_open(&r, text);
	for (unsigned i = 0; i < nforms; i++)
		for (unsigned layouts = 0; layouts < 8; layouts++)
			if (exists(&forms[i], layouts))
				test_wmma(&r, i, &forms[i], layouts);
	for (unsigned n = 1; n <= 4; n *= 2) {
		test_rows(&r, n, false);
		test_rows(&r, n, true);
	}
	test_faults(&r);
	rig_close(&r);
	test_refused();
	return RESULT();
}
