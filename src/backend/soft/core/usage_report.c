/* Device usage of this process, for NVML in all processes: contexts, memory, and the time the device is busy. */
#include "backend/soft/core/soft.h"

#include <unistd.h>

#include "host/usage.h"

static void open_usage_page(void)
{
	atomic_store(&soft.usage, usage_open(soft.engine->name));
}

/* The page is created with the first context: a process that only lists devices uses none of them. */
void usage_report_context(struct device *d, int change)
{
	if (change > 0 && soft.config.report_usage)
		pthread_once(&soft.usage_once, open_usage_page);
	usage_contexts(atomic_load(&soft.usage), d->physical, change);
}

void usage_report_memory(struct device *d, int64_t change)
{
	usage_memory(atomic_load_explicit(&soft.usage, memory_order_relaxed), d->physical, change);
}

size_t usage_of_others(struct device *d)
{
	return soft.config.report_usage ? usage_total(soft.engine->name, d->physical, getpid()) : 0;
}

/* The commands that count as use of the device. */
static bool is_device_work(enum command_kind kind)
{
	return kind == COMMAND_LAUNCH || kind == COMMAND_COPY || kind == COMMAND_FILL;
}

struct usage *usage_report_begin(const struct command *c)
{
	struct usage *u = NULL;

	if (is_device_work(c->ops->kind) && c->ctx)
		u = atomic_load_explicit(&soft.usage, memory_order_relaxed);
	if (!u)
		return NULL;
	usage_begin(u, c->ctx->device->physical, USAGE_MEMORY);
	if (c->ops->kind == COMMAND_LAUNCH)
		usage_begin(u, c->ctx->device->physical, USAGE_KERNELS);
	return u;
}

void usage_report_end(struct usage *u, const struct command *c)
{
	if (!u)
		return;
	if (c->ops->kind == COMMAND_LAUNCH)
		usage_end(u, c->ctx->device->physical, USAGE_KERNELS);
	usage_end(u, c->ctx->device->physical, USAGE_MEMORY);
}
