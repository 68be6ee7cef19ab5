/* Linking: the server's linker, our files and logs. */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/session/fetch.h"
#include "backend/remote/session/records.h"
#include "util/handle.h"

struct linking {
	struct options options; /* of cuLinkCreate: its logs are written until the end */
	CUjit_option option[WIRE_JIT_OPTIONS];
	void *value[WIRE_JIT_OPTIONS];
	void **given; /* where the application keeps its own: values come back there */
	uint8_t *cubin;
};

static struct linking *find(CUlinkState state)
{
	return record_find((uintptr_t)state, HANDLE_CUlinkState);
}

/* What came back goes to the application's own values, too. */
static bool results(struct linking *l, const uint8_t *rest, size_t size, const struct wire_linked *head)
{
	struct options o = {l->options.count, l->option, l->value};

	/* the room of a log is what it was at first: a value that came back says how much is used */
	void *kept[WIRE_JIT_OPTIONS];
	memcpy(kept, l->value, sizeof kept);
	if (!upload_results(&o, rest, size, head->info, head->error))
		return false;
	for (unsigned i = 0; i < o.count && l->given; i++)
		l->given[i] = l->value[i];
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
	l->given = value;
	l->options = (struct options){n, l->option, l->value};
	for (unsigned i = 0; i < n; i++) {
		l->option[i] = option[i];
		l->value[i] = value[i];
	}
	upload_options(&l->options, jit);
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
	struct linking *l = find(state);
	struct options o = {n, option, value};
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
		size = strnlen(data, size); /* text travels without its NUL */
	upload_options(&o, jit);
	r = upload_bytes(data, size, &a.image);
	if (r)
		return r;
	a.name = name ? wire_text(name) : 0;
	struct wire_piece in[] = {{(void *)name, a.name}, {jit, n * sizeof *jit}};
	r = call_fetch(WIRE_LINK_ADD, &a, sizeof a, in, 2, &head, sizeof head, &rest, &got);
	if (r)
		return r;
	r = results(l, rest, got, &head) ? (CUresult)head.result : client_reject_reply();
	free(rest);
	return r;
}

CUresult remote_cuLinkAddFile_v2(
	CUlinkState state, CUjitInputType type, const char *path, unsigned int n, CUjit_option *option, void **value)
{
	void *bytes;
	size_t size;
	CUresult r = upload_file(path, &bytes, &size);

	if (r)
		return r;
	r = remote_cuLinkAddData_v2(state, type, bytes, size, path, n, option, value);
	free(bytes);
	return r;
}

static CUresult take(struct linking *l, uint64_t state, uint64_t size)
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
	struct linking *l = find(state);
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
	r = results(l, rest, got, &head) ? (CUresult)head.result : client_reject_reply();
	free(rest);
	if (!r)
		r = take(l, a.state, head.size);
	if (r)
		return r;
	*cubin = l->cubin;
	if (size)
		*size = head.size;
	return CUDA_SUCCESS;
}

CUresult remote_cuLinkDestroy(CUlinkState state)
{
	struct linking *l = find(state) ? record_remove((uintptr_t)state) : NULL;

	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	free(l->cubin);
	free(l);
	return call_cuLinkDestroy(state);
}
