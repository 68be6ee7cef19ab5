/* Builds without libseccomp, and builds with a sanitizer, whose runtime makes system calls of its own. */
#include <errno.h>
#include <stdio.h>
#include "server/sandbox/sandbox.h"

bool seccomp_offered(void)
{
	return false;
}

void sandbox_call_name(uint32_t call, char text[SANDBOX_TEXT])
{
	snprintf(text, SANDBOX_TEXT, "%u", call);
}

int seccomp_enter(const struct sandbox *s)
{
	(void)s;
	return -ENOSYS;
}
