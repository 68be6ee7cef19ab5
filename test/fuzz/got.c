/*
 * Whatever tables a mapped object has, the reader neither reads nor writes outside the object's one segment. An input
 * is sixteen entries of a dynamic section, followed by the content of the segment after the headers.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "audit/base.h"
#include "audit/follow/got.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PAGE    4096
#define PAGES   4
#define ENTRIES 16

static char *image;

unsigned long start_auxiliary(unsigned long type)
{
	return type == AT_PAGESZ ? PAGE : 0;
}

bool sys_readable(const void *at)
{
	return at == image;
}

long sys_protect(void *page, size_t size, int protection)
{
	if ((char *)page < image || (char *)page + size > image + PAGES * PAGE || mprotect(page, size, protection))
		abort();
	return 0;
}

static bool is_replaced(const char *name)
{
	return !strcmp(name, "execve");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ElfW(Dyn) dynamic[ENTRIES + 1] = {0};
	size_t head = size < sizeof *dynamic * ENTRIES ? size : sizeof *dynamic * ENTRIES;
	size_t rest = size - head < (PAGES - 1) * PAGE ? size - head : (PAGES - 1) * PAGE;

	if (!image) { /* the next page is not mapped */
		image = mmap(NULL, (PAGES + 1) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (image == MAP_FAILED)
			abort();
	}
	ElfW(Ehdr) *e = (ElfW(Ehdr) *)image;
	ElfW(Phdr) *ph = (ElfW(Phdr) *)(e + 1);
	struct link_map map = {.l_addr = (ElfW(Addr))image, .l_name = (char *)"libfuzz.so", .l_ld = dynamic};

	mprotect(image, PAGES * PAGE, PROT_READ | PROT_WRITE);
	memset(image, 0, PAGES * PAGE);
	memcpy(e->e_ident, ELFMAG, SELFMAG);
	e->e_phoff = sizeof *e, e->e_phnum = 2, e->e_phentsize = sizeof *ph;
	ph[0] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = PAGES * PAGE};
	ph[1] = (ElfW(Phdr)){.p_type = PT_DYNAMIC, .p_vaddr = (ElfW(Addr))dynamic - map.l_addr};
	memcpy(dynamic, data, head);
	memcpy(image + PAGE, data + head, rest);
	mprotect(image, PAGES * PAGE, PROT_READ);
	got_redirect(&map, is_replaced);
	return 0;
}
