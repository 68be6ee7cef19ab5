/* The store: the memfd behind memory that other processes may map. */
#include "backend/soft/memory/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/soft/core/soft.h"

#ifndef F_ADD_SEALS
#define F_ADD_SEALS   1033
#define F_GET_SEALS   1034
#define F_SEAL_SHRINK 2
#endif

#define PREFIX "gangway-"
#define PAGE   4096u

/* The seal guarantees to other processes that their mappings stay backed. */
static int memfd_create_sealed(const char *name, uint64_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK)) {
		int err = errno;

		close(fd);
		return -err;
	}
	return fd;
}

int store_alloc(uint64_t size, uint64_t *offset)
{
	int err = 0;

	pthread_mutex_lock(&soft.memory.store.lock);
	uint64_t end = soft.memory.store.end;
	if (soft.memory.store.fd < 0) {
		int fd = memfd_create_sealed(PREFIX "memory", 0);

		err = fd < 0 ? fd : 0;
		soft.memory.store.fd = fd < 0 ? -1 : fd;
	}
	if (!err && (end + size < end || ftruncate(soft.memory.store.fd, (off_t)(end + size))))
		err = errno ? -errno : -EFBIG;
	if (!err) {
		*offset = end;
		soft.memory.store.end = end + size;
	}
	pthread_mutex_unlock(&soft.memory.store.lock);
	return err;
}

void store_free(uint64_t offset, uint64_t size)
{
	fallocate(soft.memory.store.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
}

int store_fd(void)
{
	pthread_mutex_lock(&soft.memory.store.lock);
	int fd = soft.memory.store.fd;
	pthread_mutex_unlock(&soft.memory.store.lock);
	return fd;
}

int store_create(const char *kind, int device, uint64_t size)
{
	char name[64];

	snprintf(name, sizeof name, PREFIX "%s-%d", kind, device);
	return memfd_create_sealed(name, size);
}

int store_check(int fd, const char *kind, int *device, uint64_t *size)
{
	char link[64], name[128], want[64];
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0)
		return errno == EBADF ? -EBADF : -EINVAL;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, name, sizeof name - 1);
	if (n < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st))
		return -EINVAL;
	name[n] = 0;
	*device = -1;
	snprintf(want, sizeof want, "/memfd:" PREFIX "%s", kind);
	if (strncmp(name, want, strlen(want)) != 0)
		return -EINVAL;
	sscanf(name + strlen(want), "-%d", device);
	*size = (uint64_t)st.st_size;
	return 0;
}

uint64_t store_map(int fd, uint64_t offset, uint64_t size, void **base, size_t *length)
{
	uint64_t from = offset & -(uint64_t)PAGE, to = (offset + size + PAGE - 1) & -(uint64_t)PAGE;
	void *p = mmap(NULL, to - from, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)from);

	if (p == MAP_FAILED)
		return 0;
	*base = p;
	*length = to - from;
	return (uintptr_t)p + (offset - from);
}
