/*
 * graphs.h - for tests of graphs: kernels that log their execution.
 *
 * Kernel step(id, ptr): waits while id's gate is shut; logs id; adds id to the word at ptr, unless ptr is 0.
 * Kernel set(handle, value): cudaGraphSetConditional, but with value 0 once the counter (count_down) has reached 0.
 */
#pragma once

#include <pthread.h>
#include <unistd.h>
#include "engine.h"

#define IDS 256

static CUcontext ctx;
static CUmodule module;
static CUfunction f_step, f_other, f_fail, f_set;

#ifdef APPLICATION
#include "graphs_public.h"
#else
static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			  ".visible .entry step(.param .u32 id, .param .u64 ptr) { ret; }\n"
			  ".visible .entry other(.param .u32 id, .param .u64 ptr) { ret; }\n"
			  ".visible .entry fail() { ret; }\n"
			  ".visible .entry set(.param .u64 handle, .param .u32 value) { ret; }\n";

static atomic_bool gates[IDS]; /* true: shut */
static _Atomic int stamps[IDS], counts[IDS], now;
static _Atomic int counter;

static inline void shut_gate(int id)
{
	atomic_store(&gates[id], true);
}

static inline void open_gate(int id)
{
	atomic_store(&gates[id], false);
}

static inline int stamp_of(int id)
{
	return stamps[id];
}

static inline int runs(int id)
{
	return counts[id];
}

static inline void count_down(int from)
{
	atomic_store(&counter, from);
}

static CUresult do_step(const unsigned char *params)
{
	uint32_t id;
	uint64_t ptr;

	memcpy(&id, params, 4);
	memcpy(&ptr, params + 8, 8);
	while (atomic_load(&gates[id]))
		usleep(50);
	atomic_store(&stamps[id], atomic_fetch_add(&now, 1) + 1);
	atomic_fetch_add(&counts[id], 1);
	if (ptr)
		__atomic_fetch_add((uint32_t *)(uintptr_t)ptr, id, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

static CUresult do_set(const unsigned char *params)
{
	uint64_t handle;
	uint32_t value;

	memcpy(&handle, params, 8);
	memcpy(&value, params + 8, 4);
	if (atomic_fetch_sub(&counter, 1) <= 1)
		value = 0;
	return soft_set_condition(handle, value) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

static CUresult graph_kernel(const struct image_kernel *k, const struct launch *l)
{
	if (!strcmp(k->name, "fail"))
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	return strcmp(k->name, "set") ? do_step(l->params) : do_set(l->params);
}

static inline void reset_log(void)
{
	atomic_store(&now, 0);
	for (int i = 0; i < IDS; i++) {
		atomic_store(&stamps[i], 0);
		atomic_store(&counts[i], 0);
		atomic_store(&gates[i], false);
	}
}

static inline void make_kernels(void)
{
	test_launch_fn = graph_kernel;
}
#endif

static inline void setup(void)
{
	OK(soft_open(&test_engine, NULL));
	OK(soft_cuInit(0));
	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	make_kernels();
	OK(soft_cuModuleLoadData(&module, ptx));
	OK(soft_cuModuleGetFunction(&f_step, module, "step"));
	OK(soft_cuModuleGetFunction(&f_other, module, "other"));
	OK(soft_cuModuleGetFunction(&f_fail, module, "fail"));
	OK(soft_cuModuleGetFunction(&f_set, module, "set"));
}

/* A kernel node running step(id, ptr). */
static inline CUgraphNode add_step(CUgraph g, uint32_t id, CUdeviceptr ptr, const CUgraphNode *deps, size_t ndeps)
{
	void *params[] = {&id, &ptr};
	CUDA_KERNEL_NODE_PARAMS p = {f_step, 1, 1, 1, 1, 1, 1, 0, params, NULL, NULL, NULL};
	CUgraphNode n = NULL;

	OK(soft_cuGraphAddKernelNode_v2(&n, g, deps, ndeps, &p));
	return n;
}

static inline void launch_step(CUstream s, uint32_t id, CUdeviceptr ptr)
{
	void *params[] = {&id, &ptr};

	OK(soft_cuLaunchKernel(f_step, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
}

/* Instantiate, launch in s, wait, destroy. */
static inline void run_once(CUgraph g, CUstream s)
{
	CUgraphExec x;

	OK(soft_cuGraphInstantiateWithFlags(&x, g, 0));
	OK(soft_cuGraphLaunch(x, s));
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuGraphExecDestroy(x));
}
