/*
 * The modes of a runtime library, whose .api file describes several major versions: prototypes of the functions that are
 * written by hand, and the exported functions around them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apigen.h"

bool runtime_exports(const struct entry *e)
{
	if (!is_runtime || !prefix)
		return true;
	return e->majors >> (atoi(prefix) - 12) & 1;
}

static bool is_stream(const struct arg *a)
{
	return !strcmp(a->type, "cudaStream_t");
}

/*
 * The function behind a twin learns of it in one of two ways: by its stream argument, 0 of which means the thread's
 * stream, or, if it has none or waits for its own work, by a last argument that tells the two apart.
 */
static bool has_thread_argument(const struct entry *e)
{
	if (e->twin == PTDS)
		return true;
	for (int i = 0; e->twin && i < e->nargs; i++)
		if (is_stream(&e->args[i]))
			return false;
	return e->twin;
}

static void print_runtime_prototype(const struct entry *e)
{
	printf("%srt_%s(", result_type(e), e->name);
	print_params(e);
	printf("%s);\n", has_thread_argument(e) ? ", bool per_thread" : "");
}

void mode_runtime_header(void)
{
	print_head("prototypes of the functions behind the exported ones");
	printf("#pragma once\n\n#include <stdbool.h>\n#include \"abi/%s.h\"\n\n", library);
	for (int i = 0; i < nentries; i++)
		if (!entries[i].target && !entries[i].driver && entries[i].route != NONE)
			print_runtime_prototype(&entries[i]);
}

static void print_runtime_call(const struct entry *e, const struct entry *target, bool twin)
{
	if (target->driver)
		printf("from_driver(%s(", target->driver);
	else
		printf("rt_%s(", target->name);
	for (int i = 0; i < e->nargs; i++)
		printf(twin && is_stream(&e->args[i]) ? "%sTHREAD_STREAM(%s)" : "%s%s", i ? ", " : "", e->args[i].name);
	if (has_thread_argument(target) && !target->driver)
		printf(", %s", twin ? "true" : "false");
	printf(target->driver ? "))" : ")");
}

static void print_runtime_export(const struct entry *e, const char *twin)
{
	const struct entry *target = e->target ? api_find(e->target) : e;

	if (target->route == NONE) {
		printf("\nPUBLIC %s%s%s(void)\n{\n\treturn NOT_SUPPORTED;\n}\n", result_type(e), e->name, twin);
		return;
	}
	printf("\nPUBLIC %s%s%s(", result_type(e), e->name, twin);
	print_params(e);
	printf(")\n{\n\t");
	if (target->route != PLAIN)
		printf("%s(", target->route == INIT ? "WITH_DRIVER" : "WITH_CONTEXT");
	else if (strcmp(e->result, "void"))
		printf("return ");
	print_runtime_call(e, target, *twin);
	printf("%s;\n}\n", target->route != PLAIN ? ")" : "");
}

void mode_runtime_exports(void)
{
	print_head("the exported functions");
	each_function(print_runtime_export);
}

static void print_runtime_declaration(const struct entry *e, const char *twin)
{
	if (e->route == NONE)
		return;
	printf("%s%s%s(", result_type(e), e->name, twin);
	print_params(e);
	printf(");\n");
}

void mode_runtime_protos(void)
{
	print_head("prototypes of the exported functions");
	printf("#pragma once\n\n#include \"abi/%s.h\"\n\n", library);
	each_function(print_runtime_declaration);
}
