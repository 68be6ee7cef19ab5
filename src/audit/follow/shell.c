/* Replacements of system and popen that export our variables in front of the command. */
#include <stdio.h>
#include "audit/base.h"
#include "audit/follow/follow.h"
#include "audit/follow/shell.h"

#define LINE_MAX_BYTES 65536 /* longer commands are left alone, because the line is on the caller's stack */

typedef int system_fn(const char *command);
typedef FILE *popen_fn(const char *command, const char *mode);

static system_fn *real_system;
static popen_fn *real_popen;

/* Does the entry start with a valid shell variable name? */
static bool is_shell_name(const char *entry)
{
	const char *s = entry;

	while ((*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z') || *s == '_' ||
		(s > entry && *s >= '0' && *s <= '9'))
		s++;
	return s > entry && *s == '=';
}

static size_t line_append(char *line, size_t used, const char *text, size_t n)
{
	for (size_t i = 0; line && i < n; i++)
		line[used + i] = text[i];
	return used + n;
}

/* Append NAME='value' with quotes escaped. With line NULL, only compute the length. */
static size_t line_append_variable(char *line, size_t used, const char *entry)
{
	size_t n = 0;

	while (entry[n] != '=')
		n++;
	used = line_append(line, used, " ", 1);
	used = line_append(line, used, entry, n + 1);
	used = line_append(line, used, "'", 1);
	for (const char *s = entry + n + 1; *s; s++)
		used = *s == '\'' ? line_append(line, used, "'\\''", 4) : line_append(line, used, s, 1);
	return line_append(line, used, "'", 1);
}

/* Append the joined variables that are not in env; follow_join keeps those of env in order, in front. */
static size_t line_build(char *line, char *const *env, const char *const *joined, const char *command)
{
	size_t used = line_append(line, 0, "export", 6);

	for (; *joined; joined++) {
		char *const *e = env;

		while (e && *e && *e != *joined)
			e++;
		if (e && *e)
			env = e + 1;
		else if (is_shell_name(*joined))
			used = line_append_variable(line, used, *joined);
	}
	used = line_append(line, used, "; ", 2);
	return line_append(line, used, command, text_length(command) + 1);
}

/* Declare line_, the command for the shell; its memory is in the caller's frame. */
#define LINE(command) \
	char *const *env_ = exec_environment(); \
	struct follow_room room_ = follow_room(env_); \
	const char *joined_[room_.entries + 1]; \
	char buffer_[room_.text + 1]; \
	size_t size_ = 0; \
	if (command && room_.entries) { \
		follow_join(env_, room_, joined_, buffer_); \
		size_ = line_build(NULL, env_, joined_, command); \
	} \
	bool changed_ = size_ && size_ < LINE_MAX_BYTES; \
	char room_line_[changed_ ? size_ : 1]; \
	const char *line_ = changed_ ? room_line_ : command; \
	if (changed_) \
	line_build(room_line_, env_, joined_, command)

static int shell_system(const char *command)
{
	LINE(command);
	return real_system(line_);
}

static FILE *shell_popen(const char *command, const char *mode)
{
	LINE(command);
	return real_popen(line_, mode);
}

bool shell_is_replaced(const char *name)
{
	return (name[0] == 's' && text_equal(name, "system")) || (name[0] == 'p' && text_equal(name, "popen"));
}

uintptr_t shell_replace(const char *name, uintptr_t address)
{
	if (!shell_is_replaced(name) || !exec_environment_known())
		return address;
	if (name[0] == 's') {
		real_system = (system_fn *)address;
		return (uintptr_t)shell_system;
	}
	real_popen = (popen_fn *)address;
	return (uintptr_t)shell_popen;
}
