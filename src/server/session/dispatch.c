/* Who serves which call: the plain ones are generated (serve_cuX), ours are written by hand. */
#include <string.h>
#include "server/code/code.h"
#include "server/nvml/nvml.h"
#include "wire/nvml.h"

#include "gen/cuda_server.inc"

static const struct served ours[] = {
	{WIRE_DEVICES, serve_devices, true},
	{WIRE_FUNCTION, serve_function, true},
	{WIRE_LOAD, serve_load, true},
	{WIRE_FLUSH, serve_flush, true},
	{WIRE_CONTEXT, serve_context, false},
	{WIRE_LAUNCH, serve_launch, false},
	{WIRE_COPY_UP, serve_copy_up, false},
	{WIRE_COPY_DOWN, serve_copy_down, false},
	{WIRE_SYNC, serve_sync, false},
	{WIRE_WAKE, serve_wake, false},
	{WIRE_WINDOW, serve_window, true},
	{WIRE_HOST_MAP, serve_host_map, true},
	{WIRE_HOST_UNMAP, serve_host_unmap, true},
	{WIRE_MIRROR, serve_mirror, true},
	{WIRE_MIRROR_DROP, serve_mirror_drop, true},
	{WIRE_MIRROR_UP, serve_mirror_up, false},
	{WIRE_MIRROR_DOWN, serve_mirror_down, true},
	{WIRE_BLOCK, serve_block, false},
	{WIRE_POINTER, serve_pointer, true},
	{WIRE_TEXTURE, serve_texture, true},
	{WIRE_RESOURCE, serve_resource, true},
	{WIRE_SHARE_OUT, serve_share_out, true},
	{WIRE_SHARE_IN, serve_share_in, true},
	{WIRE_RETAIN, serve_retain, true},
	{WIRE_POOL, serve_pool, true},
	{WIRE_TENSOR, serve_tensor, true},
};

/* A file's name is the client's, the files here are not: nothing is read or written by it. */
static void serve_denied(const struct cuda_ops *ops, struct msg *m)
{
	(void)ops;
	m->error = CUDA_ERROR_NOT_SUPPORTED;
	msg_bad(m);
}

/* Calls that are not what they seem when they come from elsewhere: served by hand. */
static const struct served instead[] = {
	{NR_cuModuleLoad, serve_denied, true},
	{NR_cuGraphDebugDotPrint, serve_denied, true},
	{NR_cuCoredumpSetAttribute, serve_denied, true},
	{NR_cuCoredumpSetAttributeGlobal, serve_denied, true},
	{NR_cuMemcpyAsync, serve_unified, false},
	{NR_cuGraphLaunch, serve_graph_launch, false},
	{NR_cuLinkDestroy, serve_link_destroy, true},
	{NR_cuMemMap, serve_map, true},
	{NR_cuMemUnmap, serve_unmap, true},
	{NR_cuMemRelease, serve_release, true},
	{NR_cuTexObjectDestroy, serve_texture_destroy, true},
	{NR_cuSurfObjectDestroy, serve_surface_destroy, true},
	{NR_cuTexObjectGetTextureDesc, serve_texture_desc, true},
	{NR_cuTexObjectGetResourceViewDesc, serve_view_desc, true},
};

/* Not served: an address of theirs would be one of ours, or they would hold up the dispatcher. */
static const unsigned refused[] = {
	NR_cuMemcpy,
	NR_cuMemcpyHtoD_v2,
	NR_cuMemcpyDtoH_v2,
	NR_cuMemcpyDtoD_v2,
	NR_cuMemcpyHtoDAsync_v2,
	NR_cuMemcpyPeer,
	NR_cuMemcpyHtoA_v2,
	NR_cuMemcpyAtoH_v2,
	NR_cuMemcpyDtoA_v2,
	NR_cuMemcpyAtoD_v2,
	NR_cuMemcpyAtoA_v2,
	NR_cuMemcpyHtoAAsync_v2,
	NR_cuMemcpyBatchAsync,
	NR_cuMemcpyBatchAsync_v2,
};

#define PLAIN 1024

static const struct served *by_number[PLAIN];
static const struct served *by_own_number[WIRE_OPS_END - WIRE_DEVICES];

void serve_init(void)
{
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		by_number[plain[i].op] = &plain[i];
	for (size_t i = 0; i < sizeof instead / sizeof *instead; i++)
		by_number[instead[i].op] = &instead[i];
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		by_number[refused[i]] = NULL;
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		by_own_number[ours[i].op - WIRE_DEVICES] = &ours[i];
	for (unsigned i = 0; i < served_code_count; i++)
		by_own_number[served_code[i].op - WIRE_DEVICES] = &served_code[i];
}

static const struct served *find(unsigned op)
{
	if (op < PLAIN)
		return by_number[op];
	if (op >= WIRE_NVML)
		return nvml_find(op);
	return op >= WIRE_DEVICES && op < WIRE_OPS_END ? by_own_number[op - WIRE_DEVICES] : NULL;
}

static bool nvml_only;

void serve_nvml_only(void)
{
	memset(by_number, 0, sizeof by_number);
	memset(by_own_number, 0, sizeof by_own_number);
	nvml_only = true;
}

const struct served *serve_find(unsigned op)
{
	const struct served *call = find(op);

	if (call || !nvml_only)
		return call;
	nvml_only = false;
	nvml_settle();
	serve_init();
	return find(op);
}
