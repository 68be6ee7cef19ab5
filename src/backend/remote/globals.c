/* Variables in device memory: asked once, and known to be device memory while their module is loaded. */
#include <stdlib.h>
#include "backend/remote/code.h"

struct global {
	struct global *next;
	CUdeviceptr address;
	size_t size;
	uint32_t epoch;
	char name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool lookup(struct global *g, const char *name, CUdeviceptr *address, size_t *size)
{
	while (g && (g->epoch != code_epoch || strcmp(g->name, name)))
		g = g->next;
	if (!g)
		return false;
	*address = g->address;
	*size = g->size;
	return true;
}

static void remember(struct global **list, const char *name, CUdeviceptr address, size_t size)
{
	struct global *g = malloc(sizeof *g + strlen(name) + 1);

	if (!g)
		return;
	*g = (struct global){*list, address, size, code_epoch};
	strcpy(g->name, name);
	*list = g;
	memory_note(address, size, RANGE_GLOBAL);
}

CUresult global_find(struct global **list, uint64_t owner, const char *name, CUdeviceptr *address, size_t *size,
	CUresult (*ask)(CUdeviceptr *address, size_t *size, uint64_t owner, const char *name))
{
	CUdeviceptr at = 0;
	size_t bytes = 0;
	CUresult r = CUDA_SUCCESS;

	if (!name || (!address && !size))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	if (!lookup(*list, name, &at, &bytes)) {
		r = ask(&at, &bytes, owner, name);
		if (!r)
			remember(list, name, at, bytes);
	}
	pthread_mutex_unlock(&lock);
	if (r)
		return r;
	if (address)
		*address = at;
	if (size)
		*size = bytes;
	return CUDA_SUCCESS;
}

void globals_drop(struct global **list)
{
	struct global *g;

	pthread_mutex_lock(&lock);
	while ((g = *list)) {
		*list = g->next;
		memory_drop(g->address, RANGE_GLOBAL);
		free(g);
	}
	pthread_mutex_unlock(&lock);
}
