/*
 * Loading of images.  An image is named by its hash and sent only if the server does not have it.  Small images are sent
 * with the load call, which costs less than asking first.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "backend/remote/code/code.h"
#include "backend/remote/code/state.h"
#include "backend/remote/wait/callbacks.h"
#include "util/explain.h"
#include "wire/trace.h"

#define UPLOAD_CHUNK (4u << 20)
#define SMALL_IMAGE  (256u << 10)
#define SCAN_MAX     (64u << 20) /* larger images are libraries, which do not print */

static CUresult arena_alloc(uint32_t size, struct piece *piece)
{
	CUresult r = CUDA_SUCCESS;
	int e;

	while ((e = bulk_alloc(client->link, BULK_UP, size, piece)) == -EAGAIN && !r)
		r = remote_cuCtxSynchronize();
	return r ? r : e ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static void arena_fill(const struct piece *piece, const void *bytes)
{
	size_t unused;

	memcpy((char *)bulk_base(client->link, BULK_UP, &unused) + piece->offset, bytes, piece->size);
}

static CUresult image_send_chunk(const uint8_t *bytes, uint32_t size, const struct wire_upload *a)
{
	struct lane *lane = call_lane();
	struct wire_upload *room;
	struct piece piece;
	struct frame reply;
	CUresult r = arena_alloc(size, &piece);

	if (r)
		return r;
	arena_fill(&piece, bytes);
	room = call_reserve(lane, sizeof *room);
	if (room) {
		*room = *a;
		r = call_ask(lane, WIRE_IMAGE, sizeof *room, &piece, 1, &reply);
		call_release_reply(lane);
	} else {
		r = client_lost();
	}
	bulk_free(client->link, BULK_UP, piece);
	return r;
}

static CUresult image_send(const void *bytes, const struct wire_image *name)
{
	struct wire_upload a = {.image = *name};
	CUresult r = CUDA_SUCCESS;

	if (name->size > WIRE_IMAGE_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&client->code->upload_lock);
	for (; a.offset < name->size && !r; a.offset += UPLOAD_CHUNK) {
		size_t n = name->size - a.offset < UPLOAD_CHUNK ? name->size - a.offset : UPLOAD_CHUNK;
		r = image_send_chunk((const uint8_t *)bytes + a.offset, n, &a);
	}
	pthread_mutex_unlock(&client->code->upload_lock);
	return r;
}

CUresult image_upload(const void *bytes, size_t size, struct wire_image *name)
{
	if (!size)
		return CUDA_ERROR_INVALID_IMAGE;
	name->size = size;
	hash_of(bytes, size, name->hash);
	return image_send(bytes, name);
}

bool jit_options_pack(const struct jit_options *o, struct wire_jit *out)
{
	if (o->count > WIRE_JIT_OPTIONS)
		return false;
	for (unsigned i = 0; i < o->count; i++) {
		bool log = o->option[i] == CU_JIT_INFO_LOG_BUFFER || o->option[i] == CU_JIT_ERROR_LOG_BUFFER;
		out[i] = (struct wire_jit){o->option[i], log || !o->value ? 0 : (uintptr_t)o->value[i]};
	}
	return true;
}

static void jit_log_store(const struct jit_options *o, CUjit_option which, CUjit_option capacity_option,
	const uint8_t *log, uint32_t size)
{
	char *to = NULL;
	size_t capacity = 0;

	for (unsigned i = 0; i < o->count; i++) {
		if (o->option[i] == which)
			to = o->value[i];
		if (o->option[i] == capacity_option)
			capacity = (uint32_t)(uintptr_t)o->value[i];
	}
	if (!to || !capacity)
		return;
	size = size < capacity - 1 ? size : capacity - 1;
	memcpy(to, log, size);
	to[size] = 0;
}

bool jit_options_store_results(
	const struct jit_options *o, const uint8_t *rest, size_t size, uint32_t info, uint32_t error)
{
	size_t values = o->count * sizeof(uint64_t);

	if (info > WIRE_JIT_LOG || error > WIRE_JIT_LOG || size < values + wire_pad(info) + error)
		return false;
	jit_log_store(o, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, rest + values, info);
	jit_log_store(
		o, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, rest + values + wire_pad(info), error);
	for (unsigned i = 0; i < o->count; i++) {
		uint64_t v;
		memcpy(&v, rest + i * sizeof v, sizeof v);
		switch (o->option[i]) {
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: /* bytes used, at most the size of the buffer */
			v = v < (uintptr_t)o->value[i] ? v : (uintptr_t)o->value[i];
			/* fall through */
		case CU_JIT_THREADS_PER_BLOCK:
		case CU_JIT_WALL_TIME:
			o->value[i] = (void *)(uintptr_t)v;
			break;
		default:
			break;
		}
	}
	return true;
}

static unsigned entry_prints(const struct image_entry *e)
{
	return (memmem(e->payload, e->stored_size, "vprintf", 7) ? WIRE_PRINTS : 0) |
	       (memmem(e->payload, e->stored_size, "__assertfail", 12) ? WIRE_ASSERTS : 0);
}

/*
 * Whether the code may call printf or assert: a mask of WIRE_PRINTS and WIRE_ASSERTS.  Compressed entries are not unpacked,
 * since a program hardly ever compresses all of its entries.  If all are compressed, a small image is assumed to print, and
 * a large one to be a library, which does not.
 */
static unsigned image_prints(const struct image *im)
{
	struct image_entry e;
	struct image_iter it;
	unsigned found = 0;
	size_t scanned = 0;
	bool plain = false;

	for (unsigned p = 0; p < im->nparts; p++) {
		image_iter_init(&it, im, p);
		while (scanned <= SCAN_MAX && image_next(&it, &e)) {
			scanned += e.stored_size;
			if (e.packing != IMAGE_PLAIN)
				continue;
			plain = true;
			found |= entry_prints(&e);
		}
	}
	return plain || scanned > SMALL_IMAGE ? found : WIRE_PRINTS | WIRE_ASSERTS;
}

struct load_request {
	struct wire_load head;
	struct wire_image name[WIRE_IMAGE_PARTS];
	struct wire_jit option[WIRE_JIT_OPTIONS];
};

static void load_name_parts(const struct image *im, struct load_request *l)
{
	for (unsigned i = 0; i < im->nparts; i++) {
		l->name[i].size = im->parts[i].size;
		hash_of(im->parts[i].data, im->parts[i].size, l->name[i].hash);
	}
}

static void *pack_bytes(uint8_t *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return to + wire_pad(size);
}

static CUresult load_ask(
	const struct load_request *l, const struct piece *piece, const struct jit_options *o, struct wire_loaded *done)
{
	struct lane *lane = call_lane();
	size_t names = l->head.parts * sizeof *l->name, options = l->head.options * sizeof *l->option;
	size_t size = wire_pad(sizeof l->head) + wire_pad(names) + wire_pad(options);
	struct frame reply;
	uint8_t *room = call_reserve(lane, size);
	CUresult r;

	if (!room)
		return client_lost();
	pack_bytes(pack_bytes(pack_bytes(room, &l->head, sizeof l->head), l->name, names), l->option, options);
	r = call_ask(lane, WIRE_LOAD, size, piece, piece != NULL, &reply);
	if (!r) {
		const uint8_t *from = (const uint8_t *)reply.payload + sizeof(struct wire_reply);
		size_t left = reply.size - sizeof(struct wire_reply);
		if (left < sizeof *done) {
			r = client_reject_reply();
		} else {
			memcpy(done, from, sizeof *done);
			if (!done->missing && !jit_options_store_results(o, from + sizeof *done, left - sizeof *done,
						      done->info, done->error))
				r = client_reject_reply();
		}
	}
	call_release_reply(lane);
	return r;
}

static CUresult load_with_image(
	const struct image *im, struct load_request *l, const struct jit_options *o, struct wire_loaded *done)
{
	struct piece piece;
	CUresult r = arena_alloc(im->parts[0].size, &piece);

	if (r)
		return r;
	arena_fill(&piece, im->parts[0].data);
	r = load_ask(l, &piece, o, done);
	bulk_free(client->link, BULK_UP, piece);
	return r;
}

static CUresult load_by_name(
	const struct image *im, struct load_request *l, const struct jit_options *o, struct wire_loaded *done)
{
	CUresult r = load_ask(l, NULL, o, done);

	if (r || !done->missing)
		return r;
	for (unsigned i = 0; i < im->nparts && !r; i++)
		r = image_send(im->parts[i].data, &l->name[i]);
	return r ? r : load_ask(l, NULL, o, done);
}

CUresult image_load(
	const struct image *im, enum wire_loads library, const struct jit_options *o, uint64_t *id, bool *silent)
{
	struct wire_loaded done = {0};
	struct load_request *l = calloc(1, sizeof *l);
	CUresult r;

	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l->head = (struct wire_load){
		.library = library, .parts = im->nparts, .options = o->count, .prints = image_prints(im)};
	if (im->nparts > WIRE_IMAGE_PARTS || !jit_options_pack(o, l->option)) {
		free(l);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	load_name_parts(im, l);
	*silent = !(l->head.prints & WIRE_PRINTS);
	r = l->head.prints ? callbacks_start() : CUDA_SUCCESS;
	if (!r && im->nparts == 1 && im->parts[0].size <= SMALL_IMAGE)
		r = load_with_image(im, l, o, &done);
	else if (!r)
		r = load_by_name(im, l, o, &done);
	free(l);
	*id = done.id;
	r = r ? r : done.missing ? CUDA_ERROR_INVALID_IMAGE : (CUresult)done.result;
	if (r == CUDA_ERROR_NO_BINARY_FOR_GPU)
		image_explain_mismatch(im);
	return r;
}

/* The message does not name kernels: unpacking the image would take more code than libcuda.so.1 should have. */
void image_explain_mismatch(const struct image *im)
{
	struct context *c = context_current();
	const struct wire_device *d = device_find(c ? c->device : 0);
	char text[1792];

	if (!d)
		return;
	image_explain(im, d->name, d->attribute[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR],
		d->attribute[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR], "PTX, or machine code of its own kind",
		NULL, text, sizeof text);
	trace_note("%s", text);
	explain_once(text);
}

CUresult file_read(const char *path, void **bytes, size_t *size)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;
	size_t done = 0;
	ssize_t n = 1;

	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	if (fd < 0)
		return CUDA_ERROR_FILE_NOT_FOUND;
	*bytes = fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > WIRE_IMAGE_MAX
			 ? NULL
			 : calloc(1, st.st_size + 1);
	while (*bytes && done < (size_t)st.st_size && (n = read(fd, (char *)*bytes + done, st.st_size - done)) > 0)
		done += n;
	close(fd);
	*size = done;
	if (*bytes && done == (size_t)st.st_size)
		return CUDA_SUCCESS;
	free(*bytes);
	return CUDA_ERROR_INVALID_IMAGE;
}
