/* Parses constant integer expressions, with the operators and precedences of C, in 64 bits. */
#include "ptx/parse/parse.h"

static bool parse_expression(struct parser *p, int64_t *v, int min_prec, unsigned depth);

static bool parse_primary(struct parser *p, int64_t *v, unsigned depth)
{
	char buf[80];

	if (depth > MAX_DEPTH) {
		parse_fail(p, &p->tok, "expression is nested too deeply");
		return false;
	}
	if (p->tok.kind == T_INT) {
		*v = (int64_t)p->tok.u;
		parse_next(p);
		return true;
	}
	if (token_is(&p->tok, T_IDENT, "WARP_SZ")) {
		*v = 32;
		parse_next(p);
		return true;
	}
	if (parse_accept(p, '(')) {
		if (parse_accept_word(p, "s64") || parse_accept_word(p, "u64")) /* a cast changes nothing on 64 bits */
			return parse_expect(p, ')', "')'") && parse_primary(p, v, depth + 1);
		return parse_expression(p, v, 0, depth + 1) && parse_expect(p, ')', "')'");
	}
	parse_fail(p, &p->tok, "expected an integer before %s", token_text(&p->tok, buf, sizeof buf));
	return false;
}

static bool parse_unary(struct parser *p, int64_t *v, unsigned depth)
{
	int op = p->tok.kind;

	if (op != '-' && op != '+' && op != '~' && op != '!')
		return parse_primary(p, v, depth);
	if (depth > MAX_DEPTH) {
		parse_fail(p, &p->tok, "expression is nested too deeply");
		return false;
	}
	parse_next(p);
	if (!parse_unary(p, v, depth + 1))
		return false;
	if (op == '-')
		*v = (int64_t)(0 - (uint64_t)*v);
	else if (op == '~')
		*v = ~*v;
	else if (op == '!')
		*v = !*v;
	return true;
}

static int operator_precedence(int op)
{
	switch (op) {
	case '*':
	case '/':
	case '%':
		return 10;
	case '+':
	case '-':
		return 9;
	case T_SHL:
	case T_SHR:
		return 8;
	case '<':
	case '>':
	case T_LE:
	case T_GE:
		return 7;
	case T_EQ:
	case T_NE:
		return 6;
	case '&':
		return 5;
	case '^':
		return 4;
	case '|':
		return 3;
	case T_ANDAND:
		return 2;
	case T_OROR:
		return 1;
	}
	return 0;
}

static bool const_divide(struct parser *p, const struct token *at, int op, int64_t a, int64_t b, int64_t *v)
{
	if (!b) {
		parse_fail(p, at, "division by zero");
		return false;
	}
	if (b == -1)
		*v = op == '/' ? (int64_t)(0 - (uint64_t)a) : 0;
	else
		*v = op == '/' ? a / b : a % b;
	return true;
}

static bool const_apply(struct parser *p, const struct token *at, int op, int64_t a, int64_t b, int64_t *v)
{
	uint64_t x = a, y = b;

	switch (op) {
	case '*':
		*v = x * y;
		break;
	case '/':
	case '%':
		return const_divide(p, at, op, a, b, v);
	case '+':
		*v = x + y;
		break;
	case '-':
		*v = x - y;
		break;
	case T_SHL:
		*v = y < 64 ? x << y : 0;
		break;
	case T_SHR:
		*v = y < 64 ? a >> y : a < 0 ? -1 : 0;
		break;
	case '<':
		*v = a < b;
		break;
	case '>':
		*v = a > b;
		break;
	case T_LE:
		*v = a <= b;
		break;
	case T_GE:
		*v = a >= b;
		break;
	case T_EQ:
		*v = a == b;
		break;
	case T_NE:
		*v = a != b;
		break;
	case '&':
		*v = a & b;
		break;
	case '^':
		*v = a ^ b;
		break;
	case '|':
		*v = a | b;
		break;
	case T_ANDAND:
		*v = a && b;
		break;
	case T_OROR:
		*v = a || b;
		break;
	}
	return true;
}

static bool parse_expression(struct parser *p, int64_t *v, int min_prec, unsigned depth)
{
	struct token at;
	int prec;

	if (!parse_unary(p, v, depth))
		return false;
	while ((prec = operator_precedence(p->tok.kind)) > min_prec) {
		int64_t right;

		at = p->tok;
		parse_next(p);
		if (!parse_expression(p, &right, prec, depth + 1) || !const_apply(p, &at, at.kind, *v, right, v))
			return false;
	}
	if (min_prec == 0 && parse_accept(p, '?')) {
		int64_t yes, no;

		if (!parse_expression(p, &yes, 0, depth + 1) || !parse_expect(p, ':', "':'") ||
			!parse_expression(p, &no, 0, depth + 1))
			return false;
		*v = *v ? yes : no;
	}
	return !parse_failed(p);
}

bool parse_const(struct parser *p, int64_t *value)
{
	*value = 0;
	return parse_expression(p, value, 0, 0);
}
