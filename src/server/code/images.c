/* Images of this session: on their way, or whole and named by a hash that we have computed. */
#include <stdlib.h>
#include "server/code/code.h"

struct images {
	struct images *next;
	struct wire_image name;
	const void *whole; /* NULL: still arriving */
	uint8_t *bytes;
	uint64_t used;
};

static bool same(const struct wire_image *a, const struct wire_image *b)
{
	return a->size == b->size && !memcmp(a->hash, b->hash, sizeof a->hash);
}

static struct images *lookup(struct session *s, const struct wire_image *name)
{
	struct images *i = s->images;

	while (i && !same(&i->name, name))
		i = i->next;
	return i;
}

static struct images *add(struct session *s, const struct wire_image *name)
{
	struct images *i = calloc(1, sizeof *i);

	if (!i)
		return NULL;
	i->name = *name;
	i->next = s->images;
	s->images = i;
	return i;
}

static void forget(struct session *s, struct images *i)
{
	struct images **p = &s->images;

	while (*p != i)
		p = &(*p)->next;
	*p = i->next;
	free(i->bytes);
	free(i);
}

const void *images_find(struct session *s, const struct wire_image *name)
{
	struct images *i = lookup(s, name);
	void *stored;

	if (i)
		return i->whole;
	stored = store_find(name);
	if (!stored)
		return NULL;
	i = add(s, name);
	if (i)
		i->whole = stored;
	return stored;
}

static bool true_name(const struct wire_image *name, const void *bytes)
{
	uint8_t hash[HASH_BYTES];

	hash_of(bytes, name->size, hash);
	return !memcmp(hash, name->hash, sizeof hash);
}

/* Whole: is it what its name says? */
static bool complete(struct session *s, struct images *i)
{
	if (!true_name(&i->name, i->bytes)) {
		forget(s, i);
		return false;
	}
	i->whole = i->bytes;
	store_add(&i->name, i->bytes);
	return true;
}

/* The bytes lie where the client can change them: they are copied first. */
bool images_add(struct session *s, const struct wire_image *name, const void *bytes)
{
	struct images *i = lookup(s, name);

	if (i && i->whole)
		return true;
	if (!i)
		i = add(s, name);
	if (i && !i->bytes)
		i->bytes = calloc(1, name->size + 1);
	if (!i || !i->bytes)
		return false;
	memcpy(i->bytes, bytes, name->size);
	return complete(s, i);
}

/* Bytes of images that are on their way: who begins and does not end takes no more than this. */
static uint64_t arriving(struct session *s)
{
	uint64_t sum = 0;

	for (struct images *i = s->images; i; i = i->next)
		sum += i->whole ? 0 : i->name.size;
	return sum;
}

static bool append(struct msg *m, struct images *i)
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

/* Threads that send the same image at the same time do so one after the other, or again. */
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
	struct images *i = lookup(m->session, &a.image);
	if (i && i->whole)
		return;
	if (!i && arriving(m->session) + a.image.size <= 2 * (uint64_t)WIRE_IMAGE_MAX)
		i = add(m->session, &a.image);
	if (i && !i->bytes)
		i->bytes = calloc(1, a.image.size + 1);
	if (!i || !i->bytes) {
		msg_result(m, CUDA_ERROR_OUT_OF_MEMORY);
		return;
	}
	if (a.offset == 0)
		i->used = 0;
	if (a.offset != i->used || !append(m, i))
		msg_result(m, CUDA_ERROR_INVALID_IMAGE);
	else if (i->used == a.image.size && !complete(m->session, i))
		msg_result(m, CUDA_ERROR_INVALID_IMAGE);
}
