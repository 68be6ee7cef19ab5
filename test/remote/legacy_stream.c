/*
 * A copy down through the legacy stream completes after all work of the blocking streams, so that a wait behind it needs no
 * frame: legacy-stream.sh counts them.  The results are right also with more streams than the client keeps track of.
 */
#include "application.h"

#define STREAMS 12
#define READS   50

int main(void)
{
	CUstream streams[STREAMS];
	CUdeviceptr d = 0;
	unsigned value = 0;

	check_start();
	OK(cuMemAlloc_v2(&d, 4096));
	for (int i = 0; i < STREAMS; i++) {
		OK(cuStreamCreate(&streams[i], CU_STREAM_DEFAULT));
		OK(cuMemsetD8Async(d, (unsigned char)i, 4096, streams[i]));
		OK(cuMemcpyDtoHAsync_v2(&value, d, 4, NULL));
		OK(cuStreamSynchronize(NULL));
		CHECK(value == (unsigned)i * 0x01010101u);
	}
	for (int i = 0; i < READS; i++) {
		OK(cuMemcpyDtoHAsync_v2(&value, d, 4, NULL));
		OK(cuStreamSynchronize(NULL));
		OK(cuStreamQuery(NULL));
	}
	/* All at once: more streams than struct stream_mark holds. */
	for (int i = 0; i < STREAMS; i++)
		OK(cuMemsetD8Async(d + i * 4, (unsigned char)i, 4, streams[i]));
	for (int i = 0; i < STREAMS; i++) {
		OK(cuMemcpyDtoHAsync_v2(&value, d + i * 4, 4, NULL));
		OK(cuStreamSynchronize(NULL));
		CHECK(value == (unsigned)i * 0x01010101u);
	}
	return failures != 0;
}
