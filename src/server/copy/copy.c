/* Linear copies between the device and memory that client and worker share: arenas, or host memory that both map. */
#include "server/quota/account.h"
#include "server/copy/copy.h"
#include "server/memory/hostmem.h"
#include "server/session/live_ranges.h"

void *copy_piece_up(struct msg *m, uint64_t size)
{
	size_t room;
	uint8_t *base = bulk_base(m->session->link, BULK_UP, &room);

	if (m->frame.npieces != 1 || m->frame.pieces[0].size < size) {
		m->broken = true;
		return NULL;
	}
	return base + m->frame.pieces[0].offset;
}

void *copy_piece(struct msg *m, enum bulk which, uint64_t offset, uint64_t size)
{
	size_t room;
	uint8_t *base = bulk_base(m->session->link, which, &room);

	if (offset > room || size > room - offset) {
		m->broken = true;
		return NULL;
	}
	return base + offset;
}

/* Host memory at an address that both sides use: only where hostmem.c has mapped it. */
static void *shared_host_memory(struct msg *m, uint64_t address, uint64_t size)
{
	if (!hostmem_holds(m->session, address, size))
		m->error = CUDA_ERROR_INVALID_VALUE;
	return (void *)(uintptr_t)address;
}

void copy_not_captured(const struct cuda_ops *ops, struct msg *m, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (!m->broken && !m->error && !ops->cuStreamIsCapturing(stream, &status) && status)
		m->error = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void copy_pageable_not_captured(const struct cuda_ops *ops, struct msg *m, CUstream stream, uint64_t address)
{
	if (hostmem_pageable(m->session, address))
		copy_not_captured(ops, m, stream);
}

void copy_signal(struct msg *m, CUstream stream, struct wire_signal done, const struct piece *piece)
{
	if (!done.word || m->broken)
		return;
	if (m->result)
		msg_report_async(m, m->result);
	if (m->error && m->error != CUDA_ERROR_INVALID_VALUE) /* the stream is unknown, or being captured */
		signal_now(m->session, done.word, done.value);
	else /* in stream order even then: an earlier value of this word may be pending */
		signal_stream(m->session, stream, done.word, done.value, piece);
	m->result = CUDA_SUCCESS;
}

void serve_copy_up(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_copy a;

	msg_args(m, &a, sizeof a);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.stream);
	void *from = a.host ? shared_host_memory(m, a.host, a.size) : copy_piece_up(m, a.size);
	if (!a.host || a.done.word || hostmem_pageable(m->session, a.host))
		copy_not_captured(ops, m, stream);
	if (!msg_bad(m)) {
		live_check(m->session, (uintptr_t)from, a.size, "the source of a copy");
		msg_result(m, ops->cuMemcpyHtoDAsync_v2(a.device, from, a.size, stream));
	}
	copy_signal(m, stream, a.done, NULL);
}

void serve_copy_down(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_copy a;
	struct piece piece;

	msg_args(m, &a, sizeof a);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.stream);
	void *to = a.host ? shared_host_memory(m, a.host, a.size) : copy_piece(m, BULK_DOWN, a.offset, a.size);
	if (!a.host || a.done.word || hostmem_pageable(m->session, a.host))
		copy_not_captured(ops, m, stream);
	if (!msg_bad(m)) {
		live_check(m->session, (uintptr_t)to, a.size, "the target of a copy");
		msg_result(m, ops->cuMemcpyDtoHAsync_v2(to, a.device, a.size, stream));
	}
	piece = (struct piece){a.offset, a.size};
	copy_signal(m, stream, a.done, a.host ? NULL : &piece);
}

static void unified_copy_count(struct session *s, const struct wire_cuMemcpyAsync *a)
{
	bool from_host = hostmem_holds(s, a->src, a->ByteCount), to_host = hostmem_holds(s, a->dst, a->ByteCount);

	if (from_host != to_host)
		stats_add(
			from_host ? &account_device(s->account)->up : &account_device(s->account)->down, a->ByteCount);
}

/* Both addresses must be the device's or shared: any other is private memory of this process. */
void serve_cuMemcpyAsync(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cuMemcpyAsync a;

	msg_args(m, &a, sizeof a);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.hStream);
	if (!copy_reachable(m, a.dst, a.ByteCount) || !copy_reachable(m, a.src, a.ByteCount))
		m->error = CUDA_ERROR_INVALID_VALUE;
	copy_pageable_not_captured(ops, m, stream, a.dst);
	copy_pageable_not_captured(ops, m, stream, a.src);
	if (!msg_bad(m))
		unified_copy_count(m->session, &a);
	if (!m->error) {
		live_check(m->session, a.src, a.ByteCount, "the source of a copy");
		live_check(m->session, a.dst, a.ByteCount, "the target of a copy");
		msg_result(m, ops->cuMemcpyAsync(a.dst, a.src, a.ByteCount, stream));
	}
}

static bool sum_add(uint64_t *sum, uint64_t n)
{
	return !__builtin_add_overflow(*sum, n, sum);
}

/* The offset of row y in slice z.  False: overflow. */
static bool row_offset(uint64_t z, uint64_t y, uint64_t height, uint64_t pitch, uint64_t *at)
{
	return !__builtin_mul_overflow(z, height, at) && sum_add(at, y) && !__builtin_mul_overflow(*at, pitch, at);
}

bool copy_extent(const struct copy_rows *r, uint64_t *first, uint64_t *size)
{
	uint64_t pitch = r->pitch, height = r->height, z = r->z, y = r->y, end;

	*first = *size = 0;
	if (!r->width || !r->rows || !r->slices)
		return true;
	if (!pitch && (pitch = r->x, !sum_add(&pitch, r->width)))
		return false;
	if (!height && (height = r->y, !sum_add(&height, r->rows)))
		return false;
	if (!row_offset(z, y, height, pitch, first) || !sum_add(first, r->x))
		return false;
	if (!sum_add(&z, r->slices - 1) || !sum_add(&y, r->rows - 1) || !row_offset(z, y, height, pitch, &end) ||
		!sum_add(&end, r->x) || !sum_add(&end, r->width) || end >> 63)
		return false;
	*size = end - *first;
	return true;
}

/* The device memory that holds the address: bytes from the address to its end.  0: none. */
static uint64_t device_bytes_at(struct msg *m, uint64_t address)
{
	CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE};
	CUmemorytype type = 0;
	CUdeviceptr start = 0;
	size_t size = 0;
	void *values[] = {&type, &start, &size};

	if (m->session->ops->cuPointerGetAttributes(3, asked, values, address) || type != CU_MEMORYTYPE_DEVICE ||
		address < start || address - start >= size)
		return 0;
	return size - (address - start);
}

/* Neighbouring allocations may make up a range, but every byte of it must belong to one. */
static bool device_holds(struct msg *m, uint64_t address, uint64_t size)
{
	for (uint64_t bytes; size; address += bytes, size -= bytes) {
		bytes = device_bytes_at(m, address);
		if (!bytes || bytes >= size)
			return bytes != 0;
	}
	return true;
}

bool copy_reachable(struct msg *m, uint64_t address, uint64_t size)
{
	if (!size || address + size < address)
		return false;
	return hostmem_holds(m->session, address, size) || device_holds(m, address, size);
}
