/*
 * elf.c - bounds-checked ELF sections; the size and architecture of a cubin from its headers.
 */
#include <elf.h>
#include <errno.h>

#include "abi/fatbin.h"
#include "image/bytes.h"
#include "image/elf.h"
#include "image/private.h"

/* Section types of relocatable cubins that reserve memory and have no bytes in the file. */
#define SHT_CUDA_GLOBAL (SHT_LOPROC + 0x7)
#define SHT_CUDA_LOCAL  (SHT_LOPROC + 0x9)
#define SHT_CUDA_SHARED (SHT_LOPROC + 0xa)

static bool section_has_no_bytes(uint32_t type)
{
	return type == SHT_NULL || type == SHT_NOBITS || type == SHT_CUDA_GLOBAL || type == SHT_CUDA_LOCAL ||
	       type == SHT_CUDA_SHARED;
}

static int elf_read_header(const void *data, size_t size, Elf64_Ehdr *h)
{
	if (size < sizeof *h)
		return -EINVAL;
	memcpy(h, data, sizeof *h);
	if (memcmp(h->e_ident, ELFMAG, SELFMAG))
		return -EINVAL;
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOTSUP;
	if (h->e_shnum && h->e_shentsize != sizeof(Elf64_Shdr))
		return -EINVAL;
	return 0;
}

/* Each step reads only bytes that the step before found to be inside, and nothing beyond the limit. */
size_t image_elf_extent(const void *data, size_t limit)
{
	Elf64_Ehdr h;
	Elf64_Shdr s;
	uint64_t extent = sizeof h, n, end;

	if (limit > PTRDIFF_MAX)
		limit = PTRDIFF_MAX;
	if (elf_read_header(data, limit, &h))
		return 0;
	if (__builtin_add_overflow(h.e_phoff, (uint64_t)h.e_phnum * h.e_phentsize, &end) || end > limit)
		return 0;
	if (h.e_phnum && end > extent)
		extent = end;
	if (!h.e_shoff)
		return extent;
	if (h.e_shoff > limit || sizeof s > limit - h.e_shoff)
		return 0;
	/* If the number of sections exceeds the field of the header, section 0 holds it. */
	memcpy(&s, (const char *)data + h.e_shoff, sizeof s);
	n = h.e_shnum ? h.e_shnum : s.sh_size;
	if (n > UINT32_MAX || __builtin_add_overflow(h.e_shoff, n * sizeof s, &end) || end > limit)
		return 0;
	extent = end > extent ? end : extent;
	for (uint64_t i = 1; i < n; i++) {
		memcpy(&s, (const char *)data + h.e_shoff + i * sizeof s, sizeof s);
		if (section_has_no_bytes(s.sh_type))
			continue;
		if (__builtin_add_overflow(s.sh_offset, s.sh_size, &end) || end > limit)
			return 0;
		extent = end > extent ? end : extent;
	}
	return extent;
}

int image_cubin_target(const void *data, size_t size, unsigned *sm)
{
	Elf64_Ehdr h;
	int r = elf_read_header(data, size, &h);

	if (r)
		return r;
	if (h.e_machine != CUBIN_MACHINE)
		return -ENOTSUP;
	*sm = h.e_ident[EI_OSABI] == CUBIN_OSABI ? h.e_flags >> 8 & 0xffff : h.e_flags & 0xff;
	return 0;
}

static int elf_read_section(const struct elf *elf, uint32_t index, Elf64_Shdr *s)
{
	if (index >= elf->nsections)
		return -EINVAL;
	memcpy(s, elf->data + elf->shoff + (uint64_t)index * sizeof *s, sizeof *s);
	if (section_has_no_bytes(s->sh_type))
		return 0;
	return in_range(s->sh_offset, s->sh_size, elf->size) ? 0 : -EINVAL;
}

static int elf_count_sections(struct elf *elf, const Elf64_Ehdr *h, uint32_t *names)
{
	Elf64_Shdr first;
	uint64_t n = h->e_shnum;

	if (!in_range(h->e_shoff, sizeof first, elf->size))
		return -EINVAL;
	memcpy(&first, elf->data + h->e_shoff, sizeof first);
	if (!n)
		n = first.sh_size;
	*names = h->e_shstrndx == SHN_XINDEX ? first.sh_link : h->e_shstrndx;
	if (n > UINT32_MAX || !in_range(h->e_shoff, n * sizeof first, elf->size))
		return -EINVAL;
	elf->shoff = h->e_shoff;
	elf->nsections = n;
	return 0;
}

int image_elf_init(struct elf *elf, const void *data, size_t size)
{
	Elf64_Ehdr h;
	Elf64_Shdr s;
	uint32_t names;
	int r = elf_read_header(data, size, &h);

	memset(elf, 0, sizeof *elf);
	elf->data = data;
	elf->size = size;
	if (r || !h.e_shoff)
		return r;
	r = elf_count_sections(elf, &h, &names);
	if (!r)
		r = elf_read_section(elf, names, &s);
	if (r)
		return r;
	if (s.sh_type != SHT_STRTAB || !s.sh_size || elf->data[s.sh_offset + s.sh_size - 1])
		return -EINVAL;
	elf->names = elf->data + s.sh_offset;
	elf->names_size = s.sh_size;
	return 0;
}

int image_elf_section(const struct elf *elf, uint32_t index, struct elf_section *section)
{
	Elf64_Shdr s;
	int r = elf_read_section(elf, index, &s);

	if (r)
		return r;
	if (s.sh_name >= elf->names_size)
		return -EINVAL;
	section->name = elf->names + s.sh_name;
	section->type = s.sh_type;
	section->link = s.sh_link;
	section->info = s.sh_info;
	section->size = s.sh_size;
	section->data = section_has_no_bytes(s.sh_type) ? NULL : elf->data + s.sh_offset;
	return 0;
}
