/* Copies between the device and memory that client and server share: bulk memory, or host memory both map. */
#include "server/hostmem.h"
#include "server/msg.h"

/* The frame's piece of the up arena, if it is as long as the copy; else the message is bad. */
static void *piece_up(struct msg *m, uint64_t size)
{
	size_t room;
	uint8_t *base = bulk_base(m->session->link, BULK_UP, &room);

	if (m->frame.npieces != 1 || m->frame.pieces[0].size < size) {
		m->broken = true;
		return NULL;
	}
	return base + m->frame.pieces[0].offset;
}

static void *piece_down(struct msg *m, uint32_t offset, uint64_t size)
{
	size_t room;
	uint8_t *base = bulk_base(m->session->link, BULK_DOWN, &room);

	if (offset > room || size > room - offset) {
		m->broken = true;
		return NULL;
	}
	return base + offset;
}

/* Host memory that both sides map at the same address: ours to use only where we have mapped it ourselves. */
static void *shared(struct msg *m, uint64_t address, uint64_t size)
{
	if (!hostmem_holds(m->session, address, size))
		m->error = CUDA_ERROR_INVALID_VALUE;
	return (void *)(uintptr_t)address;
}

void serve_copy_up(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_copy a;

	msg_args(m, &a, sizeof a);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.stream);
	void *from = a.host ? shared(m, a.host, a.size) : piece_up(m, a.size);
	if (!msg_bad(m))
		msg_result(m, ops->cuMemcpyHtoDAsync_v2(a.device, from, a.size, stream));
	if (a.word && !m->broken)
		session_word(m->session, stream, a.word, a.value, NULL);
}

void serve_copy_down(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_copy a;
	struct piece piece;

	msg_args(m, &a, sizeof a);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.stream);
	void *to = a.host ? shared(m, a.host, a.size) : piece_down(m, a.offset, a.size);
	if (!msg_bad(m))
		msg_result(m, ops->cuMemcpyDtoHAsync_v2(to, a.device, a.size, stream));
	piece = (struct piece){a.offset, a.size};
	if (a.word && !m->broken)
		session_word(m->session, stream, a.word, a.value, a.host ? NULL : &piece);
}
