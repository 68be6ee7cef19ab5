/*
 * Loads and stores with addresses of every pattern (consecutive, equal, descending, strided, random), by all lanes
 * and by some, of every width, with one element and several, in global, shared and local memory, and as parameters of
 * a call.
 */
#include "test/check.h"
#include "rig.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 32, PLACES = 64, GUARD = 0xa5 };

/*
 * Lane i copies one vector from place index[i] of the input to place to[i] in memory of the state space, if its bit in
 * `on` is set, and then from there to place i of the output.
 */
static const char kernel[] =
	".visible .entry %s(.param .u64 out, .param .u64 in, .param .u64 index,\n"
	"	.param .u64 to, .param .u64 on)\n"
	"{ .reg .b64 %%d<12>; .reg .b32 %%r<8>; .reg .pred %%p; .reg .b%d %%v<8>; %s\n"
	"mov.u32 %%r1, %%tid.x; cvt.u64.u32 %%d1, %%r1;\n"
	"ld.param.u64 %%d2, [on]; shr.u64 %%d2, %%d2, %%r1; and.b64 %%d2, %%d2, 1;\n"
	"setp.eq.u64 %%p, %%d2, 0; @%%p bra END;\n"
	"ld.param.u64 %%d3, [index]; mad.wide.u32 %%d3, %%r1, 4, %%d3; ld.global.u32 %%r2, [%%d3];\n"
	"ld.param.u64 %%d4, [to]; mad.wide.u32 %%d4, %%r1, 4, %%d4; ld.global.u32 %%r3, [%%d4];\n"
	"ld.param.u64 %%d5, [in]; mad.wide.u32 %%d5, %%r2, %d, %%d5;\n"
	"ld.param.u64 %%d6, [out]; mad.wide.u32 %%d6, %%r1, %d, %%d6;\n"
	"ld.global%s %s, [%%d5]; %s\n"
	"st.global%s [%%d6], %s;\n"
	"END: ret; }\n";

static const struct space {
	const char *name, *declare, *through;
} spaces[] = {
	{"global", "", ""},
	{"shared", "",
		"mul.lo.u32 %%r4, %%r3, %d; add.u32 %%r4, %%r4, 16; st.shared%s [%%r4 + -16], %s;\n"
		"bar.warp.sync -1; ld.shared%s %s, [%%r4 + -16];"},
	{"local", ".local .align 16 .b8 mine[1024];",
		"mul.wide.u32 %%d7, %%r3, %d; mov.u64 %%d8, mine; add.u64 %%d7, %%d7, %%d8; st.local%s [%%d7], %s;\n"
		"ld.local%s %s, [%%d7];"},
};

static unsigned size_of(unsigned bits, unsigned n)
{
	return bits / 8 * n;
}

static void write_kernel(char *text, size_t size, const struct space *s, unsigned bits, unsigned n)
{
	static const char *const lists[] = {[1] = "%v1", [2] = "{%v1, %v2}", [4] = "{%v1, %v2, %v3, %v4}"};
	char name[32], type[16], through[512];
	unsigned bytes = size_of(bits, n);

	snprintf(name, sizeof name, "%s_%u_%u", s->name, bits, n);
	snprintf(type, sizeof type, "%s.u%u", n == 1 ? "" : n == 2 ? ".v2" : ".v4", bits);
	snprintf(through, sizeof through, s->through, bytes, type, lists[n], type, lists[n]);
	snprintf(text, size, kernel, name, bits == 8 ? 16 : bits, s->declare, bytes, bytes, type, lists[n], through,
		type, lists[n]);
}

static uint32_t shape(unsigned which, unsigned lane)
{
	switch (which) {
	case 0:
		return lane;
	case 1:
		return 5;
	case 2:
		return LANES - 1 - lane;
	case 3:
		return 2 * lane;
	case 4: /* consecutive, except for one in the middle */
		return lane == 13 ? 40 : lane;
	case 5: /* equal, except for one in the middle */
		return lane == 7 ? 9 : 3;
	default:
		return (uint32_t)rand() % PLACES;
	}
}

static void test_one(struct rig *r, const struct space *s, unsigned bits, unsigned n, unsigned which, uint32_t on)
{
	unsigned bytes = size_of(bits, n);
	static uint8_t *in, *out;
	static uint32_t *index, *to;
	char name[32];

	if (!in) {
		in = rig_alloc(r, PLACES * 16);
		out = rig_alloc(r, PLACES * 16);
		index = rig_alloc(r, LANES * 4);
		to = rig_alloc(r, LANES * 4);
	}
	for (unsigned i = 0; i < PLACES * 16; i++)
		in[i] = (uint8_t)rand();
	memset(out, GUARD, PLACES * 16);
	for (unsigned i = 0; i < LANES; i++) {
		index[i] = shape(which, i);
		to[i] = shape(which == 1 || which > 4 ? 2 : which, i); /* no two lanes share a place */
	}
	snprintf(name, sizeof name, "%s_%u_%u", s->name, bits, n);
	CHECK_EQ(RUN(r, name, DIM(1, 1, 1), DIM(LANES, 1, 1), 4096, P(out), P(in), P(index), P(to), on), INTERP_OK);
	for (unsigned i = 0; i < LANES; i++) {
		uint8_t nothing[16];
		const uint8_t *want = on >> i & 1 ? in + index[i] * bytes : nothing;

		memset(nothing, GUARD, sizeof nothing);
		if (memcmp(out + i * bytes, want, bytes)) {
			fprintf(stderr, "%s: shape %u, lanes %08x: lane %u has a wrong value\n", name, which, on, i);
			failures++;
			return;
		}
	}
}

/* A vector load overwrites its own address register. */
static const char into_itself[] =
	".visible .entry itself(.param .u64 out)\n"
	"{ .reg .b32 %r<8>; .reg .b64 %d<4>; .shared .align 16 .b8 box[1024];\n"
	"mov.u32 %r1, %tid.x; xor.b32 %r2, %r1, 5; shl.b32 %r3, %r2, 4; add.u32 %r4, %r1, 100; add.u32 %r5, %r1, 200;\n"
	"mov.u32 %r0, box; add.u32 %r3, %r3, %r0; st.shared.v4.u32 [%r3], {%r1, %r4, %r5, %r2};\n"
	"ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r3];\n"
	"ld.param.u64 %d1, [out]; mad.wide.u32 %d1, %r1, 16, %d1; st.global.v4.u32 [%d1], {%r3, %r4, %r5, %r6}; ret; "
	"}\n"
	/* arguments and results of a call are per lane */
	".func (.param .b64 back) twice(.param .b32 a, .param .b64 b)\n"
	"{ .reg .b32 %r<4>; .reg .b64 %d<4>; ld.param.u32 %r1, [a]; ld.param.u64 %d1, [b]; mad.wide.u32 %d2, %r1, 2, "
	"%d1;\n"
	"st.param.u64 [back], %d2; ret; }\n"
	".visible .entry calls(.param .u64 out)\n"
	"{ .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p; mov.u32 %r1, %tid.x; cvt.u64.u32 %d1, %r1; shl.b64 %d1, "
	"%d1, 33;\n"
	"and.b32 %r2, %r1, 3; setp.eq.u32 %p, %r2, 0; @%p bra END;\n"
	"{ .param .b32 x; .param .b64 y; .param .b64 z; st.param.b32 [x], %r1; st.param.b64 [y], %d1;\n"
	"call (z), twice, (x, y); ld.param.b64 %d2, [z]; }\n"
	"ld.param.u64 %d3, [out]; mad.wide.u32 %d3, %r1, 8, %d3; st.global.u64 [%d3], %d2;\n"
	"END: ret; }\n";

static void test_itself(struct rig *r)
{
	uint32_t *out = rig_alloc(r, LANES * 16);

	CHECK_EQ(RUN(r, "itself", DIM(1, 1, 1), DIM(LANES, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < LANES; i++) {
		CHECK_EQ(out[4 * i], i);
		CHECK_EQ(out[4 * i + 1], i + 100);
		CHECK_EQ(out[4 * i + 2], i + 200);
		CHECK_EQ(out[4 * i + 3], i ^ 5);
	}
}

static void test_calls(struct rig *r)
{
	uint64_t *out = rig_alloc(r, LANES * 8);

	CHECK_EQ(RUN(r, "calls", DIM(1, 1, 1), DIM(LANES, 1, 1), 0, P(out)), INTERP_OK);
	for (uint64_t i = 0; i < LANES; i++)
		CHECK_EQ(out[i], i % 4 ? (i << 33) + 2 * i : 0);
}

int main(void)
{
	static const uint32_t lanes[] = {
		UINT32_MAX, 1, 1u << 31, 0xffff, 0xffff0000, 0x55555555, 0x80000001, 0x00f00f00};
	static char text[1 << 17];
	static struct rig r;
	size_t len = (size_t)snprintf(text, sizeof text, "%s%s", PTX_HEAD, into_itself);

	for (size_t s = 0; s < sizeof spaces / sizeof *spaces; s++)
		for (unsigned bits = 8; bits <= 64; bits *= 2)
			for (unsigned n = 1; n <= 4 && size_of(bits, n) <= 16; n *= 2) {
				write_kernel(text + len, sizeof text - len, &spaces[s], bits, n);
				len += strlen(text + len);
			}
	rig_open(&r, text);
	test_itself(&r);
	test_calls(&r);
	for (size_t s = 0; s < sizeof spaces / sizeof *spaces; s++)
		for (unsigned bits = 8; bits <= 64; bits *= 2)
			for (unsigned n = 1; n <= 4 && size_of(bits, n) <= 16; n *= 2)
				for (unsigned which = 0; which < 9; which++)
					for (size_t k = 0; k < sizeof lanes / sizeof *lanes; k++)
						test_one(&r, &spaces[s], bits, n, which, lanes[k]);
	rig_close(&r);
	return RESULT();
}
