/*
 * Reads textures on a GPU and with our sampler, at the same points, and counts the
 * differences.  Skipped without a GPU.
 */
#include "abi/cuda.h"
#include "ptx/interp/alu/num.h"
#include "ptx/interp/texture/texture.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4096, LINEAR = 1, NORM = 2, FLOAT = 4, SRGB = 8, GATHER = 16, CUBE = 32, MIP_LINEAR = 64, INTEGER = 128 };
enum { W = TEX_WRAP, C = TEX_CLAMP, M = TEX_MIRROR, B = TEX_BORDER };

static const struct scene {
	const char *geom;
	unsigned dims, width, height, depth, layers, levels;
	unsigned format, channels, bytes;
	unsigned x, y; /* address modes; z as y */
	unsigned how;
	const char *result;
} scenes[] = {
	{"1d", 1, 64, 0, 0, 0, 1, TEX_F32, 1, 4, C, C, 0, "f32"},
	{"1d", 1, 64, 0, 0, 0, 1, TEX_F32, 1, 4, C, C, LINEAR, "f32"},
	{"1d", 1, 64, 0, 0, 0, 1, TEX_F32, 4, 4, C, C, LINEAR | NORM, "f32"},
	{"1d", 1, 64, 0, 0, 0, 1, TEX_F32, 2, 4, W, W, LINEAR | NORM, "f32"},
	{"1d", 1, 64, 0, 0, 0, 1, TEX_F32, 2, 4, W, W, LINEAR, "f32"},
	{"1d", 1, 60, 0, 0, 0, 1, TEX_F32, 1, 4, W, W, NORM, "f32"},
	{"1d", 1, 64, 0, 0, 0, 1, TEX_F32, 1, 4, M, M, LINEAR | NORM, "f32"},
	{"1d", 1, 60, 0, 0, 0, 1, TEX_F32, 1, 4, M, M, NORM, "f32"},
	{"1d", 1, 64, 0, 0, 0, 1, TEX_F32, 1, 4, B, B, LINEAR | NORM, "f32"},
	{"1d", 1, 64, 0, 0, 0, 1, TEX_F32, 4, 4, B, B, NORM, "f32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_F32, 1, 4, C, C, LINEAR, "f32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_F32, 1, 4, W, C, LINEAR | NORM, "f32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_F32, 1, 4, B, B, LINEAR, "f32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_U8, 4, 1, C, C, LINEAR | FLOAT, "f32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_U8, 4, 1, C, C, LINEAR | NORM | FLOAT | SRGB, "f32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_S8, 1, 1, C, C, FLOAT, "f32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_U16, 2, 2, C, C, LINEAR | FLOAT, "f32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_S16, 1, 2, C, C, FLOAT, "f32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_F16, 4, 2, C, C, LINEAR, "f32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_U8, 1, 1, C, C, 0, "u32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_S16, 4, 2, B, B, 0, "s32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_S32, 2, 4, C, C, INTEGER, "s32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_F32, 1, 4, B, B, INTEGER, "f32"},
	{"1d", 1, 64, 0, 0, 0, 1, TEX_F32, 1, 4, B, C, LINEAR | NORM, "f32"},
	{"1d", 1, 64, 0, 0, 0, 1, TEX_F32, 1, 4, C, B, LINEAR | NORM, "f32"},
	{"3d", 3, 16, 16, 8, 0, 1, TEX_F32, 1, 4, C, C, LINEAR, "f32"},
	{"3d", 3, 16, 16, 8, 0, 1, TEX_F32, 1, 4, W, W, LINEAR | NORM, "f32"},
	{"3d", 3, 16, 16, 8, 0, 1, TEX_F32, 1, 4, C, C, INTEGER, "f32"},
	{"a1d", 1, 64, 0, 0, 5, 1, TEX_F32, 1, 4, C, C, LINEAR, "f32"},
	{"a1d", 1, 64, 0, 0, 5, 1, TEX_F32, 1, 4, B, B, LINEAR, "f32"},
	{"a1d", 1, 64, 0, 0, 5, 1, TEX_F32, 1, 4, B, C, LINEAR, "f32"},
	{"a1d", 1, 64, 0, 0, 5, 1, TEX_F32, 1, 4, C, B, LINEAR, "f32"},
	{"a1d", 1, 64, 0, 0, 5, 1, TEX_F32, 1, 4, B, W, LINEAR | NORM, "f32"},
	{"a1d", 1, 64, 0, 0, 5, 1, TEX_F32, 1, 4, B, B, 0, "f32"},
	{"a2d", 2, 16, 16, 0, 5, 1, TEX_F32, 1, 4, W, W, LINEAR | NORM, "f32"},
	{"a2d", 2, 16, 16, 0, 5, 1, TEX_F32, 1, 4, C, C, INTEGER, "f32"},
	{"cube", 3, 16, 16, 0, 6, 1, TEX_F32, 1, 4, C, C, NORM | CUBE, "f32"},
	{"cube", 3, 16, 16, 0, 6, 1, TEX_F32, 1, 4, C, C, LINEAR | NORM | CUBE, "f32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_F32, 1, 4, C, C, LINEAR | GATHER, "f32"},
	{"2d", 2, 32, 16, 0, 0, 1, TEX_F32, 1, 4, W, W, NORM | GATHER, "f32"},
	{"2d", 2, 32, 16, 0, 0, 4, TEX_F32, 1, 4, C, C, NORM, "f32"},
	{"2d", 2, 32, 16, 0, 0, 4, TEX_F32, 1, 4, C, C, LINEAR | NORM | MIP_LINEAR, "f32"},
	{"2d", 2, 32, 16, 0, 0, 4, TEX_F32, 1, 4, C, C, NORM | MIP_LINEAR, "f32"},
};

/* The coordinates of lane i: bits of f32, or integers. */
static struct place {
	float x[3];
	uint32_t layer;
	float lod;
} places[N];
static struct texel got[N];

static void *lib;
#define CALL(fn, type, ...) ((CUresult(*) type)dlsym(lib, fn))(__VA_ARGS__)
#define TRY(expr) \
	do { \
		CUresult r_ = (expr); \
		if (r_) { \
			fprintf(stderr, "line %d: error %d\n", __LINE__, (int)r_); \
			return -1; \
		} \
	} while (0)

static float random_unit(void)
{
	return (float)rand() / (float)RAND_MAX;
}

static void fill(const struct scene *s, uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)rand();
	for (size_t i = 0; s->format == TEX_F32 && i < n / 4; i++)
		((float *)data)[i] = random_unit() * 10 - 5;
	for (size_t i = 0; s->format == TEX_F16 && i < n / 2; i++)
		((uint16_t *)data)[i] = (uint16_t)(0x3c00 + rand() % 2048);
}

static void choose_places(const struct scene *s)
{
	unsigned size[3] = {s->width, s->height ? s->height : 1, s->depth ? s->depth : 1};

	for (int i = 0; i < N; i++) {
		for (int k = 0; k < 3; k++) {
			float v = i < 1024 ? (float)(i - 256) / 512.0f : random_unit() * 3 - 1;
			int32_t n = (int32_t)(v * (float)size[k]);

			if (s->how & CUBE)
				v = random_unit() * 2 - 1;
			else if (!(s->how & NORM))
				v *= (float)size[k];
			places[i].x[k] = v;
			if (s->how & INTEGER)
				memcpy(&places[i].x[k], &n, 4);
		}
		places[i].layer = (uint32_t)rand() % (s->layers + 2);
		places[i].lod = random_unit() * (float)(s->levels + 1) - 1;
	}
}

static CUresult make_array(const struct scene *s, CUarray *a, CUmipmappedArray *mip)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {s->width, s->height, s->layers ? s->layers : s->depth, s->format, s->channels, 0};

	d.Flags |= s->how & CUBE ? CUDA_ARRAY3D_CUBEMAP : s->layers ? CUDA_ARRAY3D_LAYERED : 0;
	d.Flags |= s->how & GATHER ? CUDA_ARRAY3D_TEXTURE_GATHER : 0;
	if (s->levels > 1)
		return CALL("cuMipmappedArrayCreate", (CUmipmappedArray *, void *, unsigned), mip, &d, s->levels);
	return CALL("cuArray3DCreate_v2", (CUarray *, void *), a, &d);
}

/* The texels, in t and on the device. */
static int make_texels(const struct scene *s, struct texture *t, CUDA_RESOURCE_DESC *r)
{
	CUmipmappedArray mip = NULL;
	CUarray a = NULL;

	TRY(make_array(s, &a, &mip));
	for (unsigned l = 0; l < s->levels; l++) {
		unsigned w = s->width >> l, h = s->height ? s->height >> l : 1,
			 d = s->layers  ? s->layers
			     : s->depth ? s->depth
					: 1;
		size_t pitch = (size_t)w * s->bytes * s->channels;
		uint8_t *data = malloc(pitch * h * d);
		CUDA_MEMCPY3D c = {
			.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = data, .srcPitch = pitch, .srcHeight = h};

		if (!data)
			return -1;
		fill(s, data, pitch * h * d);
		if (mip)
			TRY(CALL("cuMipmappedArrayGetLevel", (CUarray *, CUmipmappedArray, unsigned), &a, mip, l));
		c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
		c.dstArray = a;
		c.WidthInBytes = pitch;
		c.Height = h;
		c.Depth = d;
		TRY(CALL("cuMemcpy3D_v2", (void *), &c));
		t->level[l] = (struct tex_level){data, w, s->height ? h : 0, s->depth, pitch, pitch * h};
	}
	r->resType = mip ? CU_RESOURCE_TYPE_MIPMAPPED_ARRAY : CU_RESOURCE_TYPE_ARRAY;
	r->res.array.hArray = mip ? (CUarray)mip : a;
	return 0;
}

static int make_texture(const struct scene *s, struct texture *t, CUtexObject *object)
{
	const uint8_t modes[3] = {(uint8_t)s->x, (uint8_t)s->y, (uint8_t)s->y};
	CUDA_RESOURCE_DESC r = {0};
	CUDA_TEXTURE_DESC d = {0};
	bool is_float = s->format == TEX_F32 || s->format == TEX_F16 || s->how & FLOAT;

	*t = (struct texture){.levels = s->levels, .layers = s->layers, .format = (uint8_t)s->format};
	t->channels = (uint8_t)s->channels;
	t->filter = d.filterMode = (CUfilter_mode) !!(s->how & LINEAR);
	t->mip_filter = d.mipmapFilterMode = (CUfilter_mode) !!(s->how & MIP_LINEAR);
	t->normalized = s->how & NORM;
	t->read_float = s->how & FLOAT;
	t->srgb = s->how & SRGB;
	t->max_lod = d.maxMipmapLevelClamp = 99;
	d.flags = (s->how & NORM ? 2u : 0) | (is_float ? 0 : 1u) | (s->how & SRGB ? 16u : 0);
	for (int i = 0; i < 4; i++)
		t->border[i] = d.borderColor[i] = 0.25f * (float)(i + 1);
	for (int i = 0; i < 3; i++)
		d.addressMode[i] = t->address[i] = modes[i];
	if (make_texels(s, t, &r))
		return -1;
	TRY(CALL("cuTexObjectCreate", (CUtexObject *, void *, void *, void *), object, &r, &d, NULL));
	return 0;
}

static const char *coordinates(const struct scene *s)
{
	bool layered = s->layers && !(s->how & CUBE);

	if (layered)
		return s->dims == 1 ? "{%r2, %x0}" : "{%r2, %x0, %x1, %x1}";
	return s->dims == 1 ? "{%x0}" : s->dims == 2 ? "{%x0, %x1}" : "{%x0, %x1, %x2, %x2}";
}

static void write_kernel(const struct scene *s, char *text, size_t size)
{
	snprintf(text, size,
		".version 8.0\n.target sm_80\n.address_size 64\n"
		".visible .entry t(.param .u64 tex, .param .u64 places, .param .u64 out)\n{\n"
		".reg .u64 %%p<3>; .reg .u32 %%r<3>; .reg .f32 %%l; .reg .b32 %%x<3>; .reg .b32 %%o<4>;\n"
		"mov.u32 %%r0, %%tid.x; mov.u32 %%r1, %%ctaid.x; mad.lo.u32 %%r0, %%r1, 256, %%r0;\n"
		"ld.param.u64 %%p0, [tex]; ld.param.u64 %%p1, [places]; ld.param.u64 %%p2, [out];\n"
		"mad.wide.u32 %%p1, %%r0, 20, %%p1; mad.wide.u32 %%p2, %%r0, 16, %%p2;\n"
		"ld.global.b32 %%x0, [%%p1]; ld.global.b32 %%x1, [%%p1+4]; ld.global.b32 %%x2, [%%p1+8];\n"
		"ld.global.u32 %%r2, [%%p1+12]; ld.global.f32 %%l, [%%p1+16];\n"
		"%s%s.%s.v4.%s.%s {%%o0, %%o1, %%o2, %%o3}, [%%p0, %s]%s;\n"
		"st.global.v4.b32 [%%p2], {%%o0, %%o1, %%o2, %%o3};\nret;\n}\n",
		s->how & GATHER ? "tld4.r" : "tex", s->levels > 1 ? ".level" : "", s->geom, s->result,
		s->how & INTEGER ? "s32" : "f32", coordinates(s), s->levels > 1 ? ", %l" : "");
}

static int run_gpu(const struct scene *s, CUtexObject object)
{
	CUdeviceptr in, out;
	CUmodule module;
	CUfunction f;
	char text[3000];
	void *args[] = {&object, &in, &out};

	write_kernel(s, text, sizeof text);
	TRY(CALL("cuModuleLoadData", (CUmodule *, const void *), &module, text));
	TRY(CALL("cuModuleGetFunction", (CUfunction *, CUmodule, const char *), &f, module, "t"));
	TRY(CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &in, sizeof places));
	TRY(CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &out, sizeof got));
	TRY(CALL("cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t), in, places, sizeof places));
	TRY(CALL("cuLaunchKernel",
		(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
			void **),
		f, N / 256, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
	TRY(CALL("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), got, out, sizeof got));
	return 0;
}

static struct texel read_here(const struct scene *s, const struct texture *t, const struct place *p)
{
	int32_t n[3];

	memcpy(n, p->x, sizeof n);
	if (s->how & GATHER)
		return tex_gather(t, p->layer, p->x, 0);
	if (s->how & INTEGER)
		return tex_fetch(t, s->dims, p->layer, n, 0);
	if (s->how & CUBE)
		return tex_sample_cube(t, 0, p->x, 0);
	return tex_sample(t, s->dims, p->layer, p->x, p->lod);
}

/* The sRGB table of the hardware is known only approximately. */
static bool same(const struct texture *t, struct texel a, struct texel b)
{
	const float far = t->srgb ? 0.004f : 1e-5f;

	for (int n = 0; n < 4; n++)
		if (tex_is_float(t) ? !(fabsf(bits_f32(a.c[n]) - bits_f32(b.c[n])) <= far) : a.c[n] != b.c[n])
			return false;
	return true;
}

static void show(const struct texture *t, const struct place *p, struct texel gpu, struct texel here)
{
	printf("    %g %g %g (0x%x) layer %u lod %g:", p->x[0], p->x[1], p->x[2], f32_bits(p->x[0]), p->layer, p->lod);
	for (int n = 0; n < 4; n++) {
		if (tex_is_float(t))
			printf(" %g/%g", bits_f32(gpu.c[n]), bits_f32(here.c[n]));
		else
			printf(" %x/%x", gpu.c[n], here.c[n]);
	}
	printf("\n");
}

static unsigned compare(const struct scene *s, const struct texture *t)
{
	unsigned bad = 0;

	for (int i = 0; i < N; i++) {
		struct texel here = read_here(s, t, &places[i]);

		if (!same(t, got[i], here) && bad++ < 24)
			show(t, &places[i], got[i], here);
	}
	return bad;
}

static int run_scene(const struct scene *s)
{
	struct texture t;
	CUtexObject object;
	unsigned bad;

	if (make_texture(s, &t, &object))
		return -1;
	choose_places(s);
	if (run_gpu(s, object))
		return -1;
	bad = compare(s, &t);
	printf("%s format %u x%u, modes %u %u, how %u: %u of %u differ\n", s->geom, s->format, s->channels, s->x, s->y,
		s->how, bad, N);
	return bad > (s->how & CUBE ? 8 : 0); /* where a quotient by the longest axis is rounded otherwise */
}

int main(void)
{
	CUcontext c;
	int r = 0;

	lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib || !dlsym(lib, "cuInit") || CALL("cuInit", (unsigned), 0) ||
		CALL("cuDevicePrimaryCtxRetain", (CUcontext *, int), &c, 0) ||
		CALL("cuCtxSetCurrent", (CUcontext), c)) {
		printf("skipped: no GPU\n");
		return 77;
	}
	for (unsigned i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
		r |= run_scene(&scenes[i]) != 0;
	return r;
}
