/*
 * The declarations of PTX texts: parameters laid out as CUDA lays them out, limits, variables; comments,
 * strings and odd names do not mislead, and what is wrong is refused with its line.
 */
#include <errno.h>
#include <stdlib.h>

#include "image/image.h"
#include "test/check.h"

#define HEAD ".version 8.4\n.target sm_90a, debug\n.address_size 64\n"

static struct image_error err;

/* Read a copy without a terminator, so that a sanitizer sees the first byte too many. */
static struct image_code *read_text(const char *text)
{
	size_t size = strlen(text);
	char *copy = malloc(size ? size : 1);
	struct image_code *code;

	memcpy(copy, text, size);
	image_code_read(&code, copy, size, &err);
	free(copy);
	return code;
}

static void odd_text(void)
{
	struct image_code *code =
		read_text("// .entry no(.param .u32 a) { /* \n"
			  "/* .version 1.0 \n */\n" HEAD ".file 1 \"a } { ; \\\" .entry str() {}\"\n"
			  ".section .debug_abbrev { .b8 1, 2 \n .b8 17 }\n"
			  ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
			  ".func (.reg .u32 %r) helper (.reg .u32 %a) { .shared .b8 scratch[8]; { ret; } }\n"
			  ".visible .func noargs { ret; }\n"
			  ".pragma \"nounroll\";\n"
			  ".alias x, y;\n"
			  ".visible .entry announced(.param .u32 a);\n"
			  ".weak .entry $odd_1()\n{ .loc 1 2 3\n ret; }\n"
			  ".entry plain() .reqntid 0x40 { ret; }\n");
	const struct image_kernel *k;

	CHECK(code);
	if (!code)
		return (void)printf("line %u: %s\n", err.line, err.text);
	CHECK(code->version_major == 8 && code->version_minor == 4 && code->sm == 90 && code->arch_specific);
	CHECK(code->nkernels == 2 && code->address_size == 64);
	CHECK(image_code_kernel(code, "$odd_1") && !image_code_kernel(code, "str"));
	k = image_code_kernel(code, "plain");
	CHECK(k && k->nparams == 0 && k->param_bytes == 0 && k->req_threads[0] == 64 && k->req_threads[2] == 1);
	CHECK(k && k->local && !k->shared_bytes);
	image_code_destroy(code);
}

static void layout(void)
{
	static const struct image_param want[] = {{0, 1}, {8, 8}, {16, 32}, {48, 2}, {56, 8}, {64, 15}};
	struct image_code *code = read_text(
		HEAD ".weak .entry %k$1 ( .param .u8 a, .param .u64 .ptr .global .align 4 b ,\n"
		     "	.param .align 16 .b8 c[32], .param .u16 d, .param .v2 .f32 e, .param .b8 f[3][5] )\n"
		     ".maxntid 256, 2\n.minnctapersm 3 .maxnreg 64 .pragma \"x\";\n.explicitcluster "
		     ".reqnctapercluster 2,1,1 .maxclusterrank 8\n"
		     "{\n.reg .u32 %r<4>; .shared .align 8 .b8 s[100]; .shared .u64 t;\n"
		     "	{ .local .align 16 .b8 depot[40]; }\n"
		     "	ld.shared.u32 %r1, [s]; st.local.u32 [depot], %r1; ret;\n}\n");
	const struct image_kernel *k = code ? image_code_kernel(code, "%k$1") : NULL;

	CHECK(k);
	if (k) {
		CHECK(k->nparams == 6 && !memcmp(k->params, want, sizeof want));
		CHECK(k->param_bytes == 79 && !k->local);
		CHECK(k->max_threads[0] == 256 && k->max_threads[1] == 2 && k->max_threads[2] == 1);
		CHECK(k->min_blocks == 3 && k->max_regs == 64 && k->cluster[0] == 2 && k->explicit_cluster);
		CHECK(k->max_cluster_rank == 8 && k->shared_bytes == 112 && k->local_bytes == 40);
	}
	image_code_destroy(code);
}

static void variables(void)
{
	struct image_code *code =
		read_text(HEAD ".global .align 4 .u32 a = 7;\n"
			       ".visible .global .attribute(.unified(19, 95), .managed) .align 8 .b8 m[24];\n"
			       ".extern .global .u64 elsewhere;\n"
			       ".const .align 4 .f32 c[5] = {0f3F800000, 1.5, 0, 0, 0};\n"
			       ".global .v4 .f32 quad[2], one;\n"
			       ".global .u32 counted[] = {1, 2, 3};\n"
			       ".global .b16 nested[][2] = {{1, 2}, {3, 4}, {5, 6}};\n"
			       ".global .u64 pointers[2] = {generic(a), mask()};\n"
			       ".global .texref tex;\n.tex .u32 old;\n"
			       ".shared .align 4 .b8 pool[64];\n.extern .shared .align 16 .b8 dyn[];\n"
			       ".func f() { mov.u32 %r1, pool; }\n"
			       ".entry user() { mov.u32 %r1, pool; mov.u32 %r2, pool; mov.u32 %r3, dyn; }\n"
			       ".entry other() { .shared .b8 x; }\n");
	static const struct {
		const char *name;
		uint64_t size, align;
	} want[] = {{"a", 4, 4}, {"m", 24, 8}, {"elsewhere", 8, 8}, {"c", 20, 4}, {"quad", 32, 16}, {"one", 16, 16},
		{"counted", 12, 4}, {"nested", 12, 2}, {"pointers", 16, 8}, {"tex", 8, 8}, {"old", 4, 4}};
	const struct image_global *g;

	CHECK(code);
	if (!code)
		return (void)printf("line %u: %s\n", err.line, err.text);
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
	CHECK(image_code_kernel(code, "other") && image_code_kernel(code, "other")->shared_bytes == 1);
	image_code_destroy(code);
}

static void refuses(const char *text, unsigned line)
{
	struct image_code *code = read_text(text);

	if (code || err.line != line || !*err.text)
		printf("line %u instead of %u, '%s', for: %s\n", err.line, line, err.text, text), failures++;
	image_code_destroy(code);
}

static void errors(void)
{
	refuses("", 1);
	refuses("hello", 1);
	refuses("// only a comment", 1);
	refuses(".version 8.4\n", 2);
	refuses(".version x\n.target sm_90", 1);
	refuses(".version 8.4\n.target map_f64_to_f32\n.entry k() {}", 3);
	refuses(HEAD "/* open", 4);
	refuses(HEAD ".file 1 \"open\n", 4);
	refuses(HEAD ".entry k(.param .u32 a { ret; }", 4);
	refuses(HEAD ".entry k(.param .align 3 .b8 a[3]) { ret; }", 4);
	refuses(HEAD ".entry k(.param .b8 a[99999999999999999999]) { ret; }", 4);
	refuses(HEAD ".entry k(.param .b64 a[1073741824][1073741824][1073741824]) { ret; }", 4);
	refuses(HEAD ".entry k(.param .b64 a[1000000]) { ret; }", 4);
	refuses(HEAD ".entry k(.param .what a) { ret; }", 4);
	refuses(HEAD ".entry k() {\n ret;\n", 6);
	refuses(HEAD ".entry () {}", 4);
	refuses(HEAD ".global .u32 a", 4);
	refuses(HEAD ".entry k() { .shared .b8 a[4294967295]; .shared .b8 b[2]; }", 4);
}

int main(void)
{
	odd_text();
	layout();
	variables();
	errors();
	return failures != 0;
}
