/* Copies of rows, slices and arrays between all kinds of memory: every byte arrives, and no byte beside them changes. */
#include "application.h"

enum { HOST, DEVICE, ARRAY, PINNED, UNIFIED_HOST, UNIFIED_DEVICE, KINDS };

/* W bytes x H rows x D slices in memory of some kind. */
#define W      200
#define H      37
#define D      5
#define VOLUME (W * H * D)

struct volume {
	int kind;
	CUdeviceptr device;
	void *host;
	CUarray array;
};

static void volume_write(struct volume *v, const void *image);
static void volume_read(struct volume *v, void *image);

static int volume_create(struct volume *v, int kind)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = W / 4, .Height = H, .Depth = D, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4};

	memset(v, 0, sizeof *v);
	v->kind = kind;
	if (kind == HOST || kind == UNIFIED_HOST)
		v->host = malloc(VOLUME);
	else if (kind == PINNED)
		return cuMemHostAlloc(&v->host, VOLUME, 0) == CUDA_SUCCESS;
	else if (kind == ARRAY)
		OK(cuArray3DCreate_v2(&v->array, &d));
	else
		OK(cuMemAlloc_v2(&v->device, VOLUME));
	return 1;
}

static void volume_destroy(struct volume *v)
{
	if (v->kind == HOST || v->kind == UNIFIED_HOST)
		free(v->host);
	else if (v->kind == PINNED)
		OK(cuMemFreeHost(v->host));
	else if (v->kind == ARRAY)
		OK(cuArrayDestroy(v->array));
	else
		OK(cuMemFree_v2(v->device));
}

static void volume_as_source(CUDA_MEMCPY3D *p, const struct volume *v)
{
	static const CUmemorytype type[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_ARRAY,
		CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED};

	p->srcMemoryType = type[v->kind];
	p->srcHost = v->host;
	p->srcDevice = v->kind == UNIFIED_HOST ? (uintptr_t)v->host : v->device;
	p->srcArray = v->array;
	p->srcPitch = W;
	p->srcHeight = H;
}

static void volume_as_target(CUDA_MEMCPY3D *p, const struct volume *v)
{
	CUDA_MEMCPY3D q = {0};

	volume_as_source(&q, v);
	p->dstMemoryType = q.srcMemoryType;
	p->dstHost = v->host;
	p->dstDevice = q.srcDevice;
	p->dstArray = v->array;
	p->dstPitch = W;
	p->dstHeight = H;
}

static void copy_whole_volume(CUDA_MEMCPY3D *p)
{
	p->WidthInBytes = W;
	p->Height = H;
	p->Depth = D;
}

static void volume_write(struct volume *v, const void *image)
{
	struct volume here = {.kind = HOST, .host = (void *)image};
	CUDA_MEMCPY3D p = {0};

	volume_as_source(&p, &here);
	volume_as_target(&p, v);
	copy_whole_volume(&p);
	OK(cuMemcpy3D_v2(&p));
}

static void volume_read(struct volume *v, void *image)
{
	struct volume here = {.kind = HOST, .host = image};
	CUDA_MEMCPY3D p = {0};

	volume_as_source(&p, v);
	volume_as_target(&p, &here);
	copy_whole_volume(&p);
	OK(cuMemcpy3D_v2(&p));
}

static void image_copy_expected(unsigned char *image, const unsigned char *from, const CUDA_MEMCPY3D *p)
{
	for (size_t z = 0; z < p->Depth; z++)
		for (size_t y = 0; y < p->Height; y++)
			memcpy(image + ((p->dstZ + z) * H + p->dstY + y) * W + p->dstXInBytes,
				from + ((p->srcZ + z) * H + p->srcY + y) * W + p->srcXInBytes, p->WidthInBytes);
}

static void test_pair(int from, int to)
{
	unsigned char *a = malloc(VOLUME), *b = malloc(VOLUME), *want = malloc(VOLUME);
	CUDA_MEMCPY3D p = {.srcXInBytes = 8,
		.srcY = 3,
		.srcZ = 1,
		.dstXInBytes = 20,
		.dstY = 1,
		.dstZ = 2,
		.WidthInBytes = 100,
		.Height = 30,
		.Depth = 3};
	struct volume src, dst;

	if (!volume_create(&src, from) || !volume_create(&dst, to)) {
		free(a), free(b), free(want);
		return;
	}
	fill_bytes(a, VOLUME, from);
	fill_bytes(b, VOLUME, to + 100);
	memcpy(want, b, VOLUME);
	volume_write(&src, a);
	volume_write(&dst, b);
	volume_as_source(&p, &src);
	volume_as_target(&p, &dst);
	OK(from % 2 ? cuMemcpy3D_v2(&p) : cuMemcpy3DAsync_v2(&p, NULL));
	OK(cuCtxSynchronize());
	image_copy_expected(want, a, &p);
	memset(b, 0, VOLUME);
	volume_read(&dst, b);
	if (memcmp(b, want, VOLUME)) {
		printf("from kind %d to kind %d: wrong bytes\n", from, to);
		failures++;
	}
	volume_destroy(&src);
	volume_destroy(&dst);
	free(a), free(b), free(want);
}

/* Larger than a piece of the arena, with rows wider than a piece. */
static void test_large(size_t width, size_t height, size_t depth)
{
	size_t pitch = width + 24, size = pitch * height * depth;
	unsigned char *a = malloc(size), *b = malloc(size);
	CUdeviceptr d = 0;
	CUDA_MEMCPY3D p = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = a,
		.srcPitch = pitch,
		.srcHeight = height,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstPitch = width,
		.dstHeight = height,
		.WidthInBytes = width,
		.Height = height,
		.Depth = depth};

	fill_bytes(a, size, 5);
	memset(b, 0x77, size);
	OK(cuMemAlloc_v2(&d, width * height * depth));
	p.dstDevice = d;
	OK(cuMemcpy3D_v2(&p));
	p = (CUDA_MEMCPY3D){.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = b,
		.dstPitch = pitch,
		.dstHeight = height,
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = d,
		.srcPitch = width,
		.srcHeight = height,
		.WidthInBytes = width,
		.Height = height,
		.Depth = depth};
	OK(cuMemcpy3D_v2(&p));
	for (size_t row = 0; row < height * depth; row++)
		if (memcmp(a + row * pitch, b + row * pitch, width) || b[row * pitch + width] != 0x77) {
			CHECK(!"a row of the large block differs");
			break;
		}
	OK(cuMemFree_v2(d));
	free(a);
	free(b);
}

static void test_pitched(void)
{
	unsigned char a[48 * 20], b[48 * 20] = {0};
	CUdeviceptr d = 0;
	size_t pitch = 0;
	CUDA_MEMCPY2D p = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = a,
		.srcPitch = 48,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.WidthInBytes = 40,
		.Height = 20};

	fill_bytes(a, sizeof a, 3);
	OK(cuMemAllocPitch_v2(&d, &pitch, 48, 20, 4));
	OK(cuMemsetD2D8_v2(d, pitch, 0x55, 48, 20));
	p.dstDevice = d;
	p.dstPitch = pitch;
	OK(cuMemcpy2D_v2(&p));
	p = (CUDA_MEMCPY2D){.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = b,
		.dstPitch = 48,
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = d,
		.srcPitch = pitch,
		.WidthInBytes = 48,
		.Height = 20};
	OK(cuMemcpy2DUnaligned_v2(&p));
	for (int y = 0; y < 20; y++) {
		CHECK(!memcmp(a + y * 48, b + y * 48, 40));
		CHECK(b[y * 48 + 40] == 0x55 && b[y * 48 + 47] == 0x55);
	}
	/* host to host */
	p = (CUDA_MEMCPY2D){.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = b,
		.dstPitch = 48,
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = a,
		.srcPitch = 48,
		.WidthInBytes = 48,
		.Height = 20};
	OK(cuMemcpy2DUnaligned_v2(&p));
	CHECK(!memcmp(a, b, sizeof a));
	p.WidthInBytes = 49;
	CHECK_EQ(cuMemcpy2D_v2(&p), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemcpy2D_v2(NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFree_v2(d));
}

static void test_rows(void)
{
	CUDA_ARRAY_DESCRIPTOR desc = {.Width = 100, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	unsigned char a[400], b[400] = {0};
	CUarray one = NULL, two = NULL;
	CUdeviceptr d = 0;

	fill_bytes(a, sizeof a, 9);
	OK(cuArrayCreate_v2(&one, &desc));
	OK(cuArrayCreate_v2(&two, &desc));
	OK(cuMemAlloc_v2(&d, 400));
	OK(cuMemcpyHtoA_v2(one, 0, a, 400));
	OK(cuMemcpyAtoA_v2(two, 0, one, 0, 400));
	OK(cuMemcpyAtoD_v2(d, two, 40, 200));
	OK(cuMemcpyDtoA_v2(two, 0, d, 200));
	OK(cuMemcpyAtoH_v2(b, two, 0, 200));
	CHECK(!memcmp(b, a + 40, 200));
	OK(cuMemcpyHtoAAsync_v2(one, 200, a, 200, NULL));
	OK(cuMemcpyAtoHAsync_v2(b, one, 200, 200, NULL));
	OK(cuCtxSynchronize());
	CHECK(!memcmp(b, a, 200));
	OK(cuArrayDestroy(one));
	OK(cuArrayDestroy(two));
	OK(cuMemFree_v2(d));
}

static void test_batch(void)
{
	unsigned char a[3000], b[3000] = {0};
	CUmemcpyAttributes attr = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	size_t index = 0, failed = 1, sizes[3] = {1000, 1000, 1000};
	CUdeviceptr d = 0, to[3], from[3];
	CUstream s = NULL;

	fill_bytes(a, sizeof a, 11);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&d, 3000));
	for (int i = 0; i < 3; i++) {
		to[i] = d + i * 1000;
		from[i] = (uintptr_t)a + (2 - i) * 1000;
	}
	OK(cuMemcpyBatchAsync(to, from, sizes, 3, &attr, &index, 1, &failed, s));
	CHECK(failed == SIZE_MAX);
	attr.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
	for (int i = 0; i < 3; i++) {
		from[i] = d + i * 1000;
		to[i] = (uintptr_t)b + (2 - i) * 1000;
	}
	OK(cuMemcpyBatchAsync_v2(to, from, sizes, 3, &attr, &index, 1, s));
	OK(cuStreamSynchronize(s));
	CHECK(!memcmp(a, b, sizeof a));
	sizes[1] = 0;
	CHECK_EQ(cuMemcpyBatchAsync(to, from, sizes, 3, &attr, &index, 1, &failed, s), CUDA_ERROR_INVALID_VALUE);
	CHECK(failed == 1);
	OK(cuMemFree_v2(d));
	OK(cuStreamDestroy_v2(s));
}

static void test_block_batch(void)
{
	CUDA_ARRAY3D_DESCRIPTOR desc = {.Width = 16, .Height = 8, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	unsigned char a[16 * 8 * 4], b[16 * 8 * 4] = {0};
	CUDA_MEMCPY3D_BATCH_OP op[2] = {0};
	CUarray array = NULL;
	CUstream s = NULL;

	fill_bytes(a, sizeof a, 12);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuArray3DCreate_v2(&array, &desc));
	op[0].src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
	op[0].src.op.ptr.ptr = (uintptr_t)a;
	op[0].src.op.ptr.rowLength = 16;
	op[0].src.op.ptr.layerHeight = 8;
	op[0].dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
	op[0].dst.op.array.array = array;
	op[0].extent = (CUextent3D){16, 8, 1};
	op[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
	OK(cuMemcpy3DBatchAsync_v2(1, op, 0, s));
	op[1] = op[0];
	op[1].src = op[0].dst;
	op[1].dst = op[0].src;
	op[1].dst.op.ptr.ptr = (uintptr_t)b;
	OK(cuMemcpy3DBatchAsync_v2(1, op + 1, 0, s));
	OK(cuStreamSynchronize(s));
	CHECK(!memcmp(a, b, sizeof a));
	OK(cuArrayDestroy(array));
	OK(cuStreamDestroy_v2(s));
}

static void test_peer_copies(CUcontext ctx)
{
	unsigned char a[500], b[500] = {0};
	CUdeviceptr d = 0, e = 0;
	CUDA_MEMCPY3D_PEER p = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcPitch = 100,
		.srcHeight = 5,
		.srcContext = ctx,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstPitch = 100,
		.dstHeight = 5,
		.dstContext = ctx,
		.WidthInBytes = 50,
		.Height = 5,
		.Depth = 1};

	fill_bytes(a, sizeof a, 1);
	OK(cuMemAlloc_v2(&d, 500));
	OK(cuMemAlloc_v2(&e, 500));
	OK(cuMemcpyHtoD_v2(d, a, 500));
	OK(cuMemcpyPeer(e, ctx, d, ctx, 500));
	OK(cuMemcpyDtoH_v2(b, e, 500));
	CHECK(!memcmp(a, b, 500));
	OK(cuMemsetD8_v2(e, 0, 500));
	p.srcDevice = d;
	p.dstDevice = e;
	OK(cuMemcpy3DPeer(&p));
	OK(cuMemcpyDtoH_v2(b, e, 500));
	CHECK(!memcmp(a, b, 50) && !memcmp(a + 400, b + 400, 50) && !b[50] && !b[499]);
	OK(cuMemFree_v2(d));
	OK(cuMemFree_v2(e));
}

int main(void)
{
	CUcontext ctx = check_start();

	for (int from = 0; from < KINDS; from++)
		for (int to = 0; to < KINDS; to++)
			test_pair(from, to);
	test_large(5 << 20, 2, 2);
	test_large(100000, 130, 1);
	test_large(1000, 100, 130);
	test_pitched();
	test_rows();
	test_batch();
	test_block_batch();
	test_peer_copies(ctx);
	printf("blocks: %s\n", failures ? "FAILED" : "passed");
	return failures != 0;
}
