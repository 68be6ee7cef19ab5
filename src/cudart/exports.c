/* The exported functions: generated, each prepares the thread and calls the function behind it. */
#include "cudart/runtime.h"

#define PUBLIC        __attribute__((visibility("default")))
#define NOT_SUPPORTED error_note(cudaErrorNotSupported)

#define THREAD_STREAM(stream) ((stream) ? (stream) : cudaStreamPerThread)

#define WITH_DRIVER(call) \
	cudaError_t e_ = runtime_start(); \
	return error_note(e_ ? e_ : (call))

#define WITH_CONTEXT(call) \
	cudaError_t e_ = context_enter(); \
	return error_note(e_ ? e_ : (call))

#if CUDART_MAJOR == 12
#include "gen/cudart_exports12.inc"
#else
#include "gen/cudart_exports13.inc"
#endif
