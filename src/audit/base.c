/* System calls, strings and start information without libc. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include "audit/base.h"
#include "util/build_note.h"

char **start_environment;

#if defined(__x86_64__)
static long system_call(long n, long a, long b, long c, long d, long e)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;

	__asm__ volatile("syscall"
		: "=a"(result)
		: "0"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
		: "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static long system_call(long n, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
	return x0;
}
#else
#error "system_call is not implemented for this processor"
#endif

long sys_access(const char *path)
{
	return system_call(SYS_faccessat, AT_FDCWD, (long)path, 4 /* R_OK */, 0, 0);
}

long sys_open_append(const char *path)
{
	return system_call(SYS_openat, AT_FDCWD, (long)path,
		O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644, 0);
}

long sys_write(int fd, const void *data, size_t size)
{
	return system_call(SYS_write, fd, (long)data, (long)size, 0, 0);
}

long sys_close(int fd)
{
	return system_call(SYS_close, fd, 0, 0, 0, 0);
}

long sys_getpid(void)
{
	return system_call(SYS_getpid, 0, 0, 0, 0, 0);
}

bool sys_identity(int fd, uint64_t identity[2])
{
	struct statx s;

	if (system_call(SYS_statx, fd, (long)"", AT_EMPTY_PATH, STATX_INO, (long)&s))
		return false;
	identity[0] = (uint64_t)s.stx_dev_major << 32 | s.stx_dev_minor;
	identity[1] = s.stx_ino;
	return true;
}

/* rt_sigprocmask with an invalid `how`: the kernel reads the set first. */
bool sys_readable(const void *at)
{
	return system_call(SYS_rt_sigprocmask, -1, (long)at, 0, 8, 0) != -EFAULT;
}

long sys_protect(void *page, size_t size, int protection)
{
	return system_call(SYS_mprotect, (long)page, (long)size, protection, 0, 0);
}

size_t text_length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

bool text_equal(const char *a, const char *b)
{
	for (; *a && *a == *b; a++)
		b++;
	return *a == *b;
}

bool text_starts(const char *s, const char *with)
{
	for (; *with; with++, s++)
		if (*s != *with)
			return false;
	return true;
}

const char *text_last_part(const char *path)
{
	const char *last = path;

	for (; *path; path++)
		if (*path == '/')
			last = path + 1;
	return last;
}

bool text_has_slash(const char *path)
{
	return text_last_part(path) != path;
}

bool text_append(char *at, size_t room, const char *s, size_t n)
{
	size_t used = text_length(at);

	if (n >= room - used)
		return false;
	for (size_t i = 0; i < n; i++)
		at[used + i] = s[i];
	at[used + n] = 0;
	return true;
}

size_t text_entry(const char *list, const char **next)
{
	size_t n = 0;

	while (list[n] && list[n] != ':')
		n++;
	*next = list[n] ? list + n + 1 : NULL;
	return n;
}

/* glibc passes argc, argv and envp to every initialiser. */
__attribute__((constructor)) static void remember_environment(int argc, char **argv, char **envp)
{
	(void)argc, (void)argv;
	start_environment = envp;
}

const char *start_variable(const char *name)
{
	size_t n = text_length(name);

	for (char **e = start_environment; e && *e; e++)
		if (text_starts(*e, name) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/* The auxiliary vector is behind the environment. */
unsigned long start_auxiliary(unsigned long type)
{
	char **e = start_environment;

	if (!e)
		return 0;
	while (*e)
		e++;
	for (ElfW(auxv_t) *a = (ElfW(auxv_t) *)(e + 1); a->a_type != AT_NULL; a++)
		if (a->a_type == type)
			return a->a_un.a_val;
	return 0;
}

const char *start_program(void)
{
	const char *path = (const char *)start_auxiliary(AT_EXECFN);

	return path ? path : "";
}

/* The loader has mapped the program, so its notes can be read in memory. */
static bool has_our_note(const char *p, size_t n)
{
	while (n >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *h = (const ElfW(Nhdr) *)p;
		size_t name = ((size_t)h->n_namesz + 3) & ~3ul,
		       size = sizeof *h + name + (((size_t)h->n_descsz + 3) & ~3ul);

		if (size > n)
			return false;
		if (h->n_namesz == sizeof BUILD_NOTE_OWNER && text_equal(p + sizeof *h, BUILD_NOTE_OWNER))
			return true;
		p += size;
		n -= size;
	}
	return false;
}

bool start_is_ours(void)
{
	const ElfW(Phdr) *ph = (const ElfW(Phdr) *)start_auxiliary(AT_PHDR);
	unsigned long n = start_auxiliary(AT_PHNUM);
	ElfW(Addr) base = 0;

	if (!ph || start_auxiliary(AT_PHENT) != sizeof *ph)
		return false;
	for (unsigned long i = 0; i < n; i++)
		if (ph[i].p_type == PT_PHDR)
			base = (ElfW(Addr))ph - ph[i].p_vaddr;
	for (unsigned long i = 0; i < n; i++)
		if (ph[i].p_type == PT_NOTE && has_our_note((const char *)(base + ph[i].p_vaddr), ph[i].p_memsz))
			return true;
	return false;
}

bool start_folder(const char *name, char *dir, size_t size)
{
	const char *list = start_variable("LD_AUDIT"), *next;
	size_t want = text_length(name);

	for (; list; list = next) {
		size_t n = text_entry(list, &next);

		if (n <= want || list[0] != '/' || list[n - want - 1] != '/' || !text_starts(list + n - want, name))
			continue;
		dir[0] = 0;
		return text_append(dir, size, list, n - want - 1);
	}
	return false;
}

/* The compiler may generate calls to these even with -ffreestanding. */
void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);

void *memcpy(void *to, const void *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = ((const char *)from)[i];
	return to;
}

void *memset(void *to, int c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = (char)c;
	return to;
}
