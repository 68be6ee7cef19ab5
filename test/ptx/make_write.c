/* Writes a spec file: inputs, expected outputs, and a kernel around the instruction. */
#include "make.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const struct format *format_named(const char *type)
{
	if (!strcmp(type, "f32"))
		return &F32;
	if (!strcmp(type, "f64"))
		return &F64;
	if (!strcmp(type, "f16"))
		return &F16;
	return strcmp(type, "bf16") ? NULL : &BF16;
}

unsigned size_named(const char *type)
{
	if (strstr(type, "x2"))
		return 32;
	return !strcmp(type, "pred") ? 32 : (unsigned)atoi(type + strcspn(type, "0123456789"));
}

/* The buffer type, memory type and register type for an operand type. */
static const char *buffer_type(const char *type)
{
	return strstr(type, "x2") || !strcmp(type, "pred") ? "b32" : type;
}

static const char *register_type(const char *type)
{
	static const char *const bits[] = {"b16", "b16", "b32", "b64"};
	unsigned n = size_named(type);

	if (type[0] == 'f' && (n == 32 || n == 64) && !strstr(type, "x2"))
		return type;
	return bits[n == 8 ? 0 : n == 16 ? 1 : n == 32 ? 2 : 3];
}

static const char *memory_type(const char *type)
{
	static char t[8];

	if (format_named(type) && size_named(type) > 16)
		return type;
	snprintf(t, sizeof t, "%c%u", type[0] == 's' ? 's' : 'u', size_named(type));
	return t;
}

static void print_list(FILE *o, const char *type, const uint64_t *v, const char *any, unsigned n)
{
	unsigned digits = size_named(type) / 4, line = digits > 8 ? 5 : 8;

	for (unsigned i = 0; i < n; i++) {
		if (i % line == 0 && n > line)
			fprintf(o, "\n//\t\t");
		if (any && any[i])
			fprintf(o, "%s%s", any[i] == 1 ? "nan" : "*", i + 1 < n ? "," : "");
		else
			fprintf(o, "0x%0*llx%s", (int)digits, (unsigned long long)v[i], i + 1 < n ? "," : "");
	}
}

static void print_address(FILE *o, unsigned reg, char name, unsigned bytes)
{
	fprintf(o, "\tld.param.u64 %%p%u, [%c];\n\tmad.wide.u32 %%p%u, %%i, %u, %%p%u;\n", reg, name, reg, bytes, reg);
}

/* The register of an operand; predicates have registers of their own. */
static char register_name(const struct form *f, unsigned k)
{
	if (strcmp(f->in[k], "pred"))
		return (char)('a' + k);
	return k && !strcmp(f->in[k - 1], "pred") ? 'u' : 'q';
}

static void print_kernel(FILE *o, const struct form *f, unsigned nin)
{
	bool pred = !strcmp(f->result, "pred"), two = f->in[1] && !strcmp(f->in[1], "pred");

	fprintf(o, "\n.version 8.6\n.target %s\n.address_size 64\n\n.visible .entry t(",
		f->target ? f->target : "sm_90");
	for (unsigned k = 0; k < nin; k++)
		fprintf(o, ".param .u64 %c, ", 'a' + k);
	fprintf(o, ".param .u64 r)\n{\n\t.reg .u64 %%p<%u>;\n\t.reg .u32 %%i, %%t;\n\t.reg .pred %%q, %s%%z;\n",
		nin + 1, two ? "%u, " : "");
	for (unsigned k = 0; k < nin; k++)
		if (strcmp(f->in[k], "pred"))
			fprintf(o, "\t.reg .%s %%%c;\n", register_type(f->in[k]), 'a' + k);
	if (!pred)
		fprintf(o, "\t.reg .%s %%r;\n", register_type(f->result));
	fprintf(o, "\n\tmov.u32 %%i, %%tid.x;\n");
	for (unsigned k = 0; k < nin; k++) {
		print_address(o, k, (char)('a' + k), size_named(f->in[k]) / 8);
		if (!strcmp(f->in[k], "pred"))
			fprintf(o, "\tld.global.u32 %%t, [%%p%u];\n\tsetp.ne.u32 %%%c, %%t, 0;\n", k,
				register_name(f, k));
		else
			fprintf(o, "\tld.global.%s %%%c, [%%p%u];\n", memory_type(f->in[k]), 'a' + k, k);
	}
	fprintf(o, "\t%s %%%c", f->mnemonic, pred ? 'z' : 'r');
	for (unsigned k = 0; k < nin; k++)
		fprintf(o, ", %%%c", register_name(f, k));
	fprintf(o, "%s;\n", f->tail ? f->tail : "");
	print_address(o, nin, 'r', size_named(f->result) / 8);
	if (pred)
		fprintf(o, "\tselp.u32 %%t, 1, 0, %%z;\n\tst.global.u32 [%%p%u], %%t;\n", nin);
	else
		fprintf(o, "\tst.global.%s [%%p%u], %%r;\n", memory_type(f->result), nin);
	fprintf(o, "\tret;\n}\n");
}

FILE *open_test(const char *folder, const char *name)
{
	char path[300];
	FILE *o;

	mkdir(folder, 0777);
	snprintf(path, sizeof path, "%s/%s.ptx", folder, name);
	o = fopen(path, "w");
	if (!o) {
		perror(path);
		exit(1);
	}
	return o;
}

static FILE *open_file(const struct form *f)
{
	char name[200];

	snprintf(name, sizeof name, "%s%s%s", f->mnemonic, f->tail ? "-" : "", f->tail ? f->tail + 2 : "");
	return open_test(f->folder, name);
}

void write_form(const struct form *f)
{
	uint64_t in[MAX_IN][MAX_LANES], want[MAX_LANES];
	const struct format *fmt = format_named(f->result);
	char any[MAX_LANES] = {0};
	FILE *o = open_file(f);
	unsigned nin = 0, n = 48;

	while (nin < MAX_IN && f->in[nin])
		nin++;
	for (unsigned i = 0; i < n; i++) {
		uint64_t lane[MAX_IN] = {0};

		for (unsigned k = 0; k < nin; k++)
			lane[k] = in[k][i] = sample(f->in[k], k, i) & (f->limit[k] ? f->limit[k] : UINT64_MAX);
		for (unsigned k = 0; f->avoid && k < nin; k++)
			if (lane[k] == f->avoid)
				lane[k] = in[k][i] = 1;
		want[i] = f->fn(f, lane);
		if (size_named(f->result) < 64)
			want[i] &= (1ull << size_named(f->result)) - 1;
		any[i] = fmt && (!fmt->nan || f->any_nan) && bits_nan(fmt, want[i]);
	}
	fprintf(o, "// %s%s%s\n// >>> launch t grid=1 block=%u", f->mnemonic, f->note ? ": " : "",
		f->note ? f->note : "", n);
	for (unsigned k = 0; k < nin; k++) {
		fprintf(o, "\n//\t%c=%s:", 'a' + k, buffer_type(f->in[k]));
		print_list(o, f->in[k], in[k], NULL, n);
	}
	fprintf(o, "\n//\tout=r:%s:%u\n// >>> expect", buffer_type(f->result), n);
	if (f->ulp)
		fprintf(o, "~%gulp", f->ulp);
	if (f->absolute)
		fprintf(o, "~%g", f->absolute);
	fprintf(o, " r=%s:", buffer_type(f->result));
	print_list(o, f->result, want, any, n);
	fprintf(o, "\n");
	print_kernel(o, f, nin);
	fclose(o);
}
