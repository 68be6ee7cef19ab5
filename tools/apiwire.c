/*
 * apiwire - the modes of apigen that print the messages of the calls of class sync and async.
 *
 *	wire		struct wire_X: the fixed part of each request
 *	client		call_X: packs the arguments and sends them; for class sync, waits for the reply and unpacks it
 *	server		serve_X: checks and unpacks the request, calls the device's table, packs the reply; and the table of
 *			all serve functions, by number
 *	server-header	prototypes of the serve functions that are written by hand
 *
 * All arguments of these calls are plain: numbers, handles, structs without pointers inside, and arrays of those
 * whose length is an argument.  Each length travels once; both sides compute the sizes that follow from it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apigen.h"

static bool goes_in(const struct arg *a)
{
	return a->dir == IN || a->dir == INOUT;
}

static bool comes_out(const struct arg *a)
{
	return a->dir == OUT || a->dir == INOUT;
}

/* Is argument i the (*n) length of another argument?  Such arguments precede the others in a message. */
static bool counts_room(const struct entry *e, int i)
{
	for (int k = 0; k < e->nargs; k++)
		if (e->args[k].len && e->args[k].len[0] == '*' && !strcmp(e->args[k].len + 1, e->args[i].name))
			return true;
	return false;
}

/* The order of the arguments in a message. */
static int message_order(const struct entry *e, int *order)
{
	int n = 0;

	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < e->nargs; i++)
			if (counts_room(e, i) == !pass)
				order[n++] = i;
	return n;
}

static void print_structs(void)
{
	for (int k = 0; k < nentries; k++) {
		const struct entry *e = &entries[k];
		if (!api_has_message(e))
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

/* The length of argument a in elements, as a C expression: of the arguments (client) or of the struct (server). */
static void print_count(const struct arg *a, bool client)
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
	if (*p == '*') { /* an inout argument points to the length */
		printf("(%s ? *%s : 0)", p + 1, p + 1);
		return;
	}
	for (bool first = true; *p; first = false) {
		size_t n = strcspn(p, "*");
		bool number = *p >= '0' && *p <= '9';
		printf("%s(size_t)%s%.*s", first ? "" : " * ", number || client ? "" : "a.", (int)n, p);
		p += n + (p[n] == '*');
	}
}

static bool is_sized(const struct arg *a)
{
	return a->len && !strcmp(a->len, "sized");
}

static void print_size(const struct arg *a, bool client)
{
	char t[128];

	if (is_sized(a)) { /* the first word of the struct has its size */
		printf("wire_sized(%s, sizeof *%s)", a->name, a->name);
		return;
	}
	api_pointee(a->type, t, sizeof t);
	printf("wire_bytes(");
	print_count(a, client);
	printf(", %s%s%s)", strcmp(t, "void") ? "sizeof(" : "1", strcmp(t, "void") ? t : "",
		strcmp(t, "void") ? ")" : "");
}

static int count_pieces(const struct entry *e, bool (*want)(const struct arg *a))
{
	int n = 0;

	for (int i = 0; i < e->nargs; i++)
		n += want(&e->args[i]);
	return n;
}

static void print_pieces(const struct entry *e, const char *name, bool (*want)(const struct arg *a))
{
	int order[MAX_ARGS], n = message_order(e, order);

	printf("\tconst struct wire_piece %s[] = {", name);
	for (int i = 0; i < n; i++) {
		const struct arg *a = &e->args[order[i]];
		if (!want(a))
			continue;
		printf("\n\t\t{(void *)%s, %s ? ", a->name, a->name);
		print_size(a, true);
		printf(" : 0},");
	}
	printf("%s{0}};\n", count_pieces(e, want) ? "\n\t\t" : "");
}

/* Is the argument a buffer for a string?  The one char array that is no string is a LUID, of 8 bytes. */
static bool is_text(const struct arg *a)
{
	char t[128];

	api_pointee(a->type, t, sizeof t);
	return a->dir == OUT && a->len && a->len[0] != '*' && strcmp(a->len, "8") && !strcmp(t, "char");
}

/* The inout argument that has the capacity of an array before the call and the count after it; -1: none. */
static int counting_arg(const struct entry *e)
{
	for (int i = 0; i < e->nargs; i++)
		if (e->args[i].dir == INOUT && counts_room(e, i))
			return i;
	return -1;
}

/*
 * The client checks replies that could make the application read beyond its own memory: counts larger than the array,
 * strings without a NUL.
 */
static bool is_checked(const struct entry *e)
{
	for (int i = 0; i < e->nargs; i++)
		if (is_text(&e->args[i]))
			return true;
	return counting_arg(e) >= 0;
}

static void print_capacity(const struct entry *e)
{
	int n = counting_arg(e);

	if (n >= 0)
		printf("\tsize_t capacity = %s ? *%s : 0;\n", e->args[n].name, e->args[n].name);
}

static void print_reply_checks(const struct entry *e)
{
	int n = counting_arg(e);

	if (n >= 0) {
		printf("\tif (!r && *%s > capacity && (", e->args[n].name);
		for (int i = 0, more = 0; i < e->nargs; i++)
			if (e->args[i].len && e->args[i].len[0] == '*')
				printf("%s%s", more++ ? " || " : "", e->args[i].name);
		printf(")) {\n\t\t*%s = capacity;\n\t\treturn client_reject_reply();\n\t}\n", e->args[n].name);
	}
	for (int i = 0; i < e->nargs; i++) {
		const struct arg *a = &e->args[i];
		if (!is_text(a))
			continue;
		printf("\tif (!r && %s && ", a->name);
		print_count(a, true);
		printf(" > 0)\n\t\t%s[", a->name);
		print_count(a, true);
		printf(" - 1] = 0;\n");
	}
	printf("\treturn r;\n");
}

static void print_call(const struct entry *e)
{
	bool sync = e->route == SYNC;

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
	print_pieces(e, "in", goes_in);
	if (sync)
		print_pieces(e, "out", comes_out);
	bool checked = sync && is_checked(e);
	if (checked)
		print_capacity(e);
	printf("\t%s%s%s(%d, &a, sizeof a, in, %d", checked ? result : "return", checked ? " r = " : " ",
		sync ? "call_sync" : "call_post", e->nr, count_pieces(e, goes_in));
	if (sync)
		printf(", out, %d", count_pieces(e, comes_out));
	printf(");\n");
	if (checked)
		print_reply_checks(e);
	printf("}\n");
}

void mode_wire(void)
{
	const char *own = prefix ? prefix : ""; /* tells the enums of two libraries apart */

	print_head("numbers and messages of the calls");
	printf("#pragma once\n\n#include \"abi/%s.h\"\n\n", library);
	printf("enum %shandle_kind {\n\t%sHANDLE_NONE,\n", own, own);
	for (int i = 0; api_handle(i); i++)
		printf("\tHANDLE_%s,\n", api_handle(i));
	printf("\t%sHANDLE_KINDS\n};\n\nenum %s_number {\n", own, library);
	for (int i = 0; i < nentries; i++)
		printf("\tNR_%s = %d,\n", entries[i].name, entries[i].nr);
	printf("};\n\n");
	print_structs();
}

void mode_client(void)
{
	print_head("calls packed, sent and unpacked");
	for (int k = 0; k < nentries; k++)
		if (api_has_message(&entries[k]))
			print_call(&entries[k]);
	printf("\nconst char *const call_names[] = {\n");
	for (int k = 0; k < nentries; k++)
		if (api_has_message(&entries[k]))
			printf("\t[%d] = \"%s\",\n", entries[k].nr, entries[k].name);
	printf("};\nconst unsigned call_names_count = sizeof call_names / sizeof *call_names;\n");
}

/* Declares one argument in a serve function: a checked local variable of the argument's own type. */
static void print_server_arg(const struct entry *e, int i)
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
		print_count(a, false);
	} else {
		print_size(a, false);
	}
	printf(");\n");
}

/* After the call: destroyed handles leave the session's table, new ones become numbers in the reply. */
static void print_server_results(const struct entry *e)
{
	char t[128];

	for (int i = 0; i < e->nargs; i++) {
		const struct arg *a = &e->args[i];
		if (a->dir == BY_VALUE && a->drop)
			printf("\tmsg_drop(m, HANDLE_%s, a.%s);\n", a->type, a->name);
		api_pointee(a->type, t, sizeof t);
		if (a->dir != BY_VALUE && comes_out(a) && api_is_handle(t)) {
			printf("\tmsg_give_handles(m, HANDLE_%s, %s, ", t, a->name);
			print_count(a, false);
			printf(");\n");
		}
	}
}

static void print_serve(const struct entry *e)
{
	int order[MAX_ARGS], n = message_order(e, order);

	printf("\nstatic void serve_%s(const struct %s_ops *ops, struct msg *m)\n{\n\tstruct wire_%s a;\n\n", e->name,
		library, e->name);
	printf("\tmsg_args(m, &a, sizeof a);\n");
	for (int i = 0; i < n; i++)
		print_server_arg(e, order[i]);
	printf("\tif (msg_bad(m))\n\t\treturn;\n\tmsg_result(m, ops->%s(", e->name);
	for (int i = 0; i < e->nargs; i++) {
		const struct arg *a = &e->args[i];
		bool direct = a->dir == BY_VALUE && !api_is_handle(a->type);
		printf("%s%s%s", i ? ", " : "", direct ? "a." : "", a->name);
	}
	printf("));\n");
	print_server_results(e);
	printf("}\n");
}

void mode_server_header(void)
{
	print_head("serve functions that are written by hand");
	printf("#pragma once\n\nstruct %s_ops;\nstruct msg;\n\n", library);
	for (int k = 0; k < nentries; k++)
		if (entries[k].server_by_hand)
			printf("void serve_%s(const struct %s_ops *ops, struct msg *m);\n", entries[k].name, library);
}

/* Does the call make an object or an allocation?  Functions with Get in their name return existing ones. */
static bool entry_creates(const struct entry *e)
{
	char t[128];

	if (strstr(e->name, "Get"))
		return false;
	for (int i = 0; i < e->nargs; i++) {
		const struct arg *a = &e->args[i];
		api_pointee(a->type, t, sizeof t);
		if (a->dir != BY_VALUE && comes_out(a) && (api_is_handle(t) || api_is_address(t)))
			return true;
	}
	return false;
}

void mode_server(void)
{
	print_head("calls checked, unpacked and made");
	for (int k = 0; k < nentries; k++)
		if (api_has_message(&entries[k]) && !entries[k].server_by_hand)
			print_serve(&entries[k]);
	printf("\n/* By number; the calls that a client sends, and no others. */\n");
	printf("static const struct %sserved %s_served[] = {\n", prefix ? prefix : "", library);
	for (int k = 0; k < nentries; k++)
		if (api_has_message(&entries[k]))
			printf("\t[%d] = {serve_%s, %s%s},\n", entries[k].nr, entries[k].name,
				entries[k].route == SYNC ? "true" : "false",
				!prefix && entry_creates(&entries[k]) ? ", true" : "");
	printf("};\n");
}
