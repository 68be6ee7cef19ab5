/*
 * Stream memory operations: commands that wait for a value in memory, or write one.
 */
#include "backend/soft/stream/wait_value.h"

#include <string.h>
#include <unistd.h>

#include "backend/soft/memory/range.h"
#include "util/tsan_order.h"

/* The condition of a wait, for values of 32 or 64 bits. */
static bool condition_holds(uint64_t now, uint64_t want, unsigned bits, unsigned flags)
{
	switch (flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ: /* cyclic comparison: the sign of the difference in `bits` bits */
		return (int64_t)((now - want) << (64 - bits)) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return now == want;
	case CU_STREAM_WAIT_VALUE_AND:
		return now & want;
	default: /* CU_STREAM_WAIT_VALUE_NOR */
		return ~(now | want) << (64 - bits);
	}
}

static bool wait_satisfied(const CUstreamBatchMemOpParams *op)
{
	uintptr_t addr = op->waitValue.address;
	unsigned flags = op->waitValue.flags;

	if (op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64)
		return condition_holds(
			__atomic_load_n((uint64_t *)addr, __ATOMIC_ACQUIRE), op->waitValue.value64, 64, flags);
	return condition_holds(__atomic_load_n((uint32_t *)addr, __ATOMIC_ACQUIRE), op->waitValue.value, 32, flags);
}

static bool memop_reachable(const CUstreamBatchMemOpParams *op)
{
	switch (op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		return range_accessible(op->waitValue.address, 4);
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return range_accessible(op->waitValue.address, 8);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		return range_writable(op->writeValue.address, 4);
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return range_writable(op->writeValue.address, 8);
	default:
		return true;
	}
}

/* Poll at growing intervals: any thread, kernel or process may write the value. */
static void wait_for_value(const CUstreamBatchMemOpParams *op, struct context *ctx)
{
	for (unsigned tries = 0; !wait_satisfied(op); tries++) {
		if (atomic_load(&ctx->stop) || atomic_load(&ctx->error))
			return;
		if (tries > 100)
			usleep(tries < 2000 ? 20 : 500);
	}
}

static void run_memop(const CUstreamBatchMemOpParams *op, struct context *ctx)
{
	switch (op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		wait_for_value(op, ctx);
		break;
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		ORDER_BEFORE(told);
		__atomic_store_n((uint32_t *)(uintptr_t)op->writeValue.address, op->writeValue.value, __ATOMIC_RELEASE);
		break;
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		__atomic_store_n(
			(uint64_t *)(uintptr_t)op->writeValue.address, op->writeValue.value64, __ATOMIC_RELEASE);
		break;
	default: /* barriers and flushes: memory is coherent, and a write has release semantics */
		break;
	}
}

static CUresult run_memops(struct command *c)
{
	struct memops *m = c->data;

	for (unsigned i = 0; i < m->n; i++) {
		if (m->check && !memop_reachable(&m->ops[i]))
			return CUDA_ERROR_ILLEGAL_ADDRESS;
		run_memop(&m->ops[i], c->ctx);
		check_written(m->ops[i].writeValue.address, sizeof(uint64_t));
	}
	return CUDA_SUCCESS;
}

static const struct command_ops command_memops = {COMMAND_MEMOP, run_memops, NULL, false};

static bool memop_waits(const CUstreamBatchMemOpParams *op)
{
	return op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

static CUresult memop_check(const CUstreamBatchMemOpParams *op)
{
	unsigned width = 4;

	switch (op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		width = 8; /* fall through */
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		if (op->waitValue.flags & ~(3u | CU_STREAM_WAIT_VALUE_FLUSH))
			return CUDA_ERROR_INVALID_VALUE;
		break;
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		width = 8; /* fall through */
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		if (op->writeValue.flags & ~1u)
			return CUDA_ERROR_INVALID_VALUE;
		break;
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
	case CU_STREAM_MEM_OP_BARRIER:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	uint64_t addr = op->waitValue.address;
	if (!addr || addr % width || !memop_reachable(op))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamBatchMemOp_v2(
	CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops, unsigned int flags)
{
	struct stream *s;

	if (flags || count > 256 || (count && !ops))
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = stream_enter(stream, &s);
	if (r)
		return r;
	for (unsigned i = 0; i < count && !r; i++)
		r = memop_check(&ops[i]);
	if (!r && count) {
		size_t bytes = count * sizeof *ops;
		struct command *c = command_create(&command_memops, sizeof(struct memops) + bytes);

		r = CUDA_ERROR_OUT_OF_MEMORY;
		if (c) {
			struct memops *m = c->data;

			m->n = count;
			for (unsigned i = 0; i < count; i++)
				c->blocks |= memop_waits(&ops[i]);
			m->check = atomic_load(&s->capture);
			memcpy(m->ops, ops, bytes);
			r = stream_submit(s, c, NULL);
		}
	}
	object_put(s);
	return r;
}

CUresult soft_cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops, unsigned int flags)
{
	return soft_cuStreamBatchMemOp_v2(stream, count, ops, flags);
}

static CUresult submit_memop(
	CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr addr, uint64_t value, unsigned flags)
{
	CUstreamBatchMemOpParams op;

	memset(&op, 0, sizeof op);
	op.waitValue.operation = type; /* waitValue and writeValue have the same layout */
	op.waitValue.address = addr;
	op.waitValue.value64 = value;
	op.waitValue.flags = flags;
	return soft_cuStreamBatchMemOp_v2(stream, 1, &op, 0);
}

#define MEMOP(name, type, bits) \
	CUresult soft_cuStream##name##bits##_v2( \
		CUstream stream, CUdeviceptr addr, cuuint##bits##_t value, unsigned int flags) \
	{ \
		return submit_memop(stream, CU_STREAM_MEM_OP_##type##_VALUE_##bits, addr, value, flags); \
	} \
	CUresult soft_cuStream##name##bits( \
		CUstream stream, CUdeviceptr addr, cuuint##bits##_t value, unsigned int flags) \
	{ \
		return submit_memop(stream, CU_STREAM_MEM_OP_##type##_VALUE_##bits, addr, value, flags); \
	}

MEMOP(WaitValue, WAIT, 32)
MEMOP(WaitValue, WAIT, 64)
MEMOP(WriteValue, WRITE, 32)
MEMOP(WriteValue, WRITE, 64)
