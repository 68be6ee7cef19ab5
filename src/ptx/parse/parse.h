/*
 * parse.h - the interface between the files of the parser, the checks and the analyses.  Private to src/ptx.
 *
 * Errors are sticky: the first error is kept in *p->error, the lexer then returns only T_EOF, and every loop of the
 * parser ends at T_EOF.  A caller may therefore continue with meaningless values for a moment, but must test
 * parse_failed() before it dereferences a result.
 *
 * All results live in the module's arena.  The parser itself lives on the stack of ptx_module_create or
 * ptx_function_body; its only allocation outside the arena is the hash table of a body's names.
 */
#pragma once

#include "ptx/arena.h"
#include "ptx/ptx.h"

/* ---- lex.c ---- */

enum token_kind {
	T_EOF,
	T_IDENT,
	T_DOT, /* .word; the text is without the dot */
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
	T_OROR /* single-character tokens have that character as their kind, from '!' */
};

struct token {
	int kind;
	const char *s; /* in the module's text */
	uint32_t len;
	uint32_t line, column;
	uint64_t u; /* T_INT: the value; T_F32, T_F64: the bits */
};

enum { MAX_SCOPES = 64, MAX_DEPTH = 64, MAX_DIMENSIONS = 8 };

/* The place of a declaration of .global or .const memory inside a body. */
struct inner_var {
	size_t at; /* offset in the text */
	uint32_t line, column;
};

struct parser {
	struct ptx_module *m;
	struct ptx_function *f; /* the function whose body is being parsed; NULL at module level */
	struct ptx_error *error;
	const char *cur, *end, *line_start;
	const char *body_end;    /* set by parse_skip_braces: the closing brace */
	struct inner_var *inner; /* set by parse_skip_braces: the .global and .const declarations inside */
	uint32_t ninner;
	uint32_t line;
	struct token tok; /* the next token */
	bool nomem;
	uint64_t spans[MAX_DIMENSIONS +
		       1]; /* of the last declarator, by nesting level: scalars in one pair of inner braces */

	/* Of a body. */
	uint32_t scope;    /* number of the innermost open scope; 0 is the module */
	uint32_t *parents; /* by scope: the enclosing one */
	uint32_t nscopes, depth;
	uint32_t loc_file, loc_line; /* of the last .loc */
	uint32_t last_label;         /* index of the instruction after the last label */
	struct ptx_var **vars_end;
	struct ptx_names *names;    /* names declared in this body */
	struct label_fixup *fixups; /* label operands to fill in at the end of the body */
	uint32_t nfixups;
};

bool parse_failed(const struct parser *p);
__attribute__((format(printf, 3, 4))) void parse_fail(struct parser *p, const struct token *at, const char *fmt, ...);
struct token parse_token_at(
	const struct parser *p, uint32_t pos); /* line and column of a text offset; slow, for errors */
void parse_fail_memory(struct parser *p);
void parse_next(struct parser *p); /* reads the next token into p->tok */
/* Initialises p to parse text[from, to), which starts at this line and column, and reads the first token. */
void parse_start(struct parser *p, struct ptx_module *m, struct ptx_error *e, size_t from, size_t to, uint32_t line,
	uint32_t column);
bool token_is(const struct token *t, int kind, const char *text);
bool parse_accept(struct parser *p, int kind);                   /* consumes the token if it is of this kind */
bool parse_accept_word(struct parser *p, const char *word);      /* consumes the token if it is this .word */
bool parse_expect(struct parser *p, int kind, const char *what); /* consumes the token, or fails: "expected <what>" */
bool parse_skip_braces(struct parser *p);                        /* from '{' past the matching '}', without parsing */
char *token_copy(struct parser *p, const struct token *t);       /* the token's text, in the arena */
const char *token_text(const struct token *t, char *buf, size_t size); /* for messages, truncated to fit */
/* A position to come back to after looking ahead. */
struct parse_mark {
	const char *cur, *line_start;
	uint32_t line;
	struct token tok;
};
void parse_mark(const struct parser *p, struct parse_mark *k);
void parse_rewind(struct parser *p, const struct parse_mark *k);

/* ---- names.c: names and their scopes ---- */

enum name_kind { NAME_NONE, NAME_REG, NAME_RANGE, NAME_VAR, NAME_FUNC, NAME_LABEL, NAME_LABELS, NAME_PROTO };

struct ptx_name {
	struct ptx_name *next;
	const char *s;
	uint32_t len;
	uint32_t scope;
	uint8_t kind;
	uint8_t type; /* REG, RANGE */
	uint8_t vec;  /* REG, RANGE: elements of a vector register */
	uint32_t n;   /* REG: register number, RANGE: count, LABEL: instruction, LABELS: number of targets */
	union {
		struct ptx_var *var;
		struct ptx_function *fn;
		struct ptx_proto *proto;
		struct ptx_operand *targets; /* LABELS */
		uint32_t *regs;              /* REG with vec: the register of each element */
	};
};

struct ptx_names *names_create(struct ptx_arena *a);
struct ptx_name *names_find(const struct ptx_names *t, uint32_t scope, const char *s, size_t len);
struct ptx_name *names_add(struct ptx_names *t, struct ptx_arena *a, uint32_t scope, const char *s, size_t len);
void names_destroy(struct ptx_names *t); /* frees the table; its entries belong to the arena. NULL is fine */

/* Searches from the innermost scope outwards, then the module. NULL: not declared. */
struct ptx_name *parse_lookup(struct parser *p, const char *s, size_t len);
/* Adds a name to the innermost scope; NULL and an error if that scope has it already. */
struct ptx_name *parse_declare(struct parser *p, const struct token *t, enum name_kind kind);
uint32_t parse_new_reg(struct parser *p, const char *name, unsigned type); /* the number of a new virtual register */
/* Makes n, whose text is t, a vector register with a register for each element. */
void parse_declare_vector(struct parser *p, struct ptx_name *n, const struct token *t, unsigned type, unsigned vec);

/* ---- table.c: the instruction set (ops.def, mods.def, types.def, sregs.def) ---- */

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

/* One row of ops.def. */
struct op_row {
	uint16_t op;
	const char *base, *words, *operands;
	uint64_t types[4];  /* sets of enum ptx_type; 0 ends the list, bit NONE allows none */
	uint64_t must, may; /* sets of enum mod_class */
};

#define MAX_MODS 24

/* A mnemonic split at its dots. */
struct mnemonic {
	struct token base;
	struct token mods[MAX_MODS];
	unsigned nmods;
};

/* Finds the row for a mnemonic and decodes its modifiers. NULL: no row fits; `why` is the message, *where its token. */
const struct op_row *table_match(
	const struct mnemonic *mn, struct ptx_mods *m, const struct token **where, char *why, size_t size);
const char *table_mod_text(unsigned field, unsigned value); /* the word that sets a field to a value, for dumps */
unsigned table_opcode(const struct op_row *row);
int table_type(const char *s, size_t len);                            /* enum ptx_type, or -1 */
int table_sreg(const char *s, size_t len, uint8_t *comp, bool *dims); /* enum ptx_sreg of %name, or -1 */
int table_sreg_type(unsigned sreg);
unsigned table_sreg_dims(unsigned sreg); /* 4: has components, 1: has none, 0: a numbered family */

/* ---- parse_*.c ---- */

struct ptx_var *parse_var(struct parser *p, unsigned space, unsigned linkage, struct token *name);
/*
 * One declarator of a list.  The qualifiers stand only before the first declarator; `first` keeps them for the others
 * and starts zeroed.  The size of an unsized array is that of one element until an initialiser gives the length.
 */
struct ptx_var *parse_var_like(
	struct parser *p, unsigned space, unsigned linkage, struct token *name, struct ptx_var *first);
void parse_init(struct parser *p, struct ptx_var *v); /* the initialiser of v, after '=' */
bool parse_const(struct parser *p, int64_t *value);   /* a constant integer expression */
/* The list after .attribute: true if it has .managed. All others, such as .unified(uuid, uuid), are hints. */
bool parse_attribute(struct parser *p);
bool parse_signature(struct parser *p, struct ptx_var ***list, uint32_t *n); /* ( .param ..., ... ) */
void parse_instruction(struct parser *p);
struct ptx_inst *parse_emit(struct parser *p, const struct ptx_inst *in); /* appends a copy to the body */

/* Operands as written, before check_operands. Of an IMM, n is the token kind of the literal. */
struct operands {
	struct ptx_operand op[PTX_MAX_OPERANDS + 2];
	unsigned n;
	bool bar; /* the text has a second result: d|p */
};
/* All operands up to the semicolon. The row decides only where the same text has different meanings. */
bool parse_operands(struct parser *p, const struct op_row *row, struct operands *ops);
bool parse_operand(struct parser *p, struct ptx_operand *o);
bool parse_call(struct parser *p, struct operands *ops);
/* Note that the body calls the function (or takes its address), or names the variable. */
void parse_use_function(struct parser *p, struct ptx_function *f, bool called);
void parse_use_var(struct parser *p, struct ptx_var *v);

/* A label operand, to be resolved at the end of the body. */
struct label_fixup {
	struct ptx_operand *op; /* NULL until the instruction is stored */
	struct token name;
	uint32_t scope;
};
void parse_body(struct parser *p);

/* ---- parse_inner_var.c: .global and .const variables declared inside a function ---- */

void inner_var_note(struct parser *p); /* p->cur is a dot: notes the declaration that starts here, if any */
void inner_vars_declare(struct parser *p, struct ptx_function *f); /* makes the variables in p->inner the module's */
void inner_var_parse(struct parser *p);                            /* the declaration, in the body */
void parse_append_var(struct parser *p, struct ptx_var *v);        /* adds a variable to the module */
struct ptx_function *parse_declare_function(struct parser *p, const struct token *name); /* the existing or a new one */
uint64_t ptx_align_up(uint64_t n, uint64_t align);

/* ---- check.c ---- */

/*
 * Checks operands against the row and brings them into their final form: each has its type, absent optional ones are
 * PTX_O_NONE, literals are the bits of their type.  Special registers and addresses outside of mov get a mov of their
 * own before the instruction.
 */
bool check_operands(
	struct parser *p, const struct op_row *row, struct ptx_inst *in, struct operands *ops, const struct token *at);

/* ---- analysis/: the passes of ptx_function_analyze, in order; each returns 0, -ENOMEM or -E2BIG ---- */

int ptx_pass_cfg(struct ptx_function *f);
int ptx_pass_dom(struct ptx_function *f);
int ptx_pass_live(struct ptx_function *f);

/* ptx_function.state. STATE_BUSY marks the functions that a walk over the call graph has reached. */
enum { STATE_BODY = 1, STATE_FAILED = 2, STATE_ANALYZED = 4, STATE_LAYOUT = 8, STATE_BUSY = 16 };
