/* User objects: resources of the application that live as long as the graphs that reference them. */
#include "backend/soft/graph/graph.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static void user_object_release(void *object)
{
	free(object);
}

/* Drops count references; the last one calls the destructor. */
static void user_object_drop(struct user_object *u, unsigned count)
{
	if (atomic_fetch_sub(&u->count, count) != count)
		return;
	u->destroy(u->arg);
	object_close(u);
}

int user_objects_add(struct user_object_list *u, struct user_object *user, unsigned count)
{
	for (struct user_ref *r = u->first; r; r = r->next)
		if (r->user == user) {
			r->count += count;
			return 0;
		}
	struct user_ref *r = malloc(sizeof *r);
	if (!r)
		return -ENOMEM;
	object_ref(user);
	*r = (struct user_ref){u->first, user, count};
	u->first = r;
	return 0;
}

int user_objects_copy(struct user_object_list *to, const struct user_object_list *from)
{
	for (const struct user_ref *r = from->first; r; r = r->next) {
		if (user_objects_add(to, r->user, r->count))
			return -ENOMEM;
		atomic_fetch_add(&r->user->count, r->count);
	}
	return 0;
}

void user_objects_move(struct user_object_list *to, struct user_object_list *from)
{
	struct user_ref **end = &to->first;

	while (*end)
		end = &(*end)->next;
	*end = from->first;
	from->first = NULL;
}

void user_objects_finish(struct user_object_list *u)
{
	while (u->first) {
		struct user_ref *r = u->first;

		u->first = r->next;
		user_object_drop(r->user, r->count);
		object_put(r->user);
		free(r);
	}
}

/* ---- entry points ---- */

CUresult soft_cuUserObjectCreate(CUuserObject *out, void *arg, CUhostFn destroy, unsigned int count, unsigned int flags)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || !destroy || !count || count > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	struct user_object *u = calloc(1, sizeof *u);
	if (!u)
		return CUDA_ERROR_OUT_OF_MEMORY;
	u->count = count;
	u->destroy = destroy;
	u->arg = arg;
	if (object_init(&u->object, KIND_USER_OBJECT, NULL, user_object_release)) {
		free(u);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = object_handle(CUuserObject, u);
	return CUDA_SUCCESS;
}

static CUresult user_object_enter(CUuserObject handle, unsigned count, struct user_object **u)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!count || count > INT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*u = object_find(handle, KIND_USER_OBJECT);
	return *u ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuUserObjectRetain(CUuserObject handle, unsigned int count)
{
	struct user_object *u;
	CUresult r = user_object_enter(handle, count, &u);

	if (r)
		return r;
	atomic_fetch_add(&u->count, count);
	object_put(u);
	return CUDA_SUCCESS;
}

CUresult soft_cuUserObjectRelease(CUuserObject handle, unsigned int count)
{
	struct user_object *u;
	CUresult r = user_object_enter(handle, count, &u);

	if (r)
		return r;
	if (atomic_load(&u->count) < count)
		r = CUDA_ERROR_INVALID_VALUE;
	else
		user_object_drop(u, count);
	object_put(u);
	return r;
}

CUresult soft_cuGraphRetainUserObject(CUgraph graph, CUuserObject handle, unsigned int count, unsigned int flags)
{
	struct user_object *u;
	CUresult r =
		flags & ~CU_GRAPH_USER_OBJECT_MOVE ? CUDA_ERROR_INVALID_VALUE : user_object_enter(handle, count, &u);

	if (r)
		return r;
	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(graph);
	if (!g || (flags & CU_GRAPH_USER_OBJECT_MOVE && atomic_load(&u->count) < count))
		r = CUDA_ERROR_INVALID_VALUE;
	else if (user_objects_add(&g->users, u, count))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	else if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
		atomic_fetch_add(&u->count, count);
	pthread_mutex_unlock(&graph_lock);
	object_put(u);
	return r;
}

/* Moves count references from one list to another; false: fewer are there. */
static bool user_objects_take(
	struct user_object_list *from, struct user_object *u, unsigned count, struct user_object_list *to)
{
	for (struct user_ref **p = &from->first; *p; p = &(*p)->next) {
		struct user_ref *r = *p;

		if (r->user != u || r->count < count)
			continue;
		if (r->count > count) {
			if (user_objects_add(to, u, count))
				return false;
			r->count -= count;
			return true;
		}
		*p = r->next;
		r->next = to->first;
		to->first = r;
		return true;
	}
	return false;
}

CUresult soft_cuGraphReleaseUserObject(CUgraph graph, CUuserObject handle, unsigned int count)
{
	struct user_object_list dead = {NULL};
	struct user_object *u;
	CUresult r = user_object_enter(handle, count, &u);

	if (r)
		return r;
	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(graph);
	if (!g || !user_objects_take(&g->users, u, count, &dead))
		r = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&graph_lock);
	user_objects_finish(&dead);
	object_put(u);
	return r;
}
