/*
 * single_copy.h - accesses of 2 to 16 aligned bytes that other threads see as a whole or not at all, for ld and st of
 * vectors and of .b128.  On a GPU an aligned vector access of up to 16 bytes is one access, and CUB's decoupled
 * look-back relies on it: a descriptor is a status and a value, which must come from the same store.
 *
 * Intel (Software Developer's Manual, volume 3, "Guaranteed Atomic Operations") and AMD guarantee that an aligned
 * 16-byte MOVDQA is single-copy atomic on processors with AVX.  Without AVX, strong accesses use CMPXCHG16B, which all
 * 64-bit processors since 2006 have; weak ones use MOVDQA, which may tear on processors of that age.
 *
 * Every load is an acquire and every store a release operation: both cost nothing on x86.
 *
 * Trust: the caller has checked access rights and alignment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pair {
	uint64_t lo, hi;
};

#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer does not see the accesses of inline assembly. */
void __tsan_acquire(void *at);
void __tsan_release(void *at);
#define TSAN_ACQUIRE(at) __tsan_acquire((void *)(uintptr_t)(at))
#define TSAN_RELEASE(at) __tsan_release((void *)(uintptr_t)(at))
#else
#define TSAN_ACQUIRE(at) ((void)0)
#define TSAN_RELEASE(at) ((void)0)
#endif

#ifdef __x86_64__
#define HAS_ATOMIC_PAIR 1
typedef long long pair_vector __attribute__((vector_size(16), may_alias));

/* Stores `value` if memory holds *old. Sets *old to the previous content in any case. */
static inline bool pair_compare_exchange(uint64_t at, struct pair *old, struct pair value)
{
	bool ok;

	TSAN_RELEASE(at);
	__asm__ volatile("lock cmpxchg16b %1"
		: "=@ccz"(ok), "+m"(*(struct pair *)(uintptr_t)at), "+a"(old->lo), "+d"(old->hi)
		: "b"(value.lo), "c"(value.hi)
		: "memory");
	TSAN_ACQUIRE(at);
	return ok;
}

#ifdef __AVX__
#define MOVE_PAIR      "vmovdqa"
#define PAIR_NEEDS_CAS false
#else
#define MOVE_PAIR      "movdqa"
#define PAIR_NEEDS_CAS (!__builtin_cpu_supports("avx"))
#endif

static inline struct pair pair_load(uint64_t at, bool strong)
{
	pair_vector v;
	struct pair old = {0, 0};

	if (strong && PAIR_NEEDS_CAS) {
		pair_compare_exchange(at, &old, old);
		return old;
	}
	__asm__ volatile(MOVE_PAIR " %1, %0" : "=x"(v) : "m"(*(const pair_vector *)(uintptr_t)at) : "memory");
	TSAN_ACQUIRE(at);
	return (struct pair){(uint64_t)v[0], (uint64_t)v[1]};
}

static inline void pair_store(uint64_t at, struct pair value, bool strong)
{
	pair_vector v = {(long long)value.lo, (long long)value.hi};
	struct pair old = {0, 0};

	if (strong && PAIR_NEEDS_CAS) {
		while (!pair_compare_exchange(at, &old, value))
			;
		return;
	}
	TSAN_RELEASE(at);
	__asm__ volatile(MOVE_PAIR " %1, %0" : "=m"(*(pair_vector *)(uintptr_t)at) : "x"(v) : "memory");
}
#else
#define HAS_ATOMIC_PAIR 0
/* Other processors: each half is atomic, the pair is not. */
static inline struct pair pair_load(uint64_t at, bool strong)
{
	const uint64_t *p = (const uint64_t *)(uintptr_t)at;

	(void)strong;
	return (struct pair){__atomic_load_n(p, __ATOMIC_ACQUIRE), __atomic_load_n(p + 1, __ATOMIC_ACQUIRE)};
}

static inline void pair_store(uint64_t at, struct pair value, bool strong)
{
	uint64_t *p = (uint64_t *)(uintptr_t)at;

	(void)strong;
	__atomic_store_n(p, value.lo, __ATOMIC_RELEASE);
	__atomic_store_n(p + 1, value.hi, __ATOMIC_RELEASE);
}
#endif

/* 1, 2, 4, 8 or 16 bytes, the first one in the lowest bits. */
static inline struct pair single_copy_load(uint64_t at, unsigned size, bool strong)
{
	const void *p = (const void *)(uintptr_t)at;

	switch (size) {
	case 1:
		return (struct pair){__atomic_load_n((const uint8_t *)p, __ATOMIC_ACQUIRE), 0};
	case 2:
		return (struct pair){__atomic_load_n((const uint16_t *)p, __ATOMIC_ACQUIRE), 0};
	case 4:
		return (struct pair){__atomic_load_n((const uint32_t *)p, __ATOMIC_ACQUIRE), 0};
	case 8:
		return (struct pair){__atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE), 0};
	default:
		return pair_load(at, strong);
	}
}

static inline void single_copy_store(uint64_t at, struct pair value, unsigned size, bool strong)
{
	void *p = (void *)(uintptr_t)at;

	switch (size) {
	case 1:
		__atomic_store_n((uint8_t *)p, (uint8_t)value.lo, __ATOMIC_RELEASE);
		break;
	case 2:
		__atomic_store_n((uint16_t *)p, (uint16_t)value.lo, __ATOMIC_RELEASE);
		break;
	case 4:
		__atomic_store_n((uint32_t *)p, (uint32_t)value.lo, __ATOMIC_RELEASE);
		break;
	case 8:
		__atomic_store_n((uint64_t *)p, value.lo, __ATOMIC_RELEASE);
		break;
	default:
		pair_store(at, value, strong);
	}
}

/*
 * Copies n bytes (a multiple of 16) for a weak access of a whole warp, in units of a vector register.  The memory is
 * aligned to the access of one lane, which may be smaller than a unit.  Processors with AVX access every aligned 16
 * bytes of a unit at once, and do not divide a smaller aligned part, though their manuals guarantee it for aligned units
 * of 16 bytes only.
 */
#ifdef __AVX512F__
typedef long long wide_vector __attribute__((vector_size(64), may_alias, aligned(1)));
#elif defined __AVX__
typedef long long wide_vector __attribute__((vector_size(32), may_alias, aligned(1)));
#else
typedef long long wide_vector __attribute__((vector_size(16), may_alias, aligned(1)));
#endif
static inline void dense_copy(void *to, const void *from, size_t n)
{
	const volatile wide_vector *f = from;
	volatile wide_vector *t = to;

	for (size_t i = 0; i < n / sizeof(*f); i++)
		t[i] = f[i];
}
