/* Read the dynamic section, version tables, notes and symbol names of an ELF file. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "loader/elf_object.h"
#include "image/elf.h"

#if defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_X86_64
#endif

#define CHAIN_MAX 100000 /* longest list in a file that is followed: versions, symbols of one hash */

/* Returns the bytes at a file offset, or NULL if they are not all inside the file. */
static const char *file_bytes(const struct elf_object *o, uint64_t offset, uint64_t size)
{
	return offset <= o->size && size <= o->size - offset ? o->data + offset : NULL;
}

static bool read_program_header(const struct elf_object *o, unsigned i, Elf64_Phdr *ph)
{
	const Elf64_Ehdr *eh = (const void *)o->data; /* mapped or from malloc, so aligned */
	const char *p = file_bytes(o, eh->e_phoff + (uint64_t)i * sizeof *ph, sizeof *ph);

	if (i >= eh->e_phnum || eh->e_phentsize != sizeof *ph || !p)
		return false;
	memcpy(ph, p, sizeof *ph);
	return true;
}

static void add_load_segment(struct elf_object *o, const Elf64_Phdr *ph)
{
	if (o->nloads < sizeof o->loads / sizeof *o->loads && file_bytes(o, ph->p_offset, ph->p_filesz)) {
		o->loads[o->nloads].address = ph->p_vaddr;
		o->loads[o->nloads].offset = ph->p_offset;
		o->loads[o->nloads++].size = ph->p_filesz;
	}
}

/* Returns the file's bytes for a virtual address; *left is how many follow in the same segment. */
static const char *loaded_bytes(const struct elf_object *o, uint64_t address, uint64_t *left)
{
	for (unsigned i = 0; i < o->nloads; i++) {
		uint64_t into = address - o->loads[i].address;

		if (address >= o->loads[i].address && into < o->loads[i].size) {
			*left = o->loads[i].size - into;
			return o->data + o->loads[i].offset + into;
		}
	}
	return NULL;
}

/* Copy bytes from a virtual address. Returns false if the file does not contain all of them. */
static bool read_loaded(const struct elf_object *o, uint64_t address, void *to, size_t size)
{
	uint64_t left;
	const char *p = loaded_bytes(o, address, &left);

	if (!p || left < size)
		return false;
	memcpy(to, p, size);
	return true;
}

static const char *dynamic_string(const struct elf_object *o, uint64_t offset)
{
	uint64_t left;
	const char *p = offset < o->strings_size ? loaded_bytes(o, o->strings + offset, &left) : NULL;

	if (p && left > o->strings_size - offset)
		left = o->strings_size - offset;
	return p && memchr(p, 0, left) ? p : NULL;
}

/* ---- notes ---- */

static void read_build_id(struct elf_object *o, const Elf64_Phdr *ph)
{
	const char *p = file_bytes(o, ph->p_offset, ph->p_filesz);
	uint64_t left = p ? ph->p_filesz : 0;
	Elf64_Nhdr h;

	while (left >= sizeof h) {
		memcpy(&h, p, sizeof h);
		uint64_t name = ((uint64_t)h.n_namesz + 3) & ~3ull, text = ((uint64_t)h.n_descsz + 3) & ~3ull;
		if (name + text > left - sizeof h)
			return;
		p += sizeof h;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(p, "GNU", 4))
			for (uint32_t i = 0; i < h.n_descsz && 2 * i + 2 < sizeof o->build_id; i++)
				sprintf(o->build_id + 2 * i, "%02x", (unsigned char)p[name + i]);
		p += name + text;
		left -= sizeof h + name + text;
	}
}

/* ---- dynamic section ---- */

struct dynamic_info {
	uint64_t verdef, nverdef, verneed, nverneed, flags, static_tls;
};

static void read_dynamic_tag(struct elf_object *o, const Elf64_Dyn *d, struct dynamic_info *p, int pass)
{
	if (!pass) { /* the first pass finds the string table, which the second one reads */
		if (d->d_tag == DT_STRTAB)
			o->strings = d->d_un.d_ptr;
		else if (d->d_tag == DT_STRSZ)
			o->strings_size = d->d_un.d_val;
		else if (d->d_tag == DT_SYMTAB)
			o->symbols = d->d_un.d_ptr;
		else if (d->d_tag == DT_GNU_HASH)
			o->hash = d->d_un.d_ptr;
		return;
	}
	const char *text = dynamic_string(o, d->d_un.d_val);
	switch (d->d_tag) {
	case DT_SONAME:
		o->soname = text;
		break;
	case DT_RPATH:
		o->rpath = text;
		break;
	case DT_RUNPATH:
		o->runpath = text;
		break;
	case DT_NEEDED:
		if (text && o->nneeded < ELF_NAMES_MAX)
			o->needed[o->nneeded++] = text;
		break;
	case DT_FLAGS:
		p->static_tls = d->d_un.d_val & DF_STATIC_TLS;
		break;
	case DT_FLAGS_1:
		p->flags = d->d_un.d_val;
		break;
	case DT_VERDEF:
		p->verdef = d->d_un.d_ptr;
		break;
	case DT_VERDEFNUM:
		p->nverdef = d->d_un.d_val;
		break;
	case DT_VERNEED:
		p->verneed = d->d_un.d_ptr;
		break;
	case DT_VERNEEDNUM:
		p->nverneed = d->d_un.d_val;
		break;
	}
}

static void read_version_definitions(struct elf_object *o, uint64_t where, uint64_t n)
{
	Elf64_Verdef v;
	Elf64_Verdaux a;

	for (uint64_t i = 0; i < n && i < CHAIN_MAX && read_loaded(o, where, &v, sizeof v); i++, where += v.vd_next) {
		if (!(v.vd_flags & VER_FLG_BASE) && read_loaded(o, where + v.vd_aux, &a, sizeof a) &&
			o->nnodes < ELF_NAMES_MAX && dynamic_string(o, a.vda_name))
			o->nodes[o->nnodes++] = dynamic_string(o, a.vda_name);
		if (!v.vd_next)
			return;
	}
}

static void read_version_needs(struct elf_object *o, uint64_t where, uint64_t n)
{
	Elf64_Verneed v;
	Elf64_Vernaux a;
	unsigned steps = 0;

	for (uint64_t i = 0; i < n && steps < CHAIN_MAX && read_loaded(o, where, &v, sizeof v);
		i++, steps++, where += v.vn_next) {
		uint64_t aux = where + v.vn_aux;
		for (unsigned j = 0; j < v.vn_cnt && steps < CHAIN_MAX && read_loaded(o, aux, &a, sizeof a);
			j++, steps++, aux += a.vna_next) {
			const char *file = dynamic_string(o, v.vn_file), *node = dynamic_string(o, a.vna_name);
			if (file && node && !(a.vna_flags & VER_FLG_WEAK) && o->nwants < ELF_NAMES_MAX)
				o->wants[o->nwants++] = (struct elf_version_want){file, node};
			if (!a.vna_next || o->nwants == ELF_NAMES_MAX)
				break;
		}
		if (!v.vn_next || o->nwants == ELF_NAMES_MAX)
			return;
	}
}

static void read_dynamic(struct elf_object *o, const Elf64_Phdr *ph)
{
	struct dynamic_info p = {0};
	Elf64_Dyn d;
	const char *data = file_bytes(o, ph->p_offset, ph->p_filesz);

	if (!data)
		return;
	o->dynamic = true;
	for (int pass = 0; pass < 2; pass++)
		for (uint64_t i = 0; i < ph->p_filesz / sizeof d; i++) {
			memcpy(&d, data + i * sizeof d, sizeof d);
			if (d.d_tag == DT_NULL)
				break;
			read_dynamic_tag(o, &d, &p, pass);
		}
	o->library = o->type == ET_DYN && !(p.flags & DF_1_PIE);
	o->static_tls = p.static_tls;
	if (p.verdef)
		read_version_definitions(o, p.verdef, p.nverdef);
	if (p.verneed)
		read_version_needs(o, p.verneed, p.nverneed);
}

/* ---- opening ---- */

int elf_object_init(struct elf_object *o, const void *data, size_t size)
{
	Elf64_Ehdr eh = {0};
	Elf64_Phdr ph;

	*o = (struct elf_object){.data = data, .size = size};
	memcpy(&eh, data, size < sizeof eh ? size : sizeof eh);
	if (size < sizeof(Elf32_Ehdr) || memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return -EINVAL;
	o->bits64 = eh.e_ident[EI_CLASS] == ELFCLASS64;
	o->machine = eh.e_machine; /* same offset in ELF32 and ELF64 */
	o->type = eh.e_type;
	o->native = o->bits64 && eh.e_ident[EI_DATA] == ELFDATA2LSB && eh.e_machine == OUR_MACHINE && size >= sizeof eh;
	for (unsigned i = 0; o->native && read_program_header(o, i, &ph); i++)
		if (ph.p_type == PT_LOAD)
			add_load_segment(o, &ph);
	for (unsigned i = 0; o->native && read_program_header(o, i, &ph); i++) {
		if (ph.p_type == PT_NOTE && !*o->build_id)
			read_build_id(o, &ph);
		else if (ph.p_type == PT_TLS)
			o->tls = ph.p_memsz;
		else if (ph.p_type == PT_DYNAMIC && !o->dynamic)
			read_dynamic(o, &ph);
	}
	return 0;
}

int elf_object_open(struct elf_object *o, int fd)
{
	struct stat st;

	*o = (struct elf_object){0};
	if (fstat(fd, &st))
		return -errno;
	if (st.st_size <= 0)
		return -EINVAL;
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	int err = elf_object_init(o, p, (size_t)st.st_size);
	o->mapped = true;
	if (err)
		elf_object_close(o);
	return err;
}

void elf_object_close(struct elf_object *o)
{
	if (o->mapped)
		munmap((void *)o->data, o->size);
	*o = (struct elf_object){0};
}

/* ---- symbols ---- */

struct gnu_hash_head {
	uint32_t nbuckets, first, nbloom, shift;
};

static bool read_symbol(const struct elf_object *o, uint32_t i, Elf64_Sym *s)
{
	return o->symbols && read_loaded(o, o->symbols + (uint64_t)i * sizeof *s, s, sizeof *s);
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

bool elf_object_exports(const struct elf_object *o, const char *name)
{
	struct gnu_hash_head h;
	uint32_t want = gnu_hash(name), i, chain;
	Elf64_Sym s;

	if (!o->hash || !read_loaded(o, o->hash, &h, sizeof h) || !h.nbuckets)
		return false;
	uint64_t buckets = o->hash + sizeof h + (uint64_t)h.nbloom * 8, chains = buckets + (uint64_t)h.nbuckets * 4;
	if (!read_loaded(o, buckets + want % h.nbuckets * 4ull, &i, sizeof i) || i < h.first)
		return false;
	for (unsigned steps = 0;
		steps < CHAIN_MAX && read_loaded(o, chains + (i - h.first) * 4ull, &chain, sizeof chain);
		steps++, i++) {
		if ((chain | 1) == (want | 1) && read_symbol(o, i, &s) && s.st_shndx != SHN_UNDEF) {
			const char *text = dynamic_string(o, s.st_name);
			if (text && !strcmp(text, name))
				return true;
		}
		if (chain & 1)
			break;
	}
	return false;
}

/*
 * ELF files do not record the number of dynamic symbols. Undefined symbols come before those in the hash table, and
 * linkers place the string table behind the symbol table; the larger of the two bounds is used.
 */
static uint64_t count_symbols(const struct elf_object *o)
{
	uint64_t between = o->strings > o->symbols ? (o->strings - o->symbols) / sizeof(Elf64_Sym) : 0;
	struct gnu_hash_head h;

	if (o->hash && read_loaded(o, o->hash, &h, sizeof h) && h.first > between)
		return h.first;
	return between < CHAIN_MAX ? between : CHAIN_MAX;
}

const char *elf_object_undefined(const struct elf_object *o, uint32_t *i)
{
	uint64_t n = count_symbols(o);
	Elf64_Sym s;

	while (++*i < n && read_symbol(o, *i, &s)) {
		const char *text = s.st_shndx == SHN_UNDEF && ELF64_ST_BIND(s.st_info) == STB_GLOBAL
					   ? dynamic_string(o, s.st_name)
					   : NULL;
		if (text && *text)
			return text;
	}
	return NULL;
}

bool elf_object_contains(const struct elf_object *o, const char *text)
{
	return memmem(o->data, o->size, text, strlen(text) + 1);
}

bool elf_object_has_section(const struct elf_object *o, const char *name)
{
	struct elf elf;
	struct elf_section s;

	if (!o->native || image_elf_init(&elf, o->data, o->size))
		return false;
	for (uint32_t i = 1; i < elf.nsections; i++)
		if (!image_elf_section(&elf, i, &s) && !strcmp(s.name, name))
			return true;
	return false;
}
