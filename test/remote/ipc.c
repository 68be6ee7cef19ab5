/*
 * Two clients of one server share device memory, a pool and physical memory: each reads the bytes that the other wrote.
 * The server refuses a forged handle.
 */
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "application.h"

struct news {
	CUipcMemHandle memory;
	CUmemPoolPtrExportData block;
};

static const CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};

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
	CHECK(sendmsg(sock, &m, 0) == 1);
}

static int receive_fd(int sock)
{
	char room[CMSG_SPACE(sizeof(int))], byte;
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	int fd = -1;

	if (recvmsg(sock, &m, 0) == 1)
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	return fd;
}

static int word(CUdeviceptr p)
{
	int v = 0;

	OK(cuMemcpy((uintptr_t)&v, p, 4));
	return v;
}

static int second(int sock)
{
	CUdeviceptr a = 0, again = 0, block = 0;
	CUmemoryPool pool = NULL;
	struct news n, forged;
	char byte = 0;

	check_start();
	if (recv(sock, &n, sizeof n, MSG_WAITALL) != sizeof n)
		return 1;
	forged = n;
	for (int i = 0; i < 64; i++)
		((unsigned char *)&forged.memory)[i] ^= 0x5a;
	CHECK(cuIpcOpenMemHandle_v2(&a, forged.memory, 1) != CUDA_SUCCESS);
	OK(cuIpcOpenMemHandle_v2(&a, n.memory, 1));
	OK(cuIpcOpenMemHandle_v2(&again, n.memory, 1));
	CHECK(a == again && word(a) == 11);
	OK(cuMemsetD32_v2(a + 4, 12, 1));
	OK(cuCtxSynchronize());
	OK(cuIpcCloseMemHandle(a));
	CHECK(word(a + 4) == 12);
	OK(cuIpcCloseMemHandle(a));
	CHECK(cuIpcCloseMemHandle(a) != CUDA_SUCCESS);
	if (check_shares()) {
		int fd = receive_fd(sock);
		OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, 1, 0));
		OK(cuMemPoolImportPointer(&block, pool, &n.block));
		CHECK(word(block) == 33);
		OK(cuMemFree_v2(block));
		OK(cuMemPoolDestroy(pool));
		close(fd);
	}
	CHECK(send(sock, &byte, 1, 0) == 1);
	return failures != 0;
}

static void first(int sock)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = here,
		.handleTypes = check_shares() ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0};
	CUdeviceptr d = 0, block = 0;
	CUmemoryPool pool = NULL;
	struct news n = {0};
	int fd = -1;
	char byte;

	check_start();
	OK(cuMemAlloc_v2(&d, 4096));
	OK(cuMemsetD32_v2(d, 11, 1));
	OK(cuMemPoolCreate(&pool, &props));
	OK(cuMemAllocFromPoolAsync(&block, 4096, pool, NULL));
	OK(cuMemsetD32_v2(block, 33, 1));
	OK(cuCtxSynchronize());
	OK(cuIpcGetMemHandle(&n.memory, d));
	CHECK_EQ(cuIpcGetMemHandle(&n.memory, (uintptr_t)&n), CUDA_ERROR_INVALID_VALUE);
	OK(cuIpcGetMemHandle(&n.memory, d));
	if (check_shares()) {
		OK(cuMemPoolExportToShareableHandle(&fd, pool, 1, 0));
		OK(cuMemPoolExportPointer(&n.block, block));
	}
	CHECK(send(sock, &n, sizeof n, 0) == sizeof n);
	if (check_shares())
		send_fd(sock, fd);
	CHECK(recv(sock, &byte, 1, 0) == 1);
	CHECK(word(d + 4) == 12);
	OK(cuMemFree_v2(d));
	OK(cuMemFreeAsync(block, NULL));
	OK(cuMemPoolDestroy(pool));
}

int main(void)
{
	int pair[2], status = 0;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	child = fork();
	if (!child) {
		close(pair[0]);
		_exit(second(pair[1]));
	}
	close(pair[1]);
	first(pair[0]);
	close(pair[0]);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	printf("ipc: %s\n", failures ? "FAILED" : "passed");
	return failures != 0;
}
