/*
 * Registers share slots if their live ranges do not overlap.  Random programs with divergent branches and loops run in
 * the interpreter and, thread by thread, in a small C model; both must give the same values.  Half of the registers are
 * written before they are read on every path, like those of a compiler; the others live from start to end.
 *
 *	interp-registers [SEED [PROGRAMS]]
 */
#include "test/check.h"
#include "rig.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 4096, KEPT = 6, MAX_TEMPS = 400, THREADS = 64, MAX_DEPTH = 4 };

enum kind { OP, IF, ELSE, FI, LOOP, POOL, KEEP };

/* One line of a program.  Registers: 0 .. KEPT - 1 live from start to end, others are written once. */
struct step {
	enum kind kind;
	char op; /* + - * ^ & , or w: through 64 bits */
	uint32_t d, a, b;
	uint32_t mask; /* IF, LOOP: taken, or repeated, if (a & mask) is not 0 */
	uint32_t label;
	uint32_t other; /* IF: its ELSE or FI; ELSE: its FI; POOL: its LOOP */
	bool guarded;
};

static struct step steps[MAX_STEPS];
static uint32_t nsteps, ntemps, nlabels;
static uint32_t seen[MAX_TEMPS], nseen; /* temporaries written on every path to here */

static uint32_t random_below(uint32_t n)
{
	return (uint32_t)rand() % n;
}

static struct step *add_step(enum kind kind)
{
	steps[nsteps] = (struct step){.kind = kind};
	return &steps[nsteps++];
}

/* A register that has been written; recent ones are more likely. */
static uint32_t pick_register(void)
{
	if (!nseen || !random_below(3))
		return random_below(KEPT);
	return seen[nseen > 8 && random_below(4) ? nseen - 1 - random_below(8) : random_below(nseen)];
}

static uint32_t new_temp(void)
{
	return KEPT + ntemps++;
}

static void add_op(void)
{
	struct step *s = add_step(OP);

	s->op = "+-*^&w"[random_below(6)];
	s->a = pick_register();
	s->b = pick_register();
	s->guarded = !random_below(5);
	if (s->guarded || ntemps == MAX_TEMPS || !random_below(4))
		s->d = random_below(KEPT);
	else
		seen[nseen++] = s->d = new_temp();
}

/* Temporaries of one arm of a branch are not visible after it. */
static void add_some(unsigned depth)
{
	for (uint32_t n = 3 + random_below(12); n && nsteps + 64 < MAX_STEPS; n--) {
		uint32_t at, was = nseen;

		if (depth == MAX_DEPTH || random_below(4)) {
			add_op();
			continue;
		}
		at = nsteps;
		if (random_below(2)) {
			*add_step(IF) = (struct step){
				.kind = IF, .a = pick_register(), .mask = 1u << random_below(4), .label = nlabels};
			nlabels += 2;
			add_some(depth + 1);
			nseen = was;
			steps[at].other = nsteps;
			add_step(ELSE)->label = steps[at].label;
			add_some(depth + 1);
			nseen = was;
			steps[steps[at].other].other = nsteps;
			add_step(FI)->label = steps[at].label;
		} else if (ntemps < MAX_TEMPS) {
			*add_step(LOOP) =
				(struct step){.kind = LOOP, .d = new_temp(), .a = pick_register(), .label = nlabels++};
			add_some(depth + 2 > MAX_DEPTH ? MAX_DEPTH : depth + 2);
			*add_step(POOL) =
				(struct step){.kind = POOL, .d = steps[at].d, .label = steps[at].label, .other = at};
		}
	}
}

/* ---- in PTX ----------------------------------------------------------------------------------------- */

static char text[1 << 20];
static size_t len;

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	len += (size_t)vsnprintf(text + len, sizeof text - len, fmt, ap);
	va_end(ap);
}

static void print_op(const struct step *s)
{
	const char *op = s->op == '+'   ? "add.u32"
			 : s->op == '-' ? "sub.u32"
			 : s->op == '*' ? "mul.lo.u32"
			 : s->op == '^' ? "xor.b32"
					: "and.b32";

	if (s->guarded) /* the result keeps its value if bit 1 of b is not set */
		say("and.b32 %%g, %%r%u, 2; setp.ne.u32 %%p, %%g, 0; @%%p ", s->b);
	if (s->op == 'w' && !s->guarded) /* the middle bits of the product, through registers of its own */
		say("mul.wide.u32 %%w%td, %%r%u, %%r%u; shr.u64 %%x%td, %%w%td, 16; cvt.u32.u64 %%r%u, %%x%td;\n",
			s - steps, s->a, s->b, s - steps, s - steps, s->d, s - steps);
	else
		say("%s %%r%u, %%r%u, %%r%u;\n", s->op == 'w' ? "add.u32" : op, s->d, s->a, s->b);
}

static void write_ptx(void)
{
	len = 0;
	say(PTX_HEAD ".visible .entry k(.param .u64 out)\n{ .reg .b32 %%r<%u>; .reg .b64 %%w<%u>; .reg .b64 %%x<%u>;\n",
		KEPT + ntemps, nsteps, nsteps);
	say(".reg .b64 %%d<4>; .reg .b32 %%g; .reg .b32 %%c<%u>; .reg .pred %%p;\n", nsteps);
	say("mov.u32 %%r0, %%tid.x;\n");
	for (unsigned i = 1; i < KEPT; i++)
		say("mad.lo.u32 %%r%u, %%r%u, %u, %u;\n", i, i - 1, 2654435761u, i);
	for (const struct step *s = steps; s < steps + nsteps; s++) {
		switch (s->kind) {
		case IF:
			say("and.b32 %%g, %%r%u, %u; setp.eq.u32 %%p, %%g, 0; @%%p bra L%u;\n", s->a, s->mask,
				s->label);
			break;
		case ELSE:
			say("bra L%u;\nL%u:\n", s->label + 1, s->label);
			break;
		case FI:
			say("L%u:\n", s->label + 1);
			break;
		case LOOP: /* 1 to 4 times, different for each lane */
			say("and.b32 %%r%u, %%r%u, 3;\nL%u:\n", s->d, s->a, s->label);
			break;
		case POOL:
			say("sub.u32 %%r%u, %%r%u, 1; setp.ge.s32 %%p, %%r%u, 0; @%%p bra L%u;\n", s->d, s->d, s->d,
				s->label);
			break;
		default:
			print_op(s);
		}
	}
	say("ld.param.u64 %%d1, [out]; mov.u32 %%g, %%tid.x; mad.wide.u32 %%d1, %%g, %u, %%d1;\n", KEPT * 4);
	for (unsigned i = 0; i < KEPT; i++)
		say("st.global.u32 [%%d1 + %u], %%r%u;\n", i * 4, i);
	say("ret; }\n");
}

/* ---- in C ------------------------------------------------------------------------------------------- */

static void run_thread(uint32_t thread, uint32_t *r)
{
	memset(r, 0, (KEPT + MAX_TEMPS) * sizeof *r);
	r[0] = thread;
	for (unsigned i = 1; i < KEPT; i++)
		r[i] = r[i - 1] * 2654435761u + i;
	for (uint32_t i = 0; i < nsteps; i++) {
		const struct step *s = &steps[i];
		uint32_t a = r[s->a], b = r[s->b];

		switch (s->kind) {
		case IF:
			i = a & s->mask ? i : s->other;
			break;
		case ELSE:
			i = s->other;
			break;
		case LOOP:
			r[s->d] = a & 3;
			break;
		case POOL:
			if ((int32_t)--r[s->d] >= 0)
				i = s->other;
			break;
		case OP:
			if (s->guarded && !(b & 2))
				break;
			r[s->d] = s->op == '+'   ? a + b
				  : s->op == '-' ? a - b
				  : s->op == '*' ? a * b
				  : s->op == '^' ? a ^ b
				  : s->op == '&' ? a & b
				  : s->guarded   ? a + b
						 : (uint32_t)((uint64_t)a * b >> 16);
			break;
		default:
			break;
		}
	}
}

static void test_program(unsigned seed)
{
	static uint32_t want[KEPT + MAX_TEMPS];
	static struct rig r;
	uint32_t *out;

	srand(seed);
	nsteps = ntemps = nlabels = nseen = 0;
	add_some(0);
	write_ptx();
	rig_open(&r, text);
	out = rig_alloc(&r, THREADS * KEPT * 4);
	CHECK_EQ(RUN(&r, "k", DIM(1, 1, 1), DIM(THREADS, 1, 1), 0, P(out)), INTERP_OK);
	for (uint32_t t = 0; t < THREADS; t++) {
		run_thread(t, want);
		if (memcmp(out + t * KEPT, want, KEPT * 4)) {
			fprintf(stderr, "program %u, thread %u: other values than in C\n", seed, t);
			failures++;
			break;
		}
	}
	rig_close(&r);
}

int main(int argc, char **argv)
{
	unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1, n = argc > 2 ? (unsigned)atoi(argv[2]) : 300;

	for (unsigned i = 0; i < n && !failures; i++)
		test_program(seed + i);
	return RESULT();
}
