#include "transport/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

size_t memory_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

size_t memory_round(size_t size)
{
	size_t page = memory_page();

	return (size + page - 1) & ~(page - 1);
}

int memory_create(const char *name, size_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)size) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int memory_inspect(int fd, uint64_t *size)
{
	struct stat st;
	struct statfs fs;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return -EPERM;
	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return -errno;
	*size = (uint64_t)st.st_size;
	return S_ISREG(st.st_mode) && fs.f_type == TMPFS_MAGIC ? 0 : -EINVAL;
}

int memory_check(int fd, size_t size)
{
	uint64_t has = 0;
	int err = memory_inspect(fd, &has);

	return err ? err : has == size ? 0 : -EINVAL;
}

int memory_holds(int fd, size_t size)
{
	uint64_t has = 0;
	int err = memory_inspect(fd, &has);

	return err ? err : has >= size ? 0 : -EINVAL;
}

void *memory_map(int fd, const struct memory_range *ranges, unsigned n, size_t *total)
{
	uint8_t *base, *at;
	size_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += ranges[i].size * ranges[i].count;
	base = at = mmap(NULL, sum, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < ranges[i].count; k++, at += ranges[i].size)
			if (mmap(at, ranges[i].size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
				    (off_t)ranges[i].offset) == MAP_FAILED) {
				munmap(base, sum);
				return NULL;
			}
	madvise(base, sum, MADV_DONTFORK);
	*total = sum;
	return base;
}

void memory_unmap(void *base, size_t total)
{
	if (base)
		munmap(base, total);
}
