/*
 * make.c - builds fatbins and cubins byte by byte.
 */
#include <assert.h>
#include <elf.h>
#include <lz4.h>
#include <string.h>
#include <zstd.h>

#include "abi/fatbin.h"
#include "make.h"

size_t make_bytes(struct bytes *b, const void *data, size_t size)
{
	size_t at = b->size;

	assert(size <= sizeof b->data - at);
	if (data)
		memcpy(b->data + at, data, size);
	else
		memset(b->data + at, 0, size);
	b->size += size;
	return at;
}

static void pad_to_8(struct bytes *b, size_t from)
{
	make_bytes(b, NULL, -(b->size - from) & 7);
}

size_t make_fatbin(struct bytes *b)
{
	struct fatbin_header h = {FATBIN_MAGIC, FATBIN_VERSION, sizeof h, 0};

	return make_bytes(b, &h, sizeof h);
}

void make_end(struct bytes *b, size_t fatbin)
{
	struct fatbin_header h;

	memcpy(&h, b->data + fatbin, sizeof h);
	h.size = b->size - fatbin - sizeof h;
	memcpy(b->data + fatbin, &h, sizeof h);
}

static size_t pack_payload(const struct make_entry *e, char *out, size_t room)
{
	size_t n = e->size;

	if (e->flags & FATBIN_LZ4) {
		n = LZ4_compress_default(e->data, out, e->size, room);
	} else if (e->flags & FATBIN_ZSTD) {
		n = ZSTD_compress(out, room, e->data, e->size, 3);
	} else {
		assert(n <= room);
		memcpy(out, e->data, n);
	}
	assert(n && n <= room);
	return n;
}

size_t make_entry(struct bytes *b, const struct make_entry *e)
{
	static char payload[65536];
	size_t n = pack_payload(e, payload, sizeof payload), options = e->options ? strlen(e->options) + 1 : 0;
	size_t at = b->size, extra = options ? sizeof(struct fatbin_span) + ((options + 7) & -8) : 0;
	bool packed = e->flags & (FATBIN_LZ4 | FATBIN_ZSTD);
	struct fatbin_entry h = {
		.kind = e->kind,
		.version = FATBIN_ENTRY_VERSION,
		.header_size = sizeof h + extra,
		.payload_size = (n + 7) & -8,
		.compressed_size = packed ? n : 0,
		.options = options ? sizeof h : 0,
		.major = e->major || e->minor ? e->major : 8,
		.minor = e->minor,
		.sm = e->sm,
		.flags = e->flags | FATBIN_64BIT | FATBIN_LINUX,
		.size = packed ? e->size : 0,
	};
	struct fatbin_span span = {sizeof h + sizeof span, options};

	make_bytes(b, &h, sizeof h);
	if (options) {
		make_bytes(b, &span, sizeof span);
		make_bytes(b, e->options, options);
		pad_to_8(b, at);
	}
	make_bytes(b, payload, n);
	make_bytes(b, NULL, -n & 7);
	return at;
}

/* The sections of the cubin, in order; indices into the list of names. */
enum { NONE, SHSTRTAB, STRTAB, SYMTAB, NVINFO, INFO_AXPY, TEXT, GLOBAL, INIT, CONST3, SHARED, SECTIONS };

static const char *const names[SECTIONS] = {
	"",
	".shstrtab",
	".strtab",
	".symtab",
	".nv.info",
	".nv.info.axpy",
	".text.axpy",
	".nv.global",
	".nv.global.init",
	".nv.constant3",
	".nv.shared.axpy",
};

static const char symbol_names[] = "\0axpy\0counter\0table\0coef\0shared_int";

static void make_symbols(struct bytes *b)
{
	Elf64_Sym s[] = {
		{0},
		{1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), CUBIN_STO_KERNEL, TEXT, 0, 16},
		{6, ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, GLOBAL, 8, 4},
		{14, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, INIT, 0, 8},
		{20, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, CONST3, 4, 12},
		{25, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), CUBIN_STO_MANAGED, INIT, 8, 4},
	};

	make_bytes(b, s, sizeof s);
}

static void make_record(struct bytes *b, unsigned format, unsigned attribute, unsigned value, const void *payload)
{
	struct cubin_info i = {format, attribute, value};

	make_bytes(b, &i, sizeof i);
	if (format == INFO_SIZED)
		make_bytes(b, payload, value);
}

static void make_info(struct bytes *b, const struct make_cubin *c)
{
	if (!c->no_record)
		make_record(b, INFO_SIZED, INFO_REGCOUNT, 8, (uint32_t[]){1, 24});
	make_record(b, INFO_SIZED, INFO_FRAME_SIZE, 8, (uint32_t[]){1, 48});
	make_record(b, INFO_SIZED, INFO_MIN_STACK_SIZE, 8, (uint32_t[]){99, 48}); /* of an unknown symbol */
}

static void make_kernel_info(struct bytes *b, const struct make_cubin *c)
{
	static const uint16_t param[][2] = {{0, 4}, {8, 8}, {16, 24}};

	make_record(b, INFO_U16, INFO_CBANK_PARAM_SIZE, c->param_bytes ? c->param_bytes : 40, NULL);
	for (int i = 2; i >= 0; i--) {
		struct cubin_kparam p = {0, i, param[i][0], param[i][1] << 18 | 0x1f000};
		struct cubin_kparam_v2 v2 = {0, i, param[i][0], param[i][1], 0};

		if (c->v2)
			make_record(b, INFO_SIZED, INFO_KPARAM_INFO_V2, sizeof v2, &v2);
		else
			make_record(b, INFO_SIZED, INFO_KPARAM_INFO, sizeof p, &p);
	}
	make_record(b, INFO_SIZED, INFO_MAX_THREADS, 12, (uint32_t[]){128, 2, 1});
	make_record(b, INFO_U16, INFO_MAXREG_COUNT, 255, NULL);
	make_record(b, INFO_BYTE, INFO_NUM_BARRIERS, 3, NULL);
	make_record(b, INFO_NONE, 0x7e, 0, NULL); /* an unknown attribute */
}

static void make_contents(struct bytes *b, unsigned section, const struct make_cubin *c)
{
	switch (section) {
	case SHSTRTAB:
		for (int i = 0; i < SECTIONS; i++)
			make_bytes(b, names[i], strlen(names[i]) + 1);
		break;
	case STRTAB:
		make_bytes(b, symbol_names, sizeof symbol_names);
		break;
	case SYMTAB:
		make_symbols(b);
		break;
	case NVINFO:
		make_info(b, c);
		break;
	case INFO_AXPY:
		make_kernel_info(b, c);
		break;
	case TEXT:
	case CONST3:
		make_bytes(b, NULL, 16);
		break;
	case INIT:
		make_bytes(b, "\1\2\3\4\5\6\7\10\11\12\13\14", 12);
		break;
	}
}

static Elf64_Shdr section_header(unsigned i, const struct make_cubin *c)
{
	Elf64_Shdr s = {.sh_type = i >= NVINFO && i <= INFO_AXPY ? 0x70000000 : SHT_PROGBITS};

	if (i == NONE)
		s.sh_type = SHT_NULL;
	if (i == SHSTRTAB || i == STRTAB)
		s.sh_type = SHT_STRTAB;
	if (i == SYMTAB)
		s = (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_link = STRTAB, .sh_entsize = sizeof(Elf64_Sym)};
	if (i == TEXT)
		s.sh_info = (c->no_record ? 24u : 99u) << 24 | 1;
	if (i == GLOBAL)
		s = (Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_size = 64};
	if (i == SHARED)
		s = (Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_size = 256 + (c->sm >= 90 ? CUBIN_RESERVED_SHARED : 0)};
	return s;
}

size_t make_cubin(struct bytes *b, const struct make_cubin *c)
{
	Elf64_Ehdr h = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = CUBIN_MACHINE,
		.e_flags = c->old ? c->sm | 0x500 : c->sm << 8 | 0x6000004,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = SHSTRTAB,
	};
	size_t at = make_bytes(b, &h, sizeof h), name = 0;
	Elf64_Shdr s[SECTIONS];

	h.e_ident[EI_OSABI] = c->old ? CUBIN_OSABI_OLD : CUBIN_OSABI;
	h.e_ident[EI_ABIVERSION] = c->old ? CUBIN_ABI_OLD : CUBIN_ABI;
	for (unsigned i = 0; i < SECTIONS; i++) {
		pad_to_8(b, at);
		s[i] = section_header(i, c);
		s[i].sh_name = name;
		s[i].sh_offset = b->size - at;
		name += strlen(names[i]) + 1;
		make_contents(b, i, c);
		if (s[i].sh_type != SHT_NOBITS)
			s[i].sh_size = b->size - at - s[i].sh_offset;
	}
	pad_to_8(b, at);
	h.e_shoff = make_bytes(b, s, sizeof s) - at;
	memcpy(b->data + at, &h, sizeof h);
	return at;
}
