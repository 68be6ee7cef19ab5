/*
 * Destroying an object takes no longer if there are many others: destroying the same number of streams, events, allocations,
 * graphs and modules costs about the same processor time beside many others as alone. The time of the worker and of the
 * server counts, too.
 *
 * Other processes on the machine disturb both measurements in the same way, and each is repeated: the least times are
 * compared, until they show that the costs are alike. Costs that grow with the number of others stay apart in every round.
 */
#include <dirent.h>
#include <stdbool.h>
#include <unistd.h>
#include "test/remote/application.h"

#define FEW    2000
#define TIMES  10
#define ROUNDS 6
#define SLACK  0.05 /* seconds: the kernel counts processor time in ticks of 10 ms */

static const char code[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";

static void *objects[2 * FEW * TIMES];

struct process {
	int pid, parent;
	double time; /* processor time, in seconds */
};

/* The script that started this program; it has also started the server. */
static int starter; /* 0: there is no server */

/* A process of /proc; false: it has ended. */
static bool process_read(int pid, struct process *p)
{
	char path[64], text[1024], *at;
	unsigned long user, system;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = 0;
	at = strrchr(text, ')');
	if (!at ||
		sscanf(at + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &p->parent, &user, &system) != 3)
		return false;
	p->pid = pid;
	p->time = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	return true;
}

/* This process; and, with a server, all that the script has started. */
static bool is_ours(const struct process *p, int depth)
{
	struct process parent;

	if (p->pid == getpid())
		return true;
	if (!starter)
		return false;
	return p->parent == starter ||
	       (depth < 4 && p->parent > 1 && process_read(p->parent, &parent) && is_ours(&parent, depth + 1));
}

/* Processor time of this process, of the server and of its workers, in seconds. */
static double cpu_time(void)
{
	DIR *d = opendir("/proc");
	struct process p;
	struct dirent *e;
	double sum = 0;

	while (d && (e = readdir(d)))
		if (atoi(e->d_name) > 0 && process_read(atoi(e->d_name), &p) && is_ours(&p, 0))
			sum += p.time;
	if (d)
		closedir(d);
	return sum;
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

/*
 * The time that the destruction of `few` objects takes beside `others`: half of them the oldest, half of them the newest,
 * because a search in a list may begin at either end.
 */
static double few_destroy(int few, int others, CUresult (*make)(void **), CUresult (*end)(void *))
{
	int n = few + others, bad = 0;

	for (int i = 0; i < n; i++)
		bad += make(&objects[i]) != 0;
	OK(cuCtxSynchronize());
	double start = cpu_time();
	for (int i = 0; i < few; i++)
		bad += end(objects[i % 2 ? n - 1 - i / 2 : i / 2]) != 0;
	OK(cuCtxSynchronize()); /* the worker has served all of it */
	double time = cpu_time() - start;
	for (int i = few / 2; i < n - few / 2; i++)
		bad += end(objects[i]) != 0;
	CHECK_EQ(bad, 0);
	return time;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

static void kind_check(const char *name, int few, CUresult (*make)(void **), CUresult (*end)(void *))
{
	double alone = 1e9, among = 1e9;
	int rounds = 0;

	do {
		alone = least(alone, few_destroy(few, 0, make, end));
		among = least(among, few_destroy(few, (TIMES - 1) * few, make, end));
	} while (among > 1.6 * alone + SLACK && ++rounds < ROUNDS);
	printf("%-8s %5d destroyed: %.2f s alone, %.2f s beside %d others, %d rounds more\n", name, few, alone, among,
		(TIMES - 1) * few, rounds);
	CHECK(rounds < ROUNDS);
}

int main(void)
{
	starter = check_remote() ? getppid() : 0;
	check_start();
	kind_check("streams", 2 * FEW, stream_make, stream_end);
	kind_check("events", FEW, event_make, event_end);
	kind_check("memory", FEW, memory_make, memory_end);
	kind_check("graphs", FEW, graph_make, graph_end);
	kind_check("modules", FEW / 10, module_make, module_end);
	return RESULT();
}
