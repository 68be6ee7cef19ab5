/* Link PTX modules: check which definition wins, which modules the linker rejects, and that the error names the symbol. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/check.h"
#include "ptx/ptx.h"

#define HEAD                      ".version 7.0\n.target sm_70\n.address_size 64\n"
#define FUNC(linkage, name, body) linkage " .func (.param .b32 r) " name " (.param .b32 a) " body "\n"
#define BODY                      "{ ret; }"

static struct ptx_module *modules[3];
static unsigned nmodules;
static char why[256], missing[256];

static void note(void *arg, const char *name, bool function)
{
	(void)arg;
	size_t n = strlen(missing);

	snprintf(missing + n, sizeof missing - n, "%s%s ", name, function ? "()" : "");
}

static int link_texts(const char *a, const char *b)
{
	const char *texts[] = {a, b};

	nmodules = 0;
	why[0] = missing[0] = 0;
	for (int i = 0; i < 2; i++) {
		char text[2048];

		int n = snprintf(text, sizeof text, HEAD "%s", texts[i]);
		modules[i] = ptx_module_create(text, n);
		CHECK(modules[i] && !modules[i]->error.line);
		nmodules++;
	}
	return ptx_link(modules, nmodules, why, sizeof why);
}

static void finish(void)
{
	for (unsigned i = 0; i < nmodules; i++)
		ptx_module_destroy(modules[i]);
}

static void refused(const char *a, const char *b, const char *word)
{
	CHECK_EQ(link_texts(a, b), -EINVAL);
	if (!strstr(why, word))
		printf("error text \"%s\" does not contain \"%s\"\n", why, word);
	CHECK(strstr(why, word) != NULL);
	finish();
}

/* Return the index of the module that defines `name`; both modules must resolve the name to the same function. */
static unsigned winner(const char *name)
{
	struct ptx_function *f = ptx_function_find(modules[0], name);

	CHECK(f == ptx_function_find(modules[1], name));
	return f->module == modules[1];
}

static void functions(void)
{
	CHECK_EQ(link_texts(FUNC(".extern", "f", ";"), FUNC(".visible", "f", BODY)), 0);
	CHECK_EQ(winner("f"), 1);
	finish();
	CHECK_EQ(link_texts(FUNC(".weak", "f", BODY), FUNC(".visible", "f", BODY)), 0);
	CHECK_EQ(winner("f"), 1);
	finish();
	CHECK_EQ(link_texts(FUNC(".weak", "f", BODY), FUNC(".weak", "f", BODY)), 0);
	CHECK_EQ(winner("f"), 0);
	finish();
	CHECK_EQ(link_texts(FUNC("", "f", BODY), FUNC(".visible", "f", BODY)), 0);
	CHECK(ptx_function_find(modules[0], "f") != ptx_function_find(modules[1], "f"));
	finish();
	refused(FUNC(".visible", "f", BODY), FUNC(".visible", "f", BODY), "f: multiple definition");
	refused(FUNC(".extern", "f", ";"), ".visible .func f() { ret; }", "f: declared");
	refused(FUNC(".extern", "f", ";"), ".visible .global .u32 f;", "f: declared as a function");
	/* Two aliases refer to each other. */
	refused(FUNC(".extern", "b", ";") ".visible .func (.param .b32 r) a (.param .b32 a);\n.alias a, b;",
		FUNC(".extern", "a", ";") ".visible .func (.param .b32 r) b (.param .b32 a);\n.alias b, a;", "alias");
}

static void variables(void)
{
	CHECK_EQ(link_texts(".extern .global .u32 v;", ".visible .global .u32 v = 3;"), 0);
	CHECK(ptx_var_find(modules[0], "v")->defined_by == ptx_var_find(modules[1], "v"));
	finish();
	CHECK_EQ(link_texts(".common .global .b8 v[4];", ".common .global .b8 v[8];"), 0);
	CHECK(ptx_var_find(modules[0], "v")->defined_by == ptx_var_find(modules[1], "v"));
	finish();
	CHECK_EQ(link_texts(".global .u32 v = 1;", ".global .u32 v = 2;"), 0);
	CHECK(!ptx_var_find(modules[0], "v")->defined_by && !ptx_var_find(modules[1], "v")->defined_by);
	finish();
	refused(".visible .global .u32 v;", ".visible .global .u32 v;", "v: multiple definition");
	refused(".extern .global .u32 v;", ".visible .global .u64 v;", "v: declared");
	refused(".extern .global .u32 v;", ".visible .const .u32 v;", "v: declared");
}

static void undefined(void)
{
	CHECK_EQ(link_texts(FUNC(".extern", "gone", ";") FUNC(".extern", "idle",
				    ";") ".extern .global .u32 lost;\n.extern .global .u32 idle_too;\n"
					 ".visible .entry k() { .reg .b32 r; .param .b32 a; .param .b32 b;\n"
					 "ld.global.u32 r, [lost]; call (b), gone, (a); ret; }",
			 ".visible .global .u32 here;"),
		0);
	CHECK_EQ(ptx_kernel_layout(ptx_function_find(modules[0], "k")), 0);
	ptx_link_missing(modules[0], note, NULL);
	CHECK(!strcmp(missing, "gone() lost "));
	finish();
}

/* Each module's own shared variable gets its own offset; a variable that both modules declare gets one offset. */
static void shared(void)
{
	CHECK_EQ(link_texts(FUNC(".extern", "f", ";") ".shared .b8 own[40];\n.extern .shared .b8 both[16];\n"
						      ".visible .entry k() { .reg .b64 r; .param .b32 a, b;\n"
						      "mov.u64 r, own; mov.u64 r, both; call (b), f, (a); ret; }",
			 ".shared .b8 own[24];\n.visible .shared .b8 both[16];\n" FUNC(
				 ".visible", "f", "{ .reg .b64 x; mov.u64 x, own; mov.u64 x, both; ret; }")),
		0);
	struct ptx_function *k = ptx_function_find(modules[0], "k");
	CHECK_EQ(ptx_kernel_layout(k), 0);
	CHECK_EQ(k->shared_static, 80);
	CHECK(ptx_var_find(modules[0], "own")->offset != ptx_var_find(modules[1], "own")->offset);
	finish();
}

int main(void)
{
	functions();
	variables();
	undefined();
	shared();
	return RESULT();
}
