/*
 * tex of a whole warp (tex_plain.c) gives the same results as the sampler for single lanes, for every filter, address
 * mode, format and odd coordinate.  ptx-texture-gpu compares the sampler itself with a GPU.
 */
#include "test/check.h"
#include "rig.h"

#include "ptx/interp/texture/texture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, WIDTH = 7, HEIGHT = 5 };

static const char text[] =
	PTX_HEAD ".visible .entry t1(.param .u64 out, .param .u64 in, .param .u64 on)\n"
		 "{ .reg .b64 %d<6>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .pred %p;\n"
		 "ld.param.u64 %d0, [out]; ld.param.u64 %d1, [in]; ld.param.u64 %d2, [on]; mov.u32 %r0, %tid.x;\n"
		 "shr.u64 %d2, %d2, %r0; and.b64 %d2, %d2, 1; setp.eq.u64 %p, %d2, 0; @%p exit;\n"
		 "mad.wide.u32 %d1, %r0, 8, %d1; ld.global.f32 %f0, [%d1]; mov.u64 %d3, 77;\n"
		 "tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d3, {%f0}];\n"
		 "mad.wide.u32 %d0, %r0, 16, %d0; st.global.v4.f32 [%d0], {%f0, %f1, %f2, %f3}; ret; }\n"
		 ".visible .entry t2(.param .u64 out, .param .u64 in, .param .u64 on)\n"
		 "{ .reg .b64 %d<6>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .pred %p;\n"
		 "ld.param.u64 %d0, [out]; ld.param.u64 %d1, [in]; ld.param.u64 %d2, [on]; mov.u32 %r0, %tid.x;\n"
		 "shr.u64 %d2, %d2, %r0; and.b64 %d2, %d2, 1; setp.eq.u64 %p, %d2, 0; @%p exit;\n"
		 "mad.wide.u32 %d1, %r0, 8, %d1; ld.global.v2.f32 {%f0, %f1}, [%d1]; mov.u64 %d3, 77;\n"
		 "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d3, {%f0, %f1}];\n"
		 "mad.wide.u32 %d0, %r0, 16, %d0; st.global.v4.f32 [%d0], {%f0, %f1, %f2, %f3}; ret; }\n";

static struct texture image;

static const struct texture *find(void *arg, uint64_t handle)
{
	(void)arg;
	return handle == 77 ? &image : NULL;
}

static float odd_coordinate(void)
{
	static const float odd[] = {0, -0.0f, 1, 0.5f, -0.5f, NAN, INFINITY, -INFINITY, 1e30f, -1e30f, -1e-30f, 1e-30f,
		7, 6.998047f, 5, -3, -2, 9, 0.001953125f, 16777217.0f, 1e10f, -70.7f, 1234.56f};

	if (rand() % 3 == 0)
		return odd[(size_t)rand() % (sizeof odd / sizeof *odd)];
	return ((float)rand() / (float)RAND_MAX - 0.25f) * (rand() % 2 ? 2 : 14);
}

static void test_one(struct rig *r, unsigned dims, float *in, struct texel *out)
{
	uint32_t on = rand() % 2 ? UINT32_MAX : (uint32_t)rand() | 1;

	for (unsigned i = 0; i < 2 * LANES; i++)
		in[i] = odd_coordinate();
	CHECK_EQ(RUN(r, dims == 1 ? "t1" : "t2", DIM(1, 1, 1), DIM(LANES, 1, 1), 0, P(out), P(in), on), INTERP_OK);
	for (unsigned i = 0; i < LANES; i++) {
		struct texel want;

		if (!(on >> i & 1))
			continue;
		want = tex_sample(&image, dims, 0, in + 2 * i, 0);
		if (!memcmp(&want, &out[i], sizeof want))
			continue;
		fprintf(stderr,
			"%uD format %u x %u, filter %u, modes %u %u, normalized %d: (%a, %a) gives %08x, not %08x\n",
			dims, image.format, image.channels, image.filter, image.address[0], image.address[1],
			image.normalized, (double)in[2 * i], (double)in[2 * i + 1], out[i].c[0], want.c[0]);
		failures++;
		return;
	}
}

static void test_all(struct rig *r)
{
	static const uint8_t formats[] = {TEX_F32, TEX_U8, TEX_S16, TEX_F16, TEX_U32};
	float *in = rig_alloc(r, LANES * 8);
	struct texel *out = rig_alloc(r, LANES * 16);
	static uint8_t texels[HEIGHT][WIDTH * 16 + 16];

	for (unsigned i = 0; i < sizeof texels; i++)
		((uint8_t *)texels)[i] = (uint8_t)rand();
	for (unsigned i = 0; i < HEIGHT * (WIDTH * 4 + 4); i++)
		((float *)texels)[i] = (float)(rand() % 1000) / 7 - 50;
	for (unsigned n = 0; n < 5 * 3 * 2 * 2 * 16 * 2; n++) {
		static const uint8_t channels[] = {1, 2, 4};
		unsigned k = n;

		memset(&image, 0, sizeof image);
		image.format = formats[k % 5];
		image.channels = channels[(k /= 5) % 3];
		image.filter = (k /= 3) % 2;
		image.normalized = (k /= 2) % 2;
		image.address[0] = (k /= 2) % 4;
		image.address[1] = (k /= 4) % 4;
		image.read_float = (k / 4) % 2;
		image.border[0] = 3;
		image.levels = 1;
		image.level[0] =
			(struct tex_level){(uint8_t *)texels, WIDTH, HEIGHT, 0, sizeof texels[0], sizeof texels};
		for (unsigned i = 0; i < 20; i++) {
			test_one(r, 2, in, out);
			test_one(r, 1, in, out);
		}
	}
}

int main(void)
{
	static struct rig r;

	rig_open(&r, text);
	r.host.texture = find;
	test_all(&r);
	rig_close(&r);
	return RESULT();
}
