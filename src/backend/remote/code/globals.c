/* Variables of modules and libraries: asked for once, and known as device memory while their owner is loaded. */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/code/state.h"
#include "backend/remote/memory/memory.h"
#include "backend/remote/hostmem/mirror.h"

struct global {
	struct global *next;
	CUdeviceptr address;
	size_t size;
	uint32_t resets; /* code_state.resets when it was found */
	bool managed;
	char name[];
};

static bool global_lookup(struct global *g, const char *name, CUdeviceptr *address, size_t *size)
{
	while (g && (g->resets != client->code->resets || strcmp(g->name, name)))
		g = g->next;
	if (!g)
		return false;
	*address = g->address;
	*size = g->size;
	return true;
}

static CUresult global_add(struct global **list, const char *name, CUdeviceptr address, size_t size, bool managed)
{
	struct global *g = malloc(sizeof *g + strlen(name) + 1);

	if (!g)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*g = (struct global){*list, address, size, client->code->resets, managed};
	strcpy(g->name, name);
	*list = g;
	return memory_note(address, size, RANGE_GLOBAL);
}

/* Mirrors the variable if it is managed.  *managed: it must be, and whether it is. */
static CUresult global_mirror_if_managed(CUdeviceptr address, size_t size, bool *managed)
{
	struct wire_pointer_ask a = {.address = address};
	struct wire_pointer all;
	CUresult r = call_sync(WIRE_POINTER, &a, sizeof a, NULL, 0, &(struct wire_piece){&all, sizeof all}, 1);

	if (r)
		return r;
	bool is_managed =
		!all.result[CU_POINTER_ATTRIBUTE_IS_MANAGED] && (all.value[CU_POINTER_ATTRIBUTE_IS_MANAGED] & 0xff);
	if (*managed && !is_managed)
		return client_reject_reply();
	*managed = is_managed;
	return is_managed ? mirror_variable(address, size) : CUDA_SUCCESS;
}

CUresult global_find(struct global **list, bool managed, uint64_t owner, const char *name, CUdeviceptr *address,
	size_t *size, CUresult (*ask)(CUdeviceptr *address, size_t *size, uint64_t owner, const char *name))
{
	CUdeviceptr at = 0;
	size_t bytes = 0;
	CUresult r = CUDA_SUCCESS;

	if (!name || (!address && !size))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&client->code->globals_lock);
	if (!global_lookup(*list, name, &at, &bytes)) {
		r = ask(&at, &bytes, owner, name);
		if (!r)
			r = global_mirror_if_managed(at, bytes, &managed);
		if (!r)
			r = global_add(list, name, at, bytes, managed);
	}
	pthread_mutex_unlock(&client->code->globals_lock);
	if (r)
		return r;
	if (address)
		*address = at;
	if (size)
		*size = bytes;
	return CUDA_SUCCESS;
}

CUresult global_note(CUresult r, const CUdeviceptr *address, const size_t *size)
{
	return r || !address || !size ? r : memory_note(*address, *size, RANGE_GLOBAL);
}

void globals_drop(struct global **list)
{
	struct global *g;

	pthread_mutex_lock(&client->code->globals_lock);
	while ((g = *list)) {
		*list = g->next;
		memory_drop(g->address, RANGE_GLOBAL);
		if (g->managed)
			mirror_variable_gone(g->address);
		free(g);
	}
	pthread_mutex_unlock(&client->code->globals_lock);
}

bool globals_renew(struct global **list, struct global *was, uint64_t owner,
	CUresult (*ask)(CUdeviceptr *address, size_t *size, uint64_t owner, const char *name))
{
	struct global *next;
	bool same = true;

	for (; was; was = next) {
		CUdeviceptr address = 0;
		size_t size = 0;
		next = was->next;
		same = same && !global_find(list, true, owner, was->name, &address, &size, ask) &&
		       address == was->address && size == was->size;
		free(was);
	}
	return same;
}
