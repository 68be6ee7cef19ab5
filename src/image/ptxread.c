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
#include "image/ptxdecl.h"

#define PARAM_LIMIT (1u << 20)

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
	struct ptxcursor c;
	struct image_code *code;

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

/* Room for one more of something; NULL with r->c.error set. */
static void *append(struct reader *r, void *list, size_t *n, size_t *room, size_t size)
{
	char **at = list;
	size_t more;
	char *grown;

	if (*n == *room) {
		more = *room ? *room * 2 : 16;
		grown = reallocarray(*at, more, size);
		if (!grown) {
			ptxcur_fail(&r->c, -ENOMEM, "out of memory");
			return NULL;
		}
		*at = grown;
		*room = more;
	}
	return memset(*at + (*n)++ * size, 0, size);
}

#define APPEND(r, list) append((r), &(r)->list, &(r)->n##list, &(r)->list##_room, sizeof *(r)->list)

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

static void add_shared(struct reader *r, const struct ptxdecl *d)
{
	struct shared *s = APPEND(r, shared);
	uint32_t h = hash(d->name.text, d->name.size);

	if (!s)
		return;
	*s = (struct shared){d->name.text, d->name.size, d->size, ptxdecl_align(d), 0, r->bucket[h]};
	r->bucket[h] = r->nshared;
}

static void add_global(struct reader *r, const struct ptxdecl *d, bool constant, bool external, bool local)
{
	struct image_global *g = APPEND(r, globals);

	if (!g)
		return;
	g->name = image_arena_text(r->code->arena, d->name.text, d->name.size);
	if (!g->name)
		ptxcur_fail(&r->c, -ENOMEM, "out of memory");
	g->size = d->size;
	g->align = ptxdecl_align(d);
	g->space = constant ? IMAGE_SPACE_CONST : IMAGE_SPACE_GLOBAL;
	g->managed = d->managed;
	g->opaque = d->opaque;
	g->external = external;
	g->local = local;
	if (constant && !external) {
		r->code->const_bytes = round_up(r->code->const_bytes, g->align) + d->size;
		if (r->code->const_bytes > SIZE_LIMIT)
			ptxcur_fail(&r->c, -EINVAL, "too many constants");
	}
}

/* .global, .const or .shared at module scope; the cursor stands on the space. */
static void read_variables(struct reader *r, bool external, bool local)
{
	bool shared = ptxcur_at(&r->c, ".shared"), constant = ptxcur_at(&r->c, ".const");
	struct ptxdecl d = {.opaque = ptxcur_at(&r->c, ".tex")}; /* .tex: references of old */

	ptxcur_next(&r->c);
	if (constant && ptxcur_accept(&r->c, "[")) { /* .const[3]: banks of old */
		ptxcur_number(&r->c, 10);
		ptxcur_expect(&r->c, "]", "expected ']'");
	}
	ptxdecl_type(&r->c, &d);
	do {
		ptxdecl_name(&r->c, &d);
		if (r->c.error)
			return;
		if (shared)
			add_shared(r, &d);
		else
			add_global(r, &d, constant, external, local);
	} while (ptxcur_accept(&r->c, ","));
	ptxcur_expect(&r->c, ";", "expected ';'");
}

/* .shared or .local inside a body. */
static void read_body_variables(struct reader *r)
{
	uint64_t *sum = ptxcur_at(&r->c, ".shared") ? &r->shared_bytes : &r->local_bytes;
	struct ptxdecl d = {0};

	ptxcur_next(&r->c);
	ptxdecl_type(&r->c, &d);
	do {
		ptxdecl_name(&r->c, &d);
		if (r->c.error)
			return;
		*sum = round_up(*sum, ptxdecl_align(&d)) + d.size;
		if (*sum > UINT32_MAX)
			ptxcur_fail(&r->c, -EINVAL, "more memory than there can be");
	} while (ptxcur_accept(&r->c, ","));
}

static void count_shared(struct reader *r)
{
	struct shared *s;

	for (uint32_t i = r->bucket[hash(r->c.w.text, r->c.w.size)]; i; i = s->next) {
		s = &r->shared[i - 1];
		if (s->counted == r->bodies || s->size_of_name != r->c.w.size ||
			memcmp(s->name, r->c.w.text, r->c.w.size))
			continue;
		s->counted = r->bodies;
		r->shared_bytes = round_up(r->shared_bytes, s->align) + s->size;
		if (r->shared_bytes > UINT32_MAX)
			ptxcur_fail(&r->c, -EINVAL, "more shared memory than there can be");
	}
}

/* The cursor stands on '{'. */
static void read_body(struct reader *r)
{
	size_t depth = 0;

	r->bodies++;
	r->shared_bytes = r->local_bytes = 0;
	do {
		if (r->c.w.kind == WORD_DIRECTIVE && !r->c.w.glued &&
			(ptxcur_at(&r->c, ".shared") || ptxcur_at(&r->c, ".local"))) {
			read_body_variables(r);
			continue;
		}
		if (r->c.w.kind == WORD_NAME && r->nshared)
			count_shared(r);
		else if (ptxcur_at(&r->c, "{"))
			depth++;
		else if (ptxcur_at(&r->c, "}"))
			depth--;
		else if (r->c.w.kind == WORD_END)
			ptxcur_fail(&r->c, -EINVAL, "a body without an end");
		ptxcur_next(&r->c);
	} while (depth && !r->c.error);
}

static void read_param(struct reader *r, uint64_t *bytes)
{
	struct image_param *p;
	struct ptxdecl d = {0};

	ptxcur_expect(&r->c, ".param", "expected .param");
	ptxdecl_type(&r->c, &d);
	ptxdecl_name(&r->c, &d);
	if (r->c.error)
		return;
	*bytes = round_up(*bytes, ptxdecl_align(&d));
	if (*bytes + d.size > PARAM_LIMIT) {
		ptxcur_fail(&r->c, -EINVAL, "too many parameters");
		return;
	}
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

	if (!ptxcur_accept(&r->c, "("))
		return;
	if (!ptxcur_at(&r->c, ")"))
		do
			read_param(r, &bytes);
		while (!r->c.error && ptxcur_accept(&r->c, ","));
	ptxcur_expect(&r->c, ")", "expected ')'");
	k->nparams = r->nparams - first;
	k->param_bytes = bytes;
}

static void read_triple(struct reader *r, uint32_t *to)
{
	unsigned n = 0;

	to[1] = to[2] = 1;
	do
		to[n++] = ptxcur_number(&r->c, UINT32_MAX);
	while (n < 3 && ptxcur_accept(&r->c, ","));
}

static bool read_limit(struct reader *r, struct image_kernel *k)
{
	if (ptxcur_accept(&r->c, ".maxntid"))
		read_triple(r, k->max_threads);
	else if (ptxcur_accept(&r->c, ".reqntid"))
		read_triple(r, k->req_threads);
	else if (ptxcur_accept(&r->c, ".reqnctapercluster"))
		read_triple(r, k->cluster);
	else if (ptxcur_accept(&r->c, ".minnctapersm"))
		k->min_blocks = ptxcur_number(&r->c, UINT32_MAX);
	else if (ptxcur_accept(&r->c, ".maxnreg"))
		k->max_regs = ptxcur_number(&r->c, UINT32_MAX);
	else if (ptxcur_accept(&r->c, ".maxclusterrank"))
		k->max_cluster_rank = ptxcur_number(&r->c, UINT32_MAX);
	else if (ptxcur_accept(&r->c, ".explicitcluster"))
		k->explicit_cluster = true;
	else if (ptxcur_accept(&r->c, ".blocksareclusters"))
		k->blocks_are_clusters = true;
	else
		return false;
	return true;
}

/* What stands between a parameter list and a body. A .pragma has a semicolon of its own. */
static void read_limits(struct reader *r, struct image_kernel *k)
{
	while (r->c.w.kind != WORD_END && !ptxcur_at(&r->c, "{") && !ptxcur_at(&r->c, ";")) {
		if (read_limit(r, k))
			continue;
		if (ptxcur_accept(&r->c, ".pragma"))
			while (r->c.w.kind == WORD_STRING || ptxcur_at(&r->c, ","))
				ptxcur_next(&r->c);
		ptxcur_next(&r->c);
	}
}

/* The cursor stands after .entry. */
static void read_entry(struct reader *r, bool local)
{
	struct image_kernel k = {.local = local}, *slot;
	size_t first = r->nparams;
	struct word name = r->c.w;

	if (name.kind != WORD_NAME)
		ptxcur_fail(&r->c, -EINVAL, "expected a kernel's name");
	ptxcur_next(&r->c);
	read_params(r, &k);
	read_limits(r, &k);
	if (r->c.error)
		return;
	if (ptxcur_accept(&r->c, ";")) { /* only announced */
		r->nparams = first;
		return;
	}
	read_body(r);
	k.shared_bytes = r->shared_bytes;
	k.local_bytes = r->local_bytes;
	k.name = image_arena_text(r->code->arena, name.text, name.size);
	if (!k.name)
		ptxcur_fail(&r->c, -ENOMEM, "out of memory");
	slot = r->c.error ? NULL : APPEND(r, kernels);
	if (slot)
		*slot = k;
}

/* Anything else: up to its semicolon or through its body. */
static void skip_statement(struct reader *r)
{
	while (r->c.w.kind != WORD_END && !ptxcur_at(&r->c, ";") && !ptxcur_at(&r->c, "{"))
		ptxcur_next(&r->c);
	if (ptxcur_at(&r->c, "{"))
		read_body(r);
	else
		ptxcur_next(&r->c);
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

	for (size_t i = 0; i < r->c.w.size; i++) {
		char c = r->c.w.text[i];

		if (c == '.' && n == 0)
			n = 1;
		else if (c >= '0' && c <= '9' && part[n] < 1000)
			part[n] = part[n] * 10 + (c - '0');
		else
			n = 2, i = r->c.w.size;
	}
	if (r->c.w.kind != WORD_NUMBER || n != 1)
		ptxcur_fail(&r->c, -EINVAL, "expected a version");
	r->code->version_major = part[0];
	r->code->version_minor = part[1];
	ptxcur_next(&r->c);
}

static void read_target(struct reader *r)
{
	do {
		if (r->c.w.kind != WORD_NAME)
			ptxcur_fail(&r->c, -EINVAL, "expected a target");
		read_arch(&r->c.w, &r->code->sm, &r->code->arch_specific, &r->code->family);
		ptxcur_next(&r->c);
	} while (ptxcur_accept(&r->c, ","));
}

/* .version and .target come first in any PTX. */
static void read_head(struct reader *r)
{
	ptxcur_next(&r->c);
	if (!ptxcur_accept(&r->c, ".version"))
		ptxcur_fail(&r->c, -EINVAL, "no .version: not PTX");
	read_version(r);
	ptxcur_expect(&r->c, ".target", "expected .target");
	read_target(r);
	if (!r->code->sm)
		ptxcur_fail(&r->c, -EINVAL, "a .target that we do not know");
}

static bool in(const struct reader *r, const char *const *list)
{
	for (; *list; list++)
		if (ptxcur_at(&r->c, *list))
			return true;
	return false;
}

static void read_statement(struct reader *r)
{
	static const char *const linkage[] = {".visible", ".weak", ".common", ".extern", NULL};
	static const char *const variables[] = {".global", ".const", ".shared", ".tex", NULL};
	/* These end at the end of their operands, not in a semicolon. */
	static const char *const alone[] = {".file", ".loc", ".version", ".target", NULL};
	bool external = false, local = true;

	for (; in(r, linkage); ptxcur_next(&r->c)) {
		external |= ptxcur_at(&r->c, ".extern");
		local = false;
	}
	if (in(r, variables))
		read_variables(r, external, local);
	else if (ptxcur_accept(&r->c, ".entry"))
		read_entry(r, local);
	else if (ptxcur_accept(&r->c, ".address_size"))
		r->code->address_size = ptxcur_number(&r->c, 64);
	else if (in(r, alone))
		do
			ptxcur_next(&r->c);
		while (r->c.w.kind != WORD_END && r->c.w.kind != WORD_DIRECTIVE);
	else
		skip_statement(r);
}

static int publish(struct reader *r)
{
	struct image_code *code = r->code;
	struct image_param *params;
	size_t first = 0;

	params = image_arena_alloc(code->arena, r->nparams, sizeof *params);
	code->kernels = image_arena_alloc(code->arena, r->nkernels, sizeof *code->kernels);
	code->globals = image_arena_alloc(code->arena, r->nglobals, sizeof *code->globals);
	if (!params || !code->kernels || !code->globals)
		return image_fail(r->c.err, -ENOMEM, 0, "PTX: out of memory");
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

int image_ptx_read(struct image_code *code, const char *text, size_t size, struct image_error *err)
{
	struct reader *r = calloc(1, sizeof *r);
	int error;

	if (!r)
		return image_fail(err, -ENOMEM, 0, "PTX: out of memory");
	r->code = code;
	r->c.err = err;
	ptxlex_init(&r->c.lex, text, size);
	code->address_size = 32; /* what no .address_size means */
	read_head(r);
	while (!r->c.error && r->c.w.kind != WORD_END)
		read_statement(r);
	error = r->c.error ? r->c.error : publish(r);
	free(r->kernels);
	free(r->params);
	free(r->globals);
	free(r->shared);
	free(r);
	return error;
}

int image_ptx_target(const char *text, size_t size, struct image_entry *entry)
{
	struct image_code code = {0};
	struct reader *r = calloc(1, sizeof *r);
	int error;

	if (!r)
		return -ENOMEM;
	r->code = &code;
	ptxlex_init(&r->c.lex, text, size);
	read_head(r);
	error = r->c.error;
	free(r);
	entry->sm = code.sm;
	entry->arch_specific = code.arch_specific;
	entry->family = code.family;
	entry->version_major = code.version_major;
	entry->version_minor = code.version_minor;
	return error;
}
