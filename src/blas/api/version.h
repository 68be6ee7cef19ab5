/*
 * version.h - the versions that the libraries report: those of the vendor's releases whose functions names.def lists.
 * Programs compare them with the release that they were built with (JAX), so they are the newest of each major version.
 */
#pragma once

#if CUBLAS_MAJOR == 12
#define CUBLAS_MINOR  9
#define CUBLAS_PATCH  3
#define CUBLAS_CUDART 12090
#elif CUBLAS_MAJOR == 13
#define CUBLAS_MINOR  8
#define CUBLAS_PATCH  2
#define CUBLAS_CUDART 13000
#else
#error "which cuBLAS is this?"
#endif
#define CUBLAS_VERSION (CUBLAS_MAJOR * 10000 + CUBLAS_MINOR * 100 + CUBLAS_PATCH)
