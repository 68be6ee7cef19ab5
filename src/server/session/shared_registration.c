/* Registers a link's words and arenas with the driver, and again after the context that held them has ended. */
#include "server/session/shared_registration.h"

#include "server/session/session.h"

static CUresult memory_register(const struct cuda_ops *ops, void *p, size_t size)
{
	unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
	CUresult r = p && size ? ops->cuMemHostRegister_v2(p, size, flags) : CUDA_ERROR_INVALID_VALUE;

	return r == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED ? CUDA_SUCCESS : r;
}

/* The device's address of the words, or 0. */
static CUdeviceptr words_register(const struct cuda_ops *ops, void *words, size_t size)
{
	CUdeviceptr address = 0;

	return !memory_register(ops, words, size) && !ops->cuMemHostGetDevicePointer_v2(&address, words, 0) ? address
													    : 0;
}

static void registration_note_context(struct session *s)
{
	CUcontext context = NULL;

	s->shared.context = s->ops->cuCtxGetCurrent(&context) ? NULL : context;
	s->shared.lost = false;
}

struct link_memory *registration_prepare(struct session *s, const struct link_config *config)
{
	struct shared_registration *shared = &s->shared;
	size_t size;
	void *p;

	if (link_memory_create(&shared->prepared, config))
		return NULL;
	registration_note_context(s);
	p = link_memory_words(shared->prepared, &size);
	shared->prepared_words = words_register(s->ops, p, size);
	for (int which = BULK_UP; which <= BULK_DOWN; which++) {
		p = link_memory_bulk(shared->prepared, which, &size);
		memory_register(s->ops, p, size);
	}
	return shared->prepared;
}

static void link_register(struct session *s)
{
	CUresult r;
	size_t size;
	void *p = word_base(s->link, &size);

	s->shared.words = link_peer(s->link)->local ? words_register(s->ops, p, size) : 0;
	for (int which = BULK_UP; which <= BULK_DOWN; which++) {
		p = bulk_base(s->link, which, &size);
		r = memory_register(s->ops, p, size);
		if (r == CUDA_ERROR_CONTEXT_IS_DESTROYED || r == CUDA_ERROR_INVALID_CONTEXT)
			return; /* the client does not know yet that this context has ended: its next context will do */
	}
	registration_note_context(s);
}

void registration_start(struct session *s)
{
	struct shared_registration *shared = &s->shared;
	size_t size;

	if (shared->prepared && word_base(s->link, &size) == link_memory_words(shared->prepared, &size))
		shared->words = link_peer(s->link)->local ? shared->prepared_words : 0;
	else
		link_register(s);
}

void registration_context_ended(struct session *s, CUcontext context)
{
	if (!context || s->shared.context != context)
		return;
	s->shared.context = NULL;
	s->shared.lost = true;
}

void registration_renew(struct session *s, bool usable)
{
	if (__builtin_expect(!atomic_load_explicit(&s->shared.lost, memory_order_relaxed), 1))
		return;
	s->shared.words = 0;
	if (usable && s->context)
		link_register(s);
}
