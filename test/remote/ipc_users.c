/*
 * IPC handles of the CPU device between clients of one server.  A client of the same identity opens a handle of memory or of
 * an event.  A client of another user does not, even with the right bytes, nor does anybody with a wrong secret, nor after
 * the exporter has ended.
 *
 * ipc_users unix GROUP: needs root; clients are two users in that group.  ipc_users tcp: all clients have one address.
 */
#include <grp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "application.h"

struct handles {
	CUipcMemHandle memory;
	CUipcEventHandle event;
};

static gid_t group;
static int users;

static void become(uid_t uid)
{
	if (users && (setgroups(0, NULL) || setgid(group) || setuid(uid)))
		_exit(99);
}

/* Exports memory with the value 42, and ends when it is killed. */
static pid_t exporter_start(uid_t uid, struct handles *h)
{
	int fds[2];

	if (pipe(fds))
		exit(1);
	pid_t pid = fork();
	if (!pid) {
		CUdeviceptr d;
		CUevent e;

		become(uid);
		check_start();
		OK(cuMemAlloc_v2(&d, 4096));
		OK(cuMemsetD32_v2(d, 42, 1024));
		OK(cuCtxSynchronize());
		OK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
		OK(cuEventRecord(e, NULL));
		OK(cuIpcGetMemHandle(&h->memory, d));
		OK(cuIpcGetEventHandle(&h->event, e));
		if (failures || write(fds[1], h, sizeof *h) != sizeof *h)
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	CHECK(read(fds[0], h, sizeof *h) == sizeof *h);
	close(fds[0]);
	return pid;
}

/* Opens both handles as this user; 0: as expected. */
static int importer_run(uid_t uid, const struct handles *h, int works)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		CUdeviceptr d = 0;
		CUevent e = NULL;
		unsigned value = 0;

		become(uid);
		check_start();
		CUresult memory = cuIpcOpenMemHandle_v2(&d, h->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
		CUresult event = cuIpcOpenEventHandle(&e, h->event);
		if (works) {
			CHECK_EQ(memory, 0);
			CHECK_EQ(event, 0);
			OK(cuMemcpyDtoH_v2(&value, d + 4, sizeof value));
			CHECK_EQ(value, 42);
			OK(cuEventSynchronize(e));
			OK(cuIpcCloseMemHandle(d));
		} else {
			CHECK_EQ(memory, CUDA_ERROR_INVALID_VALUE);
			CHECK(event == CUDA_ERROR_MAP_FAILED || event == CUDA_ERROR_INVALID_VALUE);
		}
		_exit(RESULT());
	}
	waitpid(pid, &status, 0);
	return status;
}

int main(int argc, char **argv)
{
	uid_t uid = 1100000u + (uid_t)getpid() % 1000000u; /* users of this test alone */
	struct handles h, wrong;
	pid_t exporter;

	users = argc > 2;
	group = users ? (gid_t)atoi(argv[2]) : 0;
	if (users && geteuid()) {
		printf("needs root\n");
		return SKIP;
	}
	alarm(120);
	exporter = exporter_start(uid, &h);
	CHECK_EQ(importer_run(uid, &h, 1), 0);
	if (users)
		CHECK_EQ(importer_run(uid + 1, &h, 0), 0);
	wrong = h;
	((unsigned char *)&wrong.memory)[63] ^= 1; /* the last byte of the secret */
	((unsigned char *)&wrong.event)[48] ^= 1;  /* the first */
	CHECK_EQ(importer_run(uid, &wrong, 0), 0);
	kill(exporter, SIGKILL);
	waitpid(exporter, NULL, 0);
	/* The exporter's worker notices the end at once, but not before the next client connects. */
	for (int i = 0; i < 100 && importer_run(uid, &h, 0); i++)
		usleep(100000);
	CHECK_EQ(importer_run(uid, &h, 0), 0);
	return RESULT();
}
