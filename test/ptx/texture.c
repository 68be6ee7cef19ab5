/* Tests the texture sampler without a GPU, at points whose results are obvious. */
#include "ptx/interp/alu/half.h"
#include "ptx/interp/texture/texture.h"
#include "test/check.h"
#include <math.h>

static float data[4] = {1, 2, 4, 8};
static const int8_t bytes[4] = {1, -100, 120, 8};

static struct texture row(unsigned address, unsigned filter, bool normalized)
{
	struct texture t = {.levels = 1, .format = TEX_F32, .channels = 1, .filter = (uint8_t)filter};

	t.level[0] = (struct tex_level){(uint8_t *)data, 4, 0, 0, 16, 16};
	t.address[0] = (uint8_t)address;
	t.address[1] = TEX_CLAMP;
	t.normalized = normalized;
	t.border[0] = 100;
	return t;
}

static float at(const struct texture *t, float x)
{
	return bits_f32(tex_sample(t, 1, 0, &x, 0).c[0]);
}

int main(void)
{
	struct texture t = row(TEX_CLAMP, TEX_POINT, false);
	struct texture square = t;
	float xy[2] = {1, 1}, nan = bits_f32(0x7fffffff);
	struct texel g;

	CHECK(at(&t, 0.0f) == 1 && at(&t, 1.99f) == 2 && at(&t, -5) == 1 && at(&t, 1e30f) == 8 && at(&t, nan) == 1);
	t = row(TEX_CLAMP, TEX_LINEAR, false);
	CHECK(at(&t, 0.5f) == 1 && at(&t, 1) == 1.5f && at(&t, 3) == 6 && at(&t, 9) == 8);
	CHECK(at(&t, 1.0f + 1.0f / 1024) == 1.5f); /* less than half a 256th */
	t = row(TEX_WRAP, TEX_POINT, true);
	CHECK(at(&t, 1.25f) == 2 && at(&t, -0.25f) == 8);
	t = row(TEX_MIRROR, TEX_POINT, true);
	CHECK(at(&t, 1.1f) == 8 && at(&t, -0.1f) == 1);
	t = row(TEX_BORDER, TEX_POINT, true);
	CHECK(at(&t, 1.1f) == 100 && at(&t, 0.9f) == 8);
	t = row(TEX_BORDER, TEX_LINEAR, true);
	CHECK(at(&t, 0) == 50.5f);

	t = row(TEX_CLAMP, TEX_LINEAR, false); /* integers are interpolated like floats, then rounded */
	t.format = TEX_S8;
	t.level[0].base = (uint8_t *)bytes;
	for (int i = 0; i <= 256; i++) {
		float x = 1.5f + (float)i / 256;
		double mixed = (bytes[1] * (256 - i) + bytes[2] * i) / 256.0;

		CHECK((int)tex_sample(&t, 1, 0, &x, 0).c[0] == (int)floor(mixed + 0.5));
	}
	t.format = TEX_S32; /* integers of 32 bits are not interpolated */
	t.level[0].base = (uint8_t *)data;
	CHECK(at(&t, 1) == 2);

	square.level[0] = (struct tex_level){(uint8_t *)data, 2, 2, 0, 8, 16};
	g = tex_gather(&square, 0, xy, 0);
	CHECK(bits_f32(g.c[0]) == 4 && bits_f32(g.c[1]) == 8 && bits_f32(g.c[2]) == 2 && bits_f32(g.c[3]) == 1);
	square.filter = TEX_LINEAR;
	CHECK(bits_f32(tex_sample(&square, 2, 0, xy, 0).c[0]) == 3.75f);

	CHECK(surf_at(&square, 4, 1, 0, 0, 4) == (uint8_t *)&data[3]);
	CHECK(!surf_at(&square, 8, 0, 0, 0, 4) && !surf_at(&square, -4, 0, 0, 0, 4) &&
		!surf_at(&square, 0, 2, 0, 0, 4));
	return RESULT();
}
