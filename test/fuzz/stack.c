/* Whatever bytes a new program's stack holds, what is made of it is a stack, and nothing outside is read. */
#include <stdlib.h>
#include <string.h>
#include "cli/follow/stack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SP 0x7ffc00000000ull /* as in the corpus: words that point into it */

static const char *const kept[] = {"LD_AUDIT=/lib/libgangway-follow.so:/lib/libgangway-audit.so", "GANGWAY_DEVICE=cpu",
	"GLIBC_TUNABLES=a=1", NULL};

/* What was made is read again, and then wants nothing more. */
static void again(const uint8_t *data, size_t size, const struct stack *s)
{
	struct stack t = {0};
	uint8_t *whole = malloc(s->size + size);

	if (!whole || s->sp % 16 || s->sp + s->size != SP)
		abort();
	memcpy(whole, s->data, s->size);
	memcpy(whole + s->size, data, size);
	if (stack_join(whole, s->size + size, s->sp, kept, &t))
		abort();
	free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stack s = {0};

	if (stack_join(data, size, SP, kept, &s) == 1)
		again(data, size, &s);
	free(s.data);
	return 0;
}
