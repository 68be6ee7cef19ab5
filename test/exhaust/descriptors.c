/*
 * A client without free descriptors gets CUDA_ERROR_OPERATING_SYSTEM or CUDA_ERROR_OUT_OF_MEMORY from the calls that need
 * one, the trace gives the reason, and the link stays usable: once descriptors are free again, the same calls succeed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>
#include "test/remote/application.h"

#define FDS 64

static int taken[FDS], ntaken;

/* Uses up all descriptors but `left`. */
static void descriptors_take(int left)
{
	while (ntaken < FDS && (taken[ntaken] = open("/dev/null", O_RDONLY)) >= 0)
		ntaken++;
	CHECK(ntaken < FDS);
	while (left-- > 0 && ntaken)
		close(taken[--ntaken]);
}

static void descriptors_free(void)
{
	while (ntaken)
		close(taken[--ntaken]);
}

/* The library's own files are loaded before this test takes the descriptors. */
static bool refused(CUresult r)
{
	return r == CUDA_ERROR_OPERATING_SYSTEM || r == CUDA_ERROR_OUT_OF_MEMORY;
}

static void *thread_allocate(void *arg)
{
	CUdeviceptr d = 0;
	CUresult r = cuCtxSetCurrent(arg);

	r = r ? r : cuMemAlloc_v2(&d, 4096);
	if (d)
		OK(cuMemFree_v2(d));
	return (void *)(uintptr_t)r;
}

static CUresult on_new_thread(CUcontext ctx)
{
	pthread_t thread;
	void *r;

	CHECK(!pthread_create(&thread, NULL, thread_allocate, ctx));
	pthread_join(thread, &r);
	return (CUresult)(uintptr_t)r;
}

static void exporting(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemGenericAllocationHandle h;
	int fd = -1;

	OK(cuMemCreate(&h, 2 << 20, &prop, 0));
	for (int left = 0; left < 2; left++) {
		descriptors_take(left);
		CUresult r = cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
		CHECK(left ? !r : r == CUDA_ERROR_OPERATING_SYSTEM);
		if (!r)
			close(fd);
		descriptors_free();
	}
	OK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	close(fd);
	OK(cuMemRelease(h));
}

int main(void)
{
	struct rlimit limit = {FDS, FDS};
	CUcontext ctx = NULL;
	void *pinned = NULL;
	int refusals = 0;
	CUresult r;

	alarm(60);
	setrlimit(RLIMIT_NOFILE, &limit);
	for (int left = 0; left < FDS / 2; left++) {
		descriptors_take(left);
		r = cuInit(0);
		descriptors_free();
		if (!r)
			break;
		if (!refused(r))
			fprintf(stderr, "cuInit with %d free descriptors returned %d\n", left, r);
		CHECK(refused(r));
		refusals++;
	}
	CHECK(refusals > 0);
	ctx = check_start();
	descriptors_take(0);
	CHECK(refused(on_new_thread(ctx))); /* a thread's first call opens a lane */
	CHECK(refused(cuMemHostAlloc(&pinned, 1 << 20, 0)));
	descriptors_free();
	CHECK(!on_new_thread(ctx));
	OK(cuMemHostAlloc(&pinned, 1 << 20, 0));
	exporting();
	OK(cuMemFreeHost(pinned));
	return RESULT();
}
