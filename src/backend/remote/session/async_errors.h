/*
 * async_errors.h - failures of posted calls.
 *
 * The server counts the failures of each context in a word, together with the latest error code.  Launches and calls
 * that wait report a failure once; other calls do not, since an allocation that succeeded must not be reported as
 * failed.  A sticky error is what every call in its context answers from then on.
 */
#pragma once

#include <stdatomic.h>
#include "abi/cuda.h"

struct async_errors {
	_Atomic(const uint32_t *) word; /* the server's count; NULL: none */
	_Atomic(uint32_t) seen;         /* the word's value when an error was last reported */
	_Atomic(CUresult) sticky;       /* or CUDA_SUCCESS */
};

/* Of the thread's current context, or NULL. */
extern __thread struct async_errors *async_errors_current __attribute__((tls_model("initial-exec")));

/*
 * The error of a posted call that nobody has reported yet, or the context's sticky error; CUDA_SUCCESS: none.  Errors of
 * calls without a context are reported by whoever asks first.  A broken link is an error, too.
 */
CUresult async_error_take(void); /* in the current context */
CUresult async_error_take_in(struct async_errors *errors);

/* The current context's sticky error, or CUDA_SUCCESS.  Reports nothing. */
CUresult sticky_error(void);
