/*
 * slots.h - a table of functions as an array: making a full one out of what a backend has.
 *
 * The tables are generated, nothing but functions (a static assertion beside each use says so).  A function
 * that stands in for any other takes no argument and returns an int, which every ABI we run on allows: the
 * caller cleans up, and the result is in a register.
 */
#pragma once

typedef void (*slot_fn)(void);

/* Entries of `from` that are there replace those of `to`. */
static inline void slots_put(void *to, const void *from, int count)
{
	slot_fn *t = to;
	slot_fn const *f = from;

	for (int i = 0; i < count; i++)
		if (f[i])
			t[i] = f[i];
}

/* `rest` in place of what is not there. */
static inline void slots_fill(void *to, slot_fn rest, int count)
{
	slot_fn *t = to;

	for (int i = 0; i < count; i++)
		if (!t[i])
			t[i] = rest;
}
