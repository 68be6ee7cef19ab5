/* Reports failures of posted calls to the client: one counting word for each context. */
#include "server/session/async_errors.h"

#include <stdlib.h>
#include "server/session/message.h"

struct context_errors {
	struct map_node node; /* key: the context */
	uint64_t life;
	uint32_t word, failures;
};

/* Lock held.  NULL: the client has not named a word for this context. */
static struct context_errors *context_errors_find(struct async_errors *e, CUcontext context)
{
	return context ? (struct context_errors *)map_find(&e->contexts, (uintptr_t)context) : NULL;
}

uint64_t async_error_life(struct session *s, CUcontext context)
{
	struct context_errors *c;
	uint64_t life;

	pthread_mutex_lock(&s->errors.lock);
	c = context_errors_find(&s->errors, context);
	life = c ? c->life : 0;
	pthread_mutex_unlock(&s->errors.lock);
	return life;
}

/* Lock held. */
static void failure_post(struct session *s, struct context_errors *c, CUresult r)
{
	if (c && c->word != WIRE_ERROR_WORD)
		word_set(s->link, c->word, WIRE_ERROR_COUNT(++c->failures, r), NULL, 0);
	else
		word_set(s->link, WIRE_ERROR_WORD, WIRE_ERROR_COUNT(++s->errors.orphans, r), NULL, 0);
}

void async_error_report_in(struct session *s, CUcontext context, uint64_t life, CUresult r)
{
	struct context_errors *c;

	pthread_mutex_lock(&s->errors.lock);
	c = context_errors_find(&s->errors, context);
	if (!context || (c && c->life == life))
		failure_post(s, c, r);
	pthread_mutex_unlock(&s->errors.lock);
}

void async_error_report(struct session *s, CUcontext context, CUresult r)
{
	async_error_report_in(s, context, async_error_life(s, context), r);
}

/* The reply tells the client that every call before it has been made, and has reported its failure if it had one. */
void serve_flush(const struct cuda_ops *ops, struct msg *m)
{
	(void)ops;
	m->result = CUDA_SUCCESS;
}

/* Lock held. */
static void context_errors_begin(struct session *s, CUcontext context, uint32_t word)
{
	struct context_errors *c = context_errors_find(&s->errors, context);

	if (!c && (c = calloc(1, sizeof *c))) {
		c->node.key = (uintptr_t)context;
		map_insert(&s->errors.contexts, &c->node);
	}
	if (!c) {
		failure_post(s, NULL, CUDA_ERROR_OUT_OF_MEMORY);
		return;
	}
	c->life = ++s->errors.lives;
	c->word = word;
	c->failures = __atomic_load_n(word_address(s->link, word), __ATOMIC_RELAXED) >> 16;
}

/* Lock held. */
static void context_errors_end(struct session *s, CUcontext context)
{
	struct context_errors *c = context_errors_find(&s->errors, context);

	if (c)
		map_remove(&s->errors.contexts, &c->node);
	free(c);
}

void serve_context(const struct cuda_ops *ops, struct msg *m)
{
	struct session *s = m->session;
	struct wire_context a;
	CUcontext context;

	(void)ops;
	msg_args(m, &a, sizeof a);
	m->error = CUDA_SUCCESS;
	context = msg_handle(m, HANDLE_CUcontext, a.context);
	if (!context || (a.word != WIRE_ERROR_WORD && !signal_word_valid(s, a.word)))
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (msg_bad(m))
		return;
	pthread_mutex_lock(&s->errors.lock);
	if (a.ended) {
		context_errors_end(s, context);
		handles_end(s->handles, HANDLE_CUstream, context);
	} else {
		context_errors_begin(s, context, a.word);
	}
	pthread_mutex_unlock(&s->errors.lock);
}
