/* The model of the video instructions, by the manual, in 64-bit arithmetic. */
#include "video.h"

typedef __int128 wide;

static wide extend(uint32_t word, struct part p, bool sign)
{
	wide v = (wide)(word >> p.at * p.bits) & (((wide)1 << p.bits) - 1);

	return sign && v >> (p.bits - 1) ? v - ((wide)1 << p.bits) : v;
}

static wide clamp(wide v, unsigned bits, bool sign)
{
	wide low = sign ? -((wide)1 << (bits - 1)) : 0, high = low + ((wide)1 << bits) - 1;

	return v < low ? low : v > high ? high : v;
}

static bool compares(char how, wide a, wide b)
{
	switch (how) {
	case '=':
		return a == b;
	case '!':
		return a != b;
	case '<':
		return a < b;
	case '>':
		return a > b;
	case 'l':
		return a <= b;
	default:
		return a >= b;
	}
}

static wide operate(const struct video *v, wide a, wide b)
{
	unsigned n = (unsigned)(v->wrap ? b % 32 : b > 32 ? 32 : b);

	switch (v->op) {
	case ADD:
		return a + b;
	case SUB:
		return a - b;
	case ABSDIFF:
		return a > b ? a - b : b - a;
	case MIN:
		return a < b ? a : b;
	case MAX:
		return a < b ? b : a;
	case AVRG:
		return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
	case SHL:
		return a * ((wide)1 << n);
	case SHR:
		return a >> n;
	default:
		return compares(v->compare, a, b);
	}
}

static wide word(uint32_t v, bool sign)
{
	return extend(v, (struct part){32, 0}, sign);
}

static uint32_t scalar(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
	struct part d = v->merge ? v->part[0] : (struct part){32, 0};
	bool sign = v->op != SET && v->sign[0];
	wide t = operate(v, extend(a, v->part[1], v->sign[1]), extend(b, v->part[2], v->sign[2]));
	wide other = word(c, sign);
	uint32_t mask = (uint32_t)((((wide)1 << d.bits) - 1) << d.at * d.bits);

	if (v->sat)
		t = clamp(t, d.bits, sign);
	if (v->merge)
		return (c & ~mask) | ((uint32_t)t << d.at * d.bits & mask);
	/* The manual does not specify the 34th bit; the model uses the 32 bits that would be stored. */
	t = word((uint32_t)t, sign);
	return (uint32_t)(v->second == '+'   ? t + other
			  : v->second == '<' ? (t < other ? t : other)
			  : v->second == '>' ? (t > other ? t : other)
					     : t);
}

static uint32_t simd(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
	unsigned bits = 32 / v->elements;
	uint32_t d = v->second ? c : 0;

	for (unsigned i = 0; i < v->elements; i++) {
		unsigned from[2] = {
			v->selected[1] ? v->select[0][i] : i, v->selected[2] ? v->select[1][i] : i + v->elements};
		struct part here = {bits, i};
		wide e[2], t;

		for (int k = 0; k < 2; k++)
			e[k] = extend(from[k] < v->elements ? a : b, (struct part){bits, from[k] % v->elements},
				v->sign[k + 1]);
		t = operate(v, e[0], e[1]);
		if (v->sat)
			t = clamp(t, bits, v->sign[0]);
		if (v->selected[0] && !v->mask[i])
			t = v->second ? 0 : extend(c, here, false);
		d += v->second ? (uint32_t)t : (uint32_t)extend((uint32_t)t, (struct part){bits, 0}, false) << i * bits;
	}
	return d;
}

/* An H200 treats whole words as signed even if all types are unsigned, and then shifts in zeros. */
static uint32_t mad(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
	bool minus = v->minus[0] ^ v->minus[1], sign = v->sign[1] || v->sign[2] || minus || v->minus[2];
	wide ta = extend(a, v->part[1], v->sign[1] || v->part[1].bits == 32);
	wide tb = extend(b, v->part[2], v->sign[2] || v->part[2].bits == 32), t = ta * tb;

	t = (minus ? -t : t) + (v->minus[2] ? -word(c, true) : word(c, true)) + v->po;
	t >>= v->shift;
	if (v->sat && v->shift && !sign && t < 0)
		return UINT32_MAX;
	return (uint32_t)(v->sat ? clamp(t, 32, sign) : t);
}

uint32_t video_model(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
	return v->op == MAD ? mad(v, a, b, c) : v->elements == 1 ? scalar(v, a, b, c) : simd(v, a, b, c);
}
