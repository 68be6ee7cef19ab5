/*
 * ptxread.c - what a PTX text declares: its target, its kernels with their parameters, its variables.
 *
 * Bodies are skipped, except that the shared and local variables they declare or name are counted. So a text
 * that does not compile may well be read here; the compiler has the last word.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/private.h"
#include "image/ptxlex.h"

/* No device takes a tenth of this; it keeps sums of sizes from wrapping. */
#define SIZE_LIMIT  (UINT64_C(1) << 40)
#define PARAM_LIMIT (1u << 20)
#define ALIGN_LIMIT (1u << 20)

#define BUCKETS 1024

/* A module-scope shared variable, to be counted for the kernels that name it. */
struct shared {
	const char *name;
	size_t size_of_name;
	uint64_t size, align;
	size_t counted; /* for this body (number from 1) already */
	uint32_t next;  /* in its bucket: index + 1 */
};

struct reader {
	struct ptxlex lex;
	struct word w; /* the current one */
	struct image_code *code;
	struct image_error *err;
	int error;

	struct image_kernel *kernels;
	size_t nkernels, kernels_room;
	struct image_param *params; /* of all kernels, one after another */
	size_t nparams, params_room;
	struct image_global *globals;
	size_t nglobals, globals_room;
	struct shared *shared;
	size_t nshared, shared_room;
	uint32_t bucket[BUCKETS];

	size_t bodies;                      /* begun so far */
	uint64_t shared_bytes, local_bytes; /* of the one we are in */
};

static void fail(struct reader *r, int error, const char *what)
{
	if (r->error)
		return;
	r->error = image_fail(r->err, error, r->lex.line, "PTX: %s near '%.*s'", what,
			      (int)(r->w.size < 40 ? r->w.size : 40), r->w.text);
	r->lex.at = r->lex.end;
	r->w = (struct word){.kind = WORD_END, .text = r->lex.end};
}

static void next(struct reader *r)
{
	r->w = ptxlex_next(&r->lex);
	if (r->lex.bad)
		fail(r, -EINVAL, "a comment or string without an end");
}

static bool at(const struct reader *r, const char *text)
{
	return word_is(&r->w, text);
}

static bool accept(struct reader *r, const char *text)
{
	bool yes = at(r, text);

	if (yes)
		next(r);
	return yes;
}

static void expect(struct reader *r, const char *text, const char *what)
{
	if (!accept(r, text))
		fail(r, -EINVAL, what);
}

static uint64_t number(struct reader *r, uint64_t limit)
{
	uint64_t value = 0;

	if (!word_number(&r->w, &value) || value > limit)
		fail(r, -EINVAL, "expected a number of a sensible size");
	else
		next(r);
	return value;
}

/* Room for one more of something; NULL with r->error set. */
static void *append(struct reader *r, void *list, size_t *n, size_t *room, size_t size)
{
	char **at = list;
	size_t more;
	char *grown;

	if (*n == *room) {
		more = *room ? *room * 2 : 16;
		grown = reallocarray(*at, more, size);
		if (!grown) {
			fail(r, -ENOMEM, "out of memory");
			return NULL;
		}
		*at = grown;
		*room = more;
	}
	return memset(*at + (*n)++ * size, 0, size);
}

#define APPEND(r, list) append((r), &(r)->list, &(r)->n##list, &(r)->list##_room, sizeof *(r)->list)

static const struct {
	const char *name;
	unsigned size;
} types[] = {
	{".b8", 1},    {".u8", 1},     {".s8", 1},    {".b16", 2},    {".u16", 2},        {".s16", 2},
	{".f16", 2},   {".bf16", 2},   {".b32", 4},   {".u32", 4},    {".s32", 4},        {".f32", 4},
	{".f16x2", 4}, {".bf16x2", 4}, {".tf32", 4},  {".b64", 8},    {".u64", 8},        {".s64", 8},
	{".f64", 8},   {".f32x2", 8},  {".b128", 16}, {".texref", 8}, {".samplerref", 8}, {".surfref", 8},
};

static unsigned type_size(const struct word *w)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (word_is(w, types[i].name))
			return types[i].size;
	return 0;
}

/* A declaration: what precedes the name holds for all names up to the semicolon. */
struct decl {
	uint64_t element, align; /* align 0: as the element */
	bool managed, opaque;    /* opaque: a texture, sampler or surface */
	struct word name;
	uint64_t size; /* 0: an array of unstated size */
};

static void skip_parens(struct reader *r, struct decl *d)
{
	while (r->w.kind != WORD_END && !at(r, ")")) {
		d->managed |= at(r, ".managed");
		next(r);
	}
	expect(r, ")", "expected ')'");
}

static void read_align(struct reader *r, struct decl *d)
{
	uint64_t align = number(r, ALIGN_LIMIT);

	if (!align || align & (align - 1))
		fail(r, -EINVAL, "an alignment that is no power of two");
	d->align = align;
}

static unsigned vector_size(const struct word *w)
{
	return word_is(w, ".v2") ? 2 : word_is(w, ".v4") ? 4 : word_is(w, ".v8") ? 8 : 0;
}

/* [.attribute(...)] [.align n] [.v4] .type [.ptr .space .align n], in whatever order. */
static void read_type(struct reader *r, struct decl *d)
{
	unsigned vector = 1, n;
	bool pointee = false;

	while (r->w.kind == WORD_DIRECTIVE) {
		if (at(r, ".attribute")) {
			next(r);
			expect(r, "(", "expected '('");
			skip_parens(r, d);
			continue;
		}
		if (at(r, ".align")) {
			struct decl other;

			next(r);
			read_align(r, pointee ? &other : d);
			continue;
		}
		pointee |= at(r, ".ptr");
		d->opaque |= at(r, ".texref") || at(r, ".samplerref") || at(r, ".surfref");
		if ((n = vector_size(&r->w)))
			vector = n;
		else if ((n = type_size(&r->w)))
			d->element = n;
		next(r);
	}
	if (!d->element)
		fail(r, -EINVAL, "expected a type");
	d->element *= vector;
}

/* The elements of { a, {b, c}, d } at its outermost level; the cursor stands after it. */
static uint64_t count_initialiser(struct reader *r)
{
	uint64_t depth = 0, n = 0;
	bool empty = true;

	while (r->w.kind != WORD_END && !(depth == 0 && (at(r, ";") || at(r, ",")))) {
		if (at(r, "}") && depth)
			depth--;
		else if (at(r, ",") && depth == 1)
			n++;
		else if (depth)
			empty = false;
		if (at(r, "{"))
			depth++;
		next(r);
	}
	return empty ? 0 : n + 1;
}

/* A name with its dimensions and its initialiser: x[4][] = {...}. */
static void read_declarator(struct reader *r, struct decl *d)
{
	bool open = false;
	uint64_t n = 0;

	d->name = r->w;
	d->size = d->element;
	if (r->w.kind != WORD_NAME)
		fail(r, -EINVAL, "expected a name");
	next(r);
	while (accept(r, "[")) {
		if (at(r, "]"))
			open = true;
		else
			n = number(r, SIZE_LIMIT),
			d->size = n && d->size > SIZE_LIMIT / n ? SIZE_LIMIT + 1 : d->size * n;
		expect(r, "]", "expected ']'");
	}
	n = 0;
	if (accept(r, "="))
		n = count_initialiser(r);
	if (open)
		d->size = n && d->size > SIZE_LIMIT / n ? SIZE_LIMIT + 1 : d->size * n;
	if (d->size > SIZE_LIMIT)
		fail(r, -EINVAL, "an array too large");
}

static uint64_t align_of(const struct decl *d)
{
	return d->align ? d->align : d->element;
}

static uint64_t round_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) / align * align;
}

static uint32_t hash(const char *text, size_t size)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < size; i++)
		h = (h ^ (unsigned char)text[i]) * 16777619u;
	return h % BUCKETS;
}

static void add_shared(struct reader *r, const struct decl *d)
{
	struct shared *s = APPEND(r, shared);
	uint32_t h = hash(d->name.text, d->name.size);

	if (!s)
		return;
	*s = (struct shared){d->name.text, d->name.size, d->size, align_of(d), 0, r->bucket[h]};
	r->bucket[h] = r->nshared;
}

static void add_global(struct reader *r, const struct decl *d, bool constant, bool external, bool local)
{
	struct image_global *g = d->opaque ? NULL : APPEND(r, globals);

	if (!g)
		return;
	g->name = arena_text(r->code->arena, d->name.text, d->name.size);
	if (!g->name)
		fail(r, -ENOMEM, "out of memory");
	g->size = d->size;
	g->align = align_of(d);
	g->space = constant ? IMAGE_SPACE_CONST : IMAGE_SPACE_GLOBAL;
	g->managed = d->managed;
	g->external = external;
	g->local = local;
	if (constant && !external) {
		r->code->const_bytes = round_up(r->code->const_bytes, g->align) + d->size;
		if (r->code->const_bytes > SIZE_LIMIT)
			fail(r, -EINVAL, "too many constants");
	}
}

/* .global, .const or .shared at module scope; the cursor stands on the space. */
static void read_variables(struct reader *r, bool external, bool local)
{
	bool shared = at(r, ".shared"), constant = at(r, ".const");
	struct decl d = {0};

	next(r);
	if (constant && accept(r, "[")) { /* .const[3]: banks of old */
		number(r, 10);
		expect(r, "]", "expected ']'");
	}
	read_type(r, &d);
	do {
		read_declarator(r, &d);
		if (r->error)
			return;
		if (shared)
			add_shared(r, &d);
		else
			add_global(r, &d, constant, external, local);
	} while (accept(r, ","));
	expect(r, ";", "expected ';'");
}

/* .shared or .local inside a body. */
static void read_body_variables(struct reader *r)
{
	uint64_t *sum = at(r, ".shared") ? &r->shared_bytes : &r->local_bytes;
	struct decl d = {0};

	next(r);
	read_type(r, &d);
	do {
		read_declarator(r, &d);
		if (r->error)
			return;
		*sum = round_up(*sum, align_of(&d)) + d.size;
		if (*sum > UINT32_MAX)
			fail(r, -EINVAL, "more memory than there can be");
	} while (accept(r, ","));
}

static void count_shared(struct reader *r)
{
	struct shared *s;

	for (uint32_t i = r->bucket[hash(r->w.text, r->w.size)]; i; i = s->next) {
		s = &r->shared[i - 1];
		if (s->counted == r->bodies || s->size_of_name != r->w.size ||
		    memcmp(s->name, r->w.text, r->w.size))
			continue;
		s->counted = r->bodies;
		r->shared_bytes = round_up(r->shared_bytes, s->align) + s->size;
		if (r->shared_bytes > UINT32_MAX)
			fail(r, -EINVAL, "more shared memory than there can be");
	}
}

/* The cursor stands on '{'. */
static void read_body(struct reader *r)
{
	size_t depth = 0;

	r->bodies++;
	r->shared_bytes = r->local_bytes = 0;
	do {
		if (r->w.kind == WORD_DIRECTIVE && !r->w.glued && (at(r, ".shared") || at(r, ".local"))) {
			read_body_variables(r);
			continue;
		}
		if (r->w.kind == WORD_NAME && r->nshared)
			count_shared(r);
		else if (at(r, "{"))
			depth++;
		else if (at(r, "}"))
			depth--;
		else if (r->w.kind == WORD_END)
			fail(r, -EINVAL, "a body without an end");
		next(r);
	} while (depth && !r->error);
}

static void read_param(struct reader *r, uint64_t *bytes)
{
	struct image_param *p;
	struct decl d = {0};

	expect(r, ".param", "expected .param");
	read_type(r, &d);
	read_declarator(r, &d);
	*bytes = round_up(*bytes, align_of(&d));
	if (*bytes + d.size > PARAM_LIMIT)
		fail(r, -EINVAL, "too many parameters");
	if (r->error)
		return;
	p = APPEND(r, params);
	if (!p)
		return;
	p->offset = *bytes;
	p->size = d.size;
	*bytes += d.size;
}

static void read_params(struct reader *r, struct image_kernel *k)
{
	size_t first = r->nparams;
	uint64_t bytes = 0;

	if (!accept(r, "("))
		return;
	if (!at(r, ")"))
		do
			read_param(r, &bytes);
		while (!r->error && accept(r, ","));
	expect(r, ")", "expected ')'");
	k->nparams = r->nparams - first;
	k->param_bytes = bytes;
}

static void read_triple(struct reader *r, uint32_t *to)
{
	unsigned n = 0;

	to[1] = to[2] = 1;
	do
		to[n++] = number(r, UINT32_MAX);
	while (n < 3 && accept(r, ","));
}

static bool read_limit(struct reader *r, struct image_kernel *k)
{
	if (accept(r, ".maxntid"))
		read_triple(r, k->max_threads);
	else if (accept(r, ".reqntid"))
		read_triple(r, k->req_threads);
	else if (accept(r, ".reqnctapercluster"))
		read_triple(r, k->cluster);
	else if (accept(r, ".minnctapersm"))
		k->min_blocks = number(r, UINT32_MAX);
	else if (accept(r, ".maxnreg"))
		k->max_regs = number(r, UINT32_MAX);
	else if (accept(r, ".maxclusterrank"))
		k->max_cluster_rank = number(r, UINT32_MAX);
	else if (accept(r, ".explicitcluster"))
		k->explicit_cluster = true;
	else if (accept(r, ".blocksareclusters"))
		k->blocks_are_clusters = true;
	else
		return false;
	return true;
}

/* What stands between a parameter list and a body. A .pragma has a semicolon of its own. */
static void read_limits(struct reader *r, struct image_kernel *k)
{
	while (r->w.kind != WORD_END && !at(r, "{") && !at(r, ";")) {
		if (read_limit(r, k))
			continue;
		if (accept(r, ".pragma"))
			while (r->w.kind == WORD_STRING || at(r, ","))
				next(r);
		next(r);
	}
}

/* The cursor stands after .entry. */
static void read_entry(struct reader *r, bool local)
{
	struct image_kernel k = {.local = local}, *slot;
	size_t first = r->nparams;
	struct word name = r->w;

	if (name.kind != WORD_NAME)
		fail(r, -EINVAL, "expected a kernel's name");
	next(r);
	read_params(r, &k);
	read_limits(r, &k);
	if (r->error)
		return;
	if (accept(r, ";")) { /* only announced */
		r->nparams = first;
		return;
	}
	read_body(r);
	k.shared_bytes = r->shared_bytes;
	k.local_bytes = r->local_bytes;
	k.name = arena_text(r->code->arena, name.text, name.size);
	if (!k.name)
		fail(r, -ENOMEM, "out of memory");
	slot = r->error ? NULL : APPEND(r, kernels);
	if (slot)
		*slot = k;
}

/* Anything else: up to its semicolon or through its body. */
static void skip_statement(struct reader *r)
{
	while (r->w.kind != WORD_END && !at(r, ";") && !at(r, "{"))
		next(r);
	if (at(r, "{"))
		read_body(r);
	else
		next(r);
}

/* sm_90a, compute_75 */
static bool read_arch(const struct word *w, unsigned *sm, bool *arch_specific, bool *family)
{
	size_t i;

	if (w->size > 3 && !memcmp(w->text, "sm_", 3))
		i = 3;
	else if (w->size > 8 && !memcmp(w->text, "compute_", 8))
		i = 8;
	else
		return false;
	for (*sm = 0; i < w->size && w->text[i] >= '0' && w->text[i] <= '9' && *sm < 10000; i++)
		*sm = *sm * 10 + (w->text[i] - '0');
	*arch_specific = i + 1 == w->size && w->text[i] == 'a';
	*family = i + 1 == w->size && w->text[i] == 'f';
	return *sm && i + (*arch_specific || *family) == w->size;
}

static void read_version(struct reader *r)
{
	unsigned part[2] = {0}, n = 0;

	for (size_t i = 0; i < r->w.size; i++) {
		char c = r->w.text[i];

		if (c == '.' && n == 0)
			n = 1;
		else if (c >= '0' && c <= '9' && part[n] < 1000)
			part[n] = part[n] * 10 + (c - '0');
		else
			n = 2, i = r->w.size;
	}
	if (r->w.kind != WORD_NUMBER || n != 1)
		fail(r, -EINVAL, "expected a version");
	r->code->version_major = part[0];
	r->code->version_minor = part[1];
	next(r);
}

static void read_target(struct reader *r)
{
	do {
		if (r->w.kind != WORD_NAME)
			fail(r, -EINVAL, "expected a target");
		read_arch(&r->w, &r->code->sm, &r->code->arch_specific, &r->code->family);
		next(r);
	} while (accept(r, ","));
}

/* .version and .target come first in any PTX. */
static void read_head(struct reader *r)
{
	next(r);
	if (!accept(r, ".version"))
		fail(r, -EINVAL, "no .version: not PTX");
	read_version(r);
	expect(r, ".target", "expected .target");
	read_target(r);
	if (!r->code->sm)
		fail(r, -EINVAL, "a .target that we do not know");
}

static bool in(const struct reader *r, const char *const *list)
{
	for (; *list; list++)
		if (at(r, *list))
			return true;
	return false;
}

static void read_statement(struct reader *r)
{
	static const char *const linkage[] = {".visible", ".weak", ".common", ".extern", NULL};
	static const char *const variables[] = {".global", ".const", ".shared", NULL};
	/* These end at the end of their operands, not in a semicolon. */
	static const char *const alone[] = {".file", ".loc", ".version", ".target", NULL};
	bool external = false, local = true;

	for (; in(r, linkage); next(r)) {
		external |= at(r, ".extern");
		local = false;
	}
	if (in(r, variables))
		read_variables(r, external, local);
	else if (accept(r, ".entry"))
		read_entry(r, local);
	else if (accept(r, ".address_size"))
		r->code->address_size = number(r, 64);
	else if (in(r, alone))
		do
			next(r);
		while (r->w.kind != WORD_END && r->w.kind != WORD_DIRECTIVE);
	else
		skip_statement(r);
}

static int publish(struct reader *r)
{
	struct image_code *code = r->code;
	struct image_param *params;
	size_t first = 0;

	params = arena_alloc(code->arena, r->nparams, sizeof *params);
	code->kernels = arena_alloc(code->arena, r->nkernels, sizeof *code->kernels);
	code->globals = arena_alloc(code->arena, r->nglobals, sizeof *code->globals);
	if (!params || !code->kernels || !code->globals)
		return image_fail(r->err, -ENOMEM, 0, "PTX: out of memory");
	code->nkernels = r->nkernels;
	code->nglobals = r->nglobals;
	if (r->nparams)
		memcpy(params, r->params, r->nparams * sizeof *params);
	if (r->nkernels)
		memcpy(code->kernels, r->kernels, r->nkernels * sizeof *code->kernels);
	if (r->nglobals)
		memcpy(code->globals, r->globals, r->nglobals * sizeof *code->globals);
	for (size_t i = 0; i < code->nkernels; i++) {
		code->kernels[i].params = params + first;
		first += code->kernels[i].nparams;
	}
	return 0;
}

int ptx_read(struct image_code *code, const char *text, size_t size, struct image_error *err)
{
	struct reader *r = calloc(1, sizeof *r);
	int error;

	if (!r)
		return image_fail(err, -ENOMEM, 0, "PTX: out of memory");
	r->code = code;
	r->err = err;
	ptxlex_init(&r->lex, text, size);
	code->address_size = 32; /* what no .address_size means */
	read_head(r);
	while (!r->error && r->w.kind != WORD_END)
		read_statement(r);
	error = r->error ? r->error : publish(r);
	free(r->kernels);
	free(r->params);
	free(r->globals);
	free(r->shared);
	free(r);
	return error;
}

int ptx_target(const char *text, size_t size, struct image_entry *entry)
{
	struct image_code code = {0};
	struct reader *r = calloc(1, sizeof *r);
	int error;

	if (!r)
		return -ENOMEM;
	r->code = &code;
	ptxlex_init(&r->lex, text, size);
	read_head(r);
	error = r->error;
	free(r);
	entry->sm = code.sm;
	entry->arch_specific = code.arch_specific;
	entry->family = code.family;
	entry->version_major = code.version_major;
	entry->version_minor = code.version_minor;
	return error;
}
