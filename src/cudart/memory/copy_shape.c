/* Copies of rows and slices, between memory and arrays, as the driver describes them. */
#include <string.h>

#include "cudart/runtime.h"

bool copy_kind_is_valid(cudaMemcpyKind kind)
{
	return (unsigned)kind <= cudaMemcpyDefault;
}

static bool kind_reads_host(cudaMemcpyKind kind)
{
	return kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
}

static bool kind_writes_host(cudaMemcpyKind kind)
{
	return kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
}

static CUmemorytype place_type(const struct copy_place *place, cudaMemcpyKind kind, bool on_host)
{
	return place->array                ? CU_MEMORYTYPE_ARRAY
	       : kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
	       : on_host                   ? CU_MEMORYTYPE_HOST
					   : CU_MEMORYTYPE_DEVICE;
}

cudaError_t copy_shape(CUDA_MEMCPY3D *c, const struct copy_place *from, const struct copy_place *to, size_t width,
	size_t height, size_t depth, cudaMemcpyKind kind)
{
	if (!copy_kind_is_valid(kind) || (from->array && kind_reads_host(kind)) ||
		(to->array && kind_writes_host(kind)))
		return cudaErrorInvalidMemcpyDirection;
	memset(c, 0, sizeof *c);
	c->srcMemoryType = place_type(from, kind, kind_reads_host(kind));
	c->srcArray = from->array;
	if (c->srcMemoryType == CU_MEMORYTYPE_HOST)
		c->srcHost = from->memory;
	else
		c->srcDevice = (CUdeviceptr)from->memory;
	c->srcPitch = from->pitch;
	c->srcHeight = from->height;
	c->srcXInBytes = from->pos.x;
	c->srcY = from->pos.y;
	c->srcZ = from->pos.z;
	c->dstMemoryType = place_type(to, kind, kind_writes_host(kind));
	c->dstArray = to->array;
	if (c->dstMemoryType == CU_MEMORYTYPE_HOST)
		c->dstHost = (void *)to->memory;
	else
		c->dstDevice = (CUdeviceptr)to->memory;
	c->dstPitch = to->pitch;
	c->dstHeight = to->height;
	c->dstXInBytes = to->pos.x;
	c->dstY = to->pos.y;
	c->dstZ = to->pos.z;
	c->WidthInBytes = width;
	c->Height = height;
	c->Depth = depth;
	return cudaSuccess;
}

/* Do the rows and slices of memory have room for the box? The driver checks its position. */
static bool place_has_room(const struct copy_place *place, const cudaExtent *extent)
{
	return extent->width <= place->pitch && (extent->depth < 2 || extent->height <= place->height);
}

static cudaError_t array_element(cudaArray_t array, size_t *size)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult r = cuArray3DGetDescriptor_v2(&d, array);

	return r ? from_driver(r) : format_element_size(d.Format, d.NumChannels, size);
}

/* With an array on a side, the extent and the position in that array are in elements, otherwise in bytes. */
cudaError_t copy_shape_3d(CUDA_MEMCPY3D *c, const cudaMemcpy3DParms *p)
{
	struct copy_place from = {p->srcArray, p->srcPtr.ptr, p->srcPtr.pitch, p->srcPtr.ysize, p->srcPos};
	struct copy_place to = {p->dstArray, p->dstPtr.ptr, p->dstPtr.pitch, p->dstPtr.ysize, p->dstPos};
	size_t element = 1;
	cudaError_t e = cudaSuccess;

	if (!p->srcArray == !p->srcPtr.ptr || !p->dstArray == !p->dstPtr.ptr)
		return cudaErrorInvalidValue;
	if (p->srcArray) {
		e = array_element(p->srcArray, &element);
		from.pos.x *= element;
	}
	if (p->dstArray && !e) {
		e = array_element(p->dstArray, &element);
		to.pos.x *= element;
	}
	if (e)
		return e;
	if (!copy_kind_is_valid(p->kind))
		return cudaErrorInvalidMemcpyDirection;
	if ((from.array && kind_reads_host(p->kind)) || (to.array && kind_writes_host(p->kind)))
		return cudaErrorInvalidValue;
	if (!from.array && !to.array && !(place_has_room(&from, &p->extent) && place_has_room(&to, &p->extent)))
		return cudaErrorInvalidPitchValue;
	return copy_shape(c, &from, &to, p->extent.width * element, p->extent.height, p->extent.depth, p->kind);
}

/* The runtime's form of a copy that the driver returns. */
void copy_shape_to_3d(const CUDA_MEMCPY3D *c, cudaMemcpy3DParms *p)
{
	bool from_host = c->srcMemoryType == CU_MEMORYTYPE_HOST, to_host = c->dstMemoryType == CU_MEMORYTYPE_HOST;
	size_t element = 1, size;

	memset(p, 0, sizeof *p);
	if (c->srcMemoryType == CU_MEMORYTYPE_ARRAY) {
		p->srcArray = c->srcArray;
		if (!array_element(c->srcArray, &size))
			element = size;
	} else {
		p->srcPtr = (cudaPitchedPtr){
			from_host ? (void *)c->srcHost : (void *)c->srcDevice, c->srcPitch, 0, c->srcHeight};
	}
	if (c->dstMemoryType == CU_MEMORYTYPE_ARRAY) {
		p->dstArray = c->dstArray;
		if (!array_element(c->dstArray, &size))
			element = size;
	} else {
		p->dstPtr = (cudaPitchedPtr){to_host ? c->dstHost : (void *)c->dstDevice, c->dstPitch, 0, c->dstHeight};
	}
	p->srcPos = (cudaPos){p->srcArray ? c->srcXInBytes / element : c->srcXInBytes, c->srcY, c->srcZ};
	p->dstPos = (cudaPos){p->dstArray ? c->dstXInBytes / element : c->dstXInBytes, c->dstY, c->dstZ};
	p->extent = (cudaExtent){c->WidthInBytes / element, c->Height, c->Depth};
	if (c->srcMemoryType == CU_MEMORYTYPE_UNIFIED || c->dstMemoryType == CU_MEMORYTYPE_UNIFIED)
		p->kind = cudaMemcpyDefault;
	else
		p->kind = from_host ? to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice
			  : to_host ? cudaMemcpyDeviceToHost
				    : cudaMemcpyDeviceToDevice;
}

static bool shape_is_flat(const CUDA_MEMCPY3D *c)
{
	return c->Depth == 1 && !c->srcZ && !c->dstZ && !c->srcHeight && !c->dstHeight;
}

static CUDA_MEMCPY2D shape_flatten(const CUDA_MEMCPY3D *c)
{
	return (CUDA_MEMCPY2D){c->srcXInBytes, c->srcY, c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray,
		c->srcPitch, c->dstXInBytes, c->dstY, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray,
		c->dstPitch, c->WidthInBytes, c->Height};
}

cudaError_t copy_wait(const CUDA_MEMCPY3D *c, bool per_thread)
{
	CUDA_MEMCPY2D flat;

	if (!c->WidthInBytes || !c->Height || !c->Depth)
		return cudaSuccess;
	if (!shape_is_flat(c))
		return from_driver(per_thread ? cuMemcpy3D_v2_ptds(c) : cuMemcpy3D_v2(c));
	flat = shape_flatten(c);
	return from_driver(per_thread ? cuMemcpy2DUnaligned_v2_ptds(&flat) : cuMemcpy2DUnaligned_v2(&flat));
}

cudaError_t copy_queue(const CUDA_MEMCPY3D *c, cudaStream_t stream)
{
	CUDA_MEMCPY2D flat;

	if (!c->WidthInBytes || !c->Height || !c->Depth)
		return cudaSuccess;
	if (!shape_is_flat(c))
		return from_driver(cuMemcpy3DAsync_v2(c, stream));
	flat = shape_flatten(c);
	return from_driver(cuMemcpy2DAsync_v2(&flat, stream));
}
