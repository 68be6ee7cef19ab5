/*
 * apiwire - the modes of apigen that print how a call crosses the wire.
 *
 *	wire	what travels: one struct a call
 *	client	call_cuX: packs the arguments, sends them, and for class sync waits for the answer
 *	server	serve_cuX: checks and unpacks, calls the device's table, packs the answer
 *
 * A call is printed when all of it is plain: numbers, handles, structs without pointers inside, and
 * arrays of those whose length is an argument.  The others are written by hand with the same
 * functions (wire/call.h, wire/msg.h).  Only one length of anything is on the wire, never two: what
 * follows from an argument is computed again on the other side.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apigen.h"

static bool plain_length(const char *len)
{
	return strcmp(len, "image") && strcmp(len, "params");
}

static bool plain_arg(const struct arg *a)
{
	char t[128];

	if (a->dir == BY_VALUE)
		return !api_is_callback(a->type);
	api_pointee(a->type, t, sizeof t);
	if (a->dir == HOST || strchr(t, '*') || api_is_deep(t))
		return false;
	if (a->len && (!plain_length(a->len) || (!strcmp(a->len, "str") && a->dir != IN)))
		return false;
	return true;
}

static bool plain(const struct entry *e)
{
	if (strcmp(e->class, "sync") && strcmp(e->class, "async"))
		return false;
	for (int i = 0; i < e->nargs; i++) {
		if (!plain_arg(&e->args[i]))
			return false;
		/* a posted call has no answer to carry a result in */
		if (!strcmp(e->class, "async") && (e->args[i].dir == OUT || e->args[i].dir == INOUT))
			return false;
	}
	return true;
}

static bool goes_in(const struct arg *a)
{
	return a->dir == IN || a->dir == INOUT;
}

static bool comes_out(const struct arg *a)
{
	return a->dir == OUT || a->dir == INOUT;
}

/* Lengths that are read through a pointer need it first: arguments that count room come before the rest. */
static bool counts_room(const struct entry *e, int i)
{
	for (int k = 0; k < e->nargs; k++)
		if (e->args[k].len && e->args[k].len[0] == '*' && !strcmp(e->args[k].len + 1, e->args[i].name))
			return true;
	return false;
}

/* The order in which both sides go through the arguments. */
static int in_order(const struct entry *e, int *order)
{
	int n = 0;

	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < e->nargs; i++)
			if (counts_room(e, i) == !pass)
				order[n++] = i;
	return n;
}

void wire_structs(void)
{
	for (int k = 0; k < nentries; k++) {
		const struct entry *e = &entries[k];
		if (!plain(e))
			continue;
		printf("struct wire_%s {\n\tuint32_t present; /* pointers that are not NULL, by argument */\n",
			e->name);
		for (int i = 0; i < e->nargs; i++) {
			const struct arg *a = &e->args[i];
			if (a->dir == BY_VALUE)
				printf("\t%s %s;\n", api_is_handle(a->type) ? "uint64_t" : a->type, a->name);
			else if (a->len && !strcmp(a->len, "str"))
				printf("\tuint32_t %s_size;\n", a->name);
		}
		printf("};\n\n");
	}
}

/* The length in elements as C, of argument a; `client` reads arguments, the server the struct `a`. */
static void print_count(const struct entry *e, const struct arg *a, bool client)
{
	const char *p = a->len;

	if (!p) {
		printf("1");
		return;
	}
	if (!strcmp(p, "str")) {
		printf(client ? "wire_text(%s)" : "a.%s_size", a->name);
		return;
	}
	if (*p == '*') { /* room is in what an inout argument points to */
		printf(client ? "(%s ? *%s : 0)" : "(%s ? *%s : 0)", p + 1, p + 1);
		return;
	}
	for (bool first = true; *p; first = false) {
		size_t n = strcspn(p, "*");
		bool number = *p >= '0' && *p <= '9';
		printf("%s%s%.*s", first ? "" : " * ",
			number   ? "(size_t)"
			: client ? "(size_t)"
				 : "(size_t)a.",
			(int)n, p);
		p += n + (p[n] == '*');
	}
	(void)e;
}

static bool is_sized(const struct arg *a)
{
	return a->len && !strcmp(a->len, "sized");
}

static void print_size(const struct entry *e, const struct arg *a, bool client)
{
	char t[128];

	if (is_sized(a)) { /* says its own size */
		printf("wire_sized(%s, sizeof *%s)", a->name, a->name);
		return;
	}
	api_pointee(a->type, t, sizeof t);
	printf("wire_bytes(");
	print_count(e, a, client);
	printf(", %s%s%s)", strcmp(t, "void") ? "sizeof(" : "1", strcmp(t, "void") ? t : "",
		strcmp(t, "void") ? ")" : "");
}

static void print_params(const struct entry *e)
{
	for (int i = 0; i < e->nargs; i++) {
		const char *t = e->args[i].type;
		printf("%s%s%s%s", i ? ", " : "", t, t[strlen(t) - 1] == '*' ? "" : " ", e->args[i].name);
	}
	if (!e->nargs)
		printf("void");
}

static int count_pieces(const struct entry *e, bool (*want)(const struct arg *a))
{
	int n = 0;

	for (int i = 0; i < e->nargs; i++)
		n += want(&e->args[i]);
	return n;
}

static void client_pieces(const struct entry *e, const char *name, bool (*want)(const struct arg *a))
{
	int order[MAX_ARGS], n = in_order(e, order);

	printf("\tconst struct wire_piece %s[] = {", name);
	for (int i = 0; i < n; i++) {
		const struct arg *a = &e->args[order[i]];
		if (!want(a))
			continue;
		printf("\n\t\t{(void *)%s, %s ? ", a->name, a->name);
		print_size(e, a, true);
		printf(" : 0},");
	}
	printf("%s{0}};\n", count_pieces(e, want) ? "\n\t\t" : "");
}

/* Bytes that an application takes for a text: all but a LUID. */
static bool is_text(const struct arg *a)
{
	char t[128];

	api_pointee(a->type, t, sizeof t);
	return a->dir == OUT && a->len && a->len[0] != '*' && strcmp(a->len, "8") && !strcmp(t, "char");
}

/* The argument that counts what came, where that is an array's room, too; -1: none. */
static int counting(const struct entry *e)
{
	for (int i = 0; i < e->nargs; i++)
		if (e->args[i].dir == INOUT && counts_room(e, i))
			return i;
	return -1;
}

/* Some answers would lead the application beyond its own memory: counts of what cannot be there, texts without an end. */
static bool is_checked(const struct entry *e)
{
	for (int i = 0; i < e->nargs; i++)
		if (is_text(&e->args[i]))
			return true;
	return counting(e) >= 0;
}

static void client_room(const struct entry *e)
{
	int n = counting(e);

	if (n >= 0)
		printf("\tsize_t room = %s ? *%s : 0;\n", e->args[n].name, e->args[n].name);
}

static void client_checks(const struct entry *e)
{
	int n = counting(e);

	if (n >= 0) {
		printf("\tif (!r && *%s > room && (", e->args[n].name);
		for (int i = 0, more = 0; i < e->nargs; i++)
			if (e->args[i].len && e->args[i].len[0] == '*')
				printf("%s%s", more++ ? " || " : "", e->args[i].name);
		printf(")) {\n\t\t*%s = room;\n\t\treturn call_nonsense();\n\t}\n", e->args[n].name);
	}
	for (int i = 0; i < e->nargs; i++) {
		const struct arg *a = &e->args[i];
		if (!is_text(a))
			continue;
		printf("\tif (!r && %s && ", a->name);
		print_count(e, a, true);
		printf(" > 0)\n\t\t%s[", a->name);
		print_count(e, a, true);
		printf(" - 1] = 0;\n");
	}
	printf("\treturn r;\n");
}

static void client_one(const struct entry *e)
{
	bool sync = !strcmp(e->class, "sync");

	printf("\n%s call_%s(", result, e->name);
	print_params(e);
	printf(")\n{\n\tstruct wire_%s a = {0};\n\n", e->name);
	for (int i = 0; i < e->nargs; i++) {
		const struct arg *a = &e->args[i];
		if (a->dir == BY_VALUE) {
			if (!strcmp(a->type, "CUstream"))
				printf("\ta.%s = call_stream(%s, %s);\n", a->name, a->name, sync ? "false" : "true");
			else
				printf("\ta.%s = %s%s;\n", a->name, api_is_handle(a->type) ? "(uintptr_t)" : "",
					a->name);
			continue;
		}
		if (!a->opt)
			printf("\tif (!%s)\n\t\treturn %s;\n", a->name, bad_argument);
		printf("\ta.present |= (uint32_t)!!%s << %d;\n", a->name, i);
		if (a->len && !strcmp(a->len, "str"))
			printf("\ta.%s_size = %s ? wire_text(%s) : 0;\n", a->name, a->name, a->name);
	}
	client_pieces(e, "in", goes_in);
	if (sync)
		client_pieces(e, "out", comes_out);
	bool checked = sync && is_checked(e);
	if (checked)
		client_room(e);
	printf("\t%s%s%s(%d, &a, sizeof a, in, %d", checked ? result : "return", checked ? " r = " : " ",
		sync ? "call_sync" : "call_post", e->nr, count_pieces(e, goes_in));
	if (sync)
		printf(", out, %d", count_pieces(e, comes_out));
	printf(");\n");
	if (checked)
		client_checks(e);
	printf("}\n");
}

void wire_client(void)
{
	for (int k = 0; k < nentries; k++)
		if (plain(&entries[k]))
			client_one(&entries[k]);
	printf("\nconst char *const call_names[] = {\n");
	for (int k = 0; k < nentries; k++)
		if (plain(&entries[k]))
			printf("\t[%d] = \"%s\",\n", entries[k].nr, entries[k].name);
	printf("};\nconst unsigned call_names_count = sizeof call_names / sizeof *call_names;\n");
}

/* One argument on the server: a local of its own type, checked. */
static void server_arg(const struct entry *e, int i)
{
	const struct arg *a = &e->args[i];
	char t[128];

	if (a->dir == BY_VALUE) {
		if (api_is_handle(a->type))
			printf("\t%s %s = (%s)msg_handle(m, HANDLE_%s, a.%s);\n", a->type, a->name, a->type, a->type,
				a->name);
		return;
	}
	api_pointee(a->type, t, sizeof t);
	if (is_sized(a)) {
		printf("\t%s *%s = msg_%s_sized(m, a.present >> %d & 1, sizeof *%s);\n", t, a->name,
			a->dir == IN ? "in" : "inout", i, a->name);
		return;
	}
	printf("\t%s *%s = msg_%s%s(m, a.present >> %d & 1, ", t, a->name,
		a->dir == IN    ? "in"
		: a->dir == OUT ? "out"
				: "inout",
		api_is_handle(t) && goes_in(a)     ? "_handles"
		: a->len && !strcmp(a->len, "str") ? "_text"
						   : "",
		i);
	if (api_is_handle(t) && goes_in(a)) {
		printf("HANDLE_%s, ", t);
		print_count(e, a, false);
	} else {
		print_size(e, a, false);
	}
	printf(");\n");
}

static void server_results(const struct entry *e)
{
	char t[128];

	for (int i = 0; i < e->nargs; i++) {
		const struct arg *a = &e->args[i];
		if (a->dir == BY_VALUE && a->drop)
			printf("\tmsg_drop(m, HANDLE_%s, a.%s);\n", a->type, a->name);
		api_pointee(a->type, t, sizeof t);
		if (a->dir != BY_VALUE && comes_out(a) && api_is_handle(t)) {
			printf("\tmsg_give_handles(m, HANDLE_%s, %s, ", t, a->name);
			print_count(e, a, false);
			printf(");\n");
		}
	}
}

static void server_one(const struct entry *e)
{
	int order[MAX_ARGS], n = in_order(e, order);

	printf("\nstatic void serve_%s(const struct %s_ops *ops, struct msg *m)\n{\n\tstruct wire_%s a;\n\n", e->name,
		library, e->name);
	printf("\tmsg_args(m, &a, sizeof a);\n");
	for (int i = 0; i < n; i++)
		server_arg(e, order[i]);
	printf("\tif (msg_bad(m))\n\t\treturn;\n\tmsg_result(m, ops->%s(", e->name);
	for (int i = 0; i < e->nargs; i++) {
		const struct arg *a = &e->args[i];
		bool direct = a->dir == BY_VALUE && !api_is_handle(a->type);
		printf("%s%s%s", i ? ", " : "", direct ? "a." : "", a->name);
	}
	printf("));\n");
	server_results(e);
	printf("}\n");
}

void wire_server(void)
{
	for (int k = 0; k < nentries; k++)
		if (plain(&entries[k]))
			server_one(&entries[k]);
	printf("\nstatic const struct %sserved plain[] = {\n", prefix ? prefix : "");
	for (int k = 0; k < nentries; k++)
		if (plain(&entries[k]))
			printf("\t{%d, serve_%s, %s},\n", entries[k].nr, entries[k].name,
				strcmp(entries[k].class, "sync") ? "false" : "true");
	printf("};\n");
}
