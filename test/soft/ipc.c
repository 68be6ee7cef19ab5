/*
 * Two processes share device memory, an interprocess event, a pool and physical memory.  Forged, damaged and stale
 * handles are refused.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "engine.h"

/* The message from the first process to the second. */
struct exports {
	CUipcMemHandle small, large, freed;
	CUipcEventHandle event, destroyed;
	CUmemPoolPtrExportData block;
};

static void start(CUcontext *ctx)
{
	struct soft_config config = {.memory = 1ull << 30};

	OK(soft_open(&test_engine, &config));
	OK(soft_cuCtxCreate_v2(ctx, 0, 0));
}

static void send_fd(int sock, int fd)
{
	char room[CMSG_SPACE(sizeof fd)] = {0}, byte = 0;
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	CHECK_EQ(sendmsg(sock, &m, 0), 1);
}

static int receive_fd(int sock)
{
	char room[CMSG_SPACE(sizeof(int))], byte;
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	int fd = -1;

	CHECK_EQ(recvmsg(sock, &m, 0), 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	return fd;
}

static int read_word(CUdeviceptr p)
{
	int v = 0;

	OK(soft_cuMemcpyDtoH_v2(&v, p, 4));
	return v;
}

/* Import a pool and physical memory; the caller frees the block of the pool. */
static CUdeviceptr import_descriptors(const struct exports *n, int pool_fd, int memory_fd, CUmemoryPool *pool)
{
	CUmemAccessDesc rw = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemPoolPtrExportData data = n->block;
	CUmemGenericAllocationHandle h;
	CUdeviceptr block, v;

	OK(soft_cuMemPoolImportFromShareableHandle(pool, (void *)(intptr_t)pool_fd, 1, 0));
	OK(soft_cuMemPoolImportPointer(&block, *pool, &data));
	CHECK_EQ(read_word(block), 33);
	for (size_t i = 0; i < 32; i++) {
		CUmemPoolPtrExportData bad = n->block;

		bad.reserved[i] ^= 0x80;
		CUresult r = soft_cuMemPoolImportPointer(&v, *pool, &bad);
		CHECK(r == CUDA_ERROR_INVALID_VALUE || r == CUDA_SUCCESS); /* a different offset in the pool is valid */
		if (!r)
			OK(soft_cuMemFree_v2(v));
	}
	OK(soft_cuMemImportFromShareableHandle(&h, (void *)(intptr_t)memory_fd, 1));
	OK(soft_cuMemAddressReserve(&v, 2 << 20, 0, 0, 0));
	OK(soft_cuMemMap(v, 2 << 20, 0, h, 0));
	OK(soft_cuMemSetAccess(v, 2 << 20, &rw, 1));
	CHECK_EQ(read_word(v + 4), 44);
	return block;
}

/* A handle of the former format, without a secret: everything in it can be guessed or read in /proc. */
struct guessable_handle {
	uint32_t magic, kind;
	int32_t pid, fd;
	uint64_t dev, inode, offset, size;
	uint32_t rest[3], sum;
};

/* Make up a handle for the first block in the store of a process.  False: this descriptor is not its store. */
static bool guess_handle(CUipcMemHandle *out, int pid, int fd)
{
	struct guessable_handle h = {0x49574147u, 1, pid, fd, .size = 512, .sum = 2166136261u};
	char path[64], name[64] = "";
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
	if (readlink(path, name, sizeof name - 1) < 0 || strncmp(name, "/memfd:gangway-memory", 21) || stat(path, &st))
		return false;
	h.dev = st.st_dev;
	h.inode = st.st_ino;
	for (size_t i = 0; i < offsetof(struct guessable_handle, sum); i++)
		h.sum = (h.sum ^ ((unsigned char *)&h)[i]) * 16777619u;
	memcpy(out, &h, sizeof h);
	return true;
}

static void forge_handles(const struct exports *n)
{
	const size_t record = 32, secret = 48;
	CUipcMemHandle bad;
	CUdeviceptr v;
	CUevent e;
	int pid, stores = 0;

	memcpy(&pid, &n->small.reserved[8], sizeof pid);
	for (int fd = 0; fd < 256; fd++)
		if (guess_handle(&bad, pid, fd)) {
			stores++;
			CHECK_EQ(soft_cuIpcOpenMemHandle_v2(&v, bad, 1), CUDA_ERROR_INVALID_VALUE);
		}
#ifndef APPLICATION /* a server's worker may be hidden from this process */
	CHECK(stores > 0);
#endif
	for (int bit = 0; bit < 8 * CU_IPC_HANDLE_SIZE; bit++) {
		CUipcEventHandle bad_event = n->event;

		bad = n->small;
		bad.reserved[bit / 8] ^= 1 << bit % 8;
		bad_event.reserved[bit / 8] ^= 1 << bit % 8;
		CHECK_EQ(soft_cuIpcOpenMemHandle_v2(&v, bad, 1), CUDA_ERROR_INVALID_VALUE);
		CHECK_EQ(soft_cuIpcOpenEventHandle(&e, bad_event), CUDA_ERROR_MAP_FAILED);
	}
	bad = n->small; /* another record, with this one's secret, and with none */
	memcpy(bad.reserved + record, n->large.reserved + record, 8);
	if (memcmp(&bad, &n->small, sizeof bad)) /* handles of a server's worker name no record */
		CHECK_EQ(soft_cuIpcOpenMemHandle_v2(&v, bad, 1), CUDA_ERROR_INVALID_VALUE);
	memset(bad.reserved + secret, 0, CU_IPC_HANDLE_SIZE - secret);
	for (uint64_t i = 0; i < 64; i++) {
		memcpy(bad.reserved + record, &i, sizeof i);
		CHECK_EQ(soft_cuIpcOpenMemHandle_v2(&v, bad, 1), CUDA_ERROR_INVALID_VALUE);
	}
	CHECK_EQ(soft_cuIpcOpenMemHandle_v2(&v, n->freed, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuIpcOpenEventHandle(&e, n->destroyed), CUDA_ERROR_MAP_FAILED);
}

static int run_importer(int sock)
{
	CUcontext ctx;
	CUdeviceptr a, b, again, block, v;
	CUmemoryPool pool;
	CUstream s;
	CUevent e;
	struct exports n;

	start(&ctx);
	CHECK_EQ(recv(sock, &n, sizeof n, MSG_WAITALL), sizeof n);
	bool fds = HAS(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
	int pool_fd = fds ? receive_fd(sock) : -1, memory_fd = fds ? receive_fd(sock) : -1;
	CHECK_EQ(soft_cuIpcOpenMemHandle_v2(&a, n.small, 0), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuIpcOpenMemHandle_v2(&a, n.small, 1));
	OK(soft_cuIpcOpenMemHandle_v2(&again, n.small, 1));
	CHECK_EQ(a, again);
	OK(soft_cuIpcOpenMemHandle_v2(&b, n.large, 1));
	CHECK_EQ(read_word(a), 11);
	CHECK_EQ(read_word(b + (5 << 20)), 22);
	CHECK_EQ(soft_cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuMemcpyDtoH_v2(&n.block, b + (6 << 20) - 2, 4), CUDA_ERROR_INVALID_VALUE);

	forge_handles(&n);
	CUipcMemHandle mixed;
	memcpy(&mixed, &n.event, sizeof mixed);
	CHECK_EQ(soft_cuIpcOpenMemHandle_v2(&v, mixed, 1), CUDA_ERROR_INVALID_VALUE);

	block = fds ? import_descriptors(&n, pool_fd, memory_fd, &pool) : 0;

	/* The event in the first process is behind a gate, which opens when this process sends a byte. */
	OK(soft_cuIpcOpenEventHandle(&e, n.event));
	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CHECK_EQ(soft_cuEventQuery(e), CUDA_ERROR_NOT_READY);
	OK(soft_cuStreamWaitEvent(s, e, 0));
	OK(soft_cuMemsetD32Async(a + 4, 55, 1, s));
	CHECK_EQ(soft_cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	CHECK_EQ(send(sock, "g", 1, 0), 1);
	OK(soft_cuEventSynchronize(e));
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuEventQuery(e));
	CHECK_EQ(read_word(a), 66); /* written before the event was recorded */
	OK(soft_cuIpcCloseMemHandle(a));
	CHECK_EQ(read_word(a + 4), 55); /* still open: it was opened twice */
	OK(soft_cuIpcCloseMemHandle(a));
	CHECK_EQ(soft_cuIpcCloseMemHandle(a), CUDA_ERROR_INVALID_VALUE);
	if (fds) {
		OK(soft_cuMemFree_v2(block));
		OK(soft_cuMemPoolDestroy(pool));
	}
	OK(soft_cuCtxDestroy_v2(ctx)); /* closes the handles that are still open */
	CHECK_EQ(send(sock, "b", 1, 0), 1);
	return RESULT();
}

static int sock_of_gate;

static void wait_for_go(void *arg)
{
	char byte;

	(void)arg;
	CHECK_EQ(recv(sock_of_gate, &byte, 1, 0), 1);
}

static int run_exporter(int sock, pid_t child)
{
	CUcontext ctx;
	CUdeviceptr small, large, managed, out, block;
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemAccessDesc rw = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle h;
	CUmemoryPool pool;
	CUdeviceptr v;
	CUstream s;
	CUevent plain, e, e2;
	CUipcEventHandle eh;
	struct exports n;
	char byte;
	int pool_fd, memory_fd, status;

	start(&ctx);
	bool fds = HAS(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
	if (!fds)
		props.handleTypes = prop.requestedHandleTypes = 0;
	OK(soft_cuMemAlloc_v2(&v, 512)); /* a block before it in the same chunk */
	OK(soft_cuMemAlloc_v2(&small, 512));
	OK(soft_cuMemAlloc_v2(&large, 6 << 20));
	OK(soft_cuMemAllocManaged(&managed, 4096, 1));
	OK(soft_cuMemsetD32_v2(small, 11, 1));
	OK(soft_cuMemsetD32_v2(large + (5 << 20), 22, 1));
	CHECK_EQ(soft_cuIpcGetMemHandle(&n.small, managed), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuIpcGetMemHandle(NULL, small), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuMemAlloc_v2(&out, 512));
	OK(soft_cuIpcGetMemHandle(&n.freed, out));
	OK(soft_cuMemFree_v2(out));
	OK(soft_cuMemAlloc_v2(&out, 512)); /* probably at the same place */
	OK(soft_cuIpcGetMemHandle(&n.small, out));
	OK(soft_cuIpcGetMemHandle(&n.small, small + 100));
	OK(soft_cuIpcGetMemHandle(&n.large, small));
	CHECK_EQ(memcmp(&n.small, &n.large, sizeof n.small), 0);
	OK(soft_cuIpcGetMemHandle(&n.large, large));
	CHECK_EQ(read_word(large + (5 << 20)), 22); /* moved to the store, with its contents */
	CHECK_EQ(soft_cuIpcOpenMemHandle_v2(&out, n.small, 1), CUDA_ERROR_INVALID_CONTEXT);
	CUipcMemHandle zero = {{0}};
	CHECK_EQ(soft_cuIpcOpenMemHandle_v2(&out, zero, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuIpcCloseMemHandle(small), CUDA_ERROR_INVALID_VALUE);

	OK(soft_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(soft_cuMemPoolCreate(&pool, &props));
	OK(soft_cuMemAllocFromPoolAsync(&block, 1000, pool, s));
	OK(soft_cuMemsetD32Async(block, 33, 1, s));
	OK(soft_cuStreamSynchronize(s));
	if (fds) {
		OK(soft_cuMemPoolExportToShareableHandle(&pool_fd, pool, 1, 0));
		OK(soft_cuMemPoolExportPointer(&n.block, block));
	}
	OK(soft_cuMemCreate(&h, 2 << 20, &prop, 0));
	CHECK_EQ(soft_cuMemExportToShareableHandle(&memory_fd, h, 1, 0), fds ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED);
	OK(soft_cuMemAddressReserve(&v, 2 << 20, 0, 0, 0));
	OK(soft_cuMemMap(v, 2 << 20, 0, h, 0));
	OK(soft_cuMemSetAccess(v, 2 << 20, &rw, 1));
	OK(soft_cuMemsetD32_v2(v + 4, 44, 1));

	CHECK_EQ(soft_cuEventCreate(&e, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	OK(soft_cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
	CHECK_EQ(soft_cuIpcGetEventHandle(&n.event, plain), CUDA_ERROR_INVALID_HANDLE);
	OK(soft_cuEventCreate(&e2, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	OK(soft_cuIpcGetEventHandle(&n.destroyed, e2));
	OK(soft_cuEventDestroy_v2(e2));
	OK(soft_cuIpcGetEventHandle(&n.event, e));
	CHECK_EQ(soft_cuIpcOpenEventHandle(&e2, n.event), CUDA_ERROR_INVALID_CONTEXT);
	memset(&eh, 0, sizeof eh);
	CHECK_EQ(soft_cuIpcOpenEventHandle(&e2, eh), CUDA_ERROR_MAP_FAILED);
	OK(soft_cuEventQuery(e));
	sock_of_gate = sock;
	OK(soft_cuLaunchHostFunc(s, wait_for_go, NULL));
	OK(soft_cuMemsetD32Async(small, 66, 1, s));
	OK(soft_cuEventRecord(e, s));
	CHECK_EQ(soft_cuEventQuery(e), CUDA_ERROR_NOT_READY);
	CHECK_EQ(send(sock, &n, sizeof n, 0), sizeof n);
	if (fds) {
		send_fd(sock, pool_fd);
		send_fd(sock, memory_fd);
	}
	OK(soft_cuStreamSynchronize(s));
	OK(soft_cuEventQuery(e));
	CHECK_EQ(recv(sock, &byte, 1, 0), 1);
	CHECK_EQ(read_word(small + 4), 55);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	OK(soft_cuMemFree_v2(small));
	OK(soft_cuMemFree_v2(large));
	OK(soft_cuEventDestroy_v2(e));
	OK(soft_cuCtxDestroy_v2(ctx));
	return RESULT();
}

int main(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return SKIP;
	pid_t child = fork();
	if (child == 0) {
		close(pair[0]);
		return run_importer(pair[1]);
	}
	close(pair[1]);
	return run_exporter(pair[0], child);
}
