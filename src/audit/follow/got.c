/* Change relocations of function addresses into relocations of calls. */
#include <sys/mman.h>
#include "audit/base.h"
#include "audit/follow/got.h"
#include "audit/follow/symbol.h"

#if defined(__x86_64__)
#define RELOCATION_CALL    R_X86_64_JUMP_SLOT
#define RELOCATION_ADDRESS R_X86_64_GLOB_DAT
#define RELOCATION_DATA    R_X86_64_64
#elif defined(__aarch64__)
#define RELOCATION_CALL    R_AARCH64_JUMP_SLOT
#define RELOCATION_ADDRESS R_AARCH64_GLOB_DAT
#define RELOCATION_DATA    R_AARCH64_ABS64
#endif

#define HEADERS_MAX 4096 /* bytes at the start of a library in which its headers must be */

struct got_object {
	ElfW(Addr) base;
	const ElfW(Phdr) *headers;
	size_t nheaders;
	const ElfW(Rela) *relocations;
	size_t nrelocations, nrelative;
	const ElfW(Sym) *symbols;
	size_t nsymbols;
	const char *strings;
	size_t nstrings;
};

static bool headers_match(const struct got_object *o, const struct link_map *map)
{
	for (size_t i = 0; i < o->nheaders; i++)
		if (o->headers[i].p_type == PT_DYNAMIC)
			return o->base + o->headers[i].p_vaddr == (ElfW(Addr))map->l_ld;
	return false;
}

/* Find the program headers: through the auxiliary vector, or behind the ELF header of a library. */
static bool find_headers(const struct link_map *map, struct got_object *o)
{
	const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)map->l_addr;

	o->base = map->l_addr;
	if (!*map->l_name) {
		o->headers = (const ElfW(Phdr) *)start_auxiliary(AT_PHDR);
		o->nheaders =
			o->headers && start_auxiliary(AT_PHENT) == sizeof(ElfW(Phdr)) ? start_auxiliary(AT_PHNUM) : 0;
		if (headers_match(o, map))
			return true;
	}
	if (map->l_addr % HEADERS_MAX || !sys_readable(e) || e->e_ident[0] != ELFMAG0 || e->e_ident[1] != ELFMAG1 ||
		e->e_ident[2] != ELFMAG2 || e->e_ident[3] != ELFMAG3 || e->e_phentsize != sizeof(ElfW(Phdr)) ||
		e->e_phoff % sizeof(ElfW(Addr)) || e->e_phoff > HEADERS_MAX ||
		e->e_phnum > (HEADERS_MAX - e->e_phoff) / sizeof(ElfW(Phdr)))
		return false;
	o->headers = (const ElfW(Phdr) *)(map->l_addr + e->e_phoff);
	o->nheaders = e->e_phnum;
	return headers_match(o, map);
}

/* Returns the segment whose file content includes the address, or NULL; *left is how many bytes follow in it. */
static const ElfW(Phdr) *find_segment(const struct got_object *o, const void *at, size_t *left)
{
	ElfW(Addr) offset = (ElfW(Addr))at - o->base;

	for (size_t i = 0; i < o->nheaders; i++) {
		const ElfW(Phdr) *h = &o->headers[i];

		if (h->p_type != PT_LOAD || !(h->p_flags & PF_R) || offset < h->p_vaddr ||
			offset - h->p_vaddr >= h->p_filesz)
			continue;
		*left = h->p_filesz - (offset - h->p_vaddr);
		return h;
	}
	return NULL;
}

static bool is_in_segment(const struct got_object *o, const void *at, size_t size)
{
	size_t left;

	return (ElfW(Addr))at % sizeof(ElfW(Addr)) == 0 && find_segment(o, at, &left) && size <= left;
}

static bool find_tables(const struct link_map *map, struct got_object *o)
{
	size_t size = 0, entry = 0, symbol = 0, left = 0;

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_RELA:
			o->relocations = dynamic_address(map, d);
			break;
		case DT_SYMTAB:
			o->symbols = dynamic_address(map, d);
			break;
		case DT_STRTAB:
			o->strings = dynamic_address(map, d);
			break;
		case DT_RELASZ:
			size = d->d_un.d_val;
			break;
		case DT_RELAENT:
			entry = d->d_un.d_val;
			break;
		case DT_RELACOUNT:
			o->nrelative = d->d_un.d_val;
			break;
		case DT_SYMENT:
			symbol = d->d_un.d_val;
			break;
		case DT_STRSZ:
			o->nstrings = d->d_un.d_val;
			break;
		}
	}
	if (!o->relocations || !o->symbols || !o->strings || entry != sizeof *o->relocations ||
		symbol != sizeof *o->symbols)
		return false;
	o->nrelocations = size / entry;
	return o->nrelative < o->nrelocations && find_headers(map, o) && is_in_segment(o, o->relocations, size) &&
	       is_in_segment(o, o->symbols, symbol) && find_segment(o, o->symbols, &left) &&
	       (o->nsymbols = left / symbol) && find_segment(o, o->strings, &left) && o->nstrings &&
	       o->nstrings <= left && !o->strings[o->nstrings - 1];
}

/* Returns the name whose address the relocation needs, or NULL. */
static const char *relocation_name(const struct got_object *o, const ElfW(Rela) *r)
{
	size_t type = ELF64_R_TYPE(r->r_info), index = ELF64_R_SYM(r->r_info);

	if ((type != RELOCATION_ADDRESS && type != RELOCATION_DATA) || r->r_addend || index >= o->nsymbols)
		return NULL;
	const ElfW(Sym) *s = &o->symbols[index];
	if (s->st_shndx != SHN_UNDEF || ELF64_ST_BIND(s->st_info) == STB_LOCAL || s->st_name >= o->nstrings)
		return NULL;
	return o->strings + s->st_name;
}

static void relocation_make_call(const struct got_object *o, const ElfW(Rela) *r)
{
	size_t left, page = start_auxiliary(AT_PAGESZ);
	const ElfW(Phdr) *h = find_segment(o, r, &left);
	char *at = (char *)((uintptr_t)&r->r_info & -page);
	int before = PROT_READ | (h->p_flags & PF_W ? PROT_WRITE : 0) | (h->p_flags & PF_X ? PROT_EXEC : 0);

	if (!page || sys_protect(at, page, before | PROT_WRITE))
		return;
	((ElfW(Rela) *)r)->r_info = ELF64_R_INFO(ELF64_R_SYM(r->r_info), RELOCATION_CALL);
	sys_protect(at, page, before);
}

void got_redirect(const struct link_map *map, bool (*is_replaced)(const char *name))
{
	struct got_object o = {0};

	if (!map->l_ld || !find_tables(map, &o))
		return;
	for (size_t i = o.nrelative; i < o.nrelocations; i++) {
		const char *name = relocation_name(&o, &o.relocations[i]);

		if (name && is_replaced(name))
			relocation_make_call(&o, &o.relocations[i]);
	}
}
