/* Compound statements: branches, loops, barriers, calls, exits. */
#include <stdio.h>
#include <string.h>

#include "generate.h"

static void emit_label(struct gen *g, unsigned group, const char *name, unsigned label)
{
	char text[24];

	snprintf(text, sizeof text, "%s%u:", name, label);
	kernel_line(g->k, group, text);
}

/* The place of a body inside of `at`. */
static struct place place_inside(struct place *at)
{
	struct place p = *at;

	p.outer = at;
	p.depth++;
	return p;
}

static void set_mask(struct place *at, unsigned mask)
{
	snprintf(at->mask, sizeof at->mask, "%%m%u", mask);
}

/* Puts a predicate into %tp2 of the current group: of a varying register, or uniform in the block. */
static void make_condition(struct gen *g, const struct place *at, bool uniform)
{
	static const char *const compare[] = {"eq", "ne", "lt", "ge", "gt"};

	if (uniform) {
		emit(g, "and.b32 %%tr0, %s, 3;", source(g, at, 'k'));
		emit(g, "setp.%s.u32 %%tp2, %%tr0, %u;", compare[pick(g, 5)], pick(g, 4));
	} else if (chance(g, 30)) {
		emit(g, "setp.%s.u32 %%tp2, %%lane, %u;", compare[pick(g, 5)], pick(g, 33));
	} else if (chance(g, 20)) {
		emit(g, "setp.%s.s32 %%tp2, %%u%u, %u;", compare[pick(g, 5)], pick(g, 4), pick(g, 100));
	} else {
		emit(g, "mov.pred %%tp2, %s;", source(g, at, 'p'));
	}
}

static void make_if(struct gen *g, struct place *at)
{
	bool uniform = chance(g, 25), both = chance(g, 55);
	unsigned label = new_label(g), group = group_begin(g, at), yes = 0, no = 0;
	struct place body = place_inside(at);

	make_condition(g, at, uniform);
	body.block_uniform = at->block_uniform && uniform;
	if (!uniform && *at->mask) {
		yes = new_mask(g), no = new_mask(g);
		emit(g, "vote.sync.ballot.b32 %%m%u, %%tp2, %s;", yes, at->mask);
		emit(g, "vote.sync.ballot.b32 %%m%u, !%%tp2, %s;", no, at->mask);
		set_mask(&body, yes);
	}
	emit(g, "@!%%tp2 bra%s ELSE%u;", uniform && chance(g, 30) ? ".uni" : "", label);
	make_statements(g, &body, 1 + pick(g, 6));
	if (both) {
		emit_in(g, group, "bra ENDIF%u;", label);
		emit_label(g, group, "ELSE", label);
		body = place_inside(at);
		body.block_uniform = at->block_uniform && uniform;
		if (!uniform && *at->mask)
			set_mask(&body, no);
		make_statements(g, &body, 1 + pick(g, 5));
		emit_label(g, group, "ENDIF", label);
	} else {
		emit_label(g, group, "ELSE", label);
	}
}

/* The trip count in %c<limit>. */
static void make_limit(struct gen *g, const struct place *at, bool uniform, unsigned limit)
{
	unsigned most = at->loops == 0 ? 7 : 3;

	if (uniform && chance(g, 50))
		emit(g, "mov.u32 %%c%u, %u;", limit, 1 + pick(g, most));
	else
		emit(g, "and.b32 %%c%u, %s, %u;", limit, uniform ? source(g, at, 'k') : source(g, at, 'r'), most);
}

/*
 * A loop with a test at its head or its foot. In a loop whose lanes are known, the mask is of those that stay; in the
 * others, lanes may leave from anywhere.
 */
static void make_loop(struct gen *g, struct place *at)
{
	bool uniform = chance(g, 45), foot = chance(g, 40), known = *at->mask && (uniform || chance(g, 50));
	unsigned label = new_label(g), group = group_begin(g, at), i = new_counter(g), limit = new_counter(g);
	unsigned mask = known && !uniform ? new_mask(g) : 0;
	struct place body = place_inside(at);

	make_limit(g, at, uniform, limit);
	emit(g, "mov.u32 %%c%u, 0;", i);
	body.loops++;
	body.counter = i + 1;
	body.block_uniform = at->block_uniform && uniform;
	body.leave[0] = 0;
	if (!known) {
		body.mask[0] = 0;
		body.block_uniform = false;
		snprintf(body.leave, sizeof body.leave, "%u", label);
	}
	if (mask) {
		set_mask(&body, mask);
		emit(g, "mov.b32 %%m%u, %s;", mask, at->mask);
	}
	emit_label(g, group, "LOOP", label);
	if (!foot) {
		emit(g, "setp.ge.u32 %%tp3, %%c%u, %%c%u;", i, limit);
		if (mask)
			emit(g, "vote.sync.ballot.b32 %%m%u, !%%tp3, %%m%u;", mask, mask);
		emit(g, "@%%tp3 bra OUT%u;", label);
	}
	make_statements(g, &body, 1 + pick(g, 6));
	emit_in(g, group, "add.u32 %%c%u, %%c%u, 1;", i, i);
	if (foot) {
		emit_in(g, group, "setp.lt.u32 %%tp3, %%c%u, %%c%u;", i, limit);
		if (mask)
			emit_in(g, group, "vote.sync.ballot.b32 %%m%u, %%tp3, %%m%u;", mask, mask);
		emit_in(g, group, "@%%tp3 bra LOOP%u;", label);
	} else {
		emit_in(g, group, "bra LOOP%u;", label);
	}
	emit_label(g, group, "OUT", label);
}

/* Blocks that branch to each other as they like, often irreducibly, until a counter has run out. */
static void make_tangle(struct gen *g, struct place *at)
{
	unsigned label = new_label(g), group = group_begin(g, at), fuel = new_counter(g), n = 2 + pick(g, 3);
	struct place body = place_inside(at);

	emit(g, "mov.u32 %%c%u, 0;", fuel);
	body.mask[0] = 0;
	body.block_uniform = false;
	body.loops += 2;
	snprintf(body.leave, sizeof body.leave, "%u", label);
	make_condition(g, at, false);
	emit(g, "@%%tp2 bra TANGLE%u_%u;", label, 1 + pick(g, n - 1));
	for (unsigned b = 0; b < n; b++) {
		char text[32];

		snprintf(text, sizeof text, "TANGLE%u_%u:", label, b);
		kernel_line(g->k, group, text);
		make_statements(g, &body, 1 + pick(g, 3));
		emit_in(g, group, "add.u32 %%c%u, %%c%u, 1;", fuel, fuel);
		emit_in(g, group, "setp.gt.u32 %%tp3, %%c%u, %u;", fuel, 2 + pick(g, 10));
		emit_in(g, group, "@%%tp3 bra OUT%u;", label);
		emit_in(g, group, "@%s%%p%u bra TANGLE%u_%u;", chance(g, 50) ? "!" : "", pick(g, 8), label, pick(g, n));
		if (chance(g, 60))
			emit_in(g, group, "bra TANGLE%u_%u;", label, pick(g, n));
	}
	emit_label(g, group, "OUT", label);
}

static void make_switch(struct gen *g, struct place *at)
{
	unsigned label = new_label(g), group = group_begin(g, at);

	emit(g, "and.b32 %%tr0, %s, 3;", chance(g, 30) ? source(g, at, 'k') : source(g, at, 'r'));
	emit(g, "CASES%u: .branchtargets CASE%u_0, CASE%u_1, CASE%u_2, CASE%u_0;", label, label, label, label, label);
	emit(g, "brx.idx %%tr0, CASES%u;", label);
	for (unsigned i = 0; i < 3; i++) {
		struct place body = place_inside(at);
		char text[32];

		body.mask[0] = 0;
		body.block_uniform = false;
		snprintf(text, sizeof text, "CASE%u_%u:", label, i);
		kernel_line(g->k, group, text);
		make_statements(g, &body, 1 + pick(g, 3));
		if (chance(g, 70))
			emit_in(g, group, "bra END%u;", label);
	}
	emit_label(g, group, "END", label);
}

static void make_call(struct gen *g, struct place *at)
{
	group_begin(g, at);
	emit(g, "{ .param .b32 x; .param .b32 y; .param .b32 z;");
	emit(g, "st.param.b32 [x], %s;", source(g, at, 'r'));
	emit(g, "st.param.b32 [y], %s;", source(g, at, 'r'));
	emit(g, "call (z), %s, (x, y);", chance(g, 50) ? "choose" : "steps");
	emit(g, "ld.param.b32 %s, [z]; }", target(g, 'r'));
}

static void make_barrier(struct gen *g, struct place *at)
{
	static const char *const plain[] = {"bar.sync 0", "barrier.sync 1", "bar.sync 7"};

	switch (pick(g, 4)) {
	case 0:
		emit(g, "bar.red.popc.u32 %s, 0, %s%s;", target(g, 'r'), chance(g, 30) ? "!" : "", source(g, at, 'p'));
		break;
	case 1:
		emit(g, "bar.red.%s.pred %s, 0, %s;", chance(g, 50) ? "and" : "or", target(g, 'p'), source(g, at, 'p'));
		break;
	default:
		emit(g, "%s;", plain[pick(g, 3)]);
	}
}

/* Between its barriers, each thread writes its own part of shared memory and all add to the bins. */
static void make_episode(struct gen *g, struct place *at)
{
	static const char *const ops[] = {
		"add.u32", "min.u32", "max.s32", "xor.b32", "or.b32", "and.b32", "add.u64", "min.s64"};
	struct place body = *at;
	unsigned group = group_begin(g, at), last;

	make_barrier(g, at);
	body.outer = at;
	body.depth++;
	body.episode = group;
	body.bins_op = ops[pick(g, 8)];
	make_statements(g, &body, 2 + pick(g, 5));
	last = g->group;
	g->group = group;
	emit(g, "bar.sync 0;");
	g->group = last;
}

/* Some lanes exit here; those that stay are known again. */
static void make_exit(struct gen *g, struct place *at)
{
	unsigned mask;

	group_begin(g, at);
	mask = new_mask(g);
	emit(g, "and.b32 %%tr0, %s, 3;", source(g, at, 'r'));
	emit(g, "setp.eq.u32 %%tp2, %%tr0, 1;");
	emit(g, "vote.sync.ballot.b32 %%m%u, !%%tp2, %s;", mask, at->mask);
	emit(g, "@%%tp2 %s;", chance(g, 50) ? "exit" : "ret");
	set_mask(at, mask);
	g->exits = true;
}

static void make_leave(struct gen *g, struct place *at)
{
	group_begin(g, at);
	make_condition(g, at, false);
	emit(g, "@%%tp2 bra OUT%s;", at->leave);
}

static bool may_nest(const struct gen *g, const struct place *at)
{
	return at->depth < 4 && at->loops < 3 && g->budget > 3;
}

static bool make_compound(struct gen *g, struct place *at)
{
	unsigned kind = pick(g, 100);

	if (kind < 34)
		make_if(g, at);
	else if (kind < 62)
		make_loop(g, at);
	else if (kind < 68 && !at->loops)
		make_tangle(g, at);
	else if (kind < 72)
		make_switch(g, at);
	else if (kind < 88 && at->block_uniform && !at->episode)
		make_episode(g, at);
	else if (kind < 91 && !at->depth && *at->mask && !g->exits)
		make_exit(g, at);
	else if (kind < 94)
		make_call(g, at);
	else
		return false;
	return true;
}

static void make_simple(struct gen *g, struct place *at)
{
	unsigned kind = pick(g, 100);

	if (kind < 46)
		make_arithmetic(g, at);
	else if (kind < 51)
		make_uniform(g, at);
	else if (kind < 53)
		make_carry(g, at);
	else if (kind < 58)
		make_bits(g, at);
	else if (kind < 67)
		make_load(g, at);
	else if (kind < 76)
		make_own(g, at);
	else if (kind < (at->episode ? 88u : 80u))
		make_shared(g, at);
	else if (kind < 91)
		make_reduction(g, at);
	else if (kind < 94 && *at->leave)
		make_leave(g, at);
	else if (*at->mask)
		make_warp(g, at);
	else
		make_arithmetic(g, at);
}

void make_statements(struct gen *g, struct place *at, unsigned n)
{
	while (n-- && g->budget) {
		g->budget--;
		if (!may_nest(g, at) || !chance(g, 22) || !make_compound(g, at))
			make_simple(g, at);
	}
}
