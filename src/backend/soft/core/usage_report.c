/* What other processes see of this one: contexts, memory, and when something runs.  NVML shows it. */
#include "backend/soft/core/soft.h"

#include <unistd.h>

#include "host/usage.h"

static void open_page(void)
{
	atomic_store(&soft.usage, usage_open(soft.engine->name));
}

/* The page is made with the first context: who only asks what devices there are uses none. */
void usage_report_context(struct device *d, int more)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (more > 0 && soft.config.report_usage)
		pthread_once(&once, open_page);
	usage_contexts(atomic_load(&soft.usage), d->physical, more);
}

void usage_report_memory(struct device *d, int64_t more)
{
	usage_memory(atomic_load_explicit(&soft.usage, memory_order_relaxed), d->physical, more);
}

size_t usage_of_others(struct device *d)
{
	return soft.config.report_usage ? usage_total(soft.engine->name, d->physical, getpid()) : 0;
}

static bool is_work(enum command_kind kind)
{
	return kind == COMMAND_LAUNCH || kind == COMMAND_COPY || kind == COMMAND_FILL;
}

CUresult command_run(struct command *c)
{
	struct usage *u = is_work(c->ops->kind) ? atomic_load_explicit(&soft.usage, memory_order_relaxed) : NULL;
	int device = u && c->ctx ? c->ctx->device->physical : -1;
	bool kernel = c->ops->kind == COMMAND_LAUNCH;

	usage_begin(u, device, USAGE_MEMORY);
	if (kernel)
		usage_begin(u, device, USAGE_KERNELS);
	CUresult r = c->ops->run(c);
	if (kernel)
		usage_end(u, device, USAGE_KERNELS);
	usage_end(u, device, USAGE_MEMORY);
	return r;
}
