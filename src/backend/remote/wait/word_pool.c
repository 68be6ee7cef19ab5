/*
 * The pool of words for streams and events.  A word that the worker has still to set is not handed out before the worker
 * has done so: its next owner would take that value for its own.
 */
#include <stdlib.h>
#include "backend/remote/wait/state.h"

struct pending_word {
	struct pending_word *next;
	struct wire_signal word;
};

/* Takes the first pending word that has reached its last value.  Lock held. */
static bool word_pool_reuse(struct word_pool *pool, struct wire_signal *w)
{
	for (struct pending_word **p = &pool->pending, *n; (n = *p); p = &n->next)
		if (word_reached(client->link, n->word.word, n->word.value)) {
			*p = n->next;
			*w = n->word;
			n->next = pool->spare_nodes;
			pool->spare_nodes = n;
			return true;
		}
	return false;
}

bool word_pool_take(struct wire_signal *w)
{
	struct word_pool *pool = &client->wait->words;
	bool found;

	pthread_mutex_lock(&pool->lock);
	found = word_pool_reuse(pool, w);
	pthread_mutex_unlock(&pool->lock);
	if (found || !word_alloc(client->link, &w->word, &w->value))
		return true;
	w->word = 0;
	return false;
}

void word_pool_give(struct wire_signal w)
{
	struct word_pool *pool = &client->wait->words;
	struct pending_word *n;

	if (!w.word)
		return;
	if (word_reached(client->link, w.word, w.value)) {
		word_free(client->link, w.word);
		return;
	}
	pthread_mutex_lock(&pool->lock);
	n = pool->spare_nodes;
	if (n)
		pool->spare_nodes = n->next;
	else
		n = malloc(
			sizeof *n); /* without memory the word is lost: better than a wrong value for its next owner */
	if (n) {
		*n = (struct pending_word){pool->pending, w};
		pool->pending = n;
	}
	pthread_mutex_unlock(&pool->lock);
}

static void pending_words_free(struct pending_word *n)
{
	while (n) {
		struct pending_word *next = n->next;
		free(n);
		n = next;
	}
}

void word_pool_finish(struct word_pool *p)
{
	pending_words_free(p->pending);
	pending_words_free(p->spare_nodes);
}
