/*
 * make.h - builds images by hand, for tests on machines without a CUDA compiler. Each function appends to a byte string
 * and returns the offset of the appended structure, so that a test can damage it later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
	char data[65536];
	size_t size;
};

size_t make_bytes(struct bytes *b, const void *data, size_t size);

/* make_fatbin begins a fatbin, make_entry appends entries, make_end sets the size in the header. */
size_t make_fatbin(struct bytes *b);
void make_end(struct bytes *b, size_t fatbin);

struct make_entry {
	unsigned kind, sm, major, minor; /* major.minor 0.0: 8.0 */
	uint64_t flags;                  /* FATBIN_LZ4 and FATBIN_ZSTD pack the data */
	const void *data;
	size_t size;
	const char *options; /* may be NULL */
};

size_t make_entry(struct bytes *b, const struct make_entry *e);

/* A cubin with one kernel, "axpy" (u32 at 0, u64 at 8, 24 bytes at 16), and the variables below. */
struct make_cubin {
	bool old; /* the format before CUDA 13 */
	unsigned sm;
	bool v2;              /* the newer parameter records */
	bool no_record;       /* no REGCOUNT record: only the section header states the registers */
	unsigned param_bytes; /* 0: 40, the correct size */
};

size_t make_cubin(struct bytes *b, const struct make_cubin *c);
