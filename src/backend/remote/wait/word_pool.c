/*
 * The pool of words for streams and events.  A word that the worker has still to set is not handed out before the worker
 * has done so: its next owner would take that value for its own.
 */
#include <stdlib.h>
#include "backend/remote/wait/wait.h"

struct pending_word {
	struct pending_word *next;
	struct wire_tell word;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending_word *pending;     /* given back, and not yet seen to have reached their last value */
static struct pending_word *spare_nodes; /* without a word */

/* Takes the first pending word that has reached its last value.  Lock held. */
static bool word_pool_reuse(struct wire_tell *w)
{
	for (struct pending_word **p = &pending, *n; (n = *p); p = &n->next)
		if (word_reached(client->link, n->word.word, n->word.value)) {
			*p = n->next;
			*w = n->word;
			n->next = spare_nodes;
			spare_nodes = n;
			return true;
		}
	return false;
}

bool word_pool_take(struct wire_tell *w)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = word_pool_reuse(w);
	pthread_mutex_unlock(&lock);
	if (found || !word_alloc(client->link, &w->word, &w->value))
		return true;
	w->word = 0;
	return false;
}

void word_pool_give(struct wire_tell w)
{
	struct pending_word *n;

	if (!w.word)
		return;
	if (word_reached(client->link, w.word, w.value)) {
		word_free(client->link, w.word);
		return;
	}
	pthread_mutex_lock(&lock);
	n = spare_nodes;
	if (n)
		spare_nodes = n->next;
	else
		n = malloc(
			sizeof *n); /* without memory the word is lost: better than a wrong value for its next owner */
	if (n) {
		*n = (struct pending_word){pending, w};
		pending = n;
	}
	pthread_mutex_unlock(&lock);
}
