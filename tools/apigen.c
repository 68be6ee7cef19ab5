/*
 * apigen - prints C from an .api file (api.h says what stands in one).
 *
 *	apigen MODE file.api [prefix | name=definitions ...]
 *
 * A mode is a function that prints; its output is compiled and never committed.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apigen.h"

const char *suffix(const struct entry *e)
{
	return e->twin == PTSZ ? "_ptsz" : e->twin == PTDS ? "_ptds" : "";
}

const char *returns(const struct entry *e)
{
	static char text[128];

	snprintf(text, sizeof text, "%s%s", e->result, strchr(e->result, '*') ? "" : " ");
	return text;
}

void params(const struct entry *e)
{
	for (int i = 0; i < e->nargs; i++) {
		const char *t = e->args[i].type;
		printf("%s%s%s%s", i ? ", " : "", t, t[strlen(t) - 1] == '*' ? "" : " ", e->args[i].name);
	}
	if (!e->nargs)
		printf("void");
}

void names(const struct entry *e)
{
	for (int i = 0; i < e->nargs; i++)
		printf("%s%s", i ? ", " : "", e->args[i].name);
}

void head(const char *what)
{
	printf("/* Made from %s.api by apigen: %s */\n", library, what);
}

void each_function(void (*f)(const struct entry *e, const char *twin))
{
	for (int i = 0; i < nentries; i++) {
		if (entries[i].object)
			continue;
		f(&entries[i], "");
		if (entries[i].twin)
			f(&entries[i], suffix(&entries[i]));
	}
}

static void field(const struct entry *e, const char *twin)
{
	printf("\t%s(*%s%s)(", returns(e), e->name, twin);
	params(e);
	printf(");\n");
}

static int count;

static void count_one(const struct entry *e, const char *twin)
{
	(void)e, (void)twin;
	count++;
}

static void enumerator(const struct entry *e, const char *twin)
{
	printf("\tOP_%s%s,\n", e->name, twin);
}

static void mode_ops(void)
{
	head("the table that everything able to execute calls fills");
	printf("#pragma once\n\n#include \"abi/%s.h\"\n\n", library);
	printf("struct %s_ops {\n", library);
	each_function(field);
	printf("};\n\nenum %s_op {\n", library);
	each_function(enumerator);
	each_function(count_one);
	printf("};\n\n#define %s_OP_COUNT %d\n", library, count);
}

static void export_one(const struct entry *e, const char *twin)
{
	printf("\nPUBLIC %s%s%s(", returns(e), e->name, twin);
	params(e);
	printf(")\n{\n\treturn NOW->%s%s(", e->name, twin);
	names(e);
	printf(");\n}\n");
}

static void boot_one(const struct entry *e, const char *twin)
{
	printf("\nstatic %sboot_%s%s(", returns(e), e->name, twin);
	params(e);
	printf(")\n{\n\treturn START()->%s%s(", e->name, twin);
	names(e);
	printf(");\n}\n");
}

static void boot_field(const struct entry *e, const char *twin)
{
	printf("\t.%s%s = boot_%s%s,\n", e->name, twin, e->name, twin);
}

/* The exports go through one pointer, NOW; before the device is chosen it is the boot table. */
static void mode_exports(void)
{
	head("what the library exports, and the table that chooses the device at the first call");
	for (int i = 0; i < nentries; i++)
		if (entries[i].object)
			printf("PUBLIC %s %s;\n", entries[i].object, entries[i].name);
	each_function(export_one);
	each_function(boot_one);
	printf("\nconst struct %s_ops %s_boot_ops = {\n", library, library);
	each_function(boot_field);
	printf("};\n");
}

const char *prefix;

static void weak_one(const struct entry *e, const char *twin)
{
	printf("%s%s_%s%s(", returns(e), prefix, e->name, twin);
	params(e);
	printf(") __attribute__((weak));\n");
}

static void weak_field(const struct entry *e, const char *twin)
{
	printf("\t.%s%s = %s_%s%s,\n", e->name, twin, prefix, e->name, twin);
}

/* Hidden, so that the linker knows what nobody defines: left to ld.so, each is looked for in all libraries of a process. */
static void mode_header(void)
{
	head("prototypes of one implementation; what it does not define is NULL in its table");
	printf("#pragma once\n\n#include \"abi/%s.h\"\n#include \"gen/%s_ops.h\"\n\n", library, library);
	printf("#pragma GCC visibility push(hidden)\n");
	each_function(weak_one);
	printf("#pragma GCC visibility pop\n");
	printf("\nextern const struct %s_ops %s_ops;\n", library, prefix);
}

static void mode_table(void)
{
	head("the table of one implementation");
	printf("const struct %s_ops %s_ops = {\n", library, prefix);
	each_function(weak_field);
	printf("};\n");
}

static bool takes_stream(const struct entry *e)
{
	for (int i = 0; i < e->nargs; i++)
		if (!strcmp(e->args[i].type, "CUstream"))
			return true;
	return false;
}

/* A twin is its base with stream 0 read as the thread's own default stream. */
static void twin_one(const struct entry *e, const char *twin)
{
	if (!*twin)
		return;
	printf("\nstatic %stwin_%s%s(", returns(e), e->name, twin);
	params(e);
	printf(")\n{\n");
	if (!takes_stream(e))
		printf("\tper_thread_default++;\n");
	printf("\t%sr = BASE->%s(", returns(e), e->name);
	for (int i = 0; i < e->nargs; i++) {
		bool s = !strcmp(e->args[i].type, "CUstream");
		printf(s ? "%sPER_THREAD(%s)" : "%s%s", i ? ", " : "", e->args[i].name);
	}
	printf(");\n");
	if (!takes_stream(e))
		printf("\tper_thread_default--;\n");
	printf("\treturn r;\n}\n");
}

static void twin_row(const struct entry *e, const char *twin)
{
	if (*twin)
		printf("\tif (!t->%s%s && t->%s)\n\t\tt->%s%s = twin_%s%s;\n", e->name, twin, e->name, e->name, twin,
			e->name, twin);
}

static void alias_row(const struct entry *e, const char *twin)
{
	if (e->target)
		printf("\tif (!t->%s%s)\n\t\tt->%s%s = t->%s%s;\n", e->name, twin, e->name, twin, e->target, twin);
}

static void mode_complete(void)
{
	head("what follows from a table's own functions: older names and per-thread twins");
	each_function(twin_one);
	printf("\nstatic void %s_ops_complete(struct %s_ops *t)\n{\n", library, library);
	each_function(twin_row);
	each_function(alias_row);
	printf("}\n");
}

static void name_row(const struct entry *e, const char *twin)
{
	printf("\t\"%s%s\",\n", e->name, twin);
}

/* "cuMemAlloc" for cuMemAlloc_v2: what cuGetProcAddress is asked for. */
static int base_length(const char *name)
{
	int n = strlen(name), k = n;

	while (k && isdigit((unsigned char)name[k - 1]))
		k--;
	if (k < n && k > 2 && name[k - 1] == 'v' && name[k - 2] == '_')
		return k - 2;
	return n;
}

struct row {
	const struct entry *e;
	bool twin;
};

static int by_base(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
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
	head("names in table order");
	printf("const char *const %s_names[] = {\n", library);
	each_function(name_row);
	printf("};\n");
}

static void mode_procs(void)
{
	static struct row rows[2 * MAX_ENTRIES];
	int n = 0;

	head("the versions of each base name, oldest first");
	printf("const struct proc %s_procs[] = {\n", library);
	for (int i = 0; i < nentries; i++) {
		if (!entries[i].since)
			continue;
		rows[n++] = (struct row){&entries[i], false};
		if (entries[i].twin)
			rows[n++] = (struct row){&entries[i], true};
	}
	qsort(rows, n, sizeof *rows, by_base);
	for (int i = 0; i < n; i++) {
		const struct entry *e = rows[i].e;
		const char *s = rows[i].twin ? suffix(e) : "";
		printf("\t{\"%.*s\", %d, %d, (proc_fn)%s%s},\n", base_length(e->name), e->name,
			rows[i].twin ? e->twin_since : e->since, rows[i].twin, e->name, s);
	}
	printf("};\nconst size_t %s_nprocs = %d;\n", library, n);
}

static void proto_one(const struct entry *e, const char *twin)
{
	printf("%s%s%s(", returns(e), e->name, twin);
	params(e);
	printf(");\n");
}

static void mode_protos(void)
{
	head("prototypes of the exported functions");
	printf("#pragma once\n\n");
	each_function(proto_one);
}

static void class_one(const struct entry *e, const char *twin)
{
	printf("\t'%c', /* %s%s */\n", e->class[0], e->name, twin);
}

static void mode_classes(void)
{
	head("the first letter of each function's class, in table order");
	printf("static const char %s_classes[] = {\n", library);
	each_function(class_one);
	printf("};\n");
}

static void list_one(const struct entry *e, const char *twin)
{
	printf("%s%s\n", e->name, twin);
}

static void mode_exportlist(void)
{
	each_function(list_one);
	for (int i = 0; i < nentries; i++)
		if (entries[i].object)
			printf("%s\n", entries[i].name);
}

static void map_one(const struct entry *e, const char *twin)
{
	printf("\t%s%s;\n", e->name, twin);
}

static void mode_map(void)
{
	printf("%s%s{\nglobal:\n", node ? node : "", node ? " " : "");
	each_function(map_one);
	for (int i = 0; i < nentries; i++)
		if (entries[i].object)
			printf("\t%s;\n", entries[i].name);
	printf("local: *;\n};\n");
}

static void stub_one(const struct entry *e, const char *twin)
{
	if (e->result == result)
		printf("STUB(%s%s)\n", e->name, twin);
	else if (!strcmp(e->result, "const char *"))
		printf("STUB_TEXT(%s%s)\n", e->name, twin);
	else {
		fprintf(stderr, "apigen: what does a stub of %s answer, which returns %s?\n", e->name, e->result);
		exit(1);
	}
}

/* Nobody calls these with a result in mind, so the arguments do not matter: one function under all names. */
static void mode_stub(void)
{
	if (!stub_result) {
		fprintf(stderr, "apigen: %s.api has no line that begins with stub\n", library);
		exit(1);
	}
	head("what a program is linked with where there is no driver: every name, no work");
	printf("#include \"abi/%s.h\"\n\n#define PUBLIC __attribute__((visibility(\"default\")))\n", library);
	printf("#define STUB(name) PUBLIC %s name(void) __attribute__((alias(\"stub\")));\n", result);
	printf("#define STUB_TEXT(name) PUBLIC const char *name(void) __attribute__((alias(\"stub_text\")));\n\n");
	printf("static __attribute__((used)) %s stub(void)\n{\n\treturn %s;\n}\n\n", result, stub_result);
	printf("static __attribute__((used)) const char *stub_text(void)\n{\n\treturn \"%s is a stub library\";\n}\n\n",
		soname);
	each_function(stub_one);
	for (int i = 0; i < nentries; i++)
		if (entries[i].object)
			printf("PUBLIC %s %s;\n", entries[i].object, entries[i].name);
}

static void mode_wire(void)
{
	head("what a call looks like as bytes");
	printf("#pragma once\n\n#include \"abi/%s.h\"\n\n", library);
	const char *own = prefix ? prefix : ""; /* a second library's, beside the first one's */
	printf("enum %shandle_kind {\n\t%sHANDLE_NONE,\n", own, own);
	for (int i = 0; api_handle(i); i++)
		printf("\tHANDLE_%s,\n", api_handle(i));
	printf("\t%sHANDLE_KINDS\n};\n\nenum %s_number {\n", own, library);
	for (int i = 0; i < nentries; i++)
		printf("\tNR_%s = %d,\n", entries[i].name, entries[i].nr);
	printf("};\n\n");
	wire_structs();
}

static void mode_client(void)
{
	head("calls packed, sent and unpacked");
	wire_client();
}

static void mode_server(void)
{
	head("calls checked, unpacked and made");
	wire_server();
}

static const struct mode {
	const char *name;
	void (*print)(void);
	bool prefix;
} modes[] = {
	{"ops", mode_ops},
	{"exports", mode_exports},
	{"header", mode_header, true},
	{"table", mode_table, true},
	{"complete", mode_complete},
	{"names", mode_names},
	{"classes", mode_classes},
	{"procs", mode_procs},
	{"protos", mode_protos},
	{"trace", mode_trace},
	{"exportlist", mode_exportlist},
	{"map", mode_map},
	{"coverage", mode_coverage},
	{"coverage-table", mode_coverage_table},
	{"wire", mode_wire},
	{"client", mode_client},
	{"server", mode_server},
	{"stub", mode_stub},
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
