/*
 * Arrays, block copies, textures: shapes and errors are those of the vendor driver; data copied into an array comes
 * out unchanged, row by row; the view of a texture points at the texels.
 */
#include "engine.h"
#ifdef APPLICATION
#define INSIDE(...) /* an application cannot inspect the driver */
#else
#include "backend/soft/texture/texture.h"
#define INSIDE(...) __VA_ARGS__
#endif

static unsigned char host[1 << 20], back[1 << 20];

static CUresult array_create(
	CUarray *a, size_t w, size_t h, size_t d, CUarray_format f, unsigned channels, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR desc = {w, h, d, f, channels, flags};

	return soft_cuArray3DCreate_v2(a, &desc);
}

static void shapes(void)
{
	static const struct {
		size_t w, h, d;
		CUarray_format format;
		unsigned channels, flags;
		CUresult result;
	} t[] = {
		{64, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0, 0},
		{0, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0, 1},
		{64, 64, 8, CU_AD_FORMAT_FLOAT, 2, 0, 0},
		{64, 64, 0, CU_AD_FORMAT_FLOAT, 3, 0, 1},
		{64, 64, 0, 0x21, 1, 0, 1},
		{64, 0, 8, CU_AD_FORMAT_FLOAT, 1, 0, 1},
		{64, 0, 8, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED, 0},
		{64, 64, 0, CU_AD_FORMAT_HALF, 4, CUDA_ARRAY3D_LAYERED, 1},
		{64, 64, 6, CU_AD_FORMAT_HALF, 4, CUDA_ARRAY3D_CUBEMAP, 0},
		{64, 64, 12, CU_AD_FORMAT_HALF, 4, CUDA_ARRAY3D_CUBEMAP, 1},
		{64, 64, 12, CU_AD_FORMAT_HALF, 4, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, 0},
		{64, 32, 6, CU_AD_FORMAT_HALF, 4, CUDA_ARRAY3D_CUBEMAP, 1},
		{64, 64, 4, CU_AD_FORMAT_HALF, 1, CUDA_ARRAY3D_TEXTURE_GATHER, 1},
		{64, 64, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEPTH_TEXTURE, 1},
		{64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0x200, 1},
		{131072, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0, 0},
		{131073, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0, 1},
		{131072, 65537, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0, 1},
		{1, 1, 16385, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0, 0},
		{16385, 2, 2, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0, 1},
		{16384, 16384, 16384, CU_AD_FORMAT_UNSIGNED_INT32, 4, 0, CUDA_ERROR_OUT_OF_MEMORY},
		{~0ull, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0, 1},
		{64, 64, 0, CU_AD_FORMAT_UNORM_INT8X4, 4, 0, 0},
		{64, 64, 0, CU_AD_FORMAT_UNORM_INT8X4, 1, 0, 1},
		{64, 64, 0, CU_AD_FORMAT_BC1_UNORM, 4, 0, CUDA_ERROR_NOT_SUPPORTED},
		{64, 64, 0, CU_AD_FORMAT_NV12, 3, 0, 1},
		{64, 64, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE, CUDA_ERROR_NOT_SUPPORTED},
	};

	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		CUDA_ARRAY3D_DESCRIPTOR d;
		CUarray a;

		CUresult r = array_create(&a, t[i].w, t[i].h, t[i].d, t[i].format, t[i].channels, t[i].flags);
		if (r != t[i].result)
			fprintf(stderr, "shape %zu: cuArray3DCreate returned %d, expected %d\n", i, r, t[i].result),
				failures++;
		if (r)
			continue;
		OK(soft_cuArray3DGetDescriptor_v2(&d, a));
		CHECK(d.Width == t[i].w && d.Height == t[i].h && d.Depth == t[i].d && d.Flags == t[i].flags);
		OK(soft_cuArrayDestroy(a));
		CHECK_EQ(soft_cuArrayDestroy(a), CUDA_ERROR_INVALID_HANDLE);
	}
}

static void blocks(void)
{
	CUdeviceptr d;
	size_t pitch;
	CUarray a;

	for (size_t i = 0; i < sizeof host; i++)
		host[i] = (unsigned char)(i * 7 + i / 251);
	CHECK_EQ(soft_cuMemAllocPitch_v2(&d, &pitch, ~0ull, 1, 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAllocPitch_v2(&d, &pitch, 1ull << 40, 1ull << 40, 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemAllocPitch_v2(&d, &pitch, 1 << 20, 1 << 30, 4), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(soft_cuMemAllocPitch_v2(&d, &pitch, 100, 10, 3), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemAllocPitch_v2(&d, &pitch, 513, 10, 4));
	CHECK_EQ(pitch, 1024);
	OK(array_create(&a, 32, 16, 4, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0));

	/* host -> array -> pitched device memory -> host, with offsets everywhere */
	CUDA_MEMCPY3D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = host,
		.srcPitch = 100,
		.srcHeight = 20,
		.srcXInBytes = 3,
		.srcY = 2,
		.srcZ = 1,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstArray = a,
		.dstXInBytes = 5,
		.dstY = 6,
		.dstZ = 1,
		.WidthInBytes = 60,
		.Height = 5,
		.Depth = 3};
	OK(soft_cuMemcpy3D_v2(&in));
	CUDA_MEMCPY2D mid = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
		.srcArray = a,
		.srcXInBytes = 5,
		.srcY = 6,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = d,
		.dstPitch = pitch,
		.dstXInBytes = 8,
		.WidthInBytes = 60,
		.Height = 5};
	CUDA_MEMCPY3D layer = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
		.srcArray = a,
		.srcXInBytes = 5,
		.srcY = 6,
		.srcZ = 2,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = d,
		.dstPitch = pitch,
		.dstXInBytes = 8,
		.WidthInBytes = 60,
		.Height = 5,
		.Depth = 1};
	CUDA_MEMCPY2D out = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = d,
		.srcPitch = pitch,
		.srcXInBytes = 8,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = back,
		.dstPitch = 64,
		.WidthInBytes = 60,
		.Height = 5};
	OK(soft_cuMemcpy3D_v2(&layer));
	OK(soft_cuMemcpy2D_v2(&out));
	for (int y = 0; y < 5; y++)
		CHECK(!memcmp(back + y * 64, host + 100 * (20 * 2 + 2 + y) + 3, 60));
	OK(soft_cuMemcpy2DAsync_v2(&mid, NULL)); /* slice 0, which was not written */
	in.dstZ = 2;
	CHECK_EQ(soft_cuMemcpy3D_v2(&in), CUDA_ERROR_INVALID_VALUE);

	CUDA_MEMCPY2D c = out;
#define BAD(change) \
	c = out; \
	change; \
	CHECK_EQ(soft_cuMemcpy2D_v2(&c), CUDA_ERROR_INVALID_VALUE); \
	CHECK_EQ(soft_cuMemcpy2DAsync_v2(&c, NULL), CUDA_ERROR_INVALID_VALUE)
	BAD(c.dstPitch = 59);
	BAD(c.srcXInBytes = pitch - 59);
	BAD(c.srcMemoryType = 0);
	BAD(c.srcMemoryType = 5);
	BAD(c.srcDevice = 0);
	BAD(c.dstHost = NULL);
	BAD(c.Height = 11);
	BAD(c.srcPitch = 1ull << 62);
	BAD(c.srcY = ~0ull);
	BAD(c.srcDevice = (CUdeviceptr)(uintptr_t)host);
	BAD(c.srcMemoryType = CU_MEMORYTYPE_ARRAY; c.srcArray = NULL);
	CHECK_EQ(soft_cuMemcpy2D_v2(NULL), CUDA_ERROR_INVALID_VALUE);
	c = out;
	c.WidthInBytes = 0;
	c.dstHost = NULL;
	OK(soft_cuMemcpy2D_v2(&c));
	OK(soft_cuMemcpyHtoA_v2(a, 4, host, 124));
	CHECK_EQ(soft_cuMemcpyHtoA_v2(a, 8, host, 124), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemcpyAtoH_v2(back, a, 4, 124));
	CHECK(!memcmp(host, back, 124));
	OK(soft_cuArrayDestroy(a));
	OK(soft_cuMemFree_v2(d));
}

static void batches(void)
{
	CUmemcpyAttributes attr = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	size_t sizes[2] = {256, 128}, index = 0, fail = 9;
	CUdeviceptr d, dst[2], src[2];
	CUstream s;

	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(soft_cuMemAlloc_v2(&d, 8192));
	dst[0] = d;
	dst[1] = d + 4096;
	src[0] = (CUdeviceptr)(uintptr_t)host;
	src[1] = d;
	OK(soft_cuMemcpyBatchAsync(dst, src, sizes, 2, &attr, &index, 1, &fail, s));
	CHECK_EQ(fail, SIZE_MAX);
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuMemcpyDtoH_v2(back, d + 4096, 128));
	CHECK(!memcmp(host, back, 128));
	CHECK_EQ(soft_cuMemcpyBatchAsync_v2(dst, src, sizes, 2, &attr, &index, 1, NULL), CUDA_ERROR_INVALID_VALUE);
	sizes[1] = 0;
	CHECK_EQ(soft_cuMemcpyBatchAsync(dst, src, sizes, 2, &attr, &index, 1, &fail, s), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(fail, 1);
	sizes[1] = 8192;
	CHECK_EQ(soft_cuMemcpyBatchAsync(dst, src, sizes, 2, &attr, &index, 1, &fail, s), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(fail, 1);
	OK(soft_cuMemFree_v2(d));
	OK(soft_cuStreamDestroy_v2(s));
}

static void mipmaps(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {64, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0};
	CUmipmappedArray m;
	CUarray level;
	size_t before, after;

	OK(soft_cuMemGetInfo_v2(&before, NULL));
	OK(soft_cuMipmappedArrayCreate(&m, &d, 100));
	for (unsigned i = 0; i < 7; i++) {
		OK(soft_cuMipmappedArrayGetLevel(&level, m, i));
		OK(soft_cuArray3DGetDescriptor_v2(&d, level));
		CHECK(d.Width == 64u >> i && d.Height == (16u >> i ? 16u >> i : 1));
	}
	CHECK_EQ(soft_cuMipmappedArrayGetLevel(&level, m, 7), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMipmappedArrayGetLevel(&level, m, 0));

	CUDA_RESOURCE_DESC res = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = m};
	CUDA_TEXTURE_DESC tex = {.filterMode = CU_TR_FILTER_MODE_LINEAR, .maxMipmapLevelClamp = 6};
	CUtexObject t;
	OK(soft_cuTexObjectCreate(&t, &res, &tex, NULL));
	INSIDE(const struct texture *view = soft_texture(t));
	INSIDE(CHECK(view && view->levels == 7 && view->level[1].width == 32 && view->max_lod == 6));
	OK(soft_cuMipmappedArrayDestroy(m)); /* the texture keeps the memory */
	CHECK_EQ(soft_cuArray3DGetDescriptor_v2(&d, level), CUDA_ERROR_INVALID_HANDLE);
	OK(soft_cuTexObjectDestroy(t));
	OK(soft_cuMemGetInfo_v2(&after, NULL));
	CHECK_EQ(before, after);
}

static void textures(void)
{
	CUDA_TEXTURE_DESC tex = {.addressMode = {1, 2, 3}, .flags = CU_TRSF_NORMALIZED_COORDINATES};
	CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_UINT_1X32, .width = 16, .height = 8};
	CUDA_RESOURCE_DESC res = {.resType = CU_RESOURCE_TYPE_ARRAY}, got;
	CUDA_TEXTURE_DESC got_tex;
	CUtexObject t;
	CUsurfObject s;
	CUdeviceptr d;
	CUarray a;

	OK(array_create(&a, 16, 8, 0, CU_AD_FORMAT_UNORM_INT8X4, 4, CUDA_ARRAY3D_SURFACE_LDST));
	res.res.array.hArray = a;
	OK(soft_cuTexObjectCreate(&t, &res, &tex, NULL));
	INSIDE(const struct texture *v = soft_texture(t));
	INSIDE(CHECK(v && v->format == TEX_U8 && v->channels == 4 && v->read_float && v->normalized && v->levels == 1));
	INSIDE(CHECK(v->address[0] == TEX_CLAMP && v->address[1] == TEX_MIRROR && v->address[2] == TEX_BORDER));
	memcpy(host, "abcd", 4);
	OK(soft_cuMemcpyHtoA_v2(a, 8, host, 4));
	INSIDE(CHECK(!memcmp(v->level[0].base + 8, "abcd", 4)));
	OK(soft_cuTexObjectGetResourceDesc(&got, t));
	CHECK(got.res.array.hArray == a);
	OK(soft_cuTexObjectGetTextureDesc(&got_tex, t));
	CHECK_EQ(got_tex.flags, tex.flags);
	OK(soft_cuTexObjectDestroy(t));
	INSIDE(CHECK(!soft_texture(t)));
	CHECK_EQ(soft_cuTexObjectDestroy(t), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuTexObjectDestroy(0));
	OK(soft_cuTexObjectCreate(&t, &res, &tex, &view));
	INSIDE(CHECK(soft_texture(t)->format == TEX_U32 && soft_texture(t)->channels == 1));
	OK(soft_cuTexObjectDestroy(t));
	view.width = 8;
	CHECK_EQ(soft_cuTexObjectCreate(&t, &res, &tex, &view), CUDA_ERROR_INVALID_VALUE);
	tex.flags = 0x80;
	CHECK_EQ(soft_cuTexObjectCreate(&t, &res, &tex, NULL), CUDA_ERROR_INVALID_VALUE);
	tex.flags = 0;
	OK(soft_cuSurfObjectCreate(&s, &res));
	INSIDE(CHECK(soft_texture(s) && soft_texture(s)->level[0].height == 8));
	OK(soft_cuSurfObjectDestroy(s));
	OK(soft_cuMemAlloc_v2(&d, 8192));
	res = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR, .res.linear = {d, CU_AD_FORMAT_FLOAT, 2, 4096}};
	CHECK_EQ(soft_cuSurfObjectCreate(&s, &res), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuTexObjectCreate(&t, &res, &tex, NULL));
	INSIDE(CHECK_EQ(soft_texture(t)->level[0].width, 512));
	OK(soft_cuTexObjectDestroy(t));
	res.res.linear.devPtr = d + 32;
	CHECK_EQ(soft_cuTexObjectCreate(&t, &res, &tex, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemFree_v2(d));
	OK(soft_cuArrayDestroy(a));
}

static void references(void)
{
	static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n.global .texref t1;\n"
				  ".tex .u32 t2;\n.global .surfref s1;\n.global .u64 g;\n.visible .entry k(){ret;}\n";
	CUarray_format format;
	CUaddress_mode mode;
	CUmodule m;
	CUtexref t, same, old;
	CUsurfref s;
	CUarray a, bound;
	CUdeviceptr d;
	size_t offset;
	int channels;

	OK(soft_cuModuleLoadData(&m, ptx));
	OK(soft_cuModuleGetTexRef(&t, m, "t1"));
	OK(soft_cuModuleGetTexRef(&same, m, "t1"));
	CHECK(t == same);
	OK(soft_cuModuleGetTexRef(&old, m, "t2"));
	OK(soft_cuModuleGetSurfRef(&s, m, "s1"));
	CHECK_EQ(soft_cuModuleGetTexRef(&same, m, "g"), CUDA_ERROR_NOT_FOUND);
	CHECK_EQ(soft_cuModuleGetTexRef(&same, m, "none"), CUDA_ERROR_NOT_FOUND);
	CHECK_EQ(soft_cuModuleGetGlobal_v2(&d, NULL, m, "t1"), CUDA_ERROR_NOT_FOUND);
	OK(soft_cuTexRefGetAddressMode(&mode, t, 0));
	CHECK_EQ(mode, CU_TR_ADDRESS_MODE_CLAMP);
	CHECK_EQ(soft_cuTexRefGetArray(&bound, t), CUDA_ERROR_INVALID_VALUE);
	OK(array_create(&a, 16, 8, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0));
	OK(soft_cuTexRefSetArray(t, a, CU_TRSA_OVERRIDE_FORMAT));
	OK(soft_cuTexRefGetFormat(&format, &channels, t));
	CHECK(format == CU_AD_FORMAT_UNSIGNED_INT8 && channels == 4);
	OK(soft_cuTexRefGetArray(&bound, t));
	CHECK(a == bound);
	OK(soft_cuMemAlloc_v2(&d, 8192));
	OK(soft_cuTexRefSetFormat(old, CU_AD_FORMAT_FLOAT, 1));
	CHECK_EQ(soft_cuTexRefSetFormat(old, CU_AD_FORMAT_FLOAT, 3), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuTexRefSetAddress_v2(&offset, old, d + 4, 4096));
	CHECK_EQ(offset, 4);
	CHECK_EQ(soft_cuTexRefSetAddress_v2(NULL, old, d + 4, 4096), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuTexRefSetFlags(old, 0x80), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuTexRefSetFilterMode(old, CU_TR_FILTER_MODE_LINEAR));
	OK(soft_cuSurfRefSetArray(s, a, 0));
	OK(soft_cuArrayDestroy(a));
	OK(soft_cuMemFree_v2(d));
	OK(soft_cuModuleUnload(m));
}

int main(void)
{
	struct soft_config config = {.memory = 9ull << 30};
	CUcontext ctx;

	OK(soft_open(&test_engine, &config));
	OK(soft_cuCtxCreate_v2(&ctx, 0, 0));
	shapes();
	blocks();
	batches();
	mipmaps();
	textures();
	references();
	OK(soft_cuCtxDestroy_v2(ctx));
	return RESULT();
}
