/*
 * Failures of calls that nobody waits for: counted in a word of the context in which they were made, so that the
 * client tells them to those who use that context.  Those of a context that has ended are told to nobody: not to
 * another context, nor to the same primary one after it was reset.  Without a context: WIRE_LATE_WORD.
 */
#include <pthread.h>
#include <stdlib.h>
#include "server/session/message.h"

struct late {
	struct map_node node; /* key: the context */
	uint64_t life;
	uint32_t word, failures;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the dispatcher and those who wait for the device */
static struct map lates;
static uint64_t lives;
static uint32_t elsewhere;

static struct late *find(CUcontext context)
{
	return (struct late *)map_find(&lates, (uintptr_t)context);
}

uint64_t session_life(CUcontext context)
{
	struct late *l;
	uint64_t life;

	pthread_mutex_lock(&lock);
	l = context ? find(context) : NULL;
	life = l ? l->life : 0;
	pthread_mutex_unlock(&lock);
	return life;
}

/* Lock held. */
static void tell(struct session *s, struct late *l, CUresult r)
{
	if (l && l->word != WIRE_LATE_WORD)
		word_set(s->link, l->word, WIRE_LATE(++l->failures, r), NULL, 0);
	else
		word_set(s->link, WIRE_LATE_WORD, WIRE_LATE(++elsewhere, r), NULL, 0);
}

void session_late_in(struct session *s, CUcontext context, uint64_t life, CUresult r)
{
	struct late *l;

	pthread_mutex_lock(&lock);
	l = context ? find(context) : NULL;
	if (!context || (l && l->life == life))
		tell(s, l, r);
	pthread_mutex_unlock(&lock);
}

void session_late(struct session *s, CUcontext context, CUresult r)
{
	session_late_in(s, context, session_life(context), r);
}

/* What came before it has been made, and has failed or not. */
void serve_flush(const struct cuda_ops *ops, struct msg *m)
{
	(void)ops;
	m->result = CUDA_SUCCESS;
}

/* Lock held. */
static void begin(struct session *s, CUcontext context, uint32_t word)
{
	struct late *l = find(context);

	if (!l && (l = calloc(1, sizeof *l))) {
		l->node.key = (uintptr_t)context;
		map_insert(&lates, &l->node);
	}
	if (!l) {
		tell(s, NULL, CUDA_ERROR_OUT_OF_MEMORY);
		return;
	}
	l->life = ++lives;
	l->word = word;
	l->failures = __atomic_load_n(word_address(s->link, word), __ATOMIC_RELAXED) >> 16;
}

/* Lock held. */
static void end(CUcontext context)
{
	struct late *l = find(context);

	if (l)
		map_remove(&lates, &l->node);
	free(l);
}

void serve_context(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_context a;
	CUcontext context;

	(void)ops;
	msg_args(m, &a, sizeof a);
	m->error = CUDA_SUCCESS;
	context = msg_handle(m, HANDLE_CUcontext, a.context);
	if (!context || (a.word != WIRE_LATE_WORD && !session_has_word(m->session, a.word)))
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (msg_bad(m))
		return;
	pthread_mutex_lock(&lock);
	if (a.ended) {
		end(context);
		handles_end(m->session->handles, HANDLE_CUstream, context);
	} else {
		begin(m->session, context, a.word);
	}
	pthread_mutex_unlock(&lock);
}
