/*
 * Write an ld.so.cache, as ldconfig does, from lines on standard input:
 *
 *	NAME PATH [FLAGS [HWCAPS]]	libcuda.so.1 /usr/lib/libcuda.so.1 0x303 x86-64-v3
 *
 *	mkcache [--compat] >FILE	--compat: after an empty cache in the old format
 *
 * Tests cannot use ldconfig -r, which needs root.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 64, TEXT = 512 };

struct entry {
	uint32_t flags, key, value, os;
	uint64_t hwcap;
};

static struct line {
	char name[TEXT], path[TEXT], hwcaps[TEXT];
	unsigned flags;
} lines[LINES];
static char strings[LINES * 3 * TEXT];
static uint32_t used, base;

static uint32_t keep(const char *text)
{
	uint32_t at = base + used;

	used += (uint32_t)(stpcpy(strings + used, text) - (strings + used)) + 1;
	return at;
}

static unsigned read_lines(void)
{
	char line[4 * TEXT];
	unsigned n = 0;

	for (; n < LINES && fgets(line, sizeof line, stdin); n++) {
		struct line *l = &lines[n];

		l->flags = 0x303;
		if (sscanf(line, "%511s %511s %i %511s", l->name, l->path, (int *)&l->flags, l->hwcaps) < 2) {
			fprintf(stderr, "mkcache: not NAME PATH [FLAGS [HWCAPS]]: %s", line);
			exit(1);
		}
	}
	return n;
}

static void put(const void *p, size_t n)
{
	fwrite(p, 1, n, stdout);
}

int main(int argc, char **argv)
{
	unsigned n = read_lines(), ncaps = 0;
	uint32_t caps[LINES], head[7] = {n, 0, 2 /* little endian */};
	struct entry e[LINES];
	uint32_t before = argc > 1 && !strcmp(argv[1], "--compat") ? 16 : 0;

	base = 48 + n * sizeof *e;
	for (unsigned i = 0; i < n; i++) {
		e[i] = (struct entry){lines[i].flags, keep(lines[i].name), keep(lines[i].path), 0, 0};
		if (!lines[i].hwcaps[0])
			continue;
		e[i].hwcap = 1ull << 62 | ncaps;
		caps[ncaps++] = keep(lines[i].hwcaps);
	}
	while (used % 4)
		used++;
	head[1] = used;
	head[3] = base + used + before; /* the extensions: one section; offset from the start of the file */
	uint32_t ext[] = {0xeaa42174, 1, 1, 0, head[3] + 24, ncaps * 4};
	for (unsigned i = 0; i < ncaps; i++)
		caps[i] += before;
	if (before)
		put("ld.so-1.7.0\0\0\0\0", 16);
	put("glibc-ld.so.cache1.1", 20);
	put(head, sizeof head);
	put(e, n * sizeof *e);
	put(strings, used);
	put(ext, sizeof ext);
	put(caps, ncaps * 4);
	return fflush(stdout) ? 1 : 0;
}
