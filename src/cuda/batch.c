/* Check the arguments of batched calls. */
#include "cuda/batch.h"

bool batch_indices_ok(const size_t *indices, size_t n, size_t count)
{
	if (!indices || !n || n > count || indices[0])
		return false;
	for (size_t i = 1; i < n; i++)
		if (indices[i] >= count || indices[i] <= indices[i - 1])
			return false;
	return true;
}

bool batch_order_ok(CUmemcpySrcAccessOrder order, unsigned flags)
{
	return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY && !(flags & ~1u);
}

bool batch_attributes_ok(const CUmemcpyAttributes *attrs, const size_t *indices, size_t n, size_t count)
{
	if (!attrs || !batch_indices_ok(indices, n, count))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!batch_order_ok(attrs[i].srcAccessOrder, attrs[i].flags))
			return false;
	return true;
}
