/* Functions and kernels: what is known of them without asking. */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/session/fetch.h"
#include "backend/remote/session/records.h"
#include "util/handle.h"

_Atomic(uint32_t) code_epoch;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* making records, owners' lists, twins */
static struct recycle_pool recycled = {PTHREAD_MUTEX_INITIALIZER};

/* What is left of the one it was before. */
static void clear(struct function *f)
{
	struct answer *answers = atomic_exchange(&f->answers, NULL);

	free(atomic_exchange(&f->info, NULL));
	free(atomic_exchange(&f->name, NULL));
	free(atomic_exchange(&f->old, NULL));
	answers_free(answers);
	f->owner = 0;
	f->silent = false;
	f->next = NULL;
	f->gone = false;
}

static struct function *make(uint64_t id)
{
	struct function *f = recycle_take(&recycled);

	if (f)
		clear(f);
	else
		f = calloc(1, sizeof *f);
	if (!f)
		return NULL;
	f->id = id;
	f->kernel = handle_kind(id) == HANDLE_CUkernel;
	if (!record_add(id, f->kernel ? HANDLE_CUkernel : HANDLE_CUfunction, f))
		return f;
	recycle_put(&recycled, &f->recycled);
	return NULL;
}

static bool may_be(uint64_t id)
{
	return handle_kind(id) == HANDLE_CUfunction || handle_kind(id) == HANDLE_CUkernel;
}

static struct function *find(uint64_t id)
{
	return record_find(id, handle_kind(id) == HANDLE_CUkernel ? HANDLE_CUkernel : HANDLE_CUfunction);
}

struct function *function_record(uint64_t id)
{
	struct function *f = find(id);

	if (f || !may_be(id))
		return f;
	pthread_mutex_lock(&lock);
	f = find(id);
	if (!f)
		f = make(id);
	pthread_mutex_unlock(&lock);
	return f;
}

CUresult function_named(uint64_t id, const char *name, uint64_t owner, bool silent, struct function **list)
{
	struct function *f = function_record(id);
	char *copy = name ? strdup(name) : NULL, *none = NULL;

	if (!f || (name && !copy)) {
		free(copy);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (copy && !atomic_compare_exchange_strong(&f->name, &none, copy))
		free(copy);
	pthread_mutex_lock(&lock);
	if (!f->owner) {
		f->owner = owner;
		f->silent = silent;
		f->next = *list;
		*list = f;
	}
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

void function_lives(uint64_t id, struct context *home, uint32_t ended)
{
	struct function *f = function_record(id);

	pthread_mutex_lock(&lock);
	if (f && !f->kernel && !f->home) {
		f->home_ended = ended;
		f->home = home;
	}
	pthread_mutex_unlock(&lock);
}

/* ---- twins: a kernel and its functions, one a context ---- */

/* Lock held, for all of these. */
static void join(struct function *kernel, struct function *f, uint64_t context)
{
	if (!f->twin) {
		f->twin = kernel;
		f->silent = kernel->silent;
		f->next_twin = kernel->twins;
		kernel->twins = f;
	}
	kernel->twin = f;
	kernel->twin_context = context;
	kernel->twin_epoch = code_epoch;
}

static void part(struct function *f)
{
	struct function *kernel = f->twin, **p;

	if (!kernel)
		return;
	for (p = &kernel->twins; *p && *p != f; p = &(*p)->next_twin)
		;
	if (*p)
		*p = f->next_twin;
	if (kernel->twin == f)
		kernel->twin = NULL;
	f->twin = NULL;
}

static void drop(struct function *f)
{
	if (!record_remove(f->id))
		return;
	f->gone = true;
	recycle_put(&recycled, &f->recycled);
}

static void drop_twins(struct function *kernel)
{
	struct function *f;

	while ((f = kernel->twins)) {
		part(f);
		if (!f->owner) /* else it goes with its owner */
			drop(f);
	}
}

void functions_drop(struct function **list)
{
	struct function *f;

	pthread_mutex_lock(&lock);
	while ((f = *list)) {
		*list = f->next;
		if (f->kernel)
			drop_twins(f);
		else
			part(f);
		drop(f);
	}
	pthread_mutex_unlock(&lock);
}

/*
 * Parameters follow one another and end where the buffer does, into which they are packed.  How many the kernel really
 * has only the server knows: we read from the application's memory as much as it says (doc/remote.md).
 */
static bool layout_ok(const struct wire_function *h, const struct wire_param *p, size_t size)
{
	uint32_t end = 0;

	if (h->params > WIRE_PARAMS || h->bytes > 65536 || size != wire_pad(h->params * sizeof *p))
		return false;
	for (unsigned i = 0; i < h->params; i++) {
		if (p[i].offset < end)
			return false;
		end = (uint32_t)p[i].offset + p[i].size;
	}
	return end == h->bytes;
}

static CUresult ask_info(struct function *f)
{
	struct wire_function head;
	struct info *i = NULL, *none = NULL;
	struct context *c = context_current();
	uint8_t *rest;
	size_t size;
	CUresult r = call_fetch(WIRE_FUNCTION, &f->id, sizeof f->id, NULL, 0, &head, sizeof head, &rest, &size);

	if (r)
		return r;
	if (!layout_ok(&head, (const struct wire_param *)rest, size))
		r = client_reject_reply();
	else if (!(i = malloc(sizeof *i + head.params * sizeof *i->param)))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (!r) {
		i->device = c ? c->device : 0;
		i->head = head;
		memcpy(i->param, rest, head.params * sizeof *i->param);
		if (!atomic_compare_exchange_strong(&f->info, &none, i))
			free(i);
	}
	free(rest);
	return r;
}

struct function *function_find(CUfunction handle, CUresult *why)
{
	struct function *f = find((uintptr_t)handle);

	if (__builtin_expect(f && f->info, 1))
		return f;
	f = function_record((uintptr_t)handle);
	*why = f ? ask_info(f) : CUDA_ERROR_INVALID_HANDLE;
	return *why ? NULL : f;
}

static CUresult param(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
	CUresult r;
	struct function *f = function_find(handle, &r);

	if (!f)
		return r;
	if (!offset || index >= f->info->head.params)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = f->info->param[index].offset;
	if (size)
		*size = f->info->param[index].size;
	return CUDA_SUCCESS;
}

CUresult remote_cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
	return param(handle, index, offset, size);
}

CUresult remote_cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
	return context_current() ? param((CUfunction)kernel, index, offset, size)
				 : call_cuKernelGetParamInfo(kernel, index, offset, size);
}

/* ---- attributes ---- */

static bool known(const struct info *i, CUfunction_attribute a)
{
	return i && (unsigned)a < WIRE_FUNC_ATTRS && i->head.known[a];
}

CUresult remote_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
	CUresult r;
	struct function *f = function_find(handle, &r);

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!f)
		return r;
	if (!known(f->info, attribute))
		return call_cuFuncGetAttribute(value, attribute, handle);
	*value = __atomic_load_n(&f->info->head.attribute[attribute], __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

CUresult remote_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice dev)
{
	struct context *c = context_current();
	CUresult r;
	struct function *f = c && c->device == dev ? function_find((CUfunction)kernel, &r) : NULL;

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!f || f->info->device != dev || !known(f->info, attribute))
		return call_cuKernelGetAttribute(value, attribute, kernel, dev);
	*value = __atomic_load_n(&f->info->head.attribute[attribute], __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

/* One attribute may change others, so what we know is asked again; answers from before are void. */
static void changed(struct function *f)
{
	struct info *i = f->info;

	atomic_fetch_add(&f->generation, 1);
	for (int a = 0; i && a < WIRE_FUNC_ATTRS; a++) {
		int v;
		if (a < CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || !i->head.known[a])
			continue;
		if (!(f->kernel ? call_cuKernelGetAttribute(&v, a, (CUkernel)(uintptr_t)f->id, i->device)
				: call_cuFuncGetAttribute(&v, a, (CUfunction)(uintptr_t)f->id)))
			__atomic_store_n(&i->head.attribute[a], v, __ATOMIC_RELAXED);
	}
}

static void changed_both(uint64_t id)
{
	struct function *f = find(id), *twin = f ? f->twin : NULL;

	if (!f || !context_current())
		return;
	changed(f);
	if (twin)
		changed(twin);
}

CUresult remote_cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
	CUresult r = call_cuFuncSetAttribute(handle, attribute, value);

	if (!r)
		changed_both((uintptr_t)handle);
	return r;
}

CUresult remote_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice dev)
{
	CUresult r = call_cuKernelSetAttribute(attribute, value, kernel, dev);

	if (!r)
		changed_both((uintptr_t)kernel);
	return r;
}

/* A preference changes how many blocks fit, and nothing else that can be asked. */
CUresult remote_cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
	struct function *f = find((uintptr_t)handle);
	CUresult r = call_cuFuncSetCacheConfig(handle, config);

	if (f)
		atomic_fetch_add(&f->generation, 1);
	return r;
}

/* ---- a kernel's function, names ---- */

CUresult remote_cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	struct function *f = function_record((uintptr_t)kernel), *twin;
	struct context *c = context_current();
	CUresult r;

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	if (!f || !f->kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!c)
		return context_none();
	twin = f->twin;
	if (twin && f->twin_context == c->id && f->twin_epoch == code_epoch && !twin->gone) {
		*function = (CUfunction)(uintptr_t)twin->id;
		return CUDA_SUCCESS;
	}
	r = call_cuKernelGetFunction(function, kernel);
	if (!r && handle_kind((uintptr_t)*function) != HANDLE_CUfunction)
		r = client_reject_reply();
	twin = r ? NULL : function_record((uintptr_t)*function);
	if (twin) {
		pthread_mutex_lock(&lock);
		join(f, twin, c->id);
		pthread_mutex_unlock(&lock);
	}
	return r;
}

static CUresult name_of(const char **name, uint64_t id)
{
	struct function *f = function_record(id);
	struct wire_name a = {.id = id, .kernel = handle_kind(id) == HANDLE_CUkernel};
	char *none = NULL, *fresh;
	CUresult r;

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!f->name) {
		fresh = calloc(1, WIRE_NAME + 1);
		if (!fresh)
			return CUDA_ERROR_OUT_OF_MEMORY;
		r = call_sync(WIRE_NAME_OF, &a, sizeof a, NULL, 0, &(struct wire_piece){fresh, WIRE_NAME}, 1);
		if (r || !atomic_compare_exchange_strong(&f->name, &none, fresh))
			free(fresh);
		if (r)
			return r;
	}
	*name = f->name;
	return CUDA_SUCCESS;
}

CUresult remote_cuFuncGetName(const char **name, CUfunction f)
{
	return name_of(name, (uintptr_t)f);
}

CUresult remote_cuKernelGetName(const char **name, CUkernel kernel)
{
	return name_of(name, (uintptr_t)kernel);
}
