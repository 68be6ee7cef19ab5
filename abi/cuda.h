/*
 * The binary interface of the CUDA driver, releases 12 and 13, in our own declarations. Names, numbers and layouts
 * are the vendor's; where a toolkit is installed, test/abi compares them with its headers. The functions are declared
 * in api/cuda.api.
 */
#pragma once

#include "abi/cuda_base.h"
#include "abi/cuda_device.h"
#include "abi/cuda_array.h"
#include "abi/cuda_memory.h"
#include "abi/cuda_stream.h"
#include "abi/cuda_external.h"
#include "abi/cuda_graph.h"
#include "abi/cuda_tools.h"
#include "abi/cuda_interop.h"
#include "abi/cuda_v1.h"

#define CUDA_VERSION 13000
