/* Match a requested name against the libraries that we provide. */
#include "audit/answer.h"
#include "audit/base.h"
#include "audit/names.h"

char answer_dir[AUDIT_PATH];
static char kept[AUDIT_PATH];   /* GANGWAY_KEEP: names that are not redirected */
static char device[AUDIT_PATH]; /* GANGWAY_DEVICE; if that is behind a server, GANGWAY_SERVED */
static bool keep_ptx;           /* GANGWAY_KEEP_PTX */

/* Whether a device is behind a server: GANGWAY_DEVICE is an address, or unset while a server is the driver's choice. */
static bool is_served(const char *on)
{
	while (on && *on && *on != ':')
		on++;
	return !on || *on == ':';
}

bool answer_start(void)
{
	const char *keep = start_variable("GANGWAY_KEEP"), *on = start_variable("GANGWAY_DEVICE"),
		   *compilers = start_variable("GANGWAY_KEEP_PTX");

	if (is_served(on))
		on = start_variable("GANGWAY_SERVED");
	if (keep)
		text_append(kept, sizeof kept, keep, text_length(keep));
	if (on)
		text_append(device, sizeof device, on, text_length(on));
	keep_ptx = compilers && text_equal(compilers, "1");
	return start_folder(AUDIT_REDIRECT, answer_dir, sizeof answer_dir);
}

/* Accepts the rest of libcuda.so, libcuda.so.1 and libcuda.so.580.159.03, but not of libcuda.so.old or libcudadevrt.so. */
static bool is_version(const char *s)
{
	for (; *s == '.'; s++) {
		if (s[1] < '0' || s[1] > '9')
			return false;
		while (s[1] >= '0' && s[1] <= '9')
			s++;
	}
	return !*s;
}

static const struct redirected_library *find_library(const char *name)
{
	const char *last = text_last_part(name);

	for (size_t i = 0; i < REDIRECTED_LIBRARIES; i++)
		if (text_starts(last, redirected_libraries[i].stem) &&
			is_version(last + text_length(redirected_libraries[i].stem)))
			return &redirected_libraries[i];
	return NULL;
}

static bool path_append(char answer[ANSWER_PATH], const char *text, size_t n)
{
	return text_append(answer, ANSWER_PATH, text, n);
}

static bool find_in_folder(const struct redirected_library *o, const char *file, size_t n, char answer[ANSWER_PATH])
{
	answer[0] = 0;
	if (!path_append(answer, answer_dir, text_length(answer_dir)) || !path_append(answer, "/", 1))
		return false;
	if (o->device &&
		(!text_equal(device, o->device) || (o->compiles && !keep_ptx) ||
			!path_append(answer, o->device, text_length(o->device)) || !path_append(answer, "/", 1)))
		return false;
	return path_append(answer, file, n) && sys_access(answer) == 0;
}

/* Find our file for a name: libcudart.so.12.8.90 is matched under this name, as .so.12.8 or as .so.12. */
static bool find_file(const struct redirected_library *o, const char *name, char answer[ANSWER_PATH])
{
	const char *last = text_last_part(name);
	size_t stem = text_length(o->stem), n = text_length(last);

	if (o->soname)
		return find_in_folder(o, o->soname, text_length(o->soname), answer);
	if (n == stem)
		return find_in_folder(o, last, n, answer);
	while (n > stem) {
		if (find_in_folder(o, last, n, answer))
			return true;
		while (last[--n] != '.') {
		}
	}
	return false;
}

/* Is the library named in GANGWAY_KEEP ("libcudart:libcublas")? */
static bool is_kept(const char *stem)
{
	const char *list = kept, *next;
	size_t name = text_length(stem) - 3; /* without ".so" */

	for (; list; list = next) {
		size_t n = text_entry(list, &next);

		if (n != name)
			continue;
		while (n && list[n - 1] == stem[n - 1])
			n--;
		if (!n)
			return true;
	}
	return false;
}

enum answer answer_to(const char *name, char file[ANSWER_PATH])
{
	const struct redirected_library *o = find_library(name);

	if (!o)
		return ANSWER_OTHER;
	if (is_kept(o->stem))
		return ANSWER_KEPT;
	return find_file(o, name, file) ? ANSWER_OURS : ANSWER_ABSENT;
}

static bool in_default_folder(const char *last)
{
	char path[ANSWER_PATH];

	for (size_t i = 0; i < DEFAULT_FOLDERS; i++) {
		path[0] = 0;
		if (path_append(path, default_folders[i], text_length(default_folders[i])) &&
			path_append(path, last, text_length(last)) && sys_access(path) == 0)
			return true;
	}
	return false;
}

bool answer_fallback(const char *path, char file[ANSWER_PATH])
{
	const char *last = text_last_part(path);

	for (size_t i = 0; i < FALLBACK_LIBRARIES; i++) {
		const struct fallback_library *f = &fallback_libraries[i];
		size_t stem = text_length(f->stem);

		if (!text_starts(last, f->stem) || !last[stem] || !is_version(last + stem) || is_kept(f->stem))
			continue;
		file[0] = 0;
		return path_append(file, answer_dir, text_length(answer_dir)) && path_append(file, "/", 1) &&
		       path_append(file, f->folder, text_length(f->folder)) && path_append(file, "/", 1) &&
		       path_append(file, last, text_length(last)) && sys_access(file) == 0 && !in_default_folder(last);
	}
	return false;
}
