/* Failures of posted calls: finds those that no call has reported yet. */
#include "backend/remote/session/async_errors.h"
#include "backend/remote/client.h"
#include "backend/remote/session/call.h"
#include "cuda/errors.h"

__thread struct async_errors *async_errors_current;

/*
 * Each error is reported once.  A sticky error is stored before `seen` moves on, so that a thread which finds nothing new
 * in the word finds the sticky error.
 */
static CUresult async_error_poll(struct async_errors *errors)
{
	const uint32_t *word = atomic_load_explicit(&errors->word, memory_order_acquire);
	uint32_t seen = atomic_load_explicit(&errors->seen, memory_order_acquire);
	uint32_t now = word ? __atomic_load_n(word, __ATOMIC_ACQUIRE) : seen;
	CUresult sticky = atomic_load_explicit(&errors->sticky, memory_order_relaxed);
	CUresult r = (CUresult)(now & 0xffff);

	if (sticky || now == seen)
		return sticky;
	if (result_is_sticky(r) && !atomic_compare_exchange_strong(&errors->sticky, &sticky, r))
		return sticky;
	return atomic_compare_exchange_strong(&errors->seen, &seen, now) || result_is_sticky(r) ? r : CUDA_SUCCESS;
}

CUresult async_error_take_in(struct async_errors *errors)
{
	CUresult r = errors ? async_error_poll(errors) : CUDA_SUCCESS;

	if (client_broken())
		return client_lost();
	return r ? r : async_error_poll(&client->errors);
}

CUresult async_error_take(void)
{
	return async_error_take_in(async_errors_current);
}

CUresult sticky_error(void)
{
	return async_errors_current ? atomic_load_explicit(&async_errors_current->sticky, memory_order_relaxed)
				    : CUDA_SUCCESS;
}
