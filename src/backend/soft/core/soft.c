/*
 * The driver's state, and opening the driver.
 */
#include "backend/soft/core/soft.h"

#include <stdarg.h>
#include <stdio.h>

#include "backend/soft/core/device.h"

/* An empty list at file scope. */
#define LIST_INIT(head) {&(head), &(head)}

struct soft soft = {
	.open_lock = PTHREAD_MUTEX_INITIALIZER,
	.usage_once = PTHREAD_ONCE_INIT,
	.thread_key_once = PTHREAD_ONCE_INIT,
	.contexts_lock = PTHREAD_MUTEX_INITIALIZER,
	.contexts = LIST_INIT(soft.contexts),
	.handles = HANDLE_TABLE_INIT,
	.queue_lock = PTHREAD_MUTEX_INITIALIZER,
	.memory =
		{
			.ranges.lock = PTHREAD_RWLOCK_INITIALIZER,
			.ranges.touch = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP,
			.device.lock = PTHREAD_MUTEX_INITIALIZER,
			.store = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1},
			.ipc =
				{
					.lock = PTHREAD_MUTEX_INITIALIZER,
					.mappings = LIST_INIT(soft.memory.ipc.mappings),
					.unused_exports = LIST_INIT(soft.memory.ipc.unused_exports),
					.table_fd = -1,
				},
			.pools =
				{
					.list_lock = PTHREAD_MUTEX_INITIALIZER,
					.list = LIST_INIT(soft.memory.pools.list),
					.defaults_lock = PTHREAD_MUTEX_INITIALIZER,
					.current_lock = PTHREAD_MUTEX_INITIALIZER,
				},
			.vmm.lock = PTHREAD_MUTEX_INITIALIZER,
		},
	.check.lock = PTHREAD_MUTEX_INITIALIZER,
};

unsigned long long soft_next_id(void)
{
	return atomic_fetch_add_explicit(&soft.last_id, 1, memory_order_relaxed) + 1;
}

CUresult soft_open(const struct engine *engine, const struct soft_config *config)
{
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&soft.open_lock);
	if (!atomic_load(&soft.ready)) {
		soft.engine = engine;
		if (config)
			soft.config = *config;
		r = devices_open();
		if (!r)
			atomic_store(&soft.ready, true);
	}
	pthread_mutex_unlock(&soft.open_lock);
	return r;
}

CUresult soft_cuInit(unsigned int flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	return soft.ndevices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

void engine_log(struct engine_log *log, const char *fmt, ...)
{
	va_list ap;

	if (!log || !log->text || log->used + 1 >= log->size)
		return;
	va_start(ap, fmt);
	int n = vsnprintf(log->text + log->used, log->size - log->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		log->used = log->used + n < log->size ? log->used + n : log->size - 1;
}
