/* cuLink: the server links; files are read and logs are written here. */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/session/fetch.h"
#include "backend/remote/session/records.h"
#include "util/handle.h"

struct linking {
	struct jit_options options; /* of cuLinkCreate: its logs are written until cuLinkDestroy */
	CUjit_option option[WIRE_JIT_OPTIONS];
	void *value[WIRE_JIT_OPTIONS];
	void **caller_values; /* of the application: results are stored there, too */
	uint8_t *cubin;
};

static struct linking *linking_find(CUlinkState state)
{
	return record_find((uintptr_t)state, HANDLE_CUlinkState);
}

/* Stores the results of a reply in the values of the application.  False: the reply is malformed. */
static bool linking_store_results(struct linking *l, const uint8_t *rest, size_t size, const struct wire_linked *head)
{
	struct jit_options o = {l->options.count, l->option, l->value};

	/* Values hold the sizes of log buffers; a reply replaces them by the bytes used, so they are restored for the next. */
	void *kept[WIRE_JIT_OPTIONS];
	memcpy(kept, l->value, sizeof kept);
	if (!jit_options_store_results(&o, rest, size, head->info, head->error))
		return false;
	for (unsigned i = 0; i < o.count && l->caller_values; i++)
		l->caller_values[i] = l->value[i];
	memcpy(l->value, kept, sizeof kept);
	return true;
}

CUresult remote_cuLinkCreate_v2(unsigned int n, CUjit_option *option, void **value, CUlinkState *state)
{
	struct wire_jit jit[WIRE_JIT_OPTIONS];
	struct wire_link_create a = {.options = n};
	struct wire_linked head;
	struct linking *l;
	uint8_t *rest;
	size_t size;
	CUresult r;

	if (!state || (n && (!option || !value)) || n > WIRE_JIT_OPTIONS)
		return CUDA_ERROR_INVALID_VALUE;
	l = calloc(1, sizeof *l);
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l->caller_values = value;
	l->options = (struct jit_options){n, l->option, l->value};
	for (unsigned i = 0; i < n; i++) {
		l->option[i] = option[i];
		l->value[i] = value[i];
	}
	jit_options_pack(&l->options, jit);
	r = call_fetch(WIRE_LINK_CREATE, &a, sizeof a, &(struct wire_piece){jit, n * sizeof *jit}, 1, &head,
		sizeof head, &rest, &size);
	if (!r) {
		r = head.result ? (CUresult)head.result : record_add(head.id, HANDLE_CUlinkState, l);
		free(rest);
	}
	if (r)
		free(l);
	else
		*state = (CUlinkState)(uintptr_t)head.id;
	return r;
}

CUresult remote_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
	unsigned int n, CUjit_option *option, void **value)
{
	struct linking *l = linking_find(state);
	struct jit_options o = {n, option, value};
	struct wire_jit jit[WIRE_JIT_OPTIONS];
	struct wire_link_add a = {.state = (uintptr_t)state, .type = type, .options = n};
	struct wire_linked head;
	uint8_t *rest;
	size_t got;
	CUresult r;

	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!data || !size || (n && (!option || !value)) || n > WIRE_JIT_OPTIONS)
		return CUDA_ERROR_INVALID_VALUE;
	if (type == CU_JIT_INPUT_PTX)
		size = strnlen(data, size); /* the wire has text without its NUL */
	jit_options_pack(&o, jit);
	r = image_upload(data, size, &a.image);
	if (r)
		return r;
	a.name = name ? wire_text(name) : 0;
	struct wire_piece in[] = {{(void *)name, a.name}, {jit, n * sizeof *jit}};
	r = call_fetch(WIRE_LINK_ADD, &a, sizeof a, in, 2, &head, sizeof head, &rest, &got);
	if (r)
		return r;
	r = linking_store_results(l, rest, got, &head) ? (CUresult)head.result : client_reject_reply();
	free(rest);
	return r;
}

CUresult remote_cuLinkAddFile_v2(
	CUlinkState state, CUjitInputType type, const char *path, unsigned int n, CUjit_option *option, void **value)
{
	void *bytes;
	size_t size;
	CUresult r = file_read(path, &bytes, &size);

	if (r)
		return r;
	r = remote_cuLinkAddData_v2(state, type, bytes, size, path, n, option, value);
	free(bytes);
	return r;
}

static CUresult linking_fetch_cubin(struct linking *l, uint64_t state, uint64_t size)
{
	struct wire_link_take a = {.state = state};
	struct wire_linked head;
	CUresult r = CUDA_SUCCESS;

	free(l->cubin);
	l->cubin = size > WIRE_IMAGE_MAX ? NULL : calloc(1, size + 1);
	if (!l->cubin)
		return CUDA_ERROR_OUT_OF_MEMORY;
	while (a.offset < size && !r) {
		uint8_t *rest;
		size_t got;
		r = call_fetch(WIRE_LINK_TAKE, &a, sizeof a, NULL, 0, &head, sizeof head, &rest, &got);
		if (r)
			break;
		if (!head.bytes || head.bytes > got || head.bytes > size - a.offset)
			r = client_reject_reply();
		else
			memcpy(l->cubin + a.offset, rest, head.bytes);
		a.offset += head.bytes;
		free(rest);
	}
	return r;
}

CUresult remote_cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
	struct linking *l = linking_find(state);
	struct wire_link_take a = {.state = (uintptr_t)state};
	struct wire_linked head;
	uint8_t *rest;
	size_t got;
	CUresult r;

	if (!cubin)
		return CUDA_ERROR_INVALID_VALUE;
	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	r = call_fetch(WIRE_LINK_COMPLETE, &a, sizeof a, NULL, 0, &head, sizeof head, &rest, &got);
	if (r)
		return r;
	r = linking_store_results(l, rest, got, &head) ? (CUresult)head.result : client_reject_reply();
	free(rest);
	if (!r)
		r = linking_fetch_cubin(l, a.state, head.size);
	if (r)
		return r;
	*cubin = l->cubin;
	if (size)
		*size = head.size;
	return CUDA_SUCCESS;
}

CUresult remote_cuLinkDestroy(CUlinkState state)
{
	struct linking *l = linking_find(state) ? record_remove((uintptr_t)state) : NULL;

	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	free(l->cubin);
	free(l);
	return call_cuLinkDestroy(state);
}
