/*
 * apitable - the modes of apigen that print ops tables and the prototypes of the functions in them.
 *
 *	header, table	PREFIX_X for every entry point; weak, so that a function nobody defines is NULL in the table
 *	local-header, local-table	PREFIX_X for the entry points of class local
 *	client-header, client-table	the client of a server: call_X or remote_X, as the class says
 *	complete	fills older names and per-thread twins into a table at run time
 *
 * Only the first pair and `complete` depend on what is defined.  The others refer to every function that the class
 * demands: a missing one is an undefined symbol.
 */
#include <stdio.h>
#include <string.h>
#include "apigen.h"

static void print_prototype(const char *part, const struct entry *e, const char *twin, const char *attribute)
{
	printf("%s%s_%s%s(", result_type(e), part, e->name, twin);
	print_params(e);
	printf(")%s;\n", attribute);
}

static void print_header_begin(void)
{
	printf("#pragma once\n\n#include \"abi/%s.h\"\n#include \"gen/%s_ops.h\"\n\n", library, library);
	printf("#pragma GCC visibility push(hidden)\n");
}

static void print_header_end(const char *table)
{
	printf("extern const struct %s_ops %s_ops;\n#pragma GCC visibility pop\n", library, table);
}

/* ---- header, table ---- */

static void print_weak_prototype(const struct entry *e, const char *twin)
{
	print_prototype(prefix, e, twin, " __attribute__((weak))");
}

static void print_field(const struct entry *e, const char *twin)
{
	printf("\t.%s%s = %s_%s%s,\n", e->name, twin, prefix, e->name, twin);
}

/* The visibility is hidden so that the linker resolves undefined functions to NULL and leaves nothing to ld.so. */
void mode_header(void)
{
	print_head("prototypes of one implementation; a function that is not defined is NULL in the table");
	print_header_begin();
	each_function(print_weak_prototype);
	print_header_end(prefix);
}

void mode_table(void)
{
	print_head("the table of one implementation");
	printf("const struct %s_ops %s_ops = {\n", library, prefix);
	each_function(print_field);
	printf("};\n");
}

/* ---- local-header, local-table ---- */

static void print_local_prototype(const struct entry *e, const char *twin)
{
	if (e->route == LOCAL && !*twin)
		print_prototype(prefix, e, twin, "");
}

static void print_local_field(const struct entry *e, const char *twin)
{
	if (e->route == LOCAL && !*twin)
		print_field(e, twin);
}

void mode_local_header(void)
{
	print_head("prototypes of the functions that answer in the application's process, on every device of ours");
	print_header_begin();
	each_function(print_local_prototype);
	print_header_end(prefix);
}

void mode_local_table(void)
{
	print_head("functions that answer in the application's process, on every device of ours; NULL for the rest");
	printf("const struct %s_ops %s_ops = {\n", library, prefix);
	each_function(print_local_field);
	printf("};\n");
}

/* ---- twins ---- */

static bool takes_stream(const struct entry *e)
{
	for (int i = 0; i < e->nargs; i++)
		if (!strcmp(e->args[i].type, "CUstream"))
			return true;
	return false;
}

/* A twin calls its base function, `callee`, with stream 0 replaced by the thread's own default stream. */
static void print_twin(const struct entry *e, const char *twin, const char *callee)
{
	printf("\nstatic %stwin_%s%s(", result_type(e), e->name, twin);
	print_params(e);
	printf(")\n{\n");
	if (!takes_stream(e))
		printf("\tper_thread_default++;\n");
	printf("\t%sr = %s%s(", result_type(e), callee, e->name);
	for (int i = 0; i < e->nargs; i++) {
		bool stream = !strcmp(e->args[i].type, "CUstream");
		printf(stream ? "%sPER_THREAD(%s)" : "%s%s", i ? ", " : "", e->args[i].name);
	}
	printf(");\n");
	if (!takes_stream(e))
		printf("\tper_thread_default--;\n");
	printf("\treturn r;\n}\n");
}

/* ---- client-header, client-table ---- */

/* "remote_", "call_", or NULL if the client has no function for this entry point. */
static const char *client_part(const struct entry *e)
{
	return e->client_by_hand ? "remote_" : api_has_message(e) ? "call_" : NULL;
}

static void print_client_prototypes(const struct entry *e, const char *twin)
{
	if (api_has_message(e) && !*twin)
		print_prototype("call", e, twin, "");
	if (e->client_by_hand && !*twin)
		print_prototype("remote", e, twin, "");
}

void mode_client_header(void)
{
	char table[64];

	print_head("prototypes of the client: call_X is generated, remote_X is written by hand");
	print_header_begin();
	each_function(print_client_prototypes);
	snprintf(table, sizeof table, "%s_remote", library);
	print_header_end(table);
}

static void print_client_twin(const struct entry *e, const char *twin)
{
	if (*twin && client_part(e))
		print_twin(e, twin, client_part(e));
}

static void print_client_field(const struct entry *e, const char *twin)
{
	const struct entry *base = e->target ? api_find(e->target) : e;

	if (e->route == OWNER) {
		printf("\t.%s = (%s(*)(", e->name, result_type(e));
		print_params(e);
		printf("))(void (*)(void))owner_only,\n");
	} else if (client_part(base)) {
		printf("\t.%s%s = %s%s%s,\n", e->name, twin, *twin ? "twin_" : client_part(base), base->name, twin);
	}
}

/* Defined by the including file: PER_THREAD(stream) if there are twins, owner_only() if there is a class owner. */
void mode_client_table(void)
{
	print_head("the table of the client, complete but for what it does not support");
	each_function(print_client_twin);
	printf("\nconst struct %s_ops %s_remote_ops = {\n", library, library);
	each_function(print_client_field);
	printf("};\n");
}

/* ---- complete ---- */

static void print_table_twin(const struct entry *e, const char *twin)
{
	if (*twin && !e->target)
		print_twin(e, twin, "BASE->");
}

static void print_twin_row(const struct entry *e, const char *twin)
{
	if (*twin && !e->target)
		printf("\tif (!t->%s%s && t->%s)\n\t\tt->%s%s = twin_%s%s;\n", e->name, twin, e->name, e->name, twin,
			e->name, twin);
}

static void print_alias_row(const struct entry *e, const char *twin)
{
	if (e->target)
		printf("\tif (!t->%s%s)\n\t\tt->%s%s = t->%s%s;\n", e->name, twin, e->name, twin, e->target, twin);
}

/* Defined by the including file: BASE, the table that the twins call through, and PER_THREAD(stream). */
void mode_complete(void)
{
	print_head("older names and per-thread twins of the functions in a table");
	each_function(print_table_twin);
	printf("\nstatic void %s_ops_complete(struct %s_ops *t)\n{\n", library, library);
	each_function(print_twin_row);
	each_function(print_alias_row);
	printf("}\n");
}
