/* Arrays, copies to and from them, textures and surfaces. */
#include "test/cudart/parity.h"

static void show_info(cudaArray_t a)
{
	cudaChannelFormatDesc d = {0};
	cudaExtent e = {9, 9, 9};
	unsigned flags = 99;

	TRY(cudaArrayGetInfo, &d, &e, &flags, a);
	printf("    %d %d %d %d %d, %zu %zu %zu, %u\n", d.x, d.y, d.z, d.w, d.f, e.width, e.height, e.depth, flags);
	TRY(cudaGetChannelDesc, &d, a);
}

static void try_formats(void)
{
	static const cudaChannelFormatDesc formats[] = {{8, 0, 0, 0, 0}, {8, 8, 0, 0, 1}, {16, 16, 16, 16, 2},
		{32, 0, 0, 0, 2}, {8, 8, 8, 0, 1}, {8, 16, 0, 0, 1}, {0, 8, 0, 0, 1}, {0, 0, 0, 0, 1}, {64, 0, 0, 0, 1},
		{8, 0, 0, 0, 2}, {32, 0, 0, 0, 3}, {8, 8, 8, 8, 7}, {16, 16, 0, 0, 9}, {8, 8, 8, 8, 17},
		{32, 0, 0, 0, 99}};

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		cudaArray_t a = NULL;
		printf("    format %zu\n", i);
		TRY(cudaMallocArray, &a, &formats[i], 16, 4, 0);
		if (a) {
			show_info(a);
			TRY(cudaFreeArray, a);
		}
	}
}

static void try_copies(cudaArray_t a, cudaArray_t b)
{
	char h[1024], *d = NULL;
	cudaMemcpy3DParms p = {.srcPtr = {h, 64, 64, 8}, .dstArray = a, .extent = {8, 4, 1}, .kind = 1};

	memset(h, 5, sizeof h);
	TRY(cudaMalloc, (void **)&d, 4096);
	for (int kind = 0; kind < 5; kind++) {
		TRY(cudaMemcpy2DToArray, a, 0, 0, kind == 3 ? d : h, 64, 64, 8, kind);
		TRY(cudaMemcpy2DFromArray, kind == 3 ? d : h, 64, a, 0, 0, 64, 8, kind);
		TRY(cudaMemcpy2DArrayToArray, b, 0, 0, a, 0, 0, 32, 4, kind);
		TRY(cudaMemcpyToArray, a, 8, 0, kind == 3 ? d : h, 100, kind);
		TRY(cudaMemcpyFromArray, kind == 3 ? d : h, a, 8, 0, 100, kind);
		TRY(cudaMemcpyArrayToArray, b, 4, 0, a, 8, 1, 100, kind);
	}
	TRY(cudaMemcpy2DToArray, a, 0, 0, h, 64, 65, 8, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy2DToArray, a, 0, 0, h, 32, 64, 8, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy2DToArray, a, 0, 0, h, 64, 64, 9, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy2DToArray, NULL, 0, 0, h, 64, 64, 8, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy2DToArray, a, 0, 0, NULL, 64, 64, 8, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy2DToArrayAsync, a, 0, 0, h, 64, 64, 8, cudaMemcpyHostToDevice, NULL);
	TRY(cudaMemcpy2DFromArrayAsync, h, 64, a, 0, 0, 64, 8, cudaMemcpyDeviceToHost, NULL);
	TRY(cudaMemcpy3D, &p);
	p.extent.width = 17;
	TRY(cudaMemcpy3D, &p);
	p.extent.width = 8;
	p.kind = 2;
	TRY(cudaMemcpy3D, &p);
	p.kind = 1;
	p.dstPos.x = 8;
	TRY(cudaMemcpy3D, &p);
	p.dstPos.x = 9;
	TRY(cudaMemcpy3D, &p);
	p.dstPtr = (cudaPitchedPtr){d, 64, 64, 8};
	TRY(cudaMemcpy3D, &p);
	TRY(cudaFree, d);
}

/* Formats, read as elements or as fractions, plain or filtered. */
static void try_reading(void)
{
	static const cudaChannelFormatDesc formats[] = {{8, 0, 0, 0, 1}, {16, 0, 0, 0, 0}, {32, 0, 0, 0, 1},
		{16, 0, 0, 0, 2}, {32, 0, 0, 0, 2}, {8, 8, 8, 8, 7}};

	for (int i = 0; i < 24; i++) {
		cudaTextureDesc t = {.addressMode = {1, 1, 1}, .filterMode = i & 1, .readMode = i / 2 & 1};
		cudaResourceDesc r = {.resType = CU_RESOURCE_TYPE_ARRAY};
		cudaTextureObject_t tex = 0;

		printf("    case %d\n", i);
		TRY(cudaMallocArray, &r.res.array.array, &formats[i / 4], 16, 4, 0);
		TRY(cudaCreateTextureObject, &tex, &r, &t, NULL);
		TRY(cudaFreeArray, r.res.array.array);
	}
}

static void try_textures(cudaArray_t a)
{
	cudaResourceDesc r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.array = a}, r2;
	cudaTextureDesc t = {.addressMode = {1, 1, 1},
				.filterMode = 1,
				.normalizedCoords = 1,
				.borderColor = {1, 2, 3, 4}},
			t2;
	cudaResourceViewDesc v2;
	cudaTextureObject_t tex = 0;
	cudaSurfaceObject_t surf = 0;
	void *d = NULL;

	memset(&v2, 0, sizeof v2);
	TRY(cudaCreateTextureObject, &tex, &r, &t, NULL);
	TRY(cudaGetTextureObjectResourceDesc, &r2, tex);
	SHOW(r2.resType);
	SHOW(r2.res.array.array == a);
	TRY(cudaGetTextureObjectTextureDesc, &t2, tex);
	SHOW(t2.addressMode[0]);
	SHOW(t2.filterMode);
	SHOW(t2.readMode);
	SHOW(t2.normalizedCoords);
	SHOW_F(t2.borderColor[3]);
	TRY(cudaGetTextureObjectResourceViewDesc, &v2, tex);
	TRY(cudaGetTextureObjectResourceDesc, NULL, tex);
	TRY(cudaGetTextureObjectResourceDesc, &r2, 77777);
	TRY(cudaDestroyTextureObject, tex);
	TRY(cudaDestroyTextureObject, 0);
	TRY(cudaDestroyTextureObject, 77777);
	TRY(cudaCreateTextureObject, NULL, &r, &t, NULL);
	TRY(cudaCreateTextureObject, &tex, NULL, &t, NULL);
	TRY(cudaCreateTextureObject, &tex, &r, NULL, NULL);
	t.readMode = 1;
	TRY(cudaCreateTextureObject, &tex, &r, &t, NULL);
	r.resType = 9;
	TRY(cudaCreateTextureObject, &tex, &r, &t, NULL);
	try_reading();
	TRY(cudaMalloc, &d, 4096);
	memset(&r, 0, sizeof r);
	r.resType = CU_RESOURCE_TYPE_LINEAR;
	r.res.linear.devPtr = d;
	r.res.linear.desc = (cudaChannelFormatDesc){32, 0, 0, 0, 2};
	r.res.linear.sizeInBytes = 4096;
	memset(&t, 0, sizeof t);
	TRY(cudaCreateTextureObject, &tex, &r, &t, NULL);
	TRY(cudaGetTextureObjectResourceDesc, &r2, tex);
	SHOW(r2.res.linear.sizeInBytes);
	SHOW(r2.res.linear.desc.x);
	TRY(cudaDestroyTextureObject, tex);
	r.res.linear.desc.f = 3;
	TRY(cudaCreateTextureObject, &tex, &r, &t, NULL);
	TRY(cudaCreateSurfaceObject, &surf, &r);
	memset(&r, 0, sizeof r);
	r.resType = CU_RESOURCE_TYPE_ARRAY;
	r.res.array.array = a;
	TRY(cudaCreateSurfaceObject, &surf, &r);
	TRY(cudaGetSurfaceObjectResourceDesc, &r2, surf);
	TRY(cudaDestroySurfaceObject, surf);
	TRY(cudaCreateSurfaceObject, NULL, &r);
	TRY(cudaFree, d);
}

static void try_mipmaps(void)
{
	cudaChannelFormatDesc f = {32, 0, 0, 0, 2};
	cudaMipmappedArray_t m = NULL;
	cudaArray_t level = NULL;

	TRY(cudaMallocMipmappedArray, &m, &f, (cudaExtent){16, 16, 0}, 3, 0);
	TRY(cudaGetMipmappedArrayLevel, &level, m, 1);
	show_info(level);
	TRY(cudaGetMipmappedArrayLevel, &level, m, 7);
	TRY(cudaGetMipmappedArrayLevel, NULL, m, 0);
	TRY(cudaFreeMipmappedArray, m);
	TRY(cudaFreeMipmappedArray, NULL);
	TRY(cudaMallocMipmappedArray, NULL, &f, (cudaExtent){16, 16, 0}, 3, 0);
	TRY(cudaMallocMipmappedArray, &m, NULL, (cudaExtent){16, 16, 0}, 3, 0);
}

void parity_array(void)
{
	cudaChannelFormatDesc f = {32, 0, 0, 0, 2};
	cudaArray_t a = NULL, b = NULL, c = NULL;

	try_formats();
	TRY(cudaMallocArray, &a, &f, 16, 8, 0);
	TRY(cudaMallocArray, &b, &f, 16, 8, CUDA_ARRAY3D_SURFACE_LDST);
	TRY(cudaMallocArray, NULL, &f, 16, 8, 0);
	TRY(cudaMallocArray, &c, NULL, 16, 8, 0);
	TRY(cudaMallocArray, &c, &f, 0, 8, 0);
	TRY(cudaMallocArray, &c, &f, 16, 0, 0);
	TRY(cudaFreeArray, c);
	TRY(cudaMallocArray, &c, &f, 16, 8, 0x10000);
	TRY(cudaMalloc3DArray, &c, &f, (cudaExtent){8, 8, 4}, 0);
	show_info(c);
	TRY(cudaFreeArray, c);
	TRY(cudaMalloc3DArray, &c, &f, (cudaExtent){8, 8, 4}, CUDA_ARRAY3D_LAYERED);
	TRY(cudaFreeArray, c);
	TRY(cudaFreeArray, NULL);
	TRY(cudaArrayGetInfo, NULL, NULL, NULL, a);
	TRY(cudaArrayGetInfo, NULL, NULL, NULL, NULL);
	TRY(cudaGetChannelDesc, NULL, a);
	show_info(a);
	try_copies(a, b);
	try_textures(b);
	try_mipmaps();
	TRY(cudaFreeArray, a);
	TRY(cudaFreeArray, b);
}
