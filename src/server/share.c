/* Memory that the device can reach and the client too. */
#include "server/session.h"

static bool register_memory(const struct cuda_ops *ops, void *p, size_t size)
{
	unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;

	return p && size && ops->cuMemHostRegister_v2(p, size, flags) == CUDA_SUCCESS;
}

/* The device's address of the words, or 0. */
static CUdeviceptr register_words(const struct cuda_ops *ops, void *words, size_t size)
{
	CUdeviceptr seen = 0;

	return register_memory(ops, words, size) && !ops->cuMemHostGetDevicePointer_v2(&seen, words, 0) ? seen : 0;
}

static struct {
	struct link_memory *memory;
	CUdeviceptr words;
} ahead;

struct link_memory *share_ahead(const struct cuda_ops *ops, const struct link_config *config)
{
	size_t size;
	void *p;

	if (link_memory_make(&ahead.memory, config))
		return NULL;
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
void session_share(struct session *s)
{
	bool local = link_peer(s->link)->local;
	size_t size;
	void *words = word_base(s->link, &size);

	if (ahead.memory && words == link_memory_words(ahead.memory, &size)) {
		s->words = local ? ahead.words : 0;
		return;
	}
	s->words = local ? register_words(s->ops, words, size) : 0;
	for (int which = BULK_UP; which <= BULK_DOWN; which++) {
		void *base = bulk_base(s->link, which, &size);
		register_memory(s->ops, base, size);
	}
}
