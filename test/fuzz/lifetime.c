/*
 * Random sequences of allocating, registering, mapping, mirroring, capturing, freeing, unloading, launching and copying,
 * sent by a hostile client, with addresses that are alive, dead or across an edge, checked against a model of what is
 * alive (life_model.h). An operation on dead memory must be refused, one on live memory must succeed, and its bytes must
 * be those of the model. Fuzz builds also check in the worker that every copy stays in live memory
 * (server/session/live_ranges.h).
 *
 *	input	up to 8 bytes: the seed of a random sequence; more: two bytes for each choice
 *
 * LIFETIME_SERVER=build/bin/gangway: two clients of a real server, which also share memory with each other. LIFETIME_TCP:
 * over TCP. LIFETIME_VERBOSE: prints each operation. LIFETIME_HOLD: a failure waits for a debugger.
 */
#include "life_model.h"
#include "life_memory.h"
#include "life_work.h"
#include "life_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((visibility("default"))) const char *__asan_default_options(void);

#define SEQUENCE       160 /* operations of a sequence that comes from a seed */
#define SESSION_INPUTS 400 /* inputs of a session */
#define REFUSALS       10  /* the worker refuses all host memory after 16 */

/* Sessions of a worker in this process are never freed. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0:allocator_may_return_null=1";
}

static const struct operation {
	void (*run)(struct party *p);
	unsigned weight;
	const char *name;
} operations[] = {
	{device_alloc, 6, "allocate"},
	{memory_free, 7, "free"},
	{pool_alloc, 4, "allocate from the pool"},
	{pool_free, 4, "free to the pool"},
	{host_map, 8, "map host memory"},
	{host_unmap, 5, "unmap host memory"},
	{host_write, 3, "write host memory"},
	{addresses_reserve, 3, "reserve addresses"},
	{physical_create, 3, "create memory"},
	{physical_map, 7, "map memory"},
	{mapping_access, 6, "set access"},
	{mapping_unmap, 4, "unmap memory"},
	{physical_release, 2, "release memory"},
	{addresses_free, 3, "free addresses"},
	{physical_share, 2, "share memory"},
	{array_create, 2, "create an array"},
	{array_destroy, 1, "destroy an array"},
	{module_load, 4, "load a module"},
	{module_unload, 3, "unload a module"},
	{mirror_add, 7, "mirror"},
	{mirror_remove, 2, "drop a mirror"},
	{mirror_write, 5, "write a mirror"},
	{mirror_read, 5, "read the mirrors"},
	{copy_up, 10, "copy up"},
	{copy_down, 12, "copy down"},
	{work_copy, 16, "copy"},
	{work_fill, 6, "fill"},
	{work_launch, 4, "launch a kernel"},
	{capture_begin, 5, "begin a capture"},
	{capture_end, 5, "end a capture"},
	{graph_build, 4, "build a graph"},
	{graph_instantiate_any, 6, "instantiate"},
	{graph_launch, 10, "launch a graph"},
	{graph_destroy, 3, "destroy a graph"},
	{stream_create, 2, "create a stream"},
	{stream_destroy, 2, "destroy a stream"},
	{context_create, 2, "create a context"},
	{context_end, 2, "end a context"},
	{stream_hold, 3, "hold a stream"},
	{all_settle, 4, "settle"},
	{ipc_share, 3, "share by IPC"},
	{ipc_close, 2, "close IPC memory"},
	{pointer_ask, 3, "ask about an address"},
};

#define OPERATIONS (sizeof operations / sizeof *operations)

static void operation_run(struct party *p)
{
	unsigned all = 0, at;

	for (size_t i = 0; i < OPERATIONS; i++)
		all += operations[i].weight;
	at = choose(all);
	for (size_t i = 0; i < OPERATIONS; i++) {
		if (at < operations[i].weight) {
			life_note("%d: %s", (int)(p - parties), operations[i].name);
			life_played.operations++;
			operations[i].run(p);
			return;
		}
		at -= operations[i].weight;
	}
}

/* ---- Beginning and end of a sequence ---- */

static void party_clear(struct party *p)
{
	for (int k = 0; k < CONTEXTS; k++)
		for (int i = 0; i < STREAMS; i++)
			if (p->context[k].id && p->context[k].stream[i].capturing)
				capture_drop(p, &p->context[k], &p->context[k].stream[i]);
	all_settle(p);
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].party == p && objects[i].kind >= K_GRAPH)
			graph_drop(&objects[i]);
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].party == p && objects[i].kind == K_MAPPED)
			mapping_drop(&objects[i]);
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].party == p && objects[i].kind == K_HOST)
			host_drop(&objects[i]);
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].party == p && (objects[i].kind == K_PHYSICAL || objects[i].kind == K_RESERVED))
			reservation_drop(&objects[i]);
	for (int k = CONTEXTS; k--;)
		if (p->context[k].id)
			context_finish(p, k);
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].kept && objects[i].party == p)
			object_kill(&objects[i]);
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].kind && objects[i].party == p)
			life_fail("an object of kind %d is left", objects[i].kind);
}

static void parties_begin(void)
{
	for (unsigned i = 0; i < nparties; i++) {
		struct party *p = &parties[i];
		if (p->link && (p->inputs++ >= SESSION_INPUTS || p->refusals >= REFUSALS))
			party_end(p);
		if (!p->link)
			party_start(p);
		primary_begin(p);
	}
}

static void life_init(void)
{
	struct rlimit files;
	static bool done;

	if (done)
		return;
	done = true;
	life_verbose = getenv("LIFETIME_VERBOSE") != NULL;
	nparties = getenv("LIFETIME_SERVER") ? PARTIES : 1;
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	atexit(life_exit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	life_init();
	life_played.sequences++;
	choices_begin(data, size, SEQUENCE);
	unsettled = false;
	ngraves = 0;
	memset(graves, 0, sizeof graves);
	parties_begin();
	while (choices_left())
		operation_run(&parties[nparties > 1 ? choose(nparties) : 0]);
	for (unsigned i = 0; i < nparties; i++)
		party_clear(&parties[i]);
	return 0;
}
