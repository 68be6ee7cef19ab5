#include "server/nvml/nvml_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "backend/nvml/sensor.h"
#include "util/env_number.h"
#include "wire/nvml.h"

#define US        1000ull
#define MS        1000000ull
#define SLOW      (100 * US)   /* what is worth it */
#define TOO_SLOW  (15 * MS)    /* what cannot be had in time */
#define AGE       (30 * MS)    /* the oldest value that is given */
#define SLACK     (3 * MS)     /* clients that come early */
#define LONGEST   (70000 * MS) /* between two polls */
#define PATIENCE  4 /* times a value is read, each half as long after the last as it may be old, for one question */
#define QUESTIONS 32
#define BYTES     256 /* of a question, and of an answer */

struct question {
	struct frame frame;
	ahead_fn *make;
	size_t size, answer_size;
	int32_t value;
	bool again;                         /* asked more than once in a poll */
	unsigned reads;                     /* ahead of the next poll */
	uint64_t asked, period, read, took; /* read: before the vendor was asked; 0: not yet */
	uint8_t bytes[BYTES], answer[BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sooner; /* something is due before `wakes` */
static struct question questions[QUESTIONS];
static unsigned count;
static uint64_t wakes;
static bool running;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static bool may_be_ahead(const struct msg *m)
{
	size_t size = (size_t)(m->in_end - m->in);

	return size <= BYTES - sizeof(struct wire_request) && nvml_is_sensor(m->frame.op, m->in, size);
}

/* ---- one value ---- */

static struct question *find(const struct msg *m)
{
	size_t size = (size_t)(m->in_end - m->in), head = sizeof(struct wire_request);

	for (unsigned i = 0; i < count; i++)
		if (questions[i].frame.op == m->frame.op && questions[i].size == head + size &&
			!memcmp(questions[i].bytes + head, m->in, size))
			return &questions[i];
	return NULL;
}

static void keep(struct question *q, const struct msg *m, uint64_t read, uint64_t took)
{
	size_t size = m->out_used - sizeof(struct wire_reply);

	if (read < q->read) /* another asked later and was faster */
		return;
	if (m->broken || m->result || size > sizeof q->answer) {
		q->read = 0;
		return;
	}
	memcpy(q->answer, m->out + sizeof(struct wire_reply), size);
	q->answer_size = size;
	q->value = m->value;
	q->read = read;
	q->took = q->took ? (3 * q->took + took) / 4 : took;
}

static void give(const struct question *q, struct msg *m)
{
	memcpy(m->out + sizeof(struct wire_reply), q->answer, q->answer_size);
	m->out_used = sizeof(struct wire_reply) + q->answer_size;
	m->value = q->value;
}

/* ---- when: shortly before it is expected, all of them together; then a few times more, until it comes ---- */

static uint64_t due(const struct question *q)
{
	uint64_t all = SLACK, at;

	if (!q->read || q->took > TOO_SLOW || q->took < SLOW / 2)
		return UINT64_MAX;
	if (q->again)
		return q->read + AGE / 3;
	if (!q->period || q->period > LONGEST || q->reads >= PATIENCE)
		return UINT64_MAX;
	if (q->reads)
		return q->read + AGE / 2;
	for (unsigned i = 0; i < count; i++)
		all += questions[i].took < TOO_SLOW ? questions[i].took : 0;
	at = q->asked + q->period > all ? q->asked + q->period - all : 0;
	return at > q->read + AGE / 3 ? at : q->read + AGE / 3;
}

static struct question *next_due(void)
{
	struct question *first = NULL;

	for (unsigned i = 0; i < count; i++)
		if (due(&questions[i]) != UINT64_MAX && (!first || due(&questions[i]) < due(first)))
			first = &questions[i];
	return first;
}

/* Without the lock while the vendor is asked: a question does not move, and nobody else reads its bytes anew. */
static void read_now(struct question *q)
{
	static struct msg m;
	uint64_t start = now();

	q->reads += !q->again;
	q->again = false;
	if (!msg_init(&m, NULL, &q->frame))
		return;
	pthread_mutex_unlock(&lock);
	q->make(&m);
	pthread_mutex_lock(&lock);
	keep(q, &m, start, now() - start);
	free(m.heap_in);
}

static void *reads(void *nothing)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		struct question *q = next_due();
		wakes = q ? due(q) : UINT64_MAX;
		if (!q) {
			pthread_cond_wait(&sooner, &lock);
		} else if (wakes <= now()) {
			read_now(q);
		} else {
			struct timespec t = {
				.tv_sec = (time_t)(wakes / (1000 * MS)), .tv_nsec = (long)(wakes % (1000 * MS))};
			pthread_cond_timedwait(&sooner, &lock, &t);
		}
	}
	return nothing;
}

static bool start(void)
{
	pthread_condattr_t by_clock;
	pthread_t thread;

	if (running)
		return true;
	pthread_condattr_init(&by_clock);
	pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
	pthread_cond_init(&sooner, &by_clock);
	pthread_condattr_destroy(&by_clock);
	running = !pthread_create(&thread, NULL, reads, NULL);
	if (running)
		pthread_detach(thread);
	return running;
}

/* ---- a question of the client's ---- */

static void note(struct question *q, uint64_t at)
{
	q->again = q->asked && at - q->asked < AGE;
	if (q->asked && !q->again)
		q->period = at - q->asked;
	q->asked = at;
	q->reads = 0;
	if (due(q) < wakes)
		pthread_cond_signal(&sooner);
}

static struct question *remember(const struct msg *m, const uint8_t *in, ahead_fn *make)
{
	struct question *q = &questions[count];

	if (count == QUESTIONS || !setting_number(SETTING_AHEAD, 1, 1) || !start())
		return NULL;
	*q = (struct question){.make = make, .size = (size_t)(m->in_end - in) + sizeof(struct wire_request)};
	memcpy(q->bytes + sizeof(struct wire_request), in, q->size - sizeof(struct wire_request));
	q->frame = (struct frame){.op = m->frame.op, .payload = q->bytes, .size = (uint32_t)q->size};
	count++;
	return q;
}

void nvml_ahead(struct msg *m, ahead_fn *make)
{
	const uint8_t *in = m->in;
	uint64_t at = now();

	if (!may_be_ahead(m)) {
		make(m);
		return;
	}
	pthread_mutex_lock(&lock);
	struct question *q = find(m);
	bool fresh = q && q->read && at - q->read <= AGE;
	if (fresh)
		give(q, m);
	if (fresh)
		note(q, at);
	pthread_mutex_unlock(&lock);
	if (fresh)
		return;
	make(m);
	uint64_t took = now() - at;
	pthread_mutex_lock(&lock);
	if (!q && took >= SLOW && !m->broken)
		q = remember(m, in, make);
	if (q) {
		keep(q, m, at, took);
		note(q, at);
	}
	pthread_mutex_unlock(&lock);
}
