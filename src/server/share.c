/* Memory that the device can reach and the client too. */
#include "server/session.h"

static bool register_memory(struct session *s, void *p, size_t size)
{
	unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;

	return p && size && s->ops->cuMemHostRegister_v2(p, size, flags) == CUDA_SUCCESS;
}

/*
 * Where registering fails (a small memlock limit, say) everything works as before, only slower: the
 * driver copies through memory of its own, and a thread of ours waits instead of the device.
 */
void session_share(struct session *s)
{
	size_t size;
	void *words = word_base(s->link, &size);
	CUdeviceptr seen = 0;

	if (link_peer(s->link)->local && register_memory(s, words, size) &&
		!s->ops->cuMemHostGetDevicePointer_v2(&seen, words, 0))
		s->words = seen;
	for (int which = BULK_UP; which <= BULK_DOWN; which++) {
		void *base = bulk_base(s->link, which, &size);
		register_memory(s, base, size);
	}
}
