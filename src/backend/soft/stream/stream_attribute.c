/*
 * Stream attributes.  Only the priority has an effect; the synchronisation policy, cache windows and memory domains
 * are hints that the driver stores and does not use.
 */
#include "backend/soft/core/soft.h"

#include <string.h>

static int attribute_slot(CUstreamAttrID id)
{
	switch (id) {
	case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		return 0;
	case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		return 1;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		return 2;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:
		return 3;
	case CU_STREAM_ATTRIBUTE_PRIORITY:
		return 4;
	default:
		return -1;
	}
}

static bool attribute_ok(CUstreamAttrID id, const CUstreamAttrValue *v)
{
	switch (id) {
	case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		return v->accessPolicyWindow.hitRatio >= 0 && v->accessPolicyWindow.hitRatio <= 1;
	case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		return v->syncPolicy >= CU_SYNC_POLICY_AUTO && v->syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:
		return v->memSyncDomain <= CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
	default:
		return true;
	}
}

CUresult soft_cuStreamGetAttribute(CUstream handle, CUstreamAttrID id, CUstreamAttrValue *value)
{
	int slot = attribute_slot(id);
	struct stream *s;

	if (slot < 0 || !value)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = stream_enter(handle, &s);
	if (r)
		return r;
	pthread_mutex_lock(&soft.queue_lock);
	*value = s->attributes[slot];
	if (id == CU_STREAM_ATTRIBUTE_PRIORITY)
		value->priority = s->priority;
	else if (id == CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY && !value->syncPolicy)
		value->syncPolicy = CU_SYNC_POLICY_AUTO;
	pthread_mutex_unlock(&soft.queue_lock);
	object_put(s);
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamSetAttribute(CUstream handle, CUstreamAttrID id, const CUstreamAttrValue *value)
{
	int slot = attribute_slot(id);
	struct stream *s;

	if (slot < 0 || !value || !attribute_ok(id, value))
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = stream_enter(handle, &s);
	if (r)
		return r;
	pthread_mutex_lock(&soft.queue_lock);
	s->attributes[slot] = *value;
	if (id == CU_STREAM_ATTRIBUTE_PRIORITY)
		s->priority = stream_priority(value->priority);
	pthread_mutex_unlock(&soft.queue_lock);
	object_put(s);
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamCopyAttributes(CUstream dst, CUstream src)
{
	struct stream *to, *from;
	CUresult r = stream_enter(dst, &to);

	if (r)
		return r;
	r = stream_enter(src, &from);
	if (!r) {
		pthread_mutex_lock(&soft.queue_lock);
		memmove(to->attributes, from->attributes, sizeof to->attributes);
		to->priority = from->priority;
		pthread_mutex_unlock(&soft.queue_lock);
		object_put(from);
	}
	object_put(to);
	return r;
}
