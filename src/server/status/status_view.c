/* Chooses the clients that a viewer sees, and adds up the others. */
#include "server/status/status_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

bool worker_serves(const struct worker *w)
{
	return w->state == WORKER_BUSY && w->stats && atomic_load(&w->stats->connected);
}

unsigned stats_device_count(const struct stats *s)
{
	uint32_t n = atomic_load(&s->ndevices);

	return n < STATS_DEVICES ? n : STATS_DEVICES;
}

static void times_add(struct stats_times *to, const struct stats_times *from)
{
	for (unsigned i = 0; i <= STATS_BUCKETS; i++)
		stats_add(&to->bucket[i], stats_read(&from->bucket[i]));
	stats_add(&to->sum_ns, stats_read(&from->sum_ns));
}

static void device_add(struct stats_device *to, const struct stats_device *from)
{
	stats_add(&to->calls, stats_read(&from->calls));
	stats_add(&to->answers, stats_read(&from->answers));
	stats_add(&to->launches, stats_read(&from->launches));
	stats_add(&to->errors, stats_read(&from->errors));
	stats_add(&to->up, stats_read(&from->up));
	stats_add(&to->down, stats_read(&from->down));
	stats_add(&to->memory, stats_read(&from->memory));
	stats_add(&to->peak, stats_read(&from->peak));
	times_add(&to->wait, &from->wait);
	times_add(&to->run, &from->run);
}

static void others_add(struct stats *sum, const struct stats *s)
{
	unsigned n = stats_device_count(s);

	stats_add(&sum->host_memory, stats_read(&s->host_memory));
	stats_add(&sum->host_peak, stats_read(&s->host_peak));
	stats_add(&sum->objects, stats_read(&s->objects));
	if (n > atomic_load(&sum->ndevices))
		atomic_store(&sum->ndevices, n);
	for (unsigned i = 0; i < n; i++)
		device_add(&sum->device[i], &s->device[i]);
}

static struct stats *others_create(void)
{
	struct stats *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->client.uid = -1;
	s->client.local = true;
	s->client.since = (uint64_t)time(NULL);
	snprintf(s->client.program, sizeof s->client.program, STATUS_OTHERS);
	atomic_store(&s->connected, true);
	return s;
}

struct status_view *status_view_create(const struct worker_pool *pool, const struct peer *viewer)
{
	struct status_view *v = calloc(1, sizeof *v);
	struct stats *others = others_create();
	unsigned n = 0, hidden = 0;

	if (v)
		v->workers = calloc(pool->busy + 2, sizeof *v->workers);
	if (!v || !others || !v->workers) {
		free(others);
		status_view_destroy(v);
		return NULL;
	}
	v->pool = pool;
	v->others = (struct worker){.state = WORKER_BUSY, .stats = others};
	for (const struct worker *w = pool->workers; w; w = w->next) {
		if (!worker_serves(w))
			continue;
		if (!viewer || peer_sees(viewer, w->who, w->client_pid))
			v->workers[n++] = w;
		else
			others_add(others, w->stats), hidden++;
	}
	if (hidden)
		v->workers[n++] = &v->others;
	return v;
}

void status_view_destroy(struct status_view *v)
{
	if (!v)
		return;
	free((void *)v->others.stats);
	free(v->workers);
	free(v);
}
