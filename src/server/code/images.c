/* Images of this session: arriving in parts, or complete and checked against the hash that names them. */
#include <errno.h>
#include <stdlib.h>
#include "server/code/code.h"

struct session_image {
	struct session_image *next;
	struct wire_image name;
	const void *complete; /* the bytes; NULL: still arriving */
	uint8_t *bytes;
	uint64_t used;
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

static struct session_image *image_add(struct session *s, const struct wire_image *name)
{
	struct session_image *i = calloc(1, sizeof *i);

	if (!i)
		return NULL;
	i->name = *name;
	i->next = s->images;
	s->images = i;
	return i;
}

static void image_forget(struct session *s, struct session_image *i)
{
	struct session_image **p = &s->images;

	while (*p != i)
		p = &(*p)->next;
	*p = i->next;
	free(i->bytes);
	free(i);
}

const void *images_find(struct session *s, const struct wire_image *name)
{
	struct session_image *i = image_find(s, name);
	void *stored;

	if (i)
		return i->complete;
	stored = image_store_find(s, name);
	if (!stored)
		return NULL;
	i = image_add(s, name);
	if (i)
		i->complete = stored;
	return stored;
}

static bool hash_matches(const struct wire_image *name, const void *bytes)
{
	uint8_t hash[HASH_BYTES];

	hash_of(bytes, name->size, hash);
	return !memcmp(hash, name->hash, sizeof hash);
}

/* All bytes are there.  False: their hash is not the one in the name. */
static bool image_complete(struct session *s, struct session_image *i)
{
	if (!hash_matches(&i->name, i->bytes)) {
		image_forget(s, i);
		return false;
	}
	i->complete = i->bytes;
	image_store_add(s, &i->name, i->bytes);
	return true;
}

/* Copies the bytes before it hashes them: the client can still change the original. */
int images_add(struct session *s, const struct wire_image *name, const void *bytes)
{
	struct session_image *i = image_find(s, name);

	if (i && i->complete)
		return 0;
	if (!i)
		i = image_add(s, name);
	if (i && !i->bytes)
		i->bytes = calloc(1, name->size + 1);
	if (!i || !i->bytes)
		return -ENOMEM;
	memcpy(i->bytes, bytes, name->size);
	return image_complete(s, i) ? 0 : -EINVAL;
}

/* Memory for images that are still arriving, which a client that never completes them must not exceed. */
static uint64_t arriving_bytes(struct session *s)
{
	uint64_t sum = 0;

	for (struct session_image *i = s->images; i; i = i->next)
		sum += i->complete ? 0 : i->name.size;
	return sum;
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
	struct session_image *i = image_find(m->session, &a.image);
	if (i && i->complete)
		return;
	if (!i && arriving_bytes(m->session) + a.image.size <= 2 * (uint64_t)WIRE_IMAGE_MAX)
		i = image_add(m->session, &a.image);
	if (i && !i->bytes)
		i->bytes = calloc(1, a.image.size + 1);
	if (!i || !i->bytes) {
		msg_result(m, CUDA_ERROR_OUT_OF_MEMORY);
		return;
	}
	if (a.offset == 0)
		i->used = 0;
	if (a.offset != i->used || !pieces_append(m, i))
		msg_result(m, CUDA_ERROR_INVALID_IMAGE);
	else if (i->used == a.image.size && !image_complete(m->session, i))
		msg_result(m, CUDA_ERROR_INVALID_IMAGE);
}
