/* The catalogue: random words of each row of ops.def, of which those stay that parse, check and decode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/interp/interp.h"
#include "random.h"

/* The sets of ops.def, as in ptx/table.c. */
#define T(t)           (UINT64_C(1) << PTX_##t)
#define NT             {0}
#define T1(a)          {a}
#define T2(a, b)       {a, b}
#define T3(a, b, c)    {a, b, c}
#define T4(a, b, c, d) {a, b, c, d}
#define S_I32          (T(U32) | T(S32))
#define S_I3264        (S_I32 | T(U64) | T(S64))
#define S_INT          (S_I3264 | T(U16) | T(S16))
#define S_INT8         (S_INT | T(U8) | T(S8))
#define S_B3264        (T(B32) | T(B64))
#define S_BITS         (S_B3264 | T(B16))
#define S_HALF         (T(F16) | T(F16X2) | T(BF16) | T(BF16X2))
#define S_FLOAT        (T(F16) | T(BF16) | T(F32) | T(F64))
#define S_MEM          (S_BITS | T(B8) | T(B128) | S_INT8 | T(F32) | T(F64))
#define S_FP8X2        (T(E4M3X2) | T(E5M2X2) | T(E2M1X2) | T(E2M3X2) | T(E3M2X2) | T(UE8M0X2))
#define S_SURF         (T(B8) | S_BITS)
#define S_TEX          (S_I32 | T(F32) | T(F16) | T(F16X2))
#define S_MMA          UINT64_C(0)

enum class {
#define CLASS(name) CLASS_##name,
	CLASS(ALIGNED) CLASS(AOP) CLASS(APPROX) CLASS(BOOL) CLASS(BOUND) CLASS(CACHE) CLASS(CC) CLASS(CMP) CLASS(
		COMP) CLASS(FTZ) CLASS(FULL) CLASS(GEOM) CLASS(HALF) CLASS(HINT) CLASS(LAYOUT) CLASS(LAYOUT2) CLASS(LOD)
		CLASS(NAN) CLASS(NC) CLASS(NUM) CLASS(PO) CLASS(POPC) CLASS(PRMT) CLASS(QUERY) CLASS(RELU) CLASS(RND)
			CLASS(RNDI) CLASS(RNDS) CLASS(RNDX) CLASS(SAT) CLASS(SATF) CLASS(SCOPE) CLASS(SEM) CLASS(SHAPE)
				CLASS(SHF) CLASS(SHFL) CLASS(SHIFTAMT) CLASS(SHR) CLASS(SPACE) CLASS(SPACE2) CLASS(SYNC)
					CLASS(TESTP) CLASS(TO) CLASS(TRANS) CLASS(UNI) CLASS(VEC) CLASS(VOTE)
						CLASS(WIDE) CLASS(WORD) CLASS(WRAP) CLASS(XORSIGN)
#undef CLASS
};
#define C(c)   (UINT64_C(1) << CLASS_##c)
#define S_ATOM 0
#define S_LDST 0
#define S_MBAR 0

static const struct row {
	const char *base, *words, *operands;
	uint64_t types[4], must, may;
} rows[] = {
#define OP(name, base, words, operands, types, must, may) {base, words, operands, types, must, may},
#define FORM(base, words, operands, types, must, may)     {base, words, operands, types, must, may},
#include "ptx/ops.def"
#undef OP
#undef FORM
};

static const struct {
	const char *text;
	uint8_t class;
} modifiers[] = {
#define MOD(text, class, field, value) {text, CLASS_##class},
#include "ptx/mods.def"
#undef MOD
};

static const struct {
	const char *text;
	uint8_t bits, kind;
} types[] = {
#define TYPE(name, text, bits, kind) {text, bits, PTX_KIND_##kind},
#include "ptx/types.def"
#undef TYPE
};

/* The arithmetic of which every result is defined to the bit. */
static const char *const bases[] = {"abs", "add", "and", "bfe", "bfi", "bfind", "bmsk", "brev", "clz", "cnot",
	"copysign", "cvt", "div", "dp2a", "dp4a", "fma", "fns", "lop3", "mad", "mad24", "max", "min", "mov", "mul",
	"mul24", "neg", "not", "or", "popc", "prmt", "rcp", "rem", "sad", "selp", "set", "setp", "shf", "shl", "shr",
	"slct", "sqrt", "sub", "szext", "testp", "vabsdiff", "vabsdiff2", "vabsdiff4", "vadd", "vadd2", "vadd4",
	"vavrg2", "vavrg4", "vmad", "vmax", "vmax4", "vmin", "vmin2", "vset", "vset4", "vshl", "vshr", "vsub", "vsub4",
	"xor"};
enum { NBASES = sizeof bases / sizeof *bases };

/* Modifiers in the order in which ptxas wants them. */
static const uint8_t order[] = {CLASS_WIDE, CLASS_HALF, CLASS_SHF, CLASS_TESTP, CLASS_CMP, CLASS_BOOL, CLASS_RND,
	CLASS_RNDI, CLASS_RNDX, CLASS_RNDS, CLASS_FTZ, CLASS_NAN, CLASS_XORSIGN, CLASS_SAT, CLASS_SATF, CLASS_RELU,
	CLASS_CC, CLASS_WRAP, CLASS_SHIFTAMT, CLASS_AOP};

static char class_of(unsigned type, struct rng *r, bool may_widen)
{
	unsigned bits = types[type].bits, kind = types[type].kind;

	if (kind == PTX_KIND_PRED)
		return 'p';
	if (bits <= 16)
		return may_widen && kind != PTX_KIND_FLOAT && rng_percent(r, 50) ? 'r' : 'h';
	if (bits == 32)
		return type == PTX_F32 ? 'f' : 'r';
	return type == PTX_F64 ? 'd' : 'l';
}

static bool add_operand(struct form *f, char letter, const uint8_t *type, struct rng *r)
{
	static const char letters[] = "DabcEMnHhWwuoVXxPpiZz";
	unsigned n = (unsigned)strlen(f->letters), t = 0, bits;
	char class;

	if (!strchr(letters, letter) || n == MAX_OPERANDS)
		return false;
	if (letter == 'h' || letter == 'b' || letter == 'E')
		t = 1;
	else if (letter == 'c')
		t = 2;
	bits = types[type[t]].bits;
	if (strchr("WwuoV", letter))
		class = 'r';
	else if (strchr("Xx", letter))
		class = 'l';
	else if (strchr("Pp", letter))
		class = 'p';
	else if (letter == 'i')
		class = 'i';
	else if (strchr("Zz", letter))
		class = bits == 16 ? 'r' : 'l';
	else
		class = class_of(type[t], r, letter == 'H' || letter == 'h');
	f->letters[n] = letter;
	f->classes[n] = class;
	f->kinds[n] = strchr("DabcEMn", letter) ? types[type[t]].kind : PTX_KIND_INT;
	f->bits[n] = (uint8_t)(class == 'l' || class == 'd' ? 64 : class == 'h' ? 16 : 32);
	return true;
}

static bool add_operands(struct form *f, const char *operands, const uint8_t *type, struct rng *r)
{
	for (; *operands; operands++) {
		if (*operands == '?') {
			if (rng_percent(r, 50))
				return true;
		} else if (*operands == '|') {
			unsigned n = (unsigned)strlen(f->letters);

			if (rng_percent(r, 50)) {
				f->letters[n] = '|';
				f->classes[n] = 'p';
			}
		} else if (!add_operand(f, *operands, type, r)) {
			return false;
		}
	}
	return true;
}

static void append(struct form *f, const char *word)
{
	size_t n = strlen(f->mnemonic);

	snprintf(f->mnemonic + n, sizeof f->mnemonic - n, ".%s", word);
}

static void append_modifier(struct form *f, unsigned class, struct rng *r)
{
	unsigned n = 0, pick;

	for (unsigned i = 0; i < sizeof modifiers / sizeof *modifiers; i++)
		n += modifiers[i].class == class;
	pick = rng_below(r, n);
	for (unsigned i = 0; i < sizeof modifiers / sizeof *modifiers; i++)
		if (modifiers[i].class == class && !pick--) {
			append(f, class == CLASS_XORSIGN ? "xorsign.abs" : modifiers[i].text);
		}
}

/* One type of each set; false if a set has none that a register holds. */
static bool append_types(struct form *f, const struct row *row, uint8_t type[4], struct rng *r)
{
	for (unsigned i = 0; i < 4 && row->types[i]; i++) {
		do
			type[i] = (uint8_t)rng_below(r, PTX_NTYPES);
		while (!(row->types[i] >> type[i] & 1));
		if (type[i] == PTX_NONE)
			continue;
		if (types[type[i]].bits > 64 || (types[type[i]].kind == PTX_KIND_FLOAT && types[type[i]].bits < 16))
			return false;
		append(f, types[type[i]].text);
	}
	return true;
}

static bool make_candidate(struct form *f, const struct row *row, struct rng *r)
{
	uint8_t type[4] = {0};

	memset(f, 0, sizeof *f);
	snprintf(f->mnemonic, sizeof f->mnemonic, "%s", row->base);
	if (*row->words)
		append(f, row->words);
	for (unsigned i = 0; i < sizeof order; i++)
		if (row->must >> order[i] & 1 || (row->may >> order[i] & 1 && rng_percent(r, 40)))
			if (order[i] != CLASS_CC)
				append_modifier(f, order[i], r);
	if (!append_types(f, row, type, r))
		return false;
	if (row->must & C(PRMT))
		append_modifier(f, CLASS_PRMT, r);
	return add_operands(f, row->operands, type, r);
}

bool form_is_result(char letter)
{
	return strchr("DEMHWXPZV", letter);
}

/* True if the front end accepts the instruction and the interpreter runs it. */
static bool form_valid(const struct form *f)
{
	char text[1024], why[256];
	int n = snprintf(text, sizeof text,
		".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n.reg .b16 %%h; .reg .b32 "
		"%%r;\n"
		".reg .b64 %%l; .reg .f32 %%f; .reg .f64 %%d; .reg .pred %%p;\n%s",
		f->mnemonic);
	struct ptx_module *m;
	struct interp_program *p;
	struct interp_kernel *k;
	bool valid;

	for (unsigned i = 0; f->letters[i]; i++) {
		const char *between = f->letters[i] == '|' ? "|" : i ? ", " : " ";

		if (f->classes[i] == 'i')
			n += snprintf(text + n, sizeof text - (size_t)n, "%s17", between);
		else
			n += snprintf(text + n, sizeof text - (size_t)n, "%s%%%c", between, f->classes[i]);
	}
	n += snprintf(text + n, sizeof text - (size_t)n, ";\nret;\n}\n");
	m = ptx_module_create(text, (size_t)n);
	p = interp_create(m);
	valid = !m->error.line && !interp_kernel(p, ptx_function_find(m, "k"), &k, why, sizeof why);
	interp_destroy(p);
	ptx_module_destroy(m);
	return valid;
}

static bool form_known(const struct forms *forms, unsigned from, const struct form *f)
{
	for (unsigned i = from; i < forms->n; i++)
		if (!memcmp(&forms->list[i], f, sizeof *f))
			return true;
	return false;
}

static void add_forms(struct forms *forms, const struct row *row, unsigned base, unsigned tries, struct rng *r)
{
	unsigned from = forms->first[base];
	struct form f;

	while (tries--) {
		if (!make_candidate(&f, row, r) || strstr(f.mnemonic, ".approx") || strstr(f.mnemonic, ".full"))
			continue;
		f.base = base;
		if (form_known(forms, from, &f) || !form_valid(&f))
			continue;
		if (!(forms->n & (forms->n - 1)))
			forms->list = realloc(forms->list, (forms->n ? forms->n * 2 : 1) * sizeof f);
		if (!forms->list)
			abort();
		forms->list[forms->n++] = f;
	}
}

bool forms_make(struct forms *forms, struct rng *r)
{
	memset(forms, 0, sizeof *forms);
	forms->nbases = NBASES;
	for (unsigned b = 0; b < NBASES; b++) {
		forms->first[b] = forms->n;
		for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
			if (!strcmp(rows[i].base, bases[b]))
				add_forms(forms, &rows[i], b, !strcmp(bases[b], "cvt") ? 200 : 40, r);
		if (forms->n == forms->first[b]) {
			fprintf(stderr, "no form of %s is valid\n", bases[b]);
			return false;
		}
	}
	forms->first[NBASES] = forms->n;
	return true;
}

void forms_free(struct forms *f)
{
	free(f->list);
}
