/* Find the names of CUDA libraries in the bytes of a program: names that it may pass to dlopen() at run time. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "loader/dlopen_names.h"

static const char *const library_stems[] = {"libcuda.so", "libnvidia-ml.so", "libcudart.so", "libcublas.so",
	"libcublasLt.so", "libcudnn.so", "libnvrtc.so", "libnvcuvid.so", "libnvidia-encode.so", "libnccl.so"};

static bool is_name_char(char c)
{
	return c && (isalnum((unsigned char)c) || strchr("._-+*", c));
}

/* Copy the name at offset `at`, with the absolute path in front of it. Returns its length, or 0 if it is part of a word. */
static size_t name_copy(const char *data, size_t size, size_t at, char name[256])
{
	size_t begin = at, end = at;

	while (end < size && is_name_char(data[end]) && end - at < 64)
		end++;
	while (begin && (is_name_char(data[begin - 1]) || data[begin - 1] == '/') && at - begin < 180)
		begin--;
	if (data[begin] != '/') /* not an absolute path */
		begin = at;
	if (begin == at && at && is_name_char(data[at - 1]))
		return 0;
	snprintf(name, 256, "%.*s", (int)(end - begin), data + begin);
	return end - begin;
}

/* Accept ".so", ".so.1" and ".so.12", but not ".so_not_found" or ".so.in". */
static bool is_library_name(const char *name)
{
	const char *so = strstr(name, ".so");

	for (so = so ? so + 3 : ""; *so; so++)
		if (!isdigit((unsigned char)*so) && *so != '.' && *so != '*')
			return false;
	return true;
}

static void name_add(struct dlopen_names *names, const char *name)
{
	for (unsigned i = 0; i < names->n; i++)
		if (!strcmp(names->name[i], name))
			return;
	if (names->n < DLOPEN_NAMES_MAX)
		snprintf(names->name[names->n++], sizeof *names->name, "%s", name);
}

static bool has_library_stem(const char *p, size_t left)
{
	for (size_t i = 0; i < sizeof library_stems / sizeof *library_stems; i++)
		if (left >= strlen(library_stems[i]) && !memcmp(p, library_stems[i], strlen(library_stems[i])))
			return true;
	return false;
}

/* A single pass: a program and its libraries can have hundreds of megabytes. */
void dlopen_names_scan(const char *data, size_t size, struct dlopen_names *names)
{
	char name[256];

	for (const char *p = data; (p = memmem(p, size - (size_t)(p - data), "lib", 3)); p += 3)
		if (has_library_stem(p, size - (size_t)(p - data)) && name_copy(data, size, (size_t)(p - data), name) &&
			is_library_name(name))
			name_add(names, name);
}

void dlopen_names_remove(struct dlopen_names *names, const char *name)
{
	for (unsigned i = 0; i < names->n; i++)
		if (!strcmp(names->name[i], name)) {
			memmove(names->name[i], names->name[i + 1], (names->n - i - 1) * sizeof *names->name);
			names->n--;
			return;
		}
}
