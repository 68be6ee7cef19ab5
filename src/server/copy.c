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

/*
 * A copy from or to bulk memory must happen now, not whenever a graph is launched; and a word that is part
 * of a graph would tell nobody anything.
 */
static void not_captured(const struct cuda_ops *ops, struct msg *m, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (!m->broken && !m->error && !ops->cuStreamIsCapturing(stream, &status) && status)
		m->error = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* Told even if the copy was not made: its client must not wait for ever. */
static void tell(struct msg *m, CUstream stream, struct wire_tell done, const struct piece *piece)
{
	if (!done.word || m->broken)
		return;
	if (m->result)
		session_late(m->session, m->result), session_word_now(m->session, done.word, done.value);
	else
		session_word(m->session, stream, done.word, done.value, piece);
	m->result = CUDA_SUCCESS;
}

void serve_copy_up(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_copy a;

	msg_args(m, &a, sizeof a);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.stream);
	void *from = a.host ? shared(m, a.host, a.size) : piece_up(m, a.size);
	if (!a.host || a.done.word)
		not_captured(ops, m, stream);
	if (!msg_bad(m))
		msg_result(m, ops->cuMemcpyHtoDAsync_v2(a.device, from, a.size, stream));
	tell(m, stream, a.done, NULL);
}

void serve_copy_down(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_copy a;
	struct piece piece;

	msg_args(m, &a, sizeof a);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.stream);
	void *to = a.host ? shared(m, a.host, a.size) : piece_down(m, a.offset, a.size);
	if (!a.host || a.done.word)
		not_captured(ops, m, stream);
	if (!msg_bad(m))
		msg_result(m, ops->cuMemcpyDtoHAsync_v2(to, a.device, a.size, stream));
	piece = (struct piece){a.offset, a.size};
	tell(m, stream, a.done, a.host ? NULL : &piece);
}
