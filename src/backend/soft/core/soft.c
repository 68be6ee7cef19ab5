/*
 * The driver's one state, and opening it.
 */
#include "backend/soft/core/soft.h"

#include <stdarg.h>
#include <stdio.h>

#include "backend/soft/core/device.h"

struct soft soft = {
	.handles = HANDLE_TABLE_INIT,
	.queue_lock = PTHREAD_MUTEX_INITIALIZER,
};

unsigned long long soft_next_id(void)
{
	return atomic_fetch_add_explicit(&soft.next_id, 1, memory_order_relaxed) + 1;
}

CUresult soft_open(const struct engine *engine, const struct soft_config *config)
{
	static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&opening);
	if (!atomic_load(&soft.ready)) {
		soft.engine = engine;
		if (config)
			soft.config = *config;
		r = devices_open();
		if (!r)
			atomic_store(&soft.ready, true);
	}
	pthread_mutex_unlock(&opening);
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
