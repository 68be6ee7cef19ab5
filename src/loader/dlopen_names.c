/* dlopen.c - libraries whose names lie in a file as text: what it may ask the loader for once it runs. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "loader/dlopen_names.h"

static const char *const stems[] = {"libcuda.so", "libnvidia-ml.so", "libcudart.so", "libcublas.so", "libcublasLt.so",
	"libcudnn.so", "libnvrtc.so", "libnvcuvid.so", "libnvidia-encode.so", "libnccl.so"};

static bool in_name(char c)
{
	return c && (isalnum((unsigned char)c) || strchr("._-+*", c));
}

/* The name around `at`, with the path before it; the size of what is copied. */
static size_t name_at(const char *data, size_t size, size_t at, char name[256])
{
	size_t begin = at, end = at;

	while (end < size && in_name(data[end]) && end - at < 64)
		end++;
	while (begin && (in_name(data[begin - 1]) || data[begin - 1] == '/') && at - begin < 180)
		begin--;
	if (data[begin] != '/') /* the end of some other word, or no path */
		begin = at;
	if (begin == at && at && in_name(data[at - 1]))
		return 0;
	snprintf(name, 256, "%.*s", (int)(end - begin), data + begin);
	return end - begin;
}

/* ".so", ".so.1", ".so.12": not ".so_not_found" or ".so.in". */
static bool is_library(const char *name)
{
	const char *so = strstr(name, ".so");

	for (so = so ? so + 3 : ""; *so; so++)
		if (!isdigit((unsigned char)*so) && *so != '.' && *so != '*')
			return false;
	return true;
}

static void keep(struct strings *s, const char *name)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!strcmp(s->name[i], name))
			return;
	if (s->n < STRINGS_MAX)
		snprintf(s->name[s->n++], sizeof *s->name, "%s", name);
}

static bool is_stem(const char *p, size_t left)
{
	for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
		if (left >= strlen(stems[i]) && !memcmp(p, stems[i], strlen(stems[i])))
			return true;
	return false;
}

/* One pass: programs with all their libraries come to hundreds of megabytes. */
void strings_find(const char *data, size_t size, struct strings *s)
{
	char name[256];

	for (const char *p = data; (p = memmem(p, size - (size_t)(p - data), "lib", 3)); p += 3)
		if (is_stem(p, size - (size_t)(p - data)) && name_at(data, size, (size_t)(p - data), name) &&
			is_library(name))
			keep(s, name);
}

void strings_drop(struct strings *s, const char *name)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!strcmp(s->name[i], name)) {
			memmove(s->name[i], s->name[i + 1], (s->n - i - 1) * sizeof *s->name);
			s->n--;
			return;
		}
}
