/* life_choice.h - the choices of a sequence: from the bytes of the input, or from a seed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "chance.h"

static struct {
	const uint8_t *at, *end; /* of the input; both NULL: random choices */
	unsigned left;           /* operations of a random sequence */
} choices;

static void choices_begin(const uint8_t *data, size_t size, unsigned operations)
{
	uint64_t seed = 0;

	choices.at = size > 8 ? data : NULL;
	choices.end = size > 8 ? data + size : NULL;
	choices.left = operations;
	memcpy(&seed, data, size < 8 ? size : 8);
	chance_state = (seed ^ 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9 | 1;
	for (int i = 0; i < 4; i++)
		roll();
}

static bool choices_left(void)
{
	return choices.at ? choices.end - choices.at >= 2 : choices.left-- > 0;
}

/* A number below n. An input that is used up gives 0. */
static unsigned choose(unsigned n)
{
	unsigned v = 0;

	if (!choices.at)
		return (unsigned)(roll() >> 20) % n;
	for (int i = 0; i < 2 && choices.at < choices.end; i++)
		v |= (unsigned)*choices.at++ << 8 * i;
	return v % n;
}
