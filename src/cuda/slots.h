/*
 * slots.h - ops tables as arrays of functions, to complete the table of a backend.
 *
 * The tables are generated and contain only function pointers (checked by a static assertion at each use). A function
 * that stands in for any other takes no arguments and returns an int. All ABIs that we support allow this: the caller
 * removes the arguments, and the result is in a register.
 */
#pragma once

typedef void (*slot_fn)(void);

/* Entries of `from` that are not NULL replace those of `to`. */
static inline void slots_override(void *to, const void *from, int count)
{
	slot_fn *t = to;
	slot_fn const *f = from;

	for (int i = 0; i < count; i++)
		if (f[i])
			t[i] = f[i];
}

/* Replace NULL entries by `rest`. */
static inline void slots_fill(void *to, slot_fn rest, int count)
{
	slot_fn *t = to;

	for (int i = 0; i < count; i++)
		if (!t[i])
			t[i] = rest;
}
