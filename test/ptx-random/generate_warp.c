/* Warp-wide instructions, where all lanes that are here are known. */
#include "generate.h"

/*
 * Puts own (a register) into d unless the source lane in %tr1 is a member: lanes that are not here have any value.
 * %tr2 holds what shfl gave.
 */
static void keep_defined(struct gen *g, const struct place *at, const char *d, const char *own)
{
	emit(g, "shr.u32 %%tr3, %s, %%tr1;", at->mask);
	emit(g, "and.b32 %%tr3, %%tr3, 1;");
	emit(g, "setp.ne.u32 %%tp1, %%tr3, 0;");
	emit(g, "selp.b32 %s, %%tr2, %s, %%tp1;", d, own);
}

static void make_shuffle(struct gen *g, const struct place *at)
{
	const char *own = chance(g, 25) ? source(g, at, 'f') : source(g, at, 'r');
	unsigned b = pick(g, 32), segment = chance(g, 60) ? 32 : 1u << (1 + pick(g, 5)), control = (32 - segment) << 8;

	emit(g, "mov.b32 %%tr4, %s;", own);
	switch (pick(g, 4)) {
	case 0:
		emit(g, "shfl.sync.bfly.b32 %%tr2|%%tp0, %%tr4, %u, %u, %s;", b, control | 31, at->mask);
		emit(g, "xor.b32 %%tr1, %%lane, %u;", b);
		break;
	case 1:
		emit(g, "shfl.sync.up.b32 %%tr2|%%tp0, %%tr4, %u, %u, %s;", b, control, at->mask);
		emit(g, "sub.u32 %%tr1, %%lane, %u;", b);
		break;
	case 2:
		emit(g, "shfl.sync.down.b32 %%tr2|%%tp0, %%tr4, %u, %u, %s;", b, control | 31, at->mask);
		emit(g, "add.u32 %%tr1, %%lane, %u;", b);
		break;
	default: /* an index that differs by lane */
		emit(g, "and.b32 %%tr5, %s, 31;", source(g, at, 'r'));
		emit(g, "shfl.sync.idx.b32 %%tr2|%%tp0, %%tr4, %%tr5, %u, %s;", control | 31, at->mask);
		emit(g, "and.b32 %%tr1, %%lane, %u;", 32 - segment);
		emit(g, "and.b32 %%tr5, %%tr5, %u;", segment - 1);
		emit(g, "or.b32 %%tr1, %%tr1, %%tr5;");
	}
	/* Out of the segment: the lane's own value. */
	emit(g, "selp.b32 %%tr1, %%tr1, %%lane, %%tp0;");
	keep_defined(g, at, target(g, 'r'), "%tr4");
	if (chance(g, 40))
		emit(g, "mov.pred %s, %%tp0;", target(g, 'p'));
}

static void make_vote(struct gen *g, const struct place *at)
{
	static const char *const votes[] = {"all", "any", "uni"};
	const char *not = chance(g, 30) ? "!" : "";

	if (chance(g, 50))
		emit(g, "vote.sync.ballot.b32 %s, %s%s, %s;", target(g, 'r'), not, source(g, at, 'p'), at->mask);
	else
		emit(g, "vote.sync.%s.pred %s, %s%s, %s;", votes[pick(g, 3)], target(g, 'p'), not, source(g, at, 'p'),
			at->mask);
}

static void make_match(struct gen *g, const struct place *at)
{
	bool wide = chance(g, 30);

	if (wide)
		emit(g, "and.b64 %%tl1, %s, 3;", source(g, at, 'l'));
	else
		emit(g, "and.b32 %%tr1, %s, 3;", source(g, at, 'r'));
	if (chance(g, 50))
		emit(g, "match.any.sync.b%s %s, %s, %s;", wide ? "64" : "32", target(g, 'r'), wide ? "%tl1" : "%tr1",
			at->mask);
	else
		emit(g, "match.all.sync.b%s %s|%s, %s, %s;", wide ? "64" : "32", target(g, 'r'), target(g, 'p'),
			wide ? "%tl1" : "%tr1", at->mask);
}

void make_warp(struct gen *g, const struct place *at)
{
	static const char *const redux[] = {
		"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"};

	group_begin(g, at);
	switch (pick(g, 10)) {
	case 0:
	case 1:
	case 2:
	case 3:
		make_shuffle(g, at);
		break;
	case 4:
	case 5:
		make_vote(g, at);
		break;
	case 6:
		make_match(g, at);
		break;
	case 7:
	case 8:
		emit(g, "redux.sync.%s %s, %s, %s;", redux[pick(g, 9)], target(g, 'r'), source(g, at, 'r'), at->mask);
		break;
	default:
		emit(g, "bar.warp.sync %s;", at->mask);
	}
}
