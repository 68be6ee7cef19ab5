/* For any initial stack of a new program, the rewritten stack is valid, and nothing outside it is read. */
#include <stdlib.h>
#include <string.h>
#include "cli/follow/stack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SP 0x7ffc00000000ull /* as in the corpus, whose words point into the stack */

static const char *const kept[] = {"LD_AUDIT=/lib/libgangway-follow.so:/lib/libgangway-audit.so", "GANGWAY_DEVICE=cpu",
	"GLIBC_TUNABLES=a=1", NULL};

/* Read the rewritten stack again: it needs no further changes. */
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
