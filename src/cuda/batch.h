/*
 * batch.h - argument checks of calls that take many copies or ranges at once.
 *
 * Item i of a list of n attributes or locations applies to the ranges from indices[i] up to the next index.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "abi/cuda.h"

bool batch_indices_ok(const size_t *indices, size_t n, size_t count); /* ascending, from 0, below count */
bool batch_order_ok(CUmemcpySrcAccessOrder order, unsigned flags);
bool batch_attributes_ok(const CUmemcpyAttributes *attrs, const size_t *indices, size_t n, size_t count);
