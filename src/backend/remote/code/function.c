/* Records of functions and kernels: parameters, attributes and names, each asked for once. */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/code/state.h"
#include "backend/remote/session/fetch.h"
#include "backend/remote/session/records.h"
#include "util/handle.h"

void code_note_reset(void)
{
	client->code->resets++;
}

/* Frees what a recycled record has left of its former function. */
static void function_clear(struct function *f)
{
	struct occupancy_answer *answers = atomic_exchange(&f->answers, NULL);

	free(atomic_exchange(&f->info, NULL));
	free(atomic_exchange(&f->name, NULL));
	free(atomic_exchange(&f->legacy, NULL));
	occupancy_answers_free(answers);
	f->owner = 0;
	f->silent = false;
	f->next = NULL;
	f->gone = false;
}

void function_finish(void *function)
{
	function_clear(function);
}

static struct function *function_create(uint64_t id)
{
	struct function *f = recycle_take(&client->code->functions);

	if (f)
		function_clear(f);
	else
		f = recycle_create(&client->code->functions, sizeof *f);
	if (!f)
		return NULL;
	f->id = id;
	f->kernel = handle_kind(id) == HANDLE_CUkernel;
	if (!record_add(id, f->kernel ? HANDLE_CUkernel : HANDLE_CUfunction, f))
		return f;
	recycle_put(&client->code->functions, &f->recycled);
	return NULL;
}

/* The record of a kernel whose handle is a former client's. */
CUresult function_carry(uint64_t id)
{
	struct function *f = recycle_create(&client->code->functions, sizeof *f);

	if (!f)
		return CUDA_ERROR_OUT_OF_MEMORY;
	f->id = id;
	f->kernel = true;
	return record_carry(id, f);
}

static bool handle_may_be_function(uint64_t id)
{
	return handle_kind(id) == HANDLE_CUfunction || handle_kind(id) == HANDLE_CUkernel;
}

static struct function *function_lookup(uint64_t id)
{
	return record_find(id, handle_kind(id) == HANDLE_CUkernel ? HANDLE_CUkernel : HANDLE_CUfunction);
}

struct function *function_find_or_create(uint64_t id)
{
	struct function *f = function_lookup(id);

	if (f || !handle_may_be_function(id))
		return f;
	pthread_mutex_lock(&client->code->function_lock);
	f = function_lookup(id);
	if (!f)
		f = function_create(id);
	pthread_mutex_unlock(&client->code->function_lock);
	return f;
}

CUresult function_note_name(uint64_t id, const char *name, uint64_t owner, bool silent, struct function **list)
{
	struct function *f = function_find_or_create(id);
	char *copy = name ? strdup(name) : NULL, *none = NULL;

	if (!f || (name && !copy)) {
		free(copy);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (copy && !atomic_compare_exchange_strong(&f->name, &none, copy))
		free(copy);
	pthread_mutex_lock(&client->code->function_lock);
	if (!f->owner && !client->code->carried) {
		f->owner = owner;
		f->silent = silent;
		f->next = *list;
		*list = f;
	}
	pthread_mutex_unlock(&client->code->function_lock);
	return CUDA_SUCCESS;
}

void function_set_home(uint64_t id, struct context *home, uint32_t ended)
{
	struct function *f = function_find_or_create(id);

	pthread_mutex_lock(&client->code->function_lock);
	if (f && !f->kernel && !f->home) {
		f->home_ended = ended;
		f->home = home;
	}
	pthread_mutex_unlock(&client->code->function_lock);
}

/* ---- a kernel and its functions, one for each context; function_lock held ---- */

static void kernel_add_function(struct function *kernel, struct function *f, uint64_t context)
{
	if (!f->counterpart) {
		f->counterpart = kernel;
		f->silent = kernel->silent;
		f->next_function = kernel->functions;
		kernel->functions = f;
	}
	kernel->counterpart = f;
	kernel->counterpart_context = context;
	kernel->counterpart_resets = client->code->resets;
}

static void kernel_remove_function(struct function *f)
{
	struct function *kernel = f->counterpart, **p;

	if (!kernel)
		return;
	for (p = &kernel->functions; *p && *p != f; p = &(*p)->next_function)
		;
	if (*p)
		*p = f->next_function;
	if (kernel->counterpart == f)
		kernel->counterpart = NULL;
	f->counterpart = NULL;
}

static void function_drop(struct function *f)
{
	if (!record_remove(f->id))
		return;
	f->gone = true;
	recycle_put(&client->code->functions, &f->recycled);
}

static void kernel_drop_functions(struct function *kernel)
{
	struct function *f;

	while ((f = kernel->functions)) {
		kernel_remove_function(f);
		if (!f->owner) /* else the owner drops it */
			function_drop(f);
	}
}

void functions_drop(struct function **list)
{
	struct function *f;

	pthread_mutex_lock(&client->code->function_lock);
	while ((f = *list)) {
		*list = f->next;
		if (f->kernel)
			kernel_drop_functions(f);
		else
			kernel_remove_function(f);
		function_drop(f);
	}
	pthread_mutex_unlock(&client->code->function_lock);
}

/*
 * Parameters must be in order, without overlap, and end where their buffer ends.  Only the server knows how many the
 * kernel really has: the client reads as much of the application's memory as the server says (SECURITY.md).
 */
static bool params_layout_valid(const struct wire_function *h, const struct wire_param *p, size_t size)
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

static CUresult function_ask_info(struct function *f)
{
	struct wire_function head;
	struct function_info *i = NULL, *none = NULL;
	struct context *c = context_current();
	uint8_t *rest;
	size_t size;
	CUresult r = call_fetch(WIRE_FUNCTION, &f->id, sizeof f->id, NULL, 0, &head, sizeof head, &rest, &size);

	if (r)
		return r;
	if (!params_layout_valid(&head, (const struct wire_param *)rest, size))
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
	struct function *f = function_lookup((uintptr_t)handle);

	if (__builtin_expect(f && f->info, 1))
		return f;
	f = function_find_or_create((uintptr_t)handle);
	*why = f ? function_ask_info(f) : CUDA_ERROR_INVALID_HANDLE;
	return *why ? NULL : f;
}

static CUresult function_param(CUfunction handle, size_t index, size_t *offset, size_t *size)
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
	return function_param(handle, index, offset, size);
}

CUresult remote_cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
	return context_current() ? function_param((CUfunction)kernel, index, offset, size)
				 : call_cuKernelGetParamInfo(kernel, index, offset, size);
}

/* ---- attributes ---- */

static bool attribute_known(const struct function_info *i, CUfunction_attribute a)
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
	if (!attribute_known(f->info, attribute))
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
	if (!f || f->info->device != dev || !attribute_known(f->info, attribute))
		return call_cuKernelGetAttribute(value, attribute, kernel, dev);
	*value = __atomic_load_n(&f->info->head.attribute[attribute], __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

/* One attribute may change others, so that all are asked for again; earlier occupancy answers are void. */
static void function_refresh_attributes(struct function *f)
{
	struct function_info *i = f->info;

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

static void function_attributes_changed(uint64_t id)
{
	struct function *f = function_lookup(id), *counterpart = f ? f->counterpart : NULL;

	if (!f || !context_current())
		return;
	function_refresh_attributes(f);
	if (counterpart)
		function_refresh_attributes(counterpart);
}

CUresult remote_cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
	CUresult r = call_cuFuncSetAttribute(handle, attribute, value);

	if (!r)
		function_attributes_changed((uintptr_t)handle);
	return r;
}

CUresult remote_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice dev)
{
	CUresult r = call_cuKernelSetAttribute(attribute, value, kernel, dev);

	if (!r)
		function_attributes_changed((uintptr_t)kernel);
	return r;
}

/* A preference changes how many blocks fit, and nothing else that can be asked. */
CUresult remote_cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
	struct function *f = function_lookup((uintptr_t)handle);
	CUresult r = call_cuFuncSetCacheConfig(handle, config);

	if (f)
		atomic_fetch_add(&f->generation, 1);
	return r;
}

/* ---- a kernel's function, names ---- */

CUresult remote_cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	struct function *f = function_find_or_create((uintptr_t)kernel), *counterpart;
	struct context *c = context_current();
	CUresult r;

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	if (!f || !f->kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!c)
		return context_none();
	counterpart = f->counterpart;
	if (counterpart && f->counterpart_context == c->id && f->counterpart_resets == client->code->resets &&
		!counterpart->gone) {
		*function = (CUfunction)(uintptr_t)counterpart->id;
		return CUDA_SUCCESS;
	}
	r = call_cuKernelGetFunction(function, kernel);
	if (!r && handle_kind((uintptr_t)*function) != HANDLE_CUfunction)
		r = client_reject_reply();
	counterpart = r ? NULL : function_find_or_create((uintptr_t)*function);
	if (counterpart) {
		pthread_mutex_lock(&client->code->function_lock);
		kernel_add_function(f, counterpart, c->id);
		pthread_mutex_unlock(&client->code->function_lock);
	}
	return r;
}

static CUresult function_name(const char **name, uint64_t id)
{
	struct function *f = function_find_or_create(id);
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
	return function_name(name, (uintptr_t)f);
}

CUresult remote_cuKernelGetName(const char **name, CUkernel kernel)
{
	return function_name(name, (uintptr_t)kernel);
}
