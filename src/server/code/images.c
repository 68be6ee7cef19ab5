/*
 * Images of this session: arriving in parts, or complete and checked against the hash that names them.
 *
 * An image stays while code that was made from it is loaded, and from its arrival until it is first used.  Then it is
 * idle: a few idle images are kept, because programs load the same code again.  All images count as host memory.
 */
#include <stdlib.h>
#include "server/code/code.h"
#include "server/quota/account.h"

#define IDLE_MAX (64ull << 20) /* bytes of idle images */

struct session_image {
	struct session_image *next; /* in the list of the session, the one used last first */
	struct wire_image name;
	const void *complete; /* the bytes; NULL: still arriving */
	uint8_t *bytes;       /* on the heap */
	uint64_t used;        /* bytes that have arrived */
	unsigned uses;        /* by loaded code */
	bool fresh;           /* has not been used since it arrived */
};

static bool names_equal(const struct wire_image *a, const struct wire_image *b)
{
	return a->size == b->size && !memcmp(a->hash, b->hash, sizeof a->hash);
}

static struct session_image *image_find(struct session *s, const struct wire_image *name)
{
	struct session_image *i = s->images;

	while (i && !names_equal(&i->name, name))
		i = i->next;
	return i;
}

static void image_unlink(struct session *s, struct session_image *i)
{
	struct session_image **p = &s->images;

	while (*p != i)
		p = &(*p)->next;
	*p = i->next;
}

static void image_to_front(struct session *s, struct session_image *i)
{
	image_unlink(s, i);
	i->next = s->images;
	s->images = i;
}

/* Bytes of memory that an image takes: there is a NUL behind it. */
static uint64_t image_memory(const struct wire_image *name)
{
	return name->size + 1;
}

/* With memory counted for its bytes; NULL: no memory. */
static struct session_image *image_add(struct session *s, const struct wire_image *name)
{
	struct session_image *i;

	if (account_host_take(s->account, image_memory(name)))
		return NULL;
	i = calloc(1, sizeof *i);
	if (!i) {
		account_host_give(s->account, image_memory(name));
		return NULL;
	}
	account_objects(s->account, 1);
	i->name = *name;
	i->next = s->images;
	s->images = i;
	return i;
}

static void image_forget(struct session *s, struct session_image *i)
{
	image_unlink(s, i);
	free(i->bytes);
	account_host_give(s->account, image_memory(&i->name));
	account_objects(s->account, -1);
	free(i);
}

/* ---- Use ---- */

static bool image_is_idle(const struct session_image *i)
{
	return i->complete && !i->uses && !i->fresh;
}

/* Forgets the idle images used longest ago until `most` bytes are left. */
static void idle_limit(struct session *s, uint64_t most)
{
	uint64_t sum = 0;

	for (struct session_image *i = s->images, *next; i; i = next) {
		next = i->next;
		if (!image_is_idle(i))
			continue;
		sum += i->name.size;
		if (sum <= most)
			continue;
		sum -= i->name.size;
		image_forget(s, i);
	}
}

void images_trim(struct session *s)
{
	idle_limit(s, 0);
}

static struct session_image *image_from_store(struct session *s, const struct wire_image *name)
{
	struct session_image *i = image_add(s, name);

	if (i && !(i->bytes = image_store_find(s, name))) {
		image_forget(s, i);
		return NULL;
	}
	if (i)
		i->complete = i->bytes;
	return i;
}

struct session_image *images_use(struct session *s, const struct wire_image *name)
{
	struct session_image *i = image_find(s, name);

	if (i && !i->complete)
		return NULL;
	if (i)
		image_to_front(s, i);
	else
		i = name->size && name->size <= WIRE_IMAGE_MAX ? image_from_store(s, name) : NULL;
	if (!i)
		return NULL;
	i->uses++;
	i->fresh = false;
	return i;
}

void images_release(struct session *s, struct session_image *i)
{
	i->uses--;
	idle_limit(s, IDLE_MAX);
}

const void *image_bytes(const struct session_image *i)
{
	return i->complete;
}

/* ---- Arrival ---- */

static bool hash_matches(const struct wire_image *name, const void *bytes)
{
	uint8_t hash[HASH_BYTES];

	hash_of(bytes, name->size, hash);
	return !memcmp(hash, name->hash, sizeof hash);
}

/* All bytes are there. */
static CUresult image_complete(struct session *s, struct session_image *i)
{
	if (!hash_matches(&i->name, i->bytes)) {
		image_forget(s, i);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	i->complete = i->bytes;
	i->fresh = true;
	image_store_add(s, &i->name, i->bytes);
	return CUDA_SUCCESS;
}

/* The image, with memory for its bytes; NULL: no memory. */
static struct session_image *image_begin(struct session *s, const struct wire_image *name)
{
	struct session_image *i = image_find(s, name);

	if (!i)
		i = image_add(s, name);
	if (i && !i->complete && !i->bytes && !(i->bytes = calloc(1, image_memory(name)))) {
		image_forget(s, i);
		return NULL;
	}
	return i;
}

/* Copies the bytes before it hashes them: the client can still change the original. */
CUresult images_add(struct session *s, const struct wire_image *name, const void *bytes)
{
	struct session_image *i = image_begin(s, name);

	if (!i)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (i->complete)
		return CUDA_SUCCESS;
	memcpy(i->bytes, bytes, name->size);
	return image_complete(s, i);
}

static bool pieces_append(struct msg *m, struct session_image *i)
{
	size_t room;
	const uint8_t *base = bulk_base(m->session->link, BULK_UP, &room);

	for (unsigned k = 0; k < m->frame.npieces; k++) {
		const struct piece *p = &m->frame.pieces[k];
		if (p->size > i->name.size - i->used)
			return false;
		memcpy(i->bytes + i->used, base + p->offset, p->size);
		i->used += p->size;
	}
	return true;
}

/* Threads that send the same image at the same time send it in turn, or again. */
void serve_image(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_upload a;

	(void)ops;
	m->error = CUDA_SUCCESS;
	msg_args(m, &a, sizeof a);
	if (!a.image.size || a.image.size > WIRE_IMAGE_MAX)
		m->broken = true;
	if (msg_bad(m))
		return;
	struct session_image *i = image_begin(m->session, &a.image);
	if (!i) {
		msg_result(m, CUDA_ERROR_OUT_OF_MEMORY);
		return;
	}
	if (i->complete) {
		i->fresh = true; /* the client is about to use it */
		return;
	}
	if (a.offset == 0)
		i->used = 0;
	if (a.offset != i->used || !pieces_append(m, i))
		msg_result(m, CUDA_ERROR_INVALID_IMAGE);
	else if (i->used == a.image.size)
		msg_result(m, image_complete(m->session, i));
}
