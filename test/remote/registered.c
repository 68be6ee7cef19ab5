/*
 * Registered memory of any size and alignment: copies and kernels use it, and nothing outside the range is touched, also
 * while other threads write to the bytes next to it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include "driver.h"

#define PAGE 4096u
#define ROOM (8 * PAGE)

static const char bytes_ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				/* p[i] += 3 for each of n bytes, by one thread */
				".visible .entry shift(.param .u64 p, .param .u32 n)\n"
				"{ .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
				"  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];\n"
				"next: setp.eq.u32 %p, %r1, 0; @%p ret;\n"
				"  ld.global.u8 %r2, [%rd1]; add.u32 %r2, %r2, 3; st.global.u8 [%rd1], %r2;\n"
				"  add.s64 %rd1, %rd1, 1; sub.u32 %r1, %r1, 1; bra next; }\n";

static CUfunction shift;
static unsigned char expected[ROOM];

static void shift_bytes(CUdeviceptr p, unsigned n)
{
	OK(cuLaunchKernel(shift, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&p, &n}, NULL));
	OK(cuCtxSynchronize());
}

static unsigned char byte_at(size_t i, unsigned seed)
{
	return (unsigned char)(i * 37 + (i >> 8) + seed);
}

/* Copies up and down, a set by the device, and kernels, over [at, at + n) of the room. */
static void range_use(unsigned char *room, size_t at, size_t n, unsigned flags)
{
	CUdeviceptr mapped = 0, d = memory(n);
	unsigned char *p = room + at;

	for (size_t i = 0; i < ROOM; i++)
		room[i] = expected[i] = byte_at(i, (unsigned)n);
	OK(cuMemHostRegister_v2(p, n, flags));
	OK(cuMemHostGetDevicePointer_v2(&mapped, p, 0));
	OK(cuMemcpyHtoDAsync_v2(d, p, n, NULL));
	OK(cuMemsetD8Async(mapped, 0, n, NULL));
	OK(cuStreamSynchronize(NULL));
	for (size_t i = 0; i < n; i++)
		expected[at + i] = 0;
	CHECK(!memcmp(room, expected, ROOM));
	OK(cuMemcpyDtoHAsync_v2(p, d, n, NULL));
	OK(cuStreamSynchronize(NULL));
	for (size_t i = 0; i < n; i++)
		expected[at + i] = byte_at(at + i, (unsigned)n);
	CHECK(!memcmp(room, expected, ROOM));
	if (results()) {
		shift_bytes(mapped, (unsigned)n);
		for (size_t i = 0; i < n; i++)
			expected[at + i] += 3;
		CHECK(!memcmp(room, expected, ROOM));
		p[0] = expected[at] = 200;
		p[n - 1] = expected[at + n - 1] = 100;
		shift_bytes(mapped, (unsigned)n);
		for (size_t i = 0; i < n; i++)
			expected[at + i] += 3;
		CHECK(!memcmp(room, expected, ROOM));
		OK(cuLaunchKernel(
			shift, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&mapped, &(unsigned){(unsigned)n}}, NULL));
		OK(cuMemcpyDtoDAsync_v2(d, mapped, n, NULL)); /* behind the kernel, which nobody has waited for */
		for (size_t i = 0; i < n; i++)
			expected[at + i] += 3;
	}
	OK(cuMemHostUnregister(p)); /* waits */
	CHECK(!memcmp(room, expected, ROOM));
	if (results()) {
		unsigned char *back = malloc(n);
		OK(cuMemcpyDtoH_v2(back, d, n));
		CHECK(!memcmp(back, expected + at, n));
		free(back);
	}
	OK(cuMemFree_v2(d));
}

static void all_sizes(unsigned char *room)
{
	static const size_t offsets[] = {0, 1, 16, 2047, 4080, 4095};
	static const size_t sizes[] = {1, 7, 64, 4080, 4095, 4096, 4097, 8191, 8192, 8193, 12288};

	for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			range_use(room, PAGE + offsets[i], sizes[k], k % 2 ? CU_MEMHOSTREGISTER_DEVICEMAP : 0);
}

/* Three ranges that share their first and last pages, registered and unregistered in every order. */
static void shared_pages(unsigned char *room)
{
	static const struct {
		size_t at, n;
	} part[] = {{100, 5000}, {5100, 9000}, {14100, 40}};
	static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 2, 1}};
	CUdeviceptr d;

	for (int o = 0; o < 4; o++) {
		memset(room, 1, ROOM);
		for (int i = 0; i < 3; i++)
			OK(cuMemHostRegister_v2(room + part[i].at, part[i].n, CU_MEMHOSTREGISTER_DEVICEMAP));
		for (int i = 0; i < 3 && results(); i++) {
			OK(cuMemHostGetDevicePointer_v2(&d, room + part[i].at, 0));
			shift_bytes(d, (unsigned)part[i].n);
		}
		for (int i = 0; i < 3; i++)
			OK(cuMemHostUnregister(room + part[orders[o][i]].at));
		for (size_t i = 0; i < ROOM; i++)
			if (room[i] != (i >= 100 && i < 14140 && results() ? 4 : 1)) {
				CHECK_EQ(room[i], i);
				break;
			}
		/* A range takes the place of one whose pages a neighbour still uses: old bytes must not come back. */
		OK(cuMemHostRegister_v2(room + 100, 5000, CU_MEMHOSTREGISTER_DEVICEMAP));
		OK(cuMemHostRegister_v2(room + 5100, 50, CU_MEMHOSTREGISTER_DEVICEMAP));
		OK(cuMemHostUnregister(room + 100));
		memset(room + 100, 0, 5000);
		OK(cuMemHostRegister_v2(room + 100, 4990, CU_MEMHOSTREGISTER_DEVICEMAP));
		OK(cuCtxSynchronize());
		for (size_t i = 100; i < 5100 && !failures; i++)
			CHECK(!room[i]);
		OK(cuMemHostUnregister(room + 5100));
		OK(cuMemHostUnregister(room + 100));
	}
}

/* ---- neighbours ---- */

struct neighbour {
	volatile uint32_t *first, *last; /* words next to the range */
	atomic_bool stop, lost;
	uint32_t rounds;
};

static void *neighbour_write(void *arg)
{
	struct neighbour *n = arg;

	for (uint32_t i = 1; !n->stop && !n->lost; i++) {
		n->lost = *n->first != i - 1 || *n->last != i - 1;
		*n->first = *n->last = i;
		n->rounds = i;
	}
	return NULL;
}

static void neighbours(size_t size, unsigned flags)
{
	unsigned char *room = mmap(NULL, size + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct neighbour n = {(uint32_t *)(room + 512), (uint32_t *)(room + 516 + size)};
	CUdeviceptr d = memory(size);
	pthread_t thread;

	pthread_create(&thread, NULL, neighbour_write, &n);
	for (int i = 0; i < 100 && !n.lost; i++) {
		memset(room + 516, i, size);
		OK(cuMemHostRegister_v2(room + 516, size, flags));
		OK(cuMemcpyHtoD_v2(d, room + 516, size));
		OK(cuMemHostUnregister(room + 516));
		CHECK(room[516] == i && room[516 + size - 1] == i);
	}
	n.stop = true;
	pthread_join(thread, NULL);
	CHECK(!n.lost && *n.first == n.rounds && *n.last == n.rounds);
	OK(cuMemFree_v2(d));
	munmap(room, size + 2 * PAGE);
}

/* Memory that belongs to the program's image, its heap and a thread's stack. */
static unsigned char image_room[ROOM] __attribute__((aligned(4096)));

int main(void)
{
	unsigned char *heap = malloc(ROOM), stack[ROOM];
	unsigned char *own = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *others = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	start();
	OK(cuModuleLoadData(&module, bytes_ptx));
	OK(cuModuleGetFunction(&shift, module, "shift"));
	all_sizes(own);
	shared_pages(own);
	range_use(image_room, 100, 5000, CU_MEMHOSTREGISTER_DEVICEMAP);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) /* their heaps have one address in all processes */
	range_use(heap, 50, 9000, 0);
#endif
	range_use(stack, 1, 7000, CU_MEMHOSTREGISTER_DEVICEMAP);
	range_use(others, 0, ROOM, CU_MEMHOSTREGISTER_DEVICEMAP);
	neighbours(200000, 0);
	neighbours(9000, CU_MEMHOSTREGISTER_DEVICEMAP);
	free(heap);
	return failures != 0;
}
