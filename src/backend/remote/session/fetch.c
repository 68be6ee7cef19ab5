/* Calls whose reply has no fixed size. */
#include "backend/remote/session/fetch.h"

#include <stdlib.h>
#include "backend/remote/session/remote.h"

static size_t request_bytes(size_t size, const struct wire_piece *in, unsigned nin)
{
	size = wire_pad(size);
	for (unsigned i = 0; i < nin; i++)
		size += wire_pad(in[i].size);
	return size;
}

static CUresult reply_copy(const struct frame *f, void *head, size_t head_size, uint8_t **rest, size_t *rest_size)
{
	const uint8_t *from = (const uint8_t *)f->payload + sizeof(struct wire_reply);
	size_t left = f->size - sizeof(struct wire_reply);

	if (left < head_size)
		return client_reject_reply();
	memcpy(head, from, head_size);
	left -= head_size;
	if (!rest)
		return CUDA_SUCCESS;
	*rest = malloc(left + 1);
	if (!*rest)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(*rest, from + head_size, left);
	*rest_size = left;
	return CUDA_SUCCESS;
}

CUresult call_fetch(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin, void *head,
	size_t head_size, uint8_t **rest, size_t *rest_size)
{
	struct lane *lane = call_lane();
	size_t all = request_bytes(size, in, nin);
	struct frame reply;
	uint8_t *to;
	CUresult r;

	if (!lane)
		return client_lost();
	if (all > lane_payload_max(lane) - sizeof(struct wire_request))
		return CUDA_ERROR_INVALID_VALUE;
	to = call_reserve(lane, all);
	if (!to)
		return client_lost();
	memcpy(to, args, size);
	to += wire_pad(size);
	for (unsigned i = 0; i < nin; to += wire_pad(in[i].size), i++)
		if (in[i].size)
			memcpy(to, in[i].data, in[i].size);
	r = call_ask(lane, op, all, NULL, 0, &reply);
	if (!r)
		r = reply_copy(&reply, head, head_size, rest, rest_size);
	call_release_reply(lane);
	return r;
}
