/* apigen trace: a descriptor of each function's arguments, and a wrapper that passes the arguments to the tracer. */
#include <stdio.h>
#include <string.h>
#include "apigen.h"

/* Format of a value: h hexadecimal, f float, u unsigned, d signed. */
static char number_kind(const char *type)
{
	if (api_is_handle(type) || api_is_address(type) || strchr(type, '*'))
		return 'h';
	if (!strcmp(type, "float"))
		return 'f';
	return !strncmp(type, "unsigned", 8) || !strcmp(type, "size_t") ? 'u' : 'd';
}

static void print_kind(const struct arg *a)
{
	char t[128];

	api_pointee(a->type, t, sizeof t);
	if (a->dir == BY_VALUE && api_is_struct(a->type))
		printf("'S', sizeof(%s)", a->type);
	else if (a->dir == BY_VALUE)
		printf("'%c', sizeof(%s)", number_kind(a->type), a->type);
	else if (a->len && !strcmp(a->len, "str"))
		printf("'s', 0");
	else if (a->dir == HOST || !strcmp(t, "void"))
		printf("'p', 1");
	else
		printf("'%c', sizeof(%s)", number_kind(t), t);
}

/* Names of arguments, each once, in one string: a table of pointers would need a relocation for each name. */
static char name_pool[1 << 16];
static int pool_used;

static int pool_offset(const char *name)
{
	int at = 0, n = strlen(name) + 1;

	while (at < pool_used && strcmp(name_pool + at, name))
		at += strlen(name_pool + at) + 1;
	if (at == pool_used && pool_used + n < (int)sizeof name_pool) {
		memcpy(name_pool + at, name, n);
		pool_used += n;
	}
	return at;
}

static void pool_add_names(const struct entry *e, const char *twin)
{
	for (int i = 0; i < e->nargs && !*twin; i++)
		pool_offset(e->args[i].name);
}

static void print_pool(void)
{
	printf("static const char trace_names[] =");
	for (int at = 0; at < pool_used; at += strlen(name_pool + at) + 1)
		printf("\n\t\"%s\\0\"", name_pool + at);
	printf("%s;\n", pool_used ? "" : " \"\"");
}

static int descriptor_count;

static void print_arg_descriptors(const struct entry *e, const char *twin)
{
	static const char dirs[] = "vioxp";

	for (int i = 0; i < e->nargs && !*twin; i++) {
		const struct arg *a = &e->args[i];
		int len = a->len ? api_find_arg(e, a->len + (*a->len == '*'), strlen(a->len + (*a->len == '*'))) : -1;
		printf("\t{%d, '%c', ", pool_offset(a->name), dirs[a->dir]);
		print_kind(a);
		printf(", %d}, /* %s.%s */\n", a->len ? len >= 0 ? len : -2 : -1, e->name, a->name);
	}
}

static void print_call_descriptor(const struct entry *e, const char *twin)
{
	printf("\t{%d, %d}, /* %s%s */\n", descriptor_count - (*twin ? e->nargs : 0), e->nargs, e->name, twin);
	if (!*twin)
		descriptor_count += e->nargs;
}

static void print_wrapper(const struct entry *e, const char *twin)
{
	printf("\nstatic %strace_%s%s(", result_type(e), e->name, twin);
	print_params(e);
	printf(")\n{\n\tconst uint64_t a[] = {");
	for (int i = 0; i < e->nargs; i++) {
		const struct arg *a = &e->args[i];
		bool f = a->dir == BY_VALUE && !strcmp(a->type, "float");
		bool s = a->dir == BY_VALUE && api_is_struct(a->type);
		printf(f ? "trace_float(%s), " : s ? "(uintptr_t)&%s, " : "(uint64_t)%s, ", a->name);
	}
	printf("0};\n\tuint64_t start = trace_enter(OP_%s%s, a);\n", e->name, twin);
	printf("\t%sr = TRACED->%s%s(", result_type(e), e->name, twin);
	print_names(e);
	printf(");\n");
	if (e->result == result)
		printf("\treturn trace_leave(OP_%s%s, a, r, start);\n}\n", e->name, twin);
	else
		printf("\ttrace_leave(OP_%s%s, a, 0, start);\n\treturn r;\n}\n", e->name, twin);
}

static void print_trace_field(const struct entry *e, const char *twin)
{
	printf("\t.%s%s = trace_%s%s,\n", e->name, twin, e->name, twin);
}

void mode_trace(void)
{
	print_head("a table that prints each call and passes it on");
	each_function(pool_add_names);
	print_pool();
	printf("\nstatic const struct trace_arg trace_args[] = {\n");
	each_function(print_arg_descriptors);
	printf("\t{0}};\n\nstatic const struct trace_call trace_calls[] = {\n");
	each_function(print_call_descriptor);
	printf("};\n");
	each_function(print_wrapper);
	printf("\nconst struct %s_ops %s_trace_ops = {\n", library, library);
	each_function(print_trace_field);
	printf("};\n");
}
