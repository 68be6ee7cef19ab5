/*
 * A new client after the link was lost: the worker has died, or its machine is gone.
 *
 *	the application resets a primary context, or creates a context
 *	  connect to the same address		on failure nothing changes; the next attempt may succeed
 *	  end what the lost client had		the runtime forgets its contexts, memory is unregistered
 *	  carry over				handles of primary contexts, libraries and their kernels; pinned and managed memory
 *	  publish				other threads move over when they next enter a call
 *	  retire the lost client		destroyed once no thread is inside it
 *
 * Streams, events, modules, graphs and device memory are gone; their handles are unknown to the new worker, because its
 * handles have other generations.
 */
#include <pthread.h>
#include <stdio.h>
#include "backend/remote/code/code.h"
#include "backend/remote/copy/staged_copy.h"
#include "backend/remote/guard.h"
#include "backend/remote/hostmem/hostmem.h"
#include "backend/remote/hostmem/mirror.h"
#include "backend/remote/wait/callbacks.h"
#include "wire/trace.h"

/* Of the process, not of a client. */
static pthread_mutex_t renew_lock = PTHREAD_MUTEX_INITIALIZER;
static struct client *retired;

/* Destroys the retired clients that no thread uses.  A thread inside a host function of the application may take long. */
static void retired_destroy(void)
{
	struct client **at = &retired, *c;

	while ((c = *at)) {
		if (callbacks_running(c) || client_in_use(c)) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		copy_threads_stop(c->copy);
		client_destroy(c);
	}
}

static CUresult connect_again(struct client *lost)
{
	char why[256] = "";
	CUresult r;

	contexts_hide(true);
	call_forget_lane();
	r = client_connect(lost->address, lost->life + 1, why, sizeof why);
	if (!r && client->devices->count != lost->devices->count) {
		snprintf(why, sizeof why, "%s: the server now has %d devices, not %d", lost->address,
			client->devices->count, lost->devices->count);
		client_destroy(client);
		client = lost;
		r = CUDA_ERROR_NO_DEVICE;
	}
	call_forget_lane();
	contexts_hide(false);
	if (r)
		trace_note("the device stays lost: %s", why);
	return r ? CUDA_ERROR_DEVICE_UNAVAILABLE : CUDA_SUCCESS;
}

/* renew_lock held.  The lanes that this thread opens on a broken link close with it. */
static CUresult client_replace(struct client *lost)
{
	CUresult r = connect_again(lost);
	struct client *fresh = client;

	if (r)
		return r;
	client = lost;
	contexts_end_all();
	hostmem_unregister_all();
	call_forget_lane();
	thread_exits_forget();
	copy_forget_thread();
	streams_forget_thread();
	client = fresh;
	client->context_ending = lost->context_ending;
	contexts_hide(true);
	contexts_carry(lost);
	hostmem_carry(lost);
	mirror_carry_pages(lost);
	libraries_carry(lost);
	contexts_follow();
	atomic_store(&client_thread.using, fresh);
	atomic_store(&client_now, fresh);
	trace_note("connected anew to %s", fresh->address);
	lost->next = retired;
	retired = lost;
	retired_destroy();
	return CUDA_SUCCESS;
}

CUresult client_renew(void)
{
	CUresult r = CUDA_SUCCESS;

	/* An outer call of this thread still uses the lost client. */
	if (atomic_load_explicit(&client_thread.inside, memory_order_relaxed) != 1)
		return client_lost();
	pthread_mutex_lock(&renew_lock);
	if (client == atomic_load(&client_now))
		r = client_replace(client);
	else
		client_thread_move(); /* another thread was faster */
	pthread_mutex_unlock(&renew_lock);
	return r;
}
