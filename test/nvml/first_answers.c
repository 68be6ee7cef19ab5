/*
 * The first NVML answers of a served device do not wait until the worker has given up its context, which takes
 * minutes here or until this test creates the file GO (slow_vendor.c).  A client that goes on with CUDA calls over
 * the same link, as no library does, waits for that and is then served.  DEVICE names the server.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "gen/nvml_ops.h"
#include "test/check.h"
#include "transport/transport.h"
#include "util/build_note.h"
#include "wire/nvml.h"
#include "wire/protocol.h"
#include "wire/wire.h"

#define SOON 100 /* seconds: less than giving up the context takes */

static const char *go;
static atomic_bool context_gone;

static void *let_context_go(void *arg)
{
	if (arg)
		usleep(500000); /* time for the other thread to block; if it does not, the test passes without testing that */
	atomic_store(&context_gone, true);
	close(open(go, O_WRONLY | O_CREAT, 0600));
	return NULL;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check_library(void)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	struct nvml_ops f;
	nvmlProcessInfo_t list[16];
	unsigned n = 16;
	nvmlMemory_t m;
	nvmlDevice_t d;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
#define LOOK_UP(name) *(void **)&f.name = dlsym(library, #name)
	LOOK_UP(nvmlInit_v2), LOOK_UP(nvmlDeviceGetHandleByIndex_v2), LOOK_UP(nvmlDeviceGetMemoryInfo),
		LOOK_UP(nvmlShutdown);
	LOOK_UP(nvmlDeviceGetComputeRunningProcesses_v3);
	double start = now_s();
	CHECK_EQ(f.nvmlInit_v2(), 0);
	CHECK_EQ(f.nvmlDeviceGetHandleByIndex_v2(0, &d), 0);
	CHECK_EQ(f.nvmlDeviceGetMemoryInfo(d, &m), 0);
	CHECK_EQ(f.nvmlDeviceGetComputeRunningProcesses_v3(d, &n, list), 0);
	CHECK_EQ(n, 0); /* no client owns the context that still exists */
	CHECK(now_s() - start < SOON);
	let_context_go(NULL);
	CHECK_EQ(f.nvmlShutdown(), 0);
}

/* The result of a call without arguments. */
static CUresult ask(struct lane *lane, unsigned op)
{
	struct wire_request *head;
	struct wire_reply answer;
	struct frame reply;
	void *room;

	if (lane_reserve(lane, sizeof *head, &room))
		return CUDA_ERROR_UNKNOWN;
	head = room;
	head->context = 0;
	if (lane_call(lane, op, sizeof *head, NULL, 0, NULL) || lane_wait_reply(lane, &reply, SOON * 1000) ||
		reply.size < sizeof answer)
		return CUDA_ERROR_UNKNOWN;
	memcpy(&answer, reply.payload, sizeof answer);
	lane_release(lane);
	return answer.result;
}

static void check_mixed(const char *address)
{
	struct link_config config = link_defaults(false);
	char error[LINK_ERROR_TEXT] = "";
	pthread_t thread;
	struct lane *lane;
	struct link *l;

	config.build = build_note_text;
	config.protocol = wire_protocol();
	if (link_connect(&l, address, &config, error) || lane_open(l, &lane)) {
		fprintf(stderr, "%s: %s\n", address, error);
		exit(1);
	}
	double start = now_s();
	CHECK_EQ(ask(lane, WIRE_NVML_DEVICES), 0);
	CHECK(now_s() - start < SOON);
	pthread_create(&thread, NULL, let_context_go, "later");
	CHECK_EQ(ask(lane, WIRE_DEVICES), 0);
	CHECK(context_gone);
	pthread_join(thread, NULL);
	CHECK_EQ(ask(lane, WIRE_NVML_DEVICES), 0);
	CHECK_EQ(ask(lane, WIRE_DEVICES), 0);
	link_destroy(l);
}

int main(void)
{
	const char *address = getenv("DEVICE");

	go = getenv("GO");
	if (!address || !go)
		return 1;
	check_library();
	unlink(go);
	context_gone = false;
	check_mixed(address);
	return RESULT();
}
