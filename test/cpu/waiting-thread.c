/*
 * The thread that waits for a kernel may run it.  The floating-point environment of the thread (rounding, denormals,
 * traps) does not affect the kernel and is unchanged afterwards; a thread with a small stack never runs kernels.
 */
#include <fenv.h>
#include <limits.h>
#include <pthread.h>
#include "test/cpu/device.h"

/* Each thread i: to[i] = in[0] / in[1], to[n + i] = in[2] + in[3]. */
static const char text[] =
	PTX ".visible .entry floats(.param .u64 to, .param .u64 in)\n"
	    "{ .reg .u64 %t, %i, %o; .reg .f32 %a, %b; .reg .u32 %x, %c, %n, %g;\n"
	    "ld.param.u64 %t, [to]; ld.param.u64 %i, [in];\n"
	    "mov.u32 %x, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %g, %nctaid.x;\n"
	    "mad.lo.u32 %x, %c, %n, %x; mul.lo.u32 %n, %n, %g; mul.wide.u32 %o, %x, 4; add.u64 %t, %t, %o;\n"
	    "ld.global.f32 %a, [%i]; ld.global.f32 %b, [%i+4]; div.rn.f32 %a, %a, %b; st.global.f32 [%t], %a;\n"
	    "mul.wide.u32 %o, %n, 4; add.u64 %t, %t, %o;\n"
	    "ld.global.f32 %a, [%i+8]; ld.global.f32 %b, [%i+12]; add.f32 %a, %a, %b; st.global.f32 [%t], %a; ret; }\n";

enum { BLOCKS = 8, THREADS = 64, N = BLOCKS * THREADS, ROUNDS = 20 };

static CUcontext ctx;
static CUfunction floats;
static CUdeviceptr to, in;

/* The number of results that differ from IEEE 754. */
static unsigned count_wrong(void)
{
	static uint32_t got[2 * N];
	void *args[] = {&to, &in};
	unsigned n = 0;

	for (int round = 0; round < ROUNDS; round++) {
		OK(cuMemsetD32_v2(to, 0, 2 * N));
		OK(device_launch(floats, BLOCKS, THREADS, NULL, args));
		OK(cuStreamSynchronize(NULL));
		OK(cuMemcpyDtoH_v2(got, to, sizeof got));
		for (int i = 0; i < N; i++)
			n += got[i] != 0x3f2aaaab || got[N + i] != 3; /* 2/3; the sum of two denormals */
	}
	return n;
}

static void environments(void)
{
	fenv_t env;

	CHECK_EQ(count_wrong(), 0);
	CHECK_EQ(fesetround(FE_TOWARDZERO), 0);
	feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_UNDERFLOW | FE_INEXACT);
#ifdef __x86_64__
	__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); /* flush denormals to zero, as -ffast-math does */
#endif
	fegetenv(&env);
	CHECK_EQ(count_wrong(), 0);
	CHECK_EQ(fegetround(), FE_TOWARDZERO);
	CHECK_EQ(fegetexcept(), FE_INVALID | FE_DIVBYZERO | FE_UNDERFLOW | FE_INEXACT);
#ifdef __x86_64__
	CHECK_EQ(__builtin_ia32_stmxcsr() & 0x8040, 0x8040);
#endif
	fesetenv(FE_DFL_ENV);
}

static void *count_in_thread(void *arg)
{
	OK(cuCtxSetCurrent(ctx));
	*(unsigned *)arg = count_wrong();
	return NULL;
}

static void small_stack(void)
{
	unsigned n = 1;
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	CHECK_EQ(pthread_attr_setstacksize(&attr, 64 << 10), 0);
	CHECK_EQ(pthread_create(&t, &attr, count_in_thread, &n), 0);
	pthread_join(t, NULL);
	CHECK_EQ(n, 0);
	pthread_attr_destroy(&attr);
}

int main(void)
{
	const uint32_t bits[] = {0x40000000, 0x40400000, 1, 2}; /* 2, 3, and two denormals */

	ctx = device_start();
	floats = device_kernel(text, "floats");
	OK(cuMemAlloc_v2(&to, 2 * N * 4));
	OK(cuMemAlloc_v2(&in, sizeof bits));
	OK(cuMemcpyHtoD_v2(in, bits, sizeof bits));
	environments();
	small_stack();
	OK(cuCtxDestroy_v2(ctx));
	return RESULT();
}
