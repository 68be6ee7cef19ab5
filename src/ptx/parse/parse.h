/*
 * parse.h - what the files of the parser share.  Private to src/ptx.
 *
 * Errors are sticky: the first failure is kept, the lexer then answers only
 * T_EOF, and every loop here ends at T_EOF.  So a caller may run on with
 * nonsense for a moment, but must look at failed() before it dereferences what
 * it was promised.
 */
#pragma once

#include "ptx/arena.h"
#include "ptx/ptx.h"

/* ---- lex.c ---- */

enum token_kind {
	T_EOF,
	T_IDENT,
	T_DOT, /* .word, text without the dot */
	T_INT,
	T_F32, /* 0fXXXXXXXX: u holds the bits */
	T_F64, /* 0dX{16} or a decimal fraction: u holds the bits */
	T_STRING,
	T_SHL,
	T_SHR,
	T_LE,
	T_GE,
	T_EQ,
	T_NE,
	T_ANDAND,
	T_OROR /* further kinds are the character itself, from '!' */
};

struct token {
	int kind;
	const char *s;
	uint32_t len;
	uint32_t line, column;
	uint64_t u;
};

enum { MAX_SCOPES = 64, MAX_DEPTH = 64, MAX_DIMENSIONS = 8 };

struct parser {
	struct ptx_module *m;
	struct ptx_function *f; /* whose body is being parsed, or NULL */
	struct ptx_error *error;
	const char *cur, *end, *line_start;
	const char *body_end; /* skip_braces: where the closing brace was */
	uint32_t line;
	struct token tok; /* the next token */
	bool nomem;
	uint64_t spans[MAX_DIMENSIONS + 1]; /* of the last declarator: scalars inside one inner pair of braces */

	/* Bodies. */
	uint32_t scope; /* number of the innermost open scope; 0 is the module */
	uint32_t *parents;
	uint32_t nscopes, depth;
	uint32_t loc_file, loc_line;
	uint32_t last_label; /* instruction that the last label names */
	struct ptx_var **vars_end;
	struct ptx_names *names; /* of this body */
	struct fixup *fixups;
	uint32_t nfixups;
};

bool failed(const struct parser *p);
__attribute__((format(printf, 3, 4))) void fail(struct parser *p, const struct token *at, const char *fmt, ...);
struct token at_pos(const struct parser *p, uint32_t pos); /* a position for fail; slow, for errors only */
void fail_memory(struct parser *p);
void next(struct parser *p);
void lex_start(struct parser *p, struct ptx_module *m, struct ptx_error *e, size_t from, size_t to, uint32_t line,
	uint32_t column);
bool tok_is(const struct token *t, int kind, const char *text);
bool accept(struct parser *p, int kind);              /* skip it if it is next */
bool accept_word(struct parser *p, const char *word); /* a .word */
bool expect(struct parser *p, int kind, const char *what);
bool skip_braces(struct parser *p); /* at '{': to behind the matching '}', fast */
char *tok_name(struct parser *p, const struct token *t);
const char *tok_text(const struct token *t, char *buf, size_t size); /* for messages, cut to fit */
/* A shallow copy of the position: for looking ahead and going back. */
struct mark {
	const char *cur, *line_start;
	uint32_t line;
	struct token tok;
};
void mark(const struct parser *p, struct mark *k);
void back(struct parser *p, const struct mark *k);

/* ---- names.c: what a name means, by scope ---- */

enum name_kind { NAME_NONE, NAME_REG, NAME_RANGE, NAME_VAR, NAME_FUNC, NAME_LABEL, NAME_LABELS, NAME_PROTO };

struct name {
	struct name *next;
	const char *s;
	uint32_t len;
	uint32_t scope;
	uint8_t kind;
	uint8_t type; /* REG, RANGE */
	uint8_t vec;  /* REG: elements of a vector register */
	uint32_t n;   /* REG: number, RANGE: how many, LABEL: instruction */
	union {
		struct ptx_var *var;
		struct ptx_function *fn;
		struct ptx_proto *proto;
		struct ptx_operand *targets; /* LABELS: n of them */
		uint32_t *regs;              /* vector register */
	};
};

struct ptx_names *names_create(struct ptx_arena *a);
struct name *names_find(const struct ptx_names *t, uint32_t scope, const char *s, size_t len);
struct name *names_add(struct ptx_names *t, struct ptx_arena *a, uint32_t scope, const char *s, size_t len);
void names_free(struct ptx_names *t); /* the table; entries belong to the arena */

struct name *lookup(struct parser *p, const char *s, size_t len);
struct name *declare(struct parser *p, const struct token *t, enum name_kind kind);
uint32_t new_reg(struct parser *p, const char *name, unsigned type);

/* ---- table.c: the instruction set ---- */

enum mod_class {
/* clang-format off */
#define CLASSES(X)                                                                                           \
	X(RND)                                                                                               \
	X(RNDS) X(RNDI) X(RNDX) X(APPROX) X(FULL) X(SAT) X(SATF) X(FTZ) X(RELU) X(NAN) X(XORSIGN) X(CC)      \
		X(UNI) X(CMP) X(BOOL) X(AOP) X(POPC) X(HALF) X(WIDE) X(SPACE) X(SPACE2) X(SEM) X(SCOPE)      \
			X(VEC) X(NC) X(SHFL) X(VOTE) X(SYNC) X(ALIGNED) X(SHF) X(WRAP) X(PRMT) X(TESTP)      \
				X(TO) X(SHIFTAMT) X(GEOM) X(LOD) X(BOUND) X(COMP) X(QUERY) X(TRANS) X(NUM)   \
					X(LAYOUT) X(LAYOUT2) X(CACHE) X(HINT) X(WORD) X(SHAPE) X(SHR) X(PO)
/* clang-format on */
#define X(c) CLASS_##c,
	CLASSES(X)
#undef X
		CLASS_COUNT
};

enum mod_field {
#define F(name) FIELD_##name,
	PTX_MOD_FIELDS(F)
#undef F
		FIELD_COUNT
};

struct op_row {
	uint16_t op;
	const char *base, *words, *operands;
	uint64_t types[4];  /* sets of enum ptx_type; 0 ends the list, bit NONE: may be absent */
	uint64_t must, may; /* sets of enum mod_class */
};

#define MAX_MODS 24

/* A mnemonic in pieces: base and modifiers without dots. */
struct mnemonic {
	struct token base;
	struct token mods[MAX_MODS];
	unsigned nmods;
};

/* Chooses the row and decodes the modifiers. NULL: refused, and why says so in words; where is the piece. */
const struct op_row *table_match(
	const struct mnemonic *mn, struct ptx_mods *m, const struct token **where, char *why, size_t size);
const char *table_mod_text(unsigned field, unsigned value);
unsigned table_op(const struct op_row *row);
int table_type(const char *s, size_t len);                            /* enum ptx_type, or -1 */
int table_sreg(const char *s, size_t len, uint8_t *comp, bool *dims); /* enum ptx_sreg of %name, or -1 */
int table_sreg_type(unsigned sreg);
unsigned table_sreg_dims(unsigned sreg); /* 4: has components, 1: none, 0: a numbered family */

/* ---- parse_*.c ---- */

struct ptx_var *parse_var(struct parser *p, unsigned space, unsigned linkage, struct token *name);
struct ptx_var *parse_var_like(
	struct parser *p, unsigned space, unsigned linkage, struct token *name, struct ptx_var *first);
void parse_init(struct parser *p, struct ptx_var *v);
bool parse_const(struct parser *p, int64_t *value);
bool parse_signature(struct parser *p, struct ptx_var ***list, uint32_t *n); /* ( .param ..., ... ) */
void parse_instruction(struct parser *p);
struct ptx_inst *emit(struct parser *p, const struct ptx_inst *in);

/* Operands as written, before check.c fits them to a row. IMM: n is the token kind of the literal. */
struct operands {
	struct ptx_operand op[PTX_MAX_OPERANDS + 2];
	unsigned n;
	bool bar; /* d|p was written */
};
bool parse_operands(struct parser *p, const struct op_row *row, struct operands *ops);
bool parse_operand(struct parser *p, struct ptx_operand *o);
bool parse_call(struct parser *p, struct operands *ops);
void use_function(struct parser *p, struct ptx_function *f, bool called);
void use_var(struct parser *p, struct ptx_var *v);

/* A label used before it is known where it stands. */
struct fixup {
	struct ptx_operand *op;
	struct token name;
	uint32_t scope;
};
void parse_body(struct parser *p);
struct ptx_function *function_declare(struct parser *p, const struct token *name);
void declare_param_regs(struct parser *p, struct ptx_var **list, uint32_t n);
uint64_t align_up(uint64_t n, uint64_t align);

/* ---- check.c ---- */

/* Fits the operands as written to the row: types, optional ones to their slots, literals to bits. */
bool check_operands(
	struct parser *p, const struct op_row *row, struct ptx_inst *in, struct operands *ops, const struct token *at);

/* ---- passes over a finished body; each returns 0 or -ENOMEM ---- */

int ptx_pass_cfg(struct ptx_function *f);
int ptx_pass_dom(struct ptx_function *f);
int ptx_pass_live(struct ptx_function *f);

enum { STATE_BODY = 1, STATE_FAILED = 2, STATE_ANALYZED = 4, STATE_LAYOUT = 8, STATE_BUSY = 16 };
