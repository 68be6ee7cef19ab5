/*
 * apigen - prints C code from an .api file (api.h describes the file).
 *
 *	apigen MODE file.api [prefix | name=definitions ...]
 *
 * Each mode is a function that prints one generated file.  src/CMakeLists.txt runs the modes during the build.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apigen.h"

const char *prefix;

const char *twin_suffix(const struct entry *e)
{
	return e->twin == PTSZ ? "_ptsz" : e->twin == PTDS ? "_ptds" : "";
}

const char *result_type(const struct entry *e)
{
	static char text[128];

	snprintf(text, sizeof text, "%s%s", e->result, strchr(e->result, '*') ? "" : " ");
	return text;
}

void print_params(const struct entry *e)
{
	for (int i = 0; i < e->nargs; i++) {
		const char *t = e->args[i].type;
		printf("%s%s%s%s", i ? ", " : "", t, t[strlen(t) - 1] == '*' ? "" : " ", e->args[i].name);
	}
	if (!e->nargs)
		printf("void");
}

void print_names(const struct entry *e)
{
	for (int i = 0; i < e->nargs; i++)
		printf("%s%s", i ? ", " : "", e->args[i].name);
}

void print_head(const char *what)
{
	printf("/* Made from %s.api by apigen: %s */\n", library, what);
}

void each_function(void (*f)(const struct entry *e, const char *twin))
{
	for (int i = 0; i < nentries; i++) {
		if (entries[i].object || !runtime_exports(&entries[i]))
			continue;
		f(&entries[i], "");
		if (entries[i].twin)
			f(&entries[i], twin_suffix(&entries[i]));
	}
}

static void print_ops_field(const struct entry *e, const char *twin)
{
	printf("\t%s(*%s%s)(", result_type(e), e->name, twin);
	print_params(e);
	printf(");\n");
}

static int function_count;

static void count_function(const struct entry *e, const char *twin)
{
	(void)e, (void)twin;
	function_count++;
}

static void print_enumerator(const struct entry *e, const char *twin)
{
	printf("\tOP_%s%s,\n", e->name, twin);
}

static void mode_ops(void)
{
	print_head("the ops table: one function pointer for each entry point");
	printf("#pragma once\n\n#include \"abi/%s.h\"\n\n", library);
	printf("struct %s_ops {\n", library);
	each_function(print_ops_field);
	printf("};\n\nenum %s_op {\n", library);
	each_function(print_enumerator);
	each_function(count_function);
	printf("};\n\n#define %s_OP_COUNT %d\n", library, function_count);
}

static void print_export(const struct entry *e, const char *twin)
{
	printf("\nPUBLIC %s%s%s(", result_type(e), e->name, twin);
	print_params(e);
	printf(")\n{\n\treturn NOW->%s%s(", e->name, twin);
	print_names(e);
	printf(");\n}\n");
}

static void print_boot(const struct entry *e, const char *twin)
{
	printf("\nstatic %sboot_%s%s(", result_type(e), e->name, twin);
	print_params(e);
	printf(")\n{\n\treturn START()->%s%s(", e->name, twin);
	print_names(e);
	printf(");\n}\n");
}

static void print_boot_field(const struct entry *e, const char *twin)
{
	printf("\t.%s%s = boot_%s%s,\n", e->name, twin, e->name, twin);
}

/* Exported functions call through one pointer, NOW.  It points to the boot table until the device is chosen. */
static void mode_exports(void)
{
	print_head("the exported functions, and the boot table, which chooses the device at the first call");
	for (int i = 0; i < nentries; i++)
		if (entries[i].object)
			printf("PUBLIC %s %s;\n", entries[i].object, entries[i].name);
	each_function(print_export);
	each_function(print_boot);
	printf("\nconst struct %s_ops %s_boot_ops = {\n", library, library);
	each_function(print_boot_field);
	printf("};\n");
}

static void print_guard(const struct entry *e, const char *twin)
{
	printf("\nstatic %sguard_%s%s(", result_type(e), e->name, twin);
	print_params(e);
	printf(")\n{\n\t%sr_;\n\n\tENTER();\n\tr_ = BEHIND.%s%s(", result_type(e), e->name, twin);
	print_names(e);
	printf(");\n\tLEAVE();\n\treturn r_;\n}\n");
}

static void print_guard_field(const struct entry *e, const char *twin)
{
	printf("\t.%s%s = guard_%s%s,\n", e->name, twin, e->name, twin);
}

/* A table of functions that call the table BEHIND between ENTER and LEAVE. */
static void mode_guard(void)
{
	print_head("functions that mark their thread as being inside a call");
	each_function(print_guard);
	printf("\nstatic const struct %s_ops guard_ops = {\n", library);
	each_function(print_guard_field);
	printf("};\n");
}

static void print_name_row(const struct entry *e, const char *twin)
{
	printf("\t\"%s%s\",\n", e->name, twin);
}

/* Length of the base name, which cuGetProcAddress takes: "cuMemAlloc" for cuMemAlloc_v2. */
static int base_length(const char *name)
{
	int n = strlen(name), k = n;

	while (k && isdigit((unsigned char)name[k - 1]))
		k--;
	if (k < n && k > 2 && name[k - 1] == 'v' && name[k - 2] == '_')
		return k - 2;
	return n;
}

struct proc_row {
	const struct entry *e;
	bool twin;
};

static int compare_base_names(const void *a, const void *b)
{
	const struct proc_row *x = a, *y = b;
	int nx = base_length(x->e->name), ny = base_length(y->e->name);
	int d = strncmp(x->e->name, y->e->name, nx < ny ? nx : ny);

	if (!d)
		d = nx - ny;
	if (!d)
		d = x->twin - y->twin;
	if (!d)
		d = (x->twin ? x->e->twin_since : x->e->since) - (y->twin ? y->e->twin_since : y->e->since);
	return d;
}

static void mode_names(void)
{
	print_head("names in the order of the ops table");
	printf("const char *const %s_names[] = {\n", library);
	each_function(print_name_row);
	printf("};\n");
}

static void mode_procs(void)
{
	static struct proc_row rows[2 * MAX_ENTRIES];
	int n = 0;

	print_head("the versions of each base name, oldest first");
	printf("const struct proc %s_procs[] = {\n", library);
	for (int i = 0; i < nentries; i++) {
		if (!entries[i].since)
			continue;
		rows[n++] = (struct proc_row){&entries[i], false};
		if (entries[i].twin)
			rows[n++] = (struct proc_row){&entries[i], true};
	}
	qsort(rows, n, sizeof *rows, compare_base_names);
	for (int i = 0; i < n; i++) {
		const struct entry *e = rows[i].e;
		const char *s = rows[i].twin ? twin_suffix(e) : "";
		printf("\t{\"%.*s\", %d, %d, (proc_fn)%s%s},\n", base_length(e->name), e->name,
			rows[i].twin ? e->twin_since : e->since, rows[i].twin, e->name, s);
	}
	printf("};\nconst size_t %s_nprocs = %d;\n", library, n);
}

static void print_prototype(const struct entry *e, const char *twin)
{
	printf("%s%s%s(", result_type(e), e->name, twin);
	print_params(e);
	printf(");\n");
}

static void mode_protos(void)
{
	print_head("prototypes of the exported functions");
	printf("#pragma once\n\n");
	each_function(print_prototype);
}

static void print_list_line(const struct entry *e, const char *twin)
{
	printf("%s%s\n", e->name, twin);
}

static void mode_exportlist(void)
{
	each_function(print_list_line);
	for (int i = 0; i < nentries; i++)
		if (entries[i].object)
			printf("%s\n", entries[i].name);
}

static void print_map_line(const struct entry *e, const char *twin)
{
	printf("\t%s%s;\n", e->name, twin);
}

static void mode_map(void)
{
	/* The version node of a runtime library ends with the major version. */
	printf("%s%s%s{\nglobal:\n", node ? node : "", is_runtime ? prefix : "", node ? " " : "");
	each_function(print_map_line);
	for (int i = 0; i < nentries; i++)
		if (entries[i].object)
			printf("\t%s;\n", entries[i].name);
	printf("local: *;\n};\n");
}

static void print_stub(const struct entry *e, const char *twin)
{
	if (e->result == result)
		printf("STUB(%s%s)\n", e->name, twin);
	else if (!strcmp(e->result, "const char *"))
		printf("STUB_TEXT(%s%s)\n", e->name, twin);
	else {
		fprintf(stderr, "apigen: no stub is known for the result type of %s: %s\n", e->name, e->result);
		exit(1);
	}
}

/* Every stub only returns an error code, so one function serves all names whatever their parameters. */
static void mode_stub(void)
{
	if (!stub_result) {
		fprintf(stderr, "apigen: %s.api has no line that begins with stub\n", library);
		exit(1);
	}
	print_head("a library to link with where no driver is installed: every name, each returns an error");
	printf("#include \"abi/%s.h\"\n\n#define PUBLIC __attribute__((visibility(\"default\")))\n", library);
	printf("#define STUB(name) PUBLIC %s name(void) __attribute__((alias(\"stub\")));\n", result);
	printf("#define STUB_TEXT(name) PUBLIC const char *name(void) __attribute__((alias(\"stub_text\")));\n\n");
	printf("static __attribute__((used)) %s stub(void)\n{\n\treturn %s;\n}\n\n", result, stub_result);
	printf("static __attribute__((used)) const char *stub_text(void)\n{\n\treturn \"%s is a stub library\";\n}\n\n",
		soname);
	each_function(print_stub);
	for (int i = 0; i < nentries; i++)
		if (entries[i].object)
			printf("PUBLIC %s %s;\n", entries[i].object, entries[i].name);
}

static const struct mode {
	const char *name;
	void (*print)(void);
	bool prefix;
} modes[] = {
	{"ops", mode_ops},
	{"exports", mode_exports},
	{"guard", mode_guard},
	{"header", mode_header, true},
	{"table", mode_table, true},
	{"local-header", mode_local_header, true},
	{"local-table", mode_local_table, true},
	{"complete", mode_complete},
	{"names", mode_names},
	{"procs", mode_procs},
	{"protos", mode_protos},
	{"trace", mode_trace},
	{"exportlist", mode_exportlist},
	{"map", mode_map},
	{"coverage", mode_coverage},
	{"coverage-table", mode_coverage_table},
	{"wire", mode_wire},
	{"client", mode_client},
	{"client-header", mode_client_header},
	{"client-table", mode_client_table},
	{"server-header", mode_server_header},
	{"server", mode_server},
	{"stub", mode_stub},
	{"runtime-header", mode_runtime_header},
	{"runtime-exports", mode_runtime_exports, true},
	{"runtime-protos", mode_runtime_protos, true},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc >= 3 && i < sizeof modes / sizeof *modes; i++) {
		if (strcmp(argv[1], modes[i].name) || (modes[i].prefix && argc != 4))
			continue;
		api_parse(argv[2]);
		prefix = argc > 3 ? argv[3] : NULL;
		for (int k = 3; !strncmp(argv[1], "coverage", 8) && k < argc; k++)
			coverage_read(argv[k]);
		modes[i].print();
		return fflush(stdout) ? 1 : 0;
	}
	fprintf(stderr, "usage: apigen MODE file.api [prefix | name=definitions ...]\nmodes:");
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		fprintf(stderr, " %s", modes[i].name);
	fprintf(stderr, "\n");
	return 2;
}
