/*
 * run.c - runs a libFuzzer target without libFuzzer: every file of a corpus, then random changes of these files until
 * the time is over. It does not measure coverage, so it finds less; but it works with every compiler and in every test
 * run. It prints the seed, and leaves an input that kills the process in the file `crash-PROGRAM`.
 *
 *	run seconds folder [seed]
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILES 256
#define ROOM  (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct input {
	uint8_t *data;
	size_t size;
} corpus[FILES];
static unsigned ninputs;
static char crash_path[256]; /* unique: other fuzzers run in the same folder */
static int crash;
static uint64_t state;

static uint64_t roll(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* The file remains only if the target does not return. */
static void save(const uint8_t *data, size_t size)
{
	if (pwrite(crash, data, size, 0) != (ssize_t)size || ftruncate(crash, size))
		perror(crash_path), exit(1);
}

/* A heap block of exactly this size, so that a sanitizer detects the first byte out of bounds. */
static void feed(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	save(copy, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void load(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *d;
	char path[4096];
	FILE *f;

	while (dir && ninputs < FILES && (d = readdir(dir))) {
		struct input *in = &corpus[ninputs];

		snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
		if (d->d_name[0] == '.' || !(f = fopen(path, "rb")))
			continue;
		in->data = malloc(ROOM);
		in->size = in->data ? fread(in->data, 1, ROOM, f) : 0;
		ninputs += in->data != NULL;
		fclose(f);
	}
	if (dir)
		closedir(dir);
}

static size_t change(uint8_t *data, size_t size)
{
	static const uint64_t odd[] = {0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0xffffffff, 1ull << 63, ~0ull};
	size_t at = size ? roll() % size : 0, width = (size_t)1 << roll() % 4, from, n;
	uint64_t value;

	switch (roll() % 6) {
	case 0: /* flip a bit */
		if (size)
			data[at] ^= 1u << roll() % 8;
		break;
	case 1: /* a number that makes sums overflow */
		value = odd[roll() % (sizeof odd / sizeof *odd)];
		if (at + width <= size)
			memcpy(data + at, &value, width);
		break;
	case 2: /* a number close to the present one */
		if (at + 4 <= size) {
			uint32_t v;

			memcpy(&v, data + at, 4);
			v += roll() % 65 - 32;
			memcpy(data + at, &v, 4);
		}
		break;
	case 3: /* truncate */
		return roll() % 4 ? size : at;
	case 4: /* copy a range elsewhere */
		from = size ? roll() % size : 0;
		n = size ? roll() % (size - (at > from ? at : from)) : 0;
		memmove(data + at, data + from, n < 64 ? n : 64);
		break;
	case 5: /* random bytes */
		for (n = roll() % 8; n && at < size; n--)
			data[at++] = roll();
		break;
	}
	return size;
}

int main(int argc, char **argv)
{
	static uint8_t buffer[ROOM];
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
	unsigned long runs = 0;
	size_t size;

	if (argc < 3)
		return fprintf(stderr, "usage: run seconds folder [seed]\n"), 2;
	state = argc > 3 ? strtoull(argv[3], NULL, 0) : ((uint64_t)time(NULL) << 16 ^ (uint64_t)getpid()) | 1;
	printf("seed %llu\n", (unsigned long long)state);
	fflush(stdout);
	load(argv[2]);
	if (!ninputs)
		return fprintf(stderr, "no corpus in %s\n", argv[2]), 1;
	snprintf(crash_path, sizeof crash_path, "crash-%s", program_invocation_short_name);
	crash = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (unsigned i = 0; i < ninputs; i++)
		feed(corpus[i].data, corpus[i].size);
	for (; time(NULL) < end; runs++) {
		struct input *in = &corpus[roll() % ninputs];

		memcpy(buffer, in->data, size = in->size);
		for (unsigned n = 1 + roll() % 5; n; n--)
			size = change(buffer, size);
		feed(buffer, size);
	}
	unlink(crash_path);
	printf("%u files, %lu changed inputs\n", ninputs, runs);
	return 0;
}
