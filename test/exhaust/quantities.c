/*
 * Destroying an object takes no longer if there are many others: ten times as many streams, events, allocations, graphs and
 * modules cost about ten times the processor time, not a hundred times.
 */
#include <sys/resource.h>
#include "test/remote/application.h"

#define FEW   4000
#define TIMES 10

static const char code[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";

static void *objects[FEW * TIMES];

/* Processor time of this process, in seconds: does not depend on what else runs. */
static double cpu_time(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static CUresult stream_make(void **o)
{
	return cuStreamCreate((CUstream *)o, CU_STREAM_NON_BLOCKING);
}

static CUresult stream_end(void *o)
{
	return cuStreamDestroy_v2(o);
}

static CUresult event_make(void **o)
{
	return cuEventCreate((CUevent *)o, 0);
}

static CUresult event_end(void *o)
{
	return cuEventDestroy_v2(o);
}

static CUresult memory_make(void **o)
{
	return cuMemAlloc_v2((CUdeviceptr *)o, 256);
}

static CUresult memory_end(void *o)
{
	return cuMemFree_v2((uintptr_t)o);
}

static CUresult graph_make(void **o)
{
	return cuGraphCreate((CUgraph *)o, 0);
}

static CUresult graph_end(void *o)
{
	return cuGraphDestroy(o);
}

static CUresult module_make(void **o)
{
	return cuModuleLoadData((CUmodule *)o, code);
}

static CUresult module_end(void *o)
{
	return cuModuleUnload(o);
}

static double objects_destroy(int n, CUresult (*make)(void **), CUresult (*end)(void *))
{
	double start;
	int bad = 0;

	for (int i = 0; i < n; i++)
		bad += make(&objects[i]) != 0;
	start = cpu_time();
	for (int i = 0; i < n; i++)
		bad += end(objects[i]) != 0;
	CHECK_EQ(bad, 0);
	return cpu_time() - start;
}

static void kind_check(const char *name, int few, CUresult (*make)(void **), CUresult (*end)(void *))
{
	objects_destroy(few, make, end); /* warm up */
	double small = objects_destroy(few, make, end), large = objects_destroy(TIMES * few, make, end);

	printf("%-8s %6d: %.3f s, %6d: %.3f s\n", name, few, small, TIMES * few, large);
	CHECK(large < 2 * TIMES * small + 0.3);
}

int main(void)
{
	check_start();
	kind_check("streams", FEW, stream_make, stream_end);
	kind_check("events", FEW / 2, event_make, event_end);
	kind_check("memory", FEW / 2, memory_make, memory_end);
	kind_check("graphs", FEW / 2, graph_make, graph_end);
	kind_check("modules", FEW / 20, module_make, module_end);
	return RESULT();
}
