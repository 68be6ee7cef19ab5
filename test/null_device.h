/* null_device.h - for tests of a worker's internals: a session with the null device open, complete and accounted. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include "backend/plugin.h"
#include "server/quota/account.h"
#include "server/session/session.h"

static CUresult null_unsupported(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static void null_storage(CUcontext ctx)
{
	(void)ctx;
}

/* Prepares the session as a worker does before its client connects. Exits with 77 if the device cannot be opened. */
static void null_session_init(struct session *s, struct stats *stats)
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
	session_init(s);
	s->account = account_create(&table, stats);
	s->ops = &table;
	if (!s->account)
		abort();
}
