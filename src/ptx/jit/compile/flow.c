/*
 * The ends of blocks: branches, exits, and the choice of the block that runs next (pending.c).
 *
 * Each edge of a block has a mask of lanes.  Lanes of an edge to another block are added to the pending mask of that
 * block; then the first pending block with any lanes runs.  Where only one block can follow, the edge is a jump.
 */
#include "ptx/jit/compile/compile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static LLVMBasicBlockRef new_block(struct compiler *c)
{
	return LLVMAppendBasicBlockInContext(c->context, c->fn, "");
}

bool may_wait(const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_ld:
	case PTX_OP_st:
		return in->m.sem > PTX_WEAK;
	case PTX_OP_atom:
	case PTX_OP_atom_cas:
	case PTX_OP_red:
	case PTX_OP_nanosleep:
	case PTX_OP_call:
	case PTX_OP_mbarrier_test_wait:
	case PTX_OP_mbarrier_test_wait_parity:
	case PTX_OP_mbarrier_try_wait:
	case PTX_OP_mbarrier_try_wait_parity:
		return true;
	default:
		return false;
	}
}

/* True if instruction i can leave compiled code, which is entered again after it. */
bool needs_handover_at(const struct compiler *c, uint32_t i)
{
	switch (c->f->insts[i].op) {
	case PTX_OP_bar_sync:
	case PTX_OP_bar_arrive:
	case PTX_OP_bar_red:
	case PTX_OP_barrier_sync:
	case PTX_OP_barrier_arrive:
	case PTX_OP_barrier_red:
	case PTX_OP_barrier_cluster_arrive:
	case PTX_OP_barrier_cluster_wait:
	case PTX_OP_call:
		return true;
	default:
		return c->x->insts[c->x->first[i + 1] - 1].op != NULL; /* waits for its members */
	}
}

bool needs_handover(const struct compiler *c)
{
	return needs_handover_at(c, c->index);
}

/* ---- edges ------------------------------------------------------------------------------------------ */

void emit_block_start(struct compiler *c, uint32_t b)
{
	c->block = b;
	c->guard = NULL;
	LLVMPositionBuilderAtEnd(c->b, c->starts[b]);
	c->mask = LLVMBuildLoad2(c->b, c->v1, block_alone(c, b) ? c->live_var : c->pending_vars[b], "");
	LLVMBuildStore(c->b, LLVMConstNull(c->v1), c->pending_vars[b]);
	LLVMBuildStore(c->b, c->mask, c->mask_var);
}

/* The lanes that wait for block b have come; b may be the header of a loop. */
static LLVMValueRef arriving_lanes(struct compiler *c, uint32_t b)
{
	return LLVMBuildLoad2(c->b, c->v1, block_alone(c, b) ? c->live_var : c->pending_vars[b], "");
}

/* Returns to the interpreter before block b, as if it had jumped there. */
static void hand_over_at(struct compiler *c, uint32_t b, unsigned status)
{
	uint32_t block = c->block;
	LLVMValueRef mask = arriving_lanes(c, b);

	c->block = b;
	emit_handover(c, c->f->blocks[b].first, mask, status);
	c->block = block;
}

/* At back edges: loops that wait for other threads give these a turn, and all notice the end of the grid. */
static void emit_poll(struct compiler *c, uint32_t header)
{
	LLVMBasicBlockRef check = new_block(c), on = new_block(c), over = new_block(c);
	LLVMValueRef n;

	if (c->loops[header].spins) {
		n = field_load(c, c->b, c->i32, c->warp, offsetof(struct warp, budget));
		n = LLVMBuildSub(c->b, n, LLVMConstInt(c->i32, 1, 0), "");
		field_store(c, n, c->warp, offsetof(struct warp, budget));
		LLVMBuildCondBr(c->b, LLVMBuildICmp(c->b, LLVMIntSLE, n, LLVMConstNull(c->i32), ""), check, on);
		LLVMPositionBuilderAtEnd(c->b, check);
		hand_over_at(c, header, COMPILED_BUDGET);
		LLVMDeleteBasicBlock(over);
		LLVMPositionBuilderAtEnd(c->b, on);
		return;
	}
	n = LLVMBuildLoad2(c->b, c->i32, c->poll_var, "");
	n = LLVMBuildSub(c->b, n, LLVMConstInt(c->i32, 1, 0), "");
	LLVMBuildStore(c->b, n, c->poll_var);
	LLVMBuildCondBr(c->b, LLVMBuildICmp(c->b, LLVMIntEQ, n, LLVMConstNull(c->i32), ""), check, on);
	LLVMPositionBuilderAtEnd(c->b, check);
	LLVMBuildStore(c->b, LLVMConstInt(c->i32, POLL_INTERVAL, 0), c->poll_var);
	LLVMBuildCondBr(c->b, call_helper(c, offsetof(struct compiled_helpers, over), c->i1, &c->warp, 1), over, on);
	LLVMPositionBuilderAtEnd(c->b, over);
	emit_return(c, COMPILED_FAULT);
	LLVMPositionBuilderAtEnd(c->b, on);
}

static void emit_jump(struct compiler *c, uint32_t to)
{
	if (c->position[to] <= c->position[c->block])
		emit_poll(c, to);
	LLVMBuildBr(c->b, c->starts[to]);
}

/* Continues with the first block of `set` that lanes wait for; at least one has lanes. first: certainly has some. */
static void choose_next(struct compiler *c, const uint64_t *set, uint32_t first)
{
	uint32_t n = pending_candidates(c, c->block, set, c->list), *list;

	list = malloc((n + 1u) * sizeof(*list));
	if (!list) {
		compile_fail(c, -ENOMEM, "out of memory");
		LLVMBuildUnreachable(c->b);
		return;
	}
	memcpy(list, c->list, n * sizeof(*list));
	for (uint32_t i = 0; i < n; i++) {
		LLVMBasicBlockRef take, next;
		LLVMValueRef lanes;

		if (i + 1 == n || list[i] == first) {
			emit_jump(c, list[i]);
			break;
		}
		take = new_block(c);
		next = new_block(c);
		lanes = LLVMBuildLoad2(c->b, c->v1, c->pending_vars[list[i]], "");
		LLVMBuildCondBr(c->b, mask_any(c, lanes), take, next);
		LLVMPositionBuilderAtEnd(c->b, take);
		emit_jump(c, list[i]);
		LLVMPositionBuilderAtEnd(c->b, next);
	}
	free(list);
}

static void add_pending(struct compiler *c, uint32_t b, LLVMValueRef lanes)
{
	LLVMValueRef old = LLVMBuildLoad2(c->b, c->v1, c->pending_vars[b], "");

	LLVMBuildStore(c->b, LLVMBuildOr(c->b, old, lanes, ""), c->pending_vars[b]);
}

/* Lanes exit; if they were the last ones, the warp ends. */
static void exit_lanes(struct compiler *c, LLVMValueRef lanes)
{
	LLVMValueRef live = LLVMBuildLoad2(c->b, c->v1, c->live_var, "");
	LLVMBasicBlockRef end, on;

	live = LLVMBuildAnd(c->b, live, LLVMBuildNot(c->b, lanes, ""), "");
	LLVMBuildStore(c->b, live, c->live_var);
	end = new_block(c);
	on = new_block(c);
	LLVMBuildCondBr(c->b, mask_any(c, live), on, end);
	LLVMPositionBuilderAtEnd(c->b, end);
	emit_return(c, COMPILED_EXITED);
	LLVMPositionBuilderAtEnd(c->b, on);
}

/* Sends lanes along one edge: `to` is a block, or NO_BLOCK for the end of the kernel. */
struct edge {
	uint32_t to;
	LLVMValueRef lanes;
};

static void emit_edges(struct compiler *c, const struct edge *edges, unsigned n)
{
	uint64_t *set = calloc(c->words + 1u, 8);
	uint32_t targets = 0, only = NO_BLOCK;
	bool exits = false;

	if (!set) {
		compile_fail(c, -ENOMEM, "out of memory");
		LLVMBuildUnreachable(c->b);
		return;
	}
	memcpy(set, block_pending(c, c->block), c->words * 8);
	for (unsigned i = 0; i < n; i++) {
		uint32_t to = edges[i].to;

		if (to == NO_BLOCK || block_only_exits(c, to)) {
			exits = true;
			continue;
		}
		targets += !targets || to != only;
		only = to;
		set[to / 64] |= UINT64_C(1) << to % 64;
	}
	for (unsigned i = 0; i < n; i++)
		if (edges[i].to != NO_BLOCK && !block_only_exits(c, edges[i].to))
			add_pending(c, edges[i].to, edges[i].lanes);
	if (set_empty(set, c->words))
		emit_return(c, COMPILED_EXITED);
	for (unsigned i = 0; i < n && !set_empty(set, c->words); i++)
		if (edges[i].to == NO_BLOCK || block_only_exits(c, edges[i].to))
			exit_lanes(c, edges[i].lanes);
	if (!set_empty(set, c->words))
		choose_next(c, set, targets == 1 && !exits ? only : NO_BLOCK);
	free(set);
}

/* ---- terminators ------------------------------------------------------------------------------------ */

static uint32_t branch_target(const struct compiler *c, const struct ptx_inst *in)
{
	if (in->op == PTX_OP_bra)
		return c->f->block_of[in->ops[0].reg];
	return NO_BLOCK; /* ret, exit */
}

/* A branch under a uniform condition stays one. */
static void emit_uniform_branch(struct compiler *c, uint32_t taken, uint32_t other)
{
	LLVMBasicBlockRef yes = new_block(c), no = new_block(c);

	LLVMBuildCondBr(c->b, c->guard, yes, no);
	LLVMPositionBuilderAtEnd(c->b, yes);
	emit_edges(c, &(struct edge){taken, c->mask}, 1);
	LLVMPositionBuilderAtEnd(c->b, no);
	emit_edges(c, &(struct edge){other, c->mask}, 1);
}

static void emit_divergent_branch(struct compiler *c, uint32_t taken, uint32_t other)
{
	struct edge edges[] = {{taken, LLVMBuildAnd(c->b, c->mask, c->guard, "")},
		{other, LLVMBuildAnd(c->b, c->mask, LLVMBuildNot(c->b, c->guard, ""), "")}};

	emit_edges(c, edges, 2);
}

/* The trap is left to the interpreter, if any lane executes it. */
static void emit_trap(struct compiler *c)
{
	LLVMBasicBlockRef trap, on;

	if (!c->guard) {
		emit_handover(c, c->index, c->mask, COMPILED_HANDOVER);
		return;
	}
	trap = new_block(c);
	on = new_block(c);
	LLVMBuildCondBr(c->b, mask_any(c, active_mask(c)), trap, on);
	LLVMPositionBuilderAtEnd(c->b, trap);
	emit_handover(c, c->index, c->mask, COMPILED_HANDOVER);
	LLVMPositionBuilderAtEnd(c->b, on);
	emit_edges(c, &(struct edge){c->block + 1, c->mask}, 1);
}

/* brx.idx is left to the interpreter; each target is a code entry. */
static void emit_indexed_branch(struct compiler *c)
{
	emit_handover(c, c->index, c->mask, COMPILED_HANDOVER);
}

void emit_block_end(struct compiler *c, uint32_t b)
{
	const struct ptx_block *k = &c->f->blocks[b];
	const struct ptx_inst *in = &c->f->insts[k->end - 1];
	uint32_t taken;

	c->index = k->end - 1;
	c->in = in;
	switch (in->op) {
	case PTX_OP_bra:
	case PTX_OP_ret:
	case PTX_OP_exit:
		taken = branch_target(c, in);
		if (!c->guard)
			emit_edges(c, &(struct edge){taken, c->mask}, 1);
		else if (is_vector(c->guard))
			emit_divergent_branch(c, taken, b + 1);
		else
			emit_uniform_branch(c, taken, b + 1);
		break;
	case PTX_OP_trap:
		emit_trap(c);
		break;
	case PTX_OP_brx_idx:
		emit_indexed_branch(c);
		break;
	default:
		emit_edges(c, &(struct edge){b + 1, c->mask}, 1);
	}
}
