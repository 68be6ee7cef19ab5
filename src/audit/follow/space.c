/* Replacement of dlmopen. */
#include "audit/answer.h"
#include "audit/base.h"
#include "audit/follow/space.h"

typedef void *dlmopen_fn(Lmid_t space, const char *file, int mode);

static dlmopen_fn *real_dlmopen;

static bool has_dollar(const char *s)
{
	while (*s && *s != '$')
		s++;
	return *s;
}

/* Returns the name for which ld.so calls the audit library. Called by any thread, without a lock. */
static const char *name_for_dlmopen(const char *path)
{
	char file[ANSWER_PATH];

	if (!path || !text_has_slash(path) || has_dollar(path) || answer_to(path, file) != ANSWER_OURS)
		return path;
	return text_last_part(path);
}

/* The tail call must be a jump (-O2): glibc finds the caller by the return address, and ignores audit libraries. */
static void *space_dlmopen(Lmid_t space, const char *file, int mode)
{
	file = name_for_dlmopen(file);
	return real_dlmopen(space, file, mode);
}

bool space_is_replaced(const char *name)
{
	return name[0] == 'd' && text_equal(name, "dlmopen");
}

uintptr_t space_replace(const char *name, uintptr_t address)
{
	if (!space_is_replaced(name))
		return address;
	if (!real_dlmopen)
		real_dlmopen = (dlmopen_fn *)address;
	return (uintptr_t)real_dlmopen == address ? (uintptr_t)space_dlmopen : address;
}
