/* null_device.h - for tests of a worker's inside: the null device as a worker has it open, counted and complete. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include "backend/plugin.h"
#include "server/quota/account.h"

static CUresult null_unsupported(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static void null_storage(CUcontext ctx)
{
	(void)ctx;
}

/* Exits with 77 where the device does not open. */
static const struct cuda_ops *null_open(struct stats *stats)
{
	static struct cuda_ops table;
	char why[512] = "";
	const struct backend *b = plugin_backend("null", why, sizeof why);
	CUresult (**f)(void) = (CUresult (**)(void))&table;
	size_t memory = 0;

	if (!b || b->open("null", &table, null_storage, why, sizeof why)) {
		printf("no null device: %s\n", why);
		exit(77);
	}
	for (int i = 0; i < cuda_OP_COUNT; i++)
		if (!f[i])
			f[i] = null_unsupported;
	if (table.cuInit(0) || table.cuDeviceTotalMem_v2(&memory, 0))
		abort();
	stats->info[0].memory = memory;
	stats->ndevices = 1;
	account_wrap(&table, stats);
	return &table;
}
