/* Messages about options, devices and commands that do not exist, with the word that the user probably meant. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "cli/cli.h"

#define WORD_MAX 32

/* The number of inserted, deleted and replaced characters; words longer than WORD_MAX are unlike any other. */
static unsigned edit_distance(const char *a, size_t n, const char *b)
{
	unsigned row[WORD_MAX + 1], m = (unsigned)strlen(b);

	if (n > WORD_MAX || m > WORD_MAX)
		return WORD_MAX;
	for (unsigned j = 0; j <= m; j++)
		row[j] = j;
	for (unsigned i = 1; i <= n; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[m];
}

bool cli_words_similar(const char *a, size_t n, const char *b)
{
	return edit_distance(a, n, b) <= (n > 5 ? 2 : n > 2 ? 1 : 0);
}

/* ---- options ---- */

/* The word that getopt_long did not accept. No command has short options for getopt_long, so every -x is rejected. */
static const char *rejected_word(int c, char **argv)
{
	const char *last = argv[optind - 1], *next = argv[optind];

	if (c == '?' && optopt && strcmp(last, (char[]){'-', (char)optopt, 0}) && strncmp(last, "--", 2) && next &&
		next[0] == '-' && next[1] == optopt)
		return next; /* getopt_long has not finished -abc */
	return last;
}

/* The option whose name is the word without its dashes, or else begins with it or is similar; NULL if none is. */
static const char *option_meant(const char *word, size_t n, const struct option *options)
{
	for (const struct option *o = options; n && o->name; o++)
		if (strlen(o->name) == n && !strncmp(o->name, word, n))
			return o->name;
	for (const struct option *o = options; n && o->name; o++)
		if (!strncmp(o->name, word, n) || cli_words_similar(word, n, o->name))
			return o->name;
	return NULL;
}

int cli_unknown_option(const char *command, const char *word, const struct option *options)
{
	const char *name = word + strspn(word, "-"), *meant = option_meant(name, strcspn(name, "="), options);

	if (meant)
		return cli_usage(command, "unknown option %s; did you mean --%s?", word, meant);
	return cli_usage(command, "unknown option %s", word);
}

int cli_bad_option(const char *command, int c, char **argv, const struct option *options)
{
	const char *word = rejected_word(c, argv);

	if (c == ':')
		return cli_usage(command, "option %s needs a value", word);
	if (optopt && !strncmp(word, "--", 2) && strchr(word, '='))
		return cli_usage(command, "option %.*s takes no value", (int)strcspn(word, "="), word);
	return cli_unknown_option(command, word, options);
}

/* ---- devices ---- */

static const struct device_name {
	const char *name, *about;
	size_t prefix; /* an address begins with this many characters of `name`; 0: not an address */
} device_names[] = {
	{"nvidia", "this machine's GPU, through its vendor's driver"},
	{"cpu", "this machine's processor; runs kernels from their PTX"},
	{"null", "a test double: memory, copies and streams work, kernels are not run"},
	{"unix:PATH", "a device that gangway serve shares on this machine", 5},
	{"tcp://HOST:PORT", "a device that gangway serve shares over the network", 6},
};

#define DEVICE_NAMES (sizeof device_names / sizeof *device_names)

bool cli_device_known(const char *device)
{
	for (size_t i = 0; i < DEVICE_NAMES; i++) {
		const struct device_name *n = &device_names[i];

		if (n->prefix ? !strncmp(device, n->name, n->prefix) : !strcmp(device, n->name))
			return true;
	}
	return false;
}

/* Write the device that the user probably meant to `text`, or "". */
static void device_meant(const char *device, char text[256])
{
	static const char *const gpus[] = {"gpu", "cuda", "nvidia"};
	const char *host = device + (strncmp(device, "tcp:", 4) ? 0 : 4 + strspn(device + 4, "/"));

	*text = 0;
	if (*device == '/')
		snprintf(text, 256, "unix:%s", device);
	else if (strchr(host, ':') && strspn(strrchr(host, ':') + 1, "0123456789") > 1)
		snprintf(text, 256, "tcp://%s", host);
	else if (*device && strspn(device, "0123456789") == strlen(device))
		snprintf(text, 256, "nvidia");
	for (size_t i = 0; i < sizeof gpus / sizeof *gpus && !*text; i++)
		if (!strncasecmp(device, gpus[i], strlen(gpus[i])))
			snprintf(text, 256, "nvidia");
	for (size_t i = 0; i < DEVICE_NAMES && !*text; i++)
		if (!device_names[i].prefix && (!strcasecmp(device, device_names[i].name) ||
						       cli_words_similar(device, strlen(device), device_names[i].name)))
			snprintf(text, 256, "%s", device_names[i].name);
}

int cli_check_device(const char *command, const char *device)
{
	char meant[256];

	if (!*device)
		return cli_usage(command, "option --on needs a value");
	if (cli_device_known(device))
		return 0;
	device_meant(device, meant);
	if (*meant)
		cli_fail("there is no device %s; did you mean %s? The devices are:", device, meant);
	else
		cli_fail("there is no device %s. The devices are:", device);
	for (size_t i = 0; i < DEVICE_NAMES; i++)
		fprintf(stderr, "  %-15s  %s\n", device_names[i].name, device_names[i].about);
	fprintf(stderr, "See: gangway %s --help\n", command);
	return 2;
}

int cli_unexpected(const char *command, const char *word)
{
	if (cli_device_known(word))
		return cli_usage(command, "unexpected argument %s; did you mean --on %s?", word, word);
	return cli_usage(command, "unexpected argument %s", word);
}
