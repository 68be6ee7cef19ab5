/*
 * Failures of calls that nobody waits for: counted in a word of the context in which they were made, so that the
 * client tells them to those who use that context.  One that has given no word, or none at all: WIRE_LATE_WORD.
 */
#include <pthread.h>
#include <stdlib.h>
#include "server/msg.h"

struct late {
	struct map_node node; /* key: the context */
	uint32_t word, failures;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the dispatcher and those who wait for the device */
static struct map lates;
static uint32_t elsewhere;

static struct late *find(CUcontext context)
{
	struct late *l = (struct late *)map_below(&lates, (uintptr_t)context);

	return l && l->node.key == (uintptr_t)context ? l : NULL;
}

void session_late(struct session *s, CUcontext context, CUresult r)
{
	struct late *l;

	pthread_mutex_lock(&lock);
	l = context ? find(context) : NULL;
	if (l)
		word_set(s->link, l->word, WIRE_LATE(++l->failures, r), NULL, 0);
	else
		word_set(s->link, WIRE_LATE_WORD, WIRE_LATE(++elsewhere, r), NULL, 0);
	pthread_mutex_unlock(&lock);
}

/* The word is free again, or another context's. */
static void forget(uint32_t word)
{
	struct map_node *n;
	uint64_t at = 0;

	while ((n = map_above(&lates, at))) {
		struct late *l = (struct late *)n;
		at = n->key + 1;
		if (l->word != word)
			continue;
		map_remove(&lates, n);
		free(l);
	}
}

/* What came before it has been made, and has failed or not. */
void serve_flush(const struct cuda_ops *ops, struct msg *m)
{
	(void)ops;
	m->result = CUDA_SUCCESS;
}

void serve_context(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_context a;
	CUcontext context;
	struct late *l;

	(void)ops;
	msg_args(m, &a, sizeof a);
	m->error = CUDA_SUCCESS;
	context = msg_handle(m, HANDLE_CUcontext, a.context);
	if (!session_has_word(m->session, a.word))
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (msg_bad(m))
		return;
	pthread_mutex_lock(&lock);
	forget(a.word);
	l = !context ? NULL : find(context);
	if (context && !l && (l = calloc(1, sizeof *l))) {
		l->node.key = (uintptr_t)context;
		map_insert(&lates, &l->node);
	}
	if (l) {
		l->word = a.word;
		l->failures = *word_address(m->session->link, a.word) >> 16;
	}
	pthread_mutex_unlock(&lock);
}
