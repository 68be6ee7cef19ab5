/*
 * The object that the tests load: what a compiler emits for one function with a table of constants, a jump table, and a
 * call inside the object.  The warp is an array of numbers.  Compiled as the compiler's objects are: position-independent,
 * no references to the outside.
 */
#include <stdint.h>

struct warp {
	uint32_t calls, last;
};

uint32_t kernel(struct warp *w, uint32_t entry);

static const uint32_t squares[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};

static __attribute__((noinline)) uint32_t square(uint32_t n)
{
	return squares[n % 16];
}

uint32_t kernel(struct warp *w, uint32_t entry)
{
	w->calls++;
	w->last = entry;
	switch (entry) { /* calls of different functions of the argument: becomes a jump table */
	case 0:
		return square(w->calls);
	case 1:
		return entry * 17 + square(3);
	case 2:
		return w->calls << 3;
	case 3:
		return ~entry;
	case 4:
		return square(entry) ^ w->calls;
	case 5:
		return w->calls % 7;
	case 6:
		return entry - w->calls;
	default:
		return square(entry + 1) + 1000;
	}
}
