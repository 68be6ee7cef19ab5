/*
 * PTX texts: the architecture and version that src/image reads without the parser, and the kernels, parameters and
 * variables that the parser's modules turn into.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/check.h"
#include "test/image/read_code.h"

#define HEAD ".version 8.4\n.target sm_90a, debug\n.address_size 64\n"

/* Reads a copy without a terminator, so that a sanitizer sees a read behind the end. */
static struct read_code read_text(const char *text)
{
	size_t size = strlen(text);
	char *copy = malloc(size ? size : 1);
	struct read_code r;

	memcpy(copy, text, size);
	r = read_code(copy, size);
	free(copy);
	return r;
}

/* The only entry of a text, as an image; false: refused. */
static bool read_target(const char *text, struct image_entry *e)
{
	size_t size = strlen(text);
	char *copy = malloc(size ? size : 1);
	struct image_iter it;
	struct image image;
	bool found = false;

	memcpy(copy, text, size);
	if (!image_init(&image, copy, size)) {
		image_iter_init(&it, &image, 0);
		found = image_next(&it, e);
		CHECK(found || it.error == -EINVAL);
	}
	image_finish(&image);
	free(copy);
	return found;
}

static void test_targets(void)
{
	static const char *const refused[] = {"", "hello", "// only a comment", ".version 8.4\n",
		".version 8.4 .target", ".version x\n.target sm_90", ".version 8\n.target sm_90",
		".version 8.4x\n.target sm_90", ".version 8.4\n.target map_f64_to_f32\n.entry k() {}",
		".version 8.4\n.target sm_\n", ".version 8.4\n.target sm_90b\n", ".version 8.4\n.target sm_90,\n",
		"/* open", ".versions 8.4 .target sm_90"};
	struct image_entry e;

	CHECK(read_target("// .version 1.0 .target sm_10\n/* .version 2.0\n */ .version /**/ 8.4 // x\n.target\n"
			  "\tdebug , sm_90a",
		&e));
	CHECK(e.kind == IMAGE_ENTRY_PTX && e.version_major == 8 && e.version_minor == 4);
	CHECK(e.sm == 90 && e.arch_specific && !e.family);
	CHECK(read_target(".version 8.8 .target sm_100f .address_size 64", &e) && e.sm == 100 && e.family);
	CHECK(read_target(".version 7.0 .target compute_75, texmode_independent\n", &e) && e.sm == 75);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (read_target(refused[i], &e))
			printf("invalid PTX accepted: %s\n", refused[i]), failures++;
}

static void test_odd_text(void)
{
	struct read_code r =
		read_text("// .entry no(.param .u32 a) { /* \n"
			  "/* .version 1.0 \n */\n" HEAD ".file 1 \"a } { ; \\\" .entry str() {}\"\n"
			  ".section .debug_abbrev { .b8 1, 2 \n .b8 17 }\n"
			  ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
			  ".func (.reg .u32 %r) helper (.reg .u32 %a) { .shared .b8 scratch[8]; { ret; } }\n"
			  ".visible .func noargs { ret; }\n"
			  ".pragma \"nounroll\";\n"
			  ".visible .entry announced(.param .u32 a);\n"
			  ".weak .entry $odd_1()\n{ .loc 1 2 3\n ret; }\n"
			  ".entry plain() .reqntid 0x40 { ret; }\n");
	const struct image_code *code = r.code;
	const struct image_kernel *k;

	CHECK(code);
	if (!code)
		return (void)puts(r.error);
	CHECK(code->nkernels == 2 && code->sm == 90);
	CHECK(image_code_kernel(code, "$odd_1") && !image_code_kernel(code, "str"));
	k = image_code_kernel(code, "plain");
	CHECK(k && k->nparams == 0 && k->param_bytes == 0 && k->req_threads[0] == 64 && k->req_threads[2] == 1);
	CHECK(k && k->local && !k->shared_bytes);
	read_code_finish(&r);
}

static void test_layout(void)
{
	static const struct image_param want[] = {{0, 1}, {8, 8}, {16, 32}, {48, 2}, {56, 8}, {64, 15}};
	struct read_code r = read_text(
		HEAD ".weak .entry k$1 ( .param .u8 a, .param .u64 .ptr .global .align 4 b ,\n"
		     "	.param .align 16 .b8 c[32], .param .u16 d, .param .v2 .f32 e, .param .b8 f[3][5] )\n"
		     ".maxntid 256, 2\n.minnctapersm 3 .maxnreg 64 .pragma \"x\";\n.explicitcluster "
		     ".reqnctapercluster 2,1,1 .maxclusterrank 8\n"
		     "{\n.reg .u32 %r<4>; .shared .align 8 .b8 s[100]; .shared .u64 t;\n"
		     "	{ .local .align 16 .b8 depot[40]; st.local.u32 [depot], %r1; }\n"
		     "	ld.shared.u32 %r1, [s]; ret;\n}\n");
	const struct image_kernel *k = r.code ? image_code_kernel(r.code, "k$1") : NULL;

	CHECK(k);
	if (!k)
		puts(r.error);
	if (k) {
		CHECK(k->nparams == 6 && !memcmp(k->params, want, sizeof want));
		CHECK(k->param_bytes == 79 && !k->local);
		CHECK(k->max_threads[0] == 256 && k->max_threads[1] == 2 && k->max_threads[2] == 1);
		CHECK(k->min_blocks == 3 && k->max_regs == 64 && k->cluster[0] == 2 && k->explicit_cluster);
		CHECK(k->max_cluster_rank == 8 && k->shared_bytes == 112 && k->local_bytes == 48);
	}
	read_code_finish(&r);
}

static void test_variables(void)
{
	struct read_code r = read_text(
		HEAD ".global .align 4 .u32 a = 7;\n"
		     ".visible .global .attribute(.unified(19, 95), .managed) .align 8 .b8 m[24];\n"
		     ".extern .global .u64 elsewhere;\n"
		     ".const .align 4 .f32 c[5] = {0f3F800000, 1.5, 0, 0, 0};\n"
		     ".global .v4 .f32 quad[2], one;\n"
		     ".global .u32 counted[] = {1, 2, 3};\n"
		     ".global .b16 nested[][2] = {{1, 2}, {3, 4}, {5, 6}};\n"
		     ".global .u64 pointers[2] = {generic(a), a};\n"
		     ".global .texref tex;\n.tex .u32 old;\n"
		     ".shared .align 4 .b8 pool[64];\n.extern .shared .align 16 .b8 dyn[];\n"
		     ".func f() { .reg .u32 %r1; mov.u32 %r1, pool; ret; }\n"
		     ".entry user() { .reg .u32 %r<4>; mov.u32 %r1, pool; mov.u32 %r2, pool; mov.u32 %r3, dyn; ret; }\n"
		     ".entry other() { .shared .b8 x; .reg .u32 %r; mov.u32 %r, x; ret; }\n");
	static const struct {
		const char *name;
		uint64_t size, align;
	} want[] = {{"a", 4, 4}, {"m", 24, 8}, {"elsewhere", 8, 8}, {"c", 20, 4}, {"quad", 32, 16}, {"one", 16, 16},
		{"counted", 12, 4}, {"nested", 12, 2}, {"pointers", 16, 8}, {"tex", 8, 8}, {"old", 4, 4}};
	const struct image_code *code = r.code;
	const struct image_global *g;

	CHECK(code);
	if (!code)
		return (void)puts(r.error);
	CHECK(code->nglobals == sizeof want / sizeof *want && code->const_bytes == 20);
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		g = image_code_global(code, want[i].name);
		CHECK(g && g->size == want[i].size && g->align == want[i].align);
		CHECK(g && g->managed == !strcmp(g->name, "m") && g->external == !strcmp(g->name, "elsewhere"));
		CHECK(g && g->opaque == (!strcmp(g->name, "tex") || !strcmp(g->name, "old")));
		CHECK(g && (g->space == IMAGE_SPACE_CONST) == !strcmp(g->name, "c"));
		CHECK(g && g->local == (strcmp(g->name, "m") && strcmp(g->name, "elsewhere")));
	}
	CHECK(image_code_kernel(code, "user") && image_code_kernel(code, "user")->shared_bytes == 64);
	CHECK(image_code_kernel(code, "other") && image_code_kernel(code, "other")->shared_bytes == 16);
	read_code_finish(&r);
}

static void expect_refusal(const char *text, unsigned line)
{
	struct read_code r = read_text(text);

	if (r.code || r.module->error.line != line)
		printf("line %u instead of %u, '%s', for: %s\n", r.module->error.line, line, r.error, text), failures++;
	read_code_finish(&r);
}

/* Declarations whose sizes would not fit struct image_kernel, and texts without an architecture. */
static void test_errors(void)
{
	expect_refusal(".version 8.4\n.entry k() { ret; }", 1);
	expect_refusal(".version 8.4\n.target map_f64_to_f32\n.entry k() { ret; }", 1);
	expect_refusal(HEAD ".entry k(.param .b8 a[99999999999999999999]) { ret; }", 4);
	expect_refusal(HEAD ".entry k(.param .b64 a[1073741824][1073741824][1073741824]) { ret; }", 4);
	expect_refusal(HEAD ".entry k(.param .b64 a[1000000]) { ret; }", 4);
	expect_refusal(HEAD ".entry k(.param .b8 a[600000],\n.param .b8 b[600000]) { ret; }", 4);
}

/* A kernel whose shared memory does not fit 32 bits: the layout is refused, and the kernel has no size. */
static void test_too_much_shared(void)
{
	static const char text[] =
		HEAD ".entry k() { .shared .b8 a[2147483647]; .shared .b8 b[2147483647]; .reg .u32 %r;"
		     "mov.u32 %r, a; mov.u32 %r, b; .shared .b8 c[1000]; mov.u32 %r, c; ret; }";
	struct read_code r = {.module = ptx_module_create(text, sizeof text - 1)};

	CHECK(ptx_code_create(&r.code, &r.module, 1) == 0 && r.code->nkernels == 1 && r.code->kernels[0].unmeasured);
	CHECK(ptx_code_measure(&r.code->kernels[0], ptx_function_find(r.module, "k")) != 0);
	CHECK(!r.code->kernels[0].shared_bytes && !r.code->kernels[0].unmeasured);
	read_code_finish(&r);
}

int main(void)
{
	test_targets();
	test_odd_text();
	test_layout();
	test_variables();
	test_errors();
	test_too_much_shared();
	return failures != 0;
}
