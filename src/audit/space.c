#include "audit/answer.h"
#include "audit/base.h"
#include "audit/space.h"

typedef void *dlmopen_fn(Lmid_t space, const char *file, int mode);

static dlmopen_fn *real_dlmopen;

static bool has_dollar(const char *s)
{
	while (*s && *s != '$')
		s++;
	return *s;
}

/* What makes ld.so ask: nothing is written, as other threads may be here, and no lock is held. */
static const char *as_asked_for(const char *path)
{
	char file[ANSWER_PATH];

	if (!path || !text_has_slash(path) || has_dollar(path) || answer_to(path, file) != ANSWER_OURS)
		return path;
	return text_last_part(path);
}

/* A jump and no call (-O2): glibc takes the caller from the return address, and of an audit library it asks nobody. */
static void *space_dlmopen(Lmid_t space, const char *file, int mode)
{
	file = as_asked_for(file);
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
