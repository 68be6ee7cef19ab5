/*
 * launches.h - compare a program's launches with the log of the null device.
 *
 * expect_launch() records a launch. check_launches() searches the file named by GANGWAY_NULL_LOG for each recorded launch,
 * in any order; each line matches one launch. On a device that runs kernels, EXPECT_RESULTS=1 makes expect_results() true,
 * and the program checks the results of its kernels.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct launch_note {
	const char *name; /* substring of the logged name: C++ names are mangled */
	unsigned grid[3], block[3];
	size_t size;
	unsigned char params[256];
};

static struct launch_note launch_notes[512];
static int nlaunch_notes, launch_failures;

static inline int expect_results(void)
{
	const char *e = getenv("EXPECT_RESULTS");

	return e && *e && *e != '0';
}

/* `params` is the parameter block as the kernel sees it, with zero padding; check_launches() compares the first 256 bytes. */
static inline void expect_launch(const char *name, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	unsigned bz, const void *params, size_t size)
{
	int i = __atomic_fetch_add(&nlaunch_notes, 1, __ATOMIC_RELAXED);
	struct launch_note *n = &launch_notes[i];

	if (i >= (int)(sizeof launch_notes / sizeof *launch_notes))
		abort();
	n->name = name;
	n->grid[0] = gx, n->grid[1] = gy, n->grid[2] = gz;
	n->block[0] = bx, n->block[1] = by, n->block[2] = bz;
	n->size = size < sizeof n->params ? size : sizeof n->params;
	if (n->size)
		memcpy(n->params, params, n->size);
}

/* Format of a log line: "launch name grid=1,2,3 block=4,5,6 shared=0 params=00112233". */
static inline int launch_matches(const struct launch_note *n, const char *line)
{
	char shape[128], hex[2 * sizeof n->params + 16];
	const char *end = strstr(line, " grid="), *at = strstr(line, n->name);
	int used;

	if (strncmp(line, "launch ", 7) || !at || !end || at > end)
		return 0;
	snprintf(shape, sizeof shape, "grid=%u,%u,%u block=%u,%u,%u ", n->grid[0], n->grid[1], n->grid[2], n->block[0],
		n->block[1], n->block[2]);
	if (!strstr(line, shape))
		return 0;
	used = snprintf(hex, sizeof hex, "params=");
	for (size_t i = 0; i < n->size; i++)
		used += snprintf(hex + used, sizeof hex - used, "%02x", n->params[i]);
	return !n->size || strstr(line, hex) != NULL;
}

static inline int check_launches(void)
{
	const char *path = getenv("GANGWAY_NULL_LOG");
	FILE *f = path ? fopen(path, "r") : NULL;
	static char seen[sizeof launch_notes / sizeof *launch_notes];
	static char line[65536];
	int found = 0;

	if (!path)
		return 0;
	if (!f) {
		fprintf(stderr, "%s: cannot open the log of the null device\n", path);
		return 1;
	}
	while (fgets(line, sizeof line, f)) {
		for (int i = 0; i < nlaunch_notes; i++) {
			if (seen[i] || !launch_matches(&launch_notes[i], line))
				continue;
			seen[i] = 1;
			found++;
			break;
		}
	}
	fclose(f);
	for (int i = 0; i < nlaunch_notes; i++) {
		if (seen[i])
			continue;
		fprintf(stderr, "launch %d: the log has no launch of %s with this shape and these parameters\n", i,
			launch_notes[i].name);
		launch_failures++;
	}
	printf("launches: %d of %d are in the log with their shapes and parameters\n", found, nlaunch_notes);
	return launch_failures;
}
