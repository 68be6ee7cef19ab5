/*
 * visible.h - CUDA_VISIBLE_DEVICES: the devices that a program sees, and their order.
 *
 * The value is a comma-separated list of indices and UUIDs ("GPU-" and enough of the UUID to be unique). The list ends at
 * the first entry that names no device. A device that is named twice makes the whole list empty. An unset variable means
 * all devices. The text is untrusted.
 */
#pragma once

/* Write the indices of the visible devices among n devices to `out`. Returns their number. */
int visible_devices(const char *list, int n, unsigned char (*uuids)[16], int *out);
