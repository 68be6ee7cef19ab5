/*
 * A preloaded library that lets the n-th pthread_create, mmap, malloc or descriptor of a process fail, as the page in the
 * file FAIL_PAGE says.  Several processes may count on one page: a server's workers do.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "fail_page.h"

static struct fail_page *page;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);

__attribute__((constructor)) static void page_open(void)
{
	const char *path = getenv("FAIL_PAGE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p = MAP_FAILED;

	if (fd >= 0) {
		p = (void *)syscall(SYS_mmap, NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (p != MAP_FAILED)
		page = p;
}

static bool call_fails(enum fail_kind kind)
{
	int32_t left;

	if (!page || page->kind != (uint32_t)kind || page->spared == getpid())
		return false;
	left = atomic_fetch_sub(&page->at, 1);
	if (left > 1 || (left < 1 && !page->keep))
		return false;
	atomic_fetch_add(&page->hits, 1);
	return true;
}

#pragma GCC visibility push(default)

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (!real)
		real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
			RTLD_NEXT, "pthread_create");
	return call_fails(FAIL_THREAD) ? EAGAIN : real(thread, attr, run, arg);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (call_fails(FAIL_MMAP)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

void *malloc(size_t size)
{
	if (!call_fails(FAIL_MALLOC))
		return __libc_malloc(size);
	errno = ENOMEM;
	return NULL;
}

void *calloc(size_t count, size_t size)
{
	if (!call_fails(FAIL_MALLOC))
		return __libc_calloc(count, size);
	errno = ENOMEM;
	return NULL;
}

void *realloc(void *p, size_t size)
{
	if (!call_fails(FAIL_MALLOC))
		return __libc_realloc(p, size);
	errno = ENOMEM;
	return NULL;
}

int memfd_create(const char *name, unsigned flags)
{
	if (!call_fails(FAIL_FD))
		return (int)syscall(SYS_memfd_create, name, flags);
	errno = EMFILE;
	return -1;
}

int eventfd(unsigned value, int flags)
{
	if (!call_fails(FAIL_FD))
		return (int)syscall(SYS_eventfd2, value, flags);
	errno = EMFILE;
	return -1;
}
