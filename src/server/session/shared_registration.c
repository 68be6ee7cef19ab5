/*
 * Memory that the device can reach and the client too.  It is registered in one context, for all of them, and what is
 * registered ends with its context, portable or not: then it is registered anew, in the next one that is used.
 */
#include "server/session/session.h"

static struct {
	_Atomic(CUcontext) context; /* who has registered it */
	_Atomic(bool) gone;
} home;

static CUresult register_memory(const struct cuda_ops *ops, void *p, size_t size)
{
	unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
	CUresult r = p && size ? ops->cuMemHostRegister_v2(p, size, flags) : CUDA_ERROR_INVALID_VALUE;

	return r == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED ? CUDA_SUCCESS : r;
}

/* The device's address of the words, or 0. */
static CUdeviceptr register_words(const struct cuda_ops *ops, void *words, size_t size)
{
	CUdeviceptr seen = 0;

	return !register_memory(ops, words, size) && !ops->cuMemHostGetDevicePointer_v2(&seen, words, 0) ? seen : 0;
}

static void settle(const struct cuda_ops *ops)
{
	CUcontext context = NULL;

	home.context = ops->cuCtxGetCurrent(&context) ? NULL : context;
	home.gone = false;
}

static struct {
	struct link_memory *memory;
	CUdeviceptr words;
} ahead;

struct link_memory *share_ahead(const struct cuda_ops *ops, const struct link_config *config)
{
	size_t size;
	void *p;

	if (link_memory_create(&ahead.memory, config))
		return NULL;
	settle(ops);
	p = link_memory_words(ahead.memory, &size);
	ahead.words = register_words(ops, p, size);
	for (int which = BULK_UP; which <= BULK_DOWN; which++) {
		p = link_memory_bulk(ahead.memory, which, &size);
		register_memory(ops, p, size);
	}
	return ahead.memory;
}

/*
 * Where registering fails (a small memlock limit, say) everything works as before, only slower: the
 * driver copies through memory of its own, and a thread of ours waits instead of the device.
 */
static void share(struct session *s)
{
	CUresult r;
	size_t size;
	void *p = word_base(s->link, &size);

	s->words = link_peer(s->link)->local ? register_words(s->ops, p, size) : 0;
	for (int which = BULK_UP; which <= BULK_DOWN; which++) {
		p = bulk_base(s->link, which, &size);
		r = register_memory(s->ops, p, size);
		if (r == CUDA_ERROR_CONTEXT_IS_DESTROYED || r == CUDA_ERROR_INVALID_CONTEXT)
			return; /* the client does not know yet that it has ended: in another one, then */
	}
	settle(s->ops);
}

void session_share(struct session *s)
{
	size_t size;

	if (ahead.memory && word_base(s->link, &size) == link_memory_words(ahead.memory, &size))
		s->words = link_peer(s->link)->local ? ahead.words : 0;
	else
		share(s);
}

void session_unshared(CUcontext context)
{
	if (!context || home.context != context)
		return;
	home.context = NULL;
	home.gone = true;
}

void session_share_again(struct session *s, bool now)
{
	if (__builtin_expect(!atomic_load_explicit(&home.gone, memory_order_relaxed), 1))
		return;
	s->words = 0;
	if (now && s->context)
		share(s);
}
