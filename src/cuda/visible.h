/*
 * visible.h - CUDA_VISIBLE_DEVICES: which devices a program sees, and in which order.
 *
 * A list of indices and of UUIDs ("GPU-" and the start of one that fits a single device), with commas
 * between.  It ends at the first entry that means no device; naming a device twice makes it mean none at all.
 * Unset means all.  The text is the user's: anything may stand in it.
 */
#pragma once

/* Fills out[0..n) with the numbers of the visible devices of n, and returns how many. */
int visible_devices(const char *list, int n, unsigned char (*uuids)[16], int *out);
