/* Reads an .api file into the tables of api.h and checks it. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api.h"

char *library, *soname, *result, *bad_argument, *unsupported, *stub_result, *node;
struct entry entries[MAX_ENTRIES];
int nentries;
bool is_runtime;

static const char *file;
static int line;

/* A line such as "handle T ..." or "struct T ...": types that are not plain numbers. */
struct types {
	const char *word;
	char *names[MAX_TYPES];
	int count;
};
static struct types handles = {"handle"}, addresses = {"address"}, structs = {"struct"}, callbacks = {"callback"},
		    deeps = {"deep"};

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%d: ", file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

char *api_copy(const char *s, size_t n)
{
	char *p = malloc(n + 1);

	if (!p)
		fail("out of memory");
	memcpy(p, s, n);
	p[n] = 0;
	return p;
}

static char *skip_blanks(char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
}

void api_trim(char *s)
{
	size_t n = strlen(s);

	while (n && isspace((unsigned char)s[n - 1]))
		s[--n] = 0;
}

/* The next word of the line as a copy, or NULL at its end; moves *s behind it. */
static char *next_word(char **s)
{
	char *p = skip_blanks(*s), *q = p;

	while (*q && !isspace((unsigned char)*q))
		q++;
	*s = q;
	return q > p ? api_copy(p, q - p) : NULL;
}

static bool is_ident(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	while (isalnum((unsigned char)*s) || *s == '_')
		s++;
	return !*s;
}

static int parse_number(const char *s, const char *what)
{
	char *end;
	long v;

	if (!s)
		fail("%s is missing", what);
	v = strtol(s, &end, 10);
	if (*end || v < 0 || v > 1000000)
		fail("%s is not a number: %s", what, s);
	return v;
}

/* Parses the direction before a declaration, "in?(count) "; moves *s behind it. */
static void parse_dir(char **s, struct arg *a)
{
	static const struct {
		const char *word;
		enum dir dir;
	} words[] = {
		{"inout", INOUT},
		{"in", IN},
		{"out", OUT},
		{"host", HOST},
	};
	char *p = *s;

	if (!strncmp(p, "drop ", 5)) {
		a->drop = true;
		*s = skip_blanks(p + 5);
		return;
	}
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i].word);
		if (strncmp(p, words[i].word, n) || !strchr(" ?(", p[n]))
			continue;
		a->dir = words[i].dir;
		p += n;
		if (*p == '?') {
			a->opt = true;
			p++;
		}
		if (*p == '(') {
			char *q = strchr(p, ')');
			if (!q)
				fail("no ) after the length");
			a->len = api_copy(p + 1, q - p - 1);
			p = q + 1;
		}
		*s = skip_blanks(p);
		return;
	}
}

static void parse_arg(char *s, struct entry *e)
{
	struct arg *a = &e->args[e->nargs];
	char *end, *p;

	s = skip_blanks(s);
	api_trim(s);
	if (e->nargs == MAX_ARGS)
		fail("%s has more than %d arguments", e->name, MAX_ARGS);
	parse_dir(&s, a);
	end = s + strlen(s);
	for (p = end; p > s && (isalnum((unsigned char)p[-1]) || p[-1] == '_'); p--)
		;
	if (p == s || p == end || !is_ident(p))
		fail("argument %d of %s has no name: %s", e->nargs + 1, e->name, s);
	a->name = api_copy(p, end - p);
	a->type = api_copy(s, p - s);
	api_trim(a->type);
	bool pointer = strchr(a->type, '*') != NULL;
	if (pointer && a->dir == BY_VALUE && !is_runtime)
		fail("pointer %s of %s needs a direction: in, out, inout or host", a->name, e->name);
	if (!pointer && a->dir != BY_VALUE)
		fail("%s of %s has a direction but is no pointer", a->name, e->name);
	e->nargs++;
}

static void parse_args(char *s, struct entry *e)
{
	int depth = 0;
	char *start = s;

	if (!strcmp(s, "void") || !*s)
		return;
	for (;; s++) {
		if (*s == '(')
			depth++;
		if (*s == ')')
			depth--;
		if (*s && !(*s == ',' && depth == 0))
			continue;
		bool last = !*s;
		*s = 0;
		parse_arg(start, e);
		if (last)
			break;
		start = s + 1;
	}
}

static void parse_twin(const char *s, struct entry *e)
{
	if (!s)
		fail("the twin column is missing");
	if (!strcmp(s, "-"))
		return;
	if (!strncmp(s, "ptsz:", 5))
		e->twin = PTSZ;
	else if (!strncmp(s, "ptds:", 5))
		e->twin = PTDS;
	else if (is_runtime && !strcmp(s, "ptsz"))
		e->twin = PTSZ;
	else if (is_runtime && !strcmp(s, "ptds"))
		e->twin = PTDS;
	else
		fail("twin must be -, ptsz:VERSION or ptds:VERSION, not %s", s);
	if (is_runtime)
		return;
	e->twin_since = parse_number(s + 5, "the twin's version");
}

/* "name(args)", "name = target", "name(args) -> function of the driver" */
static void parse_rest(char *s, struct entry *e)
{
	char *p, *close;

	s = skip_blanks(s);
	api_trim(s);
	if (e->route == ALIAS) {
		p = strstr(s, " = ");
		if (!p)
			fail("an alias is written name = target");
		e->name = api_copy(s, p - s);
		api_trim(e->name);
		e->target = api_copy(p + 3, strlen(p + 3));
		return;
	}
	p = is_runtime ? strstr(s, " -> ") : NULL;
	if (p) {
		e->driver = api_copy(p + 4, strlen(p + 4));
		*p = 0;
	}
	p = strchr(s, '(');
	close = s + strlen(s) - 1;
	if (!p || *close != ')')
		fail("expected name(arguments)");
	char *name = p;
	while (name > s && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
		name--;
	e->name = api_copy(name, p - name);
	if (name > s) {
		e->result = api_copy(s, name - s);
		api_trim(e->result);
	}
	if (!is_ident(e->name))
		fail("not a name: %s", e->name);
	*close = 0;
	if (e->route == DATA)
		e->object = api_copy(p + 1, strlen(p + 1));
	else
		parse_args(p + 1, e);
}

/* "sync", "sync:client", "hand" and so on. */
static void parse_class(char *s, struct entry *e)
{
	static const char *const routes[] = {
		"sync", "async", "hand", "local", "none", "owner", "alias", "data", "plain", "init", "context"};
	const char *side = s ? strchr(s, ':') : NULL;
	size_t i = 0, n = s ? strcspn(s, ":") : 0;

	while (i < sizeof routes / sizeof *routes && (!s || strlen(routes[i]) != n || strncmp(s, routes[i], n)))
		i++;
	if (i == sizeof routes / sizeof *routes)
		fail("class must be sync, async, hand, local, none, owner, alias or data, not %s", s ? s : "missing");
	e->class = s;
	e->route = (enum route)i;
	e->client_by_hand = e->route == HAND;
	if (!side++)
		return;
	e->client_by_hand = !strcmp(side, "client") || !strcmp(side, "both");
	e->server_by_hand = !strcmp(side, "server") || !strcmp(side, "both");
	if (!e->client_by_hand && !e->server_by_hand)
		fail("the side written by hand must be client, server or both, not %s", side);
	if (e->route > ASYNC && (e->route != LOCAL || e->server_by_hand))
		fail("class %.*s takes no :%s", (int)n, s, side);
}

/* The major versions that export the function: "all", "12", "13", or "-" for the target of an alias only. */
static int parse_majors(const char *s)
{
	static const char *const words[] = {"-", "12", "13", "all"};

	for (int i = 0; i < 4; i++)
		if (s && !strcmp(s, words[i]))
			return i;
	fail("the major versions must be all, 12, 13 or -, not %s", s ? s : "missing");
}

/* The columns before the name. */
static void parse_columns(char **s, struct entry *e)
{
	char *w;

	if (is_runtime) {
		parse_class(next_word(s), e);
		e->majors = parse_majors(next_word(s));
	} else {
		e->nr = parse_number(next_word(s), "the wire number");
		if (nentries && e->nr <= entries[nentries - 1].nr)
			fail("number %d is out of order", e->nr);
		parse_class(next_word(s), e);
		w = next_word(s);
		e->since = w && !strcmp(w, "-") ? 0 : parse_number(w, "the version since which it exists");
	}
	if ((e->route >= PLAIN && !is_runtime) ||
		(is_runtime && e->route < PLAIN && e->route != NONE && e->route != ALIAS))
		fail("class %s does not belong in this file", e->class);
	parse_twin(next_word(s), e);
}

static void parse_entry(char *s)
{
	struct entry *e = &entries[nentries];

	if (nentries == MAX_ENTRIES)
		fail("more than %d entries", MAX_ENTRIES);
	if (!library)
		fail("the library line must come first");
	e->line = line;
	e->result = result;
	parse_columns(&s, e);
	parse_rest(s, e);
	for (int i = 0; i < nentries; i++)
		if (!strcmp(entries[i].name, e->name) && (!is_runtime || entries[i].majors & e->majors))
			fail("%s is already declared on line %d", e->name, entries[i].line);
	nentries++;
}

static bool parse_types(char *p, struct types *t)
{
	char *w = next_word(&p);

	if (strcmp(w, t->word))
		return false;
	while ((w = next_word(&p))) {
		if (t->count == MAX_TYPES)
			fail("more than %d %s types", MAX_TYPES, t->word);
		t->names[t->count++] = w;
	}
	return true;
}

/* "stub VALUE" or "node NAME": a property of the whole library. */
static bool parse_value(char *p, const char *key, char **value)
{
	size_t n = strlen(key);

	if (strncmp(p, key, n) || p[n] != ' ')
		return false;
	p += n;
	*value = next_word(&p);
	if (!*value || *skip_blanks(p))
		fail("%s takes one word", key);
	return true;
}

static void parse_line(char *s)
{
	char *p = skip_blanks(s);

	api_trim(p);
	if (!*p || *p == '#')
		return;
	if (!strncmp(p, "library ", 8)) {
		p += 8;
		library = next_word(&p);
		soname = next_word(&p);
		result = next_word(&p);
		bad_argument = next_word(&p);
		unsupported = next_word(&p);
		if (!unsupported)
			fail("library needs a name, a SONAME, a result type and its names for a bad argument and for "
			     "what is missing");
	} else if (parse_value(p, "stub", &stub_result) || parse_value(p, "node", &node)) {
		return;
	} else if (!strcmp(p, "runtime")) {
		is_runtime = true;
	} else if (parse_types(p, &handles) || parse_types(p, &addresses) || parse_types(p, &structs) ||
		   parse_types(p, &callbacks) || parse_types(p, &deeps)) {
		return;
	} else {
		parse_entry(p);
	}
}

const struct entry *api_find(const char *name)
{
	for (int i = 0; i < nentries; i++)
		if (!strcmp(entries[i].name, name) && !(is_runtime && entries[i].target))
			return &entries[i];
	return NULL;
}

/* Looks up the targets of aliases, which may be declared on a later line. */
static void resolve_aliases(void)
{
	for (int i = 0; i < nentries; i++) {
		struct entry *e = &entries[i];
		line = e->line;
		if (!e->target)
			continue;
		const struct entry *t = api_find(e->target);
		if (!t || t->target || t->object)
			fail("%s is an alias of %s, which is not a function here", e->name, e->target);
		memcpy(e->args, t->args, sizeof e->args);
		e->nargs = t->nargs;
		e->result = t->result;
	}
}

int api_find_arg(const struct entry *e, const char *name, size_t n)
{
	for (int i = 0; i < e->nargs; i++)
		if (strlen(e->args[i].name) == n && !strncmp(e->args[i].name, name, n))
			return i;
	return -1;
}

static void check_lengths(void)
{
	static const char *special[] = {"str", "image", "params", "sized"};

	for (int i = 0; i < nentries; i++) {
		struct entry *e = &entries[i];
		line = e->line;
		for (int k = 0; k < e->nargs; k++) {
			const char *p = e->args[k].len;
			bool ok = !p;
			for (size_t j = 0; p && j < sizeof special / sizeof *special; j++)
				ok |= !strcmp(p, special[j]);
			while (!ok) {
				p += *p == '*';
				size_t n = strcspn(p, "*");
				if (!n || (!isdigit((unsigned char)*p) && api_find_arg(e, p, n) < 0))
					fail("length of %s of %s names no argument: %s", e->args[k].name, e->name,
						e->args[k].len);
				p += n;
				ok = !*p;
			}
		}
	}
}

bool api_has_message(const struct entry *e)
{
	return e->route == SYNC || e->route == ASYNC;
}

/* Can apigen print how this argument travels? */
static bool is_plain(const struct arg *a)
{
	char t[128];

	if (a->dir == BY_VALUE)
		return !api_is_callback(a->type);
	api_pointee(a->type, t, sizeof t);
	if (a->dir == HOST || strchr(t, '*') || api_is_deep(t))
		return false;
	if (!a->len)
		return true;
	return strcmp(a->len, "image") && strcmp(a->len, "params") && (strcmp(a->len, "str") || a->dir == IN);
}

static void check_messages(void)
{
	for (int i = 0; i < nentries; i++) {
		const struct entry *e = &entries[i];
		line = e->line;
		for (int k = 0; api_has_message(e) && k < e->nargs; k++) {
			const struct arg *a = &e->args[k];
			if (!is_plain(a))
				fail("no message can be generated for %s of %s: use class hand", a->name, e->name);
			if (e->route == ASYNC && (a->dir == OUT || a->dir == INOUT))
				fail("a posted call has no reply for %s of %s: use class sync or hand", a->name,
					e->name);
		}
	}
}

void api_parse(const char *path)
{
	static char buf[8192];
	FILE *f = fopen(path, "r");

	file = path;
	if (!f)
		fail("cannot be opened");
	for (line = 1; fgets(buf, sizeof buf, f); line++) {
		if (!strchr(buf, '\n') && !feof(f))
			fail("line is longer than %zu characters", sizeof buf - 2);
		parse_line(buf);
	}
	fclose(f);
	if (!nentries)
		fail("declares nothing");
	resolve_aliases();
	check_lengths();
	check_messages();
}

static bool is_one_of(const struct types *t, const char *type)
{
	for (int i = 0; i < t->count; i++)
		if (!strcmp(type, t->names[i]))
			return true;
	return false;
}

bool api_is_handle(const char *type)
{
	return is_one_of(&handles, type);
}

bool api_is_address(const char *type)
{
	return is_one_of(&addresses, type);
}

bool api_is_struct(const char *type)
{
	return is_one_of(&structs, type);
}

bool api_is_callback(const char *type)
{
	return is_one_of(&callbacks, type);
}

bool api_is_deep(const char *type)
{
	return is_one_of(&deeps, type);
}

const char *api_handle(int i)
{
	return i < handles.count ? handles.names[i] : NULL;
}

void api_pointee(const char *type, char *out, size_t size)
{
	if (!strncmp(type, "const ", 6))
		type += 6;
	snprintf(out, size, "%s", type);
	char *star = strrchr(out, '*');
	if (star)
		*star = 0;
	api_trim(out);
}
