/* The object loader: checks and places sections, applies relocations, and makes the code executable. */
#include "ptx/jit/object.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_SECTIONS = 256, MAX_ALIGN = 4096 };

#ifndef SHT_X86_64_UNWIND
#define SHT_X86_64_UNWIND 0x70000001
#endif

struct loader {
	const uint8_t *bytes;
	size_t size;
	Elf64_Shdr sections[MAX_SECTIONS];
	uint64_t place[MAX_SECTIONS]; /* offset in the image */
	bool placed[MAX_SECTIONS];
	uint32_t nsections;
	uint32_t symtab; /* 0: none */
	uint64_t nsyms;
	struct object_image image;
	char *why;
	size_t room;
};

__attribute__((format(printf, 2, 3))) static int loader_refuse(struct loader *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->why, l->room, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* True if the file has n bytes at `offset`. */
static bool file_has(const struct loader *l, uint64_t offset, uint64_t n)
{
	return offset <= l->size && n <= l->size - offset;
}

/* ---- sections --------------------------------------------------------------------------------------- */

static int read_header(struct loader *l)
{
	Elf64_Ehdr h;

	if (!file_has(l, 0, sizeof h))
		return loader_refuse(l, "the object is too short");
	memcpy(&h, l->bytes, sizeof h);
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
		h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_type != ET_REL || h.e_machine != EM_X86_64)
		return loader_refuse(l, "not a relocatable object for x86-64");
	if (h.e_shentsize != sizeof(Elf64_Shdr) || !h.e_shnum || h.e_shnum > MAX_SECTIONS ||
		!file_has(l, h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr)))
		return loader_refuse(l, "the section table is damaged");
	l->nsections = h.e_shnum;
	memcpy(l->sections, l->bytes + h.e_shoff, h.e_shnum * sizeof(Elf64_Shdr));
	return 0;
}

/* Unwind tables and notes are allocated sections, but nothing here reads them. */
static bool section_is_wanted(const Elf64_Shdr *s)
{
	return s->sh_flags & SHF_ALLOC && s->sh_size && s->sh_type != SHT_X86_64_UNWIND && s->sh_type != SHT_NOTE;
}

static int check_sections(struct loader *l)
{
	for (uint32_t i = 1; i < l->nsections; i++) {
		const Elf64_Shdr *s = &l->sections[i];

		if (s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL && !file_has(l, s->sh_offset, s->sh_size))
			return loader_refuse(l, "section %u lies outside the object", i);
		if (s->sh_type == SHT_SYMTAB) {
			if (l->symtab || s->sh_entsize != sizeof(Elf64_Sym) || s->sh_link >= l->nsections ||
				l->sections[s->sh_link].sh_type != SHT_STRTAB)
				return loader_refuse(l, "the symbol table is damaged");
			l->symtab = i;
			l->nsyms = s->sh_size / sizeof(Elf64_Sym);
		}
		if (!section_is_wanted(s))
			continue;
		if (s->sh_type != SHT_PROGBITS || s->sh_flags & (SHF_WRITE | SHF_TLS | SHF_COMPRESSED))
			return loader_refuse(l, "section %u is neither code nor constants", i);
		if (s->sh_addralign > MAX_ALIGN || s->sh_addralign & (s->sh_addralign - 1))
			return loader_refuse(l, "section %u has an invalid alignment", i);
	}
	return l->symtab ? 0 : loader_refuse(l, "the object has no symbols");
}

/* Places all sections of code, or all others, from offset `at`; returns the end. The sum stays below 2 * the file. */
static uint64_t place_sections(struct loader *l, uint64_t at, bool code)
{
	for (uint32_t i = 1; i < l->nsections; i++) {
		const Elf64_Shdr *s = &l->sections[i];
		uint64_t align = s->sh_addralign ? s->sh_addralign : 1;

		if (!section_is_wanted(s) || !(s->sh_flags & SHF_EXECINSTR) == code)
			continue;
		at = (at + align - 1) & ~(align - 1);
		l->place[i] = at;
		l->placed[i] = true;
		at += s->sh_size;
	}
	return at;
}

static int map_image(struct loader *l)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end;
	void *p;

	l->image.text = (place_sections(l, 0, true) + page - 1) & ~(page - 1);
	end = (place_sections(l, l->image.text, false) + page - 1) & ~(page - 1);
	/* Sections of a damaged object may overlap in the file, so their sum may exceed its size. */
	if (!l->image.text || end > 2 * (uint64_t)OBJECT_MAX_SIZE)
		return loader_refuse(l, "the object has no code, or too much");
	p = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	l->image.memory = p;
	l->image.size = end;
	for (uint32_t i = 1; i < l->nsections; i++)
		if (l->placed[i])
			memcpy(l->image.memory + l->place[i], l->bytes + l->sections[i].sh_offset,
				l->sections[i].sh_size);
	return 0;
}

/* ---- symbols ---------------------------------------------------------------------------------------- */

static Elf64_Sym symbol_read(const struct loader *l, uint64_t i)
{
	Elf64_Sym s;

	memcpy(&s, l->bytes + l->sections[l->symtab].sh_offset + i * sizeof s, sizeof s);
	return s;
}

/* The name of a symbol, or "" if it has none. */
static const char *symbol_name(const struct loader *l, const Elf64_Sym *s)
{
	const Elf64_Shdr *strings = &l->sections[l->sections[l->symtab].sh_link];
	const char *text = (const char *)l->bytes + strings->sh_offset;

	if (s->st_name >= strings->sh_size || !memchr(text + s->st_name, 0, strings->sh_size - s->st_name))
		return "";
	return text + s->st_name;
}

/* The offset of a symbol in the image. */
static int symbol_offset(struct loader *l, const Elf64_Sym *s, uint64_t *offset)
{
	if (s->st_shndx == SHN_UNDEF)
		return loader_refuse(l, "the code refers to '%.80s' outside the object", symbol_name(l, s));
	if (s->st_shndx >= l->nsections || !l->placed[s->st_shndx] || s->st_value > l->sections[s->st_shndx].sh_size)
		return loader_refuse(l, "symbol '%.80s' lies in no section", symbol_name(l, s));
	*offset = l->place[s->st_shndx] + s->st_value;
	return 0;
}

static int find_entry(struct loader *l, const char *function)
{
	for (uint64_t i = 1; i < l->nsyms; i++) {
		Elf64_Sym s = symbol_read(l, i);
		uint64_t at;
		int err;

		if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || strcmp(symbol_name(l, &s), function))
			continue;
		err = symbol_offset(l, &s, &at);
		if (err)
			return err;
		if (!(l->sections[s.st_shndx].sh_flags & SHF_EXECINSTR) ||
			s.st_value == l->sections[s.st_shndx].sh_size)
			return loader_refuse(l, "'%s' is not code", function);
		l->image.entry = l->image.memory + at;
		return 0;
	}
	return loader_refuse(l, "the object does not define '%s'", function);
}

/* ---- relocations ------------------------------------------------------------------------------------ */

static int relocate_one(struct loader *l, uint32_t section, const Elf64_Rela *r)
{
	uint64_t room = l->sections[section].sh_size, width = 4, target;
	int64_t value;
	int err;

	if (ELF64_R_SYM(r->r_info) >= l->nsyms)
		return loader_refuse(l, "a relocation has no symbol");
	Elf64_Sym s = symbol_read(l, ELF64_R_SYM(r->r_info));
	err = symbol_offset(l, &s, &target);
	if (err)
		return err;
	switch (ELF64_R_TYPE(r->r_info)) {
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		break;
	case R_X86_64_PC64:
		width = 8;
		break;
	default:
		return loader_refuse(l, "relocation type %u is unknown", (unsigned)ELF64_R_TYPE(r->r_info));
	}
	if (r->r_offset > room || width > room - r->r_offset)
		return loader_refuse(l, "a relocation lies outside its section");
	/* Both addresses are in the image, so the value is a difference of offsets. */
	if (r->r_addend > OBJECT_MAX_SIZE || r->r_addend < -OBJECT_MAX_SIZE)
		return loader_refuse(l, "a relocation has an invalid addend");
	value = (int64_t)target + r->r_addend - (int64_t)(l->place[section] + r->r_offset);
	memcpy(l->image.memory + l->place[section] + r->r_offset, &value,
		width); /* below 2^31 for any image of OBJECT_MAX_SIZE */
	return 0;
}

static int relocate_section(struct loader *l, const Elf64_Shdr *table)
{
	Elf64_Rela r;
	int err = 0;

	if (table->sh_info >= l->nsections || !l->placed[table->sh_info])
		return 0; /* of a section that is not loaded */
	if (table->sh_entsize != sizeof r || table->sh_link != l->symtab)
		return loader_refuse(l, "a relocation table is damaged");
	for (uint64_t i = 0; i < table->sh_size / sizeof r && !err; i++) {
		memcpy(&r, l->bytes + table->sh_offset + i * sizeof r, sizeof r);
		err = relocate_one(l, table->sh_info, &r);
	}
	return err;
}

static int relocations_apply(struct loader *l)
{
	int err = 0;

	for (uint32_t i = 1; i < l->nsections && !err; i++) {
		if (l->sections[i].sh_type == SHT_RELA)
			err = relocate_section(l, &l->sections[i]);
		else if (l->sections[i].sh_type == SHT_REL)
			err = loader_refuse(l, "a relocation table has no addends");
	}
	return err;
}

/* ---- loading ---------------------------------------------------------------------------------------- */

/* From here on, no page is writable. */
static int protect_image(struct loader *l)
{
	struct object_image *m = &l->image;

	if (mprotect(m->memory, m->text, PROT_READ | PROT_EXEC) ||
		(m->size > m->text && mprotect(m->memory + m->text, m->size - m->text, PROT_READ))) {
		snprintf(l->why, l->room, "executable memory is not available: %s", strerror(errno));
		return errno == ENOMEM ? -ENOMEM : -EPERM;
	}
	return 0;
}

int object_load(const void *bytes, size_t size, const char *function, struct object_image *out, char *why, size_t room)
{
	struct loader *l = calloc(1, sizeof *l);
	int err;

	*out = (struct object_image){0};
	if (room)
		*why = 0;
	if (!l)
		return -ENOMEM;
	*l = (struct loader){.bytes = bytes, .size = size, .why = why, .room = room};
	err = size > OBJECT_MAX_SIZE ? loader_refuse(l, "the object is too large") : read_header(l);
	if (!err)
		err = check_sections(l);
	if (!err)
		err = map_image(l);
	if (!err)
		err = relocations_apply(l);
	if (!err)
		err = find_entry(l, function);
	if (!err)
		err = protect_image(l);
	if (err)
		object_unload(&l->image);
	*out = l->image;
	free(l);
	return err;
}

void object_unload(struct object_image *image)
{
	if (image->memory)
		munmap(image->memory, image->size);
	*image = (struct object_image){0};
}
