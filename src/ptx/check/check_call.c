/* Checks the results and arguments of a call against the function or, in an indirect call, the prototype. */
#include "ptx/check/check.h"

static bool check_argument(struct check *c, struct ptx_operand *o, const struct ptx_var *param, bool is_result)
{
	c->index++;
	if (o->neg)
		return check_refuse(c, o, "cannot be negated");
	if (o->kind != PTX_O_VAR)
		return check_value(c, o, param->type, false, is_result);
	o->type = param->type;
	if (o->var->space != PTX_PARAM || o->imm)
		return check_refuse(c, o, "is neither a register nor a .param variable");
	if (o->var->size != param->size && !param->unsized)
		return check_refuse(c, o, "has %llu bytes where %llu are needed", (unsigned long long)o->var->size,
			(unsigned long long)param->size);
	return true;
}

static bool check_list(struct check *c, struct ptx_operand *list, struct ptx_var **params, uint32_t n, bool is_result,
	const struct token *at)
{
	/* The last parameter of a variadic function is an unsized array; the call may omit it. */
	bool variadic = n && params[n - 1]->unsized;

	if (list->n != n && !(variadic && list->n == n - 1)) {
		parse_fail(c->p, at, "this call has %u %s%s, the function %u", list->n,
			is_result ? "result" : "argument", list->n == 1 ? "" : "s", n);
		return false;
	}
	for (uint32_t i = 0; i < list->n; i++)
		if (!check_argument(c, &list->elem[i], params[i], is_result))
			return false;
	return true;
}

bool check_call(struct check *c, struct operands *ops, const struct token *at)
{
	const struct ptx_function *f = ops->op[0].kind == PTX_O_FUNC ? ops->op[0].fn : NULL;
	const struct ptx_proto *proto = ops->n == 4 ? ops->op[3].proto : NULL;

	if (!f && !proto) {
		parse_fail(c->p, at, "an indirect call needs a prototype or a list of targets");
		return false;
	}
	c->index = 1;
	if (!f && !check_address_sized(c, &ops->op[0]))
		return false;
	if (!f && proto->ntargets)
		f = proto->targets[0];
	if (f && f->alias_of)
		f = f->alias_of;
	c->index = 0;
	return f ? check_list(c, &ops->op[1], f->rets, f->nrets, true, at) &&
			       check_list(c, &ops->op[2], f->params, f->nparams, false, at)
		 : check_list(c, &ops->op[1], proto->rets, proto->nrets, true, at) &&
			       check_list(c, &ops->op[2], proto->params, proto->nparams, false, at);
}
