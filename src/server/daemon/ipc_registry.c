/* Publishes and opens what workers share by IPC handles. */
#include "server/daemon/ipc_registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "server/daemon/worker_pool.h"

struct ipc_entry {
	struct map_node node; /* key: the first half of the secret */
	struct ipc_entry *next;
	struct worker *owner;
	struct handoff_ipc what;
};

static struct ipc_entry *entry_find(const struct ipc_registry *r, const struct handoff_ipc *a)
{
	struct ipc_entry *e = (struct ipc_entry *)map_find(&r->entries, a->secret[0]);

	return e && !((e->what.secret[0] ^ a->secret[0]) | (e->what.secret[1] ^ a->secret[1])) ? e : NULL;
}

/* A worker has one store: the first one counts. */
static int entry_publish(
	struct ipc_registry *r, struct worker *w, const struct handoff_ipc *a, struct handoff_message *m)
{
	struct ipc_entry *e;

	if (w->ipc.count >= IPC_ENTRIES_MAX)
		return -ENOSPC;
	if (map_find(&r->entries, a->secret[0]))
		return -EEXIST;
	e = calloc(1, sizeof *e);
	if (!e)
		return -ENOMEM;
	if (w->ipc.store < 0) {
		w->ipc.store = m->fds[0];
		m->fds[0] = -1;
	}
	e->node.key = a->secret[0];
	e->owner = w;
	e->what = *a;
	e->next = w->ipc.entries;
	w->ipc.entries = e;
	w->ipc.count++;
	map_insert(&r->entries, &e->node);
	return 0;
}

static int entry_revoke(struct ipc_registry *r, struct worker *w, const struct handoff_ipc *a)
{
	struct ipc_entry **p = &w->ipc.entries, *e = entry_find(r, a);

	if (!e || e->owner != w)
		return -ENOENT;
	while (*p != e)
		p = &(*p)->next;
	*p = e->next;
	w->ipc.count--;
	map_remove(&r->entries, &e->node);
	free(e);
	return 0;
}

/* Does not tell an unknown secret from that of another identity. */
static int entry_open(
	const struct ipc_registry *r, const struct worker *w, struct handoff_ipc *a, struct handoff_message *m)
{
	const struct ipc_entry *e = entry_find(r, a);

	if (!e || !w->who || e->owner->who != w->who || e->what.kind != a->kind)
		return -ENOENT;
	if (e->owner == w)
		return -EDEADLK;
	*a = e->what;
	m->fds[0] = e->owner->ipc.store;
	m->nfds = 1;
	return 0;
}

static int worker_alive(const struct worker_pool *p, const struct worker *w, uint64_t pid)
{
	const struct worker *o = p->workers;

	while (o && ((uint64_t)o->pid != pid || o->ended || o->fd < 0))
		o = o->next;
	return o && w->who && o->who == w->who ? 0 : -ENOENT;
}

bool ipc_registry_serve(struct worker_pool *p, struct worker *w, struct handoff_message *m)
{
	struct ipc_registry *r = &p->ipc;
	struct handoff_message answer = {.size = sizeof(struct handoff_ipc)};
	struct handoff_ipc a;

	if (m->size != sizeof a || !m->id || m->nfds != (m->type == HANDOFF_IPC_PUBLISH))
		return false;
	memcpy(&a, m->body, sizeof a);
	if (m->type == HANDOFF_IPC_PUBLISH)
		a.result = entry_publish(r, w, &a, m);
	else if (m->type == HANDOFF_IPC_REVOKE)
		a.result = entry_revoke(r, w, &a);
	else if (m->type == HANDOFF_IPC_OPEN)
		a.result = entry_open(r, w, &a, &answer);
	else
		a.result = worker_alive(p, w, a.offset);
	if (!answer.nfds)
		a.offset = a.size = 0;
	memcpy(answer.body, &a, sizeof a);
	return !handoff_answer(w->fd, m, &answer);
}

void ipc_registry_forget(struct ipc_registry *r, struct ipc_worker *w)
{
	struct ipc_entry *e;

	while ((e = w->entries)) {
		w->entries = e->next;
		map_remove(&r->entries, &e->node);
		free(e);
	}
	w->count = 0;
	if (w->store >= 0)
		close(w->store);
	w->store = -1;
}
