/*
 * Words that streams and events have done with.  One that the server is still to set cannot be given to
 * anybody else before it has: it would tell them what is not so.
 */
#include <stdlib.h>
#include "backend/remote/wait/wait.h"

struct left {
	struct left *next;
	struct wire_tell word;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct left *leaving, *spare; /* spare: nodes without a word */

/* The first one that has come to its last value.  Lock held. */
static bool reuse(struct wire_tell *w)
{
	for (struct left **p = &leaving, *l; (l = *p); p = &l->next)
		if (word_reached(call_link(), l->word.word, l->word.value)) {
			*p = l->next;
			*w = l->word;
			l->next = spare;
			spare = l;
			return true;
		}
	return false;
}

bool word_pool_take(struct wire_tell *w)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = reuse(w);
	pthread_mutex_unlock(&lock);
	if (found || !word_alloc(call_link(), &w->word, &w->value))
		return true;
	w->word = 0;
	return false;
}

void word_pool_give(struct wire_tell w)
{
	struct left *l;

	if (!w.word)
		return;
	if (word_reached(call_link(), w.word, w.value)) {
		word_free(call_link(), w.word);
		return;
	}
	pthread_mutex_lock(&lock);
	l = spare;
	if (l)
		spare = l->next;
	else
		l = malloc(sizeof *l); /* without memory the word is lost, which is better than told wrong */
	if (l) {
		*l = (struct left){leaving, w};
		leaving = l;
	}
	pthread_mutex_unlock(&lock);
}
