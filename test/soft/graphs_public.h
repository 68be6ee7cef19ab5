/*
 * graphs_public.h - the kernels of graphs.h as PTX.  Their log is in device memory, whose address is part of the text,
 * so that all modules share it.
 */
#pragma once

/* The log, in words: IDS gates, IDS time stamps, IDS run counts, the clock, the counter. */
enum { GATES = 0, ORDER = 4 * IDS, COUNTS = 8 * IDS, NOW = 12 * IDS, COUNTER = 12 * IDS + 4, STATE = 12 * IDS + 8 };

static char ptx[8192];
static CUdeviceptr state;
static CUcontext watcher; /* for reading the log while the context under test waits or has failed */
static CUstream aside;

#define STEP(name) \
	".visible .entry " name "(.param .u32 id, .param .u64 ptr)\n" \
	"{ .reg .u64 %%s, %%p, %%o; .reg .u32 %%i, %%v; .reg .pred %%q;\n" \
	"mov.u32 %%i, %%tid.x; mov.u32 %%v, %%ctaid.x; or.b32 %%i, %%i, %%v; setp.ne.u32 %%q, %%i, 0; @%%q ret;\n" \
	"ld.param.u32 %%i, [id]; ld.param.u64 %%p, [ptr];\n" \
	"mul.wide.u32 %%o, %%i, 4; add.u64 %%s, %%o, %1$llu;\n" \
	"WAIT: ld.volatile.global.u32 %%v, [%%s]; setp.ne.u32 %%q, %%v, 0; @%%q bra WAIT;\n" \
	"mov.u64 %%o, %1$llu; atom.global.add.u32 %%v, [%%o+3072], 1; add.u32 %%v, %%v, 1;\n" \
	"st.volatile.global.u32 [%%s+1024], %%v; red.global.add.u32 [%%s+2048], 1;\n" \
	"setp.eq.u64 %%q, %%p, 0; @%%q ret; red.global.add.u32 [%%p], %%i; ret; }\n"

_Static_assert(ORDER == 1024 && COUNTS == 2048 && NOW == 3072 && COUNTER == 3076, "as the text has them");

static const char text[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n" STEP("step") STEP(
		"other") ".visible .entry fail() { .reg .u64 %%a; mov.u64 %%a, 16; st.global.u32 [%%a], 1; ret; }\n"
			 ".visible .entry set(.param .u64 handle, .param .u32 value)\n"
			 "{ .reg .u64 %%s, %%h; .reg .u32 %%v, %%n; .reg .pred %%q; .param .b64 a; .param .b32 b;\n"
			 "ld.param.u64 %%h, [handle]; ld.param.u32 %%v, [value]; mov.u64 %%s, %1$llu;\n"
			 "atom.global.add.u32 %%n, [%%s+3076], -1; setp.le.s32 %%q, %%n, 1; @%%q mov.u32 %%v, 0;\n"
			 "st.param.b64 [a], %%h; st.param.b32 [b], %%v; call.uni cudaGraphSetConditional, (a, b); ret; "
			 "}\n";

/* Works at any time, also during a capture. */
static uint32_t word(size_t at, const uint32_t *set)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	uint32_t value = 0;

	OK(cuThreadExchangeStreamCaptureMode(&mode));
	OK(cuCtxPushCurrent_v2(watcher));
	if (set)
		OK(cuMemcpyHtoDAsync_v2(state + at, set, 4, aside));
	else
		OK(cuMemcpyDtoHAsync_v2(&value, state + at, 4, aside));
	OK(cuStreamSynchronize(aside));
	OK(cuCtxPopCurrent_v2(NULL));
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	return value;
}

static inline void shut_gate(int id)
{
	word(GATES + 4 * id, &(uint32_t){1});
}

static inline void open_gate(int id)
{
	word(GATES + 4 * id, &(uint32_t){0});
}

static inline int stamp_of(int id)
{
	return (int)word(ORDER + 4 * id, NULL);
}

static inline int runs(int id)
{
	return (int)word(COUNTS + 4 * id, NULL);
}

static inline void count_down(int from)
{
	word(COUNTER, &(uint32_t){(uint32_t)from});
}

static inline void reset_log(void)
{
	OK(cuCtxPushCurrent_v2(watcher));
	OK(cuMemsetD8Async(state, 0, STATE, aside));
	OK(cuStreamSynchronize(aside));
	OK(cuCtxPopCurrent_v2(NULL));
}

static inline void make_kernels(void)
{
	OK(cuMemAlloc_v2(&state, STATE));
	OK(cuCtxCreate_v2(&watcher, 0, 0));
	OK(cuStreamCreate(&aside, CU_STREAM_NON_BLOCKING));
	OK(cuCtxPopCurrent_v2(NULL));
	snprintf(ptx, sizeof ptx, text, (unsigned long long)state);
	reset_log();
}
