/*
 * cubin.c - reads kernels with their parameters and limits, and variables, from symbols and info sections of a cubin.
 *
 *	.symtab			kernels (functions marked as entries), variables
 *	.nv.info		{symbol, number} records: registers, stack frames
 *	.nv.info.<kernel>	records without a symbol: parameters, launch bounds, clusters
 *	.nv.shared.<kernel>	its size is the kernel's static shared memory
 *	.nv.global[.init], .nv.constant3	where variables lie
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "abi/fatbin.h"
#include "image/bytes.h"
#include "image/elf.h"
#include "image/private.h"

enum section_role {
	SECTION_OTHER,
	SECTION_GLOBAL,
	SECTION_GLOBAL_INIT,
	SECTION_CONST,
	SECTION_MODULE_INFO,
	SECTION_KERNEL_INFO,
	SECTION_KERNEL_SHARED,
};

struct cubin {
	struct elf elf;
	struct image_code *code;
	struct image_error *err;
	unsigned char *roles; /* enum section_role of each section */
	const char *symbols;  /* nsymbols of Elf64_Sym */
	uint32_t nsymbols;
	const char *names; /* of symbols; the last byte is a NUL */
	size_t names_size;
	uint32_t *kernel_of;         /* for each symbol: index of its kernel + 1, or 0 */
	struct image_kernel **index; /* kernels sorted by name */
	uint64_t info_left;          /* bytes that further info sections may have, since sections must not overlap */
};

static int cubin_fail(struct cubin *c, const char *what)
{
	return image_fail(c->err, -EINVAL, "cubin: %s", what);
}

static int cubin_fail_memory(struct cubin *c)
{
	return image_fail(c->err, -ENOMEM, "cubin: out of memory");
}

static bool name_starts_with(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static enum section_role section_role_of(const char *name)
{
	if (name_starts_with(name, ".nv.info."))
		return SECTION_KERNEL_INFO;
	if (name_starts_with(name, ".nv.shared."))
		return SECTION_KERNEL_SHARED;
	if (!strcmp(name, ".nv.info"))
		return SECTION_MODULE_INFO;
	if (!strcmp(name, ".nv.global"))
		return SECTION_GLOBAL;
	if (!strcmp(name, ".nv.global.init"))
		return SECTION_GLOBAL_INIT;
	return strcmp(name, ".nv.constant3") ? SECTION_OTHER : SECTION_CONST;
}

static int read_symbol_table(struct cubin *c, const struct elf_section *s)
{
	struct elf_section names;

	if (c->symbols || !s->data)
		return cubin_fail(c, "more than one symbol table");
	if (image_elf_section(&c->elf, s->link, &names) || !names.data || !names.size || names.data[names.size - 1])
		return cubin_fail(c, "malformed symbol names");
	c->symbols = s->data;
	c->nsymbols = s->size / sizeof(Elf64_Sym);
	c->names = names.data;
	c->names_size = names.size;
	return 0;
}

static int classify_sections(struct cubin *c)
{
	struct elf_section s;
	int r = 0;

	c->roles = calloc(c->elf.nsections + 1, 1);
	if (!c->roles)
		return cubin_fail_memory(c);
	for (uint32_t i = 1; i < c->elf.nsections && !r; i++) {
		if (image_elf_section(&c->elf, i, &s))
			return cubin_fail(c, "a section lies outside the file");
		c->roles[i] = section_role_of(s.name);
		if (c->roles[i] == SECTION_CONST)
			c->code->const_bytes = s.size;
		if (s.type == SHT_SYMTAB)
			r = read_symbol_table(c, &s);
	}
	return r;
}

static Elf64_Sym symbol_at(const struct cubin *c, uint32_t i)
{
	Elf64_Sym s;

	memcpy(&s, c->symbols + (size_t)i * sizeof s, sizeof s);
	return s;
}

static bool symbol_is_kernel(const Elf64_Sym *s)
{
	return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_other & CUBIN_STO_KERNEL && s->st_shndx != SHN_UNDEF;
}

/* Symbol type of variables in a relocatable cubin; a declared variable is an undefined symbol. */
#define STT_CUDA_OBJECT STT_LOPROC

static bool symbol_is_variable(const struct cubin *c, const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	if (type != STT_OBJECT && type != STT_CUDA_OBJECT)
		return false;
	if (s->st_shndx == SHN_UNDEF)
		return type == STT_CUDA_OBJECT;
	return s->st_shndx < c->elf.nsections && c->roles[s->st_shndx] >= SECTION_GLOBAL &&
	       c->roles[s->st_shndx] <= SECTION_CONST;
}

static char *copy_symbol_name(struct cubin *c, const Elf64_Sym *s)
{
	const char *name = s->st_name < c->names_size ? c->names + s->st_name : "";

	return image_code_text(c->code, name, strlen(name));
}

static int add_variable(struct cubin *c, const Elf64_Sym *s)
{
	struct image_global *g = &c->code->globals[c->code->nglobals++];
	struct elf_section in;

	g->name = copy_symbol_name(c, s);
	if (!g->name)
		return cubin_fail_memory(c);
	g->size = s->st_size;
	g->offset = s->st_value;
	g->managed = s->st_other & CUBIN_STO_MANAGED;
	g->local = ELF64_ST_BIND(s->st_info) == STB_LOCAL;
	g->external = s->st_shndx == SHN_UNDEF;
	if (g->external)
		return 0;
	g->space = c->roles[s->st_shndx] == SECTION_CONST ? IMAGE_SPACE_CONST : IMAGE_SPACE_GLOBAL;
	if (image_elf_section(&c->elf, s->st_shndx, &in) || !in_range(s->st_value, s->st_size, in.size))
		return cubin_fail(c, "a variable lies outside its section");
	if (in.data)
		g->init = in.data + s->st_value;
	return 0;
}

static int add_kernel(struct cubin *c, const Elf64_Sym *s, uint32_t i)
{
	struct image_kernel *k = &c->code->kernels[c->code->nkernels++];
	struct elf_section text;

	/* Some assemblers state the registers only here. A REGCOUNT record, if there is one, overrides this. */
	if (!image_elf_section(&c->elf, s->st_shndx, &text))
		k->regs = text.info >> 24;
	k->name = copy_symbol_name(c, s);
	if (!k->name)
		return cubin_fail_memory(c);
	k->local = ELF64_ST_BIND(s->st_info) == STB_LOCAL;
	c->kernel_of[i] = c->code->nkernels;
	c->index[c->code->nkernels - 1] = k;
	return 0;
}

static int compare_kernel_pointers(const void *a, const void *b)
{
	return strcmp((*(struct image_kernel *const *)a)->name, (*(struct image_kernel *const *)b)->name);
}

static int read_symbols(struct cubin *c)
{
	size_t kernels = 0, variables = 0;
	Elf64_Sym s;
	int r = 0;

	for (uint32_t i = 0; i < c->nsymbols; i++) {
		s = symbol_at(c, i);
		kernels += symbol_is_kernel(&s);
		variables += symbol_is_variable(c, &s);
	}
	c->kernel_of = calloc((size_t)c->nsymbols + 1, sizeof *c->kernel_of);
	c->index = calloc(kernels + 1, sizeof *c->index);
	c->code->kernels = image_code_alloc(c->code, kernels, sizeof *c->code->kernels);
	c->code->globals = image_code_alloc(c->code, variables, sizeof *c->code->globals);
	if (!c->kernel_of || !c->index || !c->code->kernels || !c->code->globals)
		return cubin_fail_memory(c);
	for (uint32_t i = 0; i < c->nsymbols && !r; i++) {
		s = symbol_at(c, i);
		if (symbol_is_kernel(&s))
			r = add_kernel(c, &s, i);
		else if (symbol_is_variable(c, &s))
			r = add_variable(c, &s);
	}
	if (!r)
		qsort(c->index, kernels, sizeof *c->index, compare_kernel_pointers);
	return r;
}

static struct image_kernel *cubin_find_kernel(struct cubin *c, const char *name)
{
	struct image_kernel key = {.name = name}, *at = &key, **found;

	found = bsearch(&at, c->index, c->code->nkernels, sizeof *c->index, compare_kernel_pointers);
	return found ? *found : NULL;
}

/* One record of an info section, with its payload. */
struct info_record {
	unsigned attribute;
	uint32_t value; /* the inline value, or the first word of the payload */
	const char *payload;
	uint32_t size; /* of payload */
};

/* The record of .blocksareclusters; the other attributes are in abi/fatbin.h. */
#define INFO_BLOCKS_ARE_CLUSTERS 0x5b

/* Reads the record at *at. Returns 1, 0 at the end of the section, or a negative error. */
static int next_record(struct cubin *c, const struct elf_section *s, size_t *at, struct info_record *r)
{
	struct cubin_info i;

	if (s->size - *at < sizeof i)
		return *at == s->size ? 0 : cubin_fail(c, "an info section ends inside a record");
	memcpy(&i, s->data + *at, sizeof i);
	*at += sizeof i;
	*r = (struct info_record){.attribute = i.attribute, .value = i.value};
	if (i.format == INFO_BYTE)
		r->value &= 0xff;
	if (i.format != INFO_SIZED)
		return i.format >= INFO_NONE && i.format <= INFO_U16
			       ? 1
			       : cubin_fail(c, "an info record of unknown format");
	if (!in_range(*at, i.value, s->size))
		return cubin_fail(c, "an info record goes past its section");
	r->payload = s->data + *at;
	r->size = i.value;
	r->value = r->size >= 4 ? get32(r->payload, 0) : 0;
	*at += r->size;
	return 1;
}

static bool record_is_param(const struct info_record *r)
{
	return (r->attribute == INFO_KPARAM_INFO || r->attribute == INFO_KPARAM_INFO_V2) &&
	       r->size >= sizeof(struct cubin_kparam);
}

static int add_param(struct cubin *c, struct image_kernel *k, const struct info_record *r, unsigned char *have)
{
	struct cubin_kparam p;
	struct cubin_kparam_v2 v2;

	memcpy(&p, r->payload, sizeof p);
	memcpy(&v2, r->payload, sizeof v2);
	if (p.ordinal >= k->nparams || have[p.ordinal])
		return cubin_fail(c, "inconsistent parameters of a kernel");
	have[p.ordinal] = 1;
	k->params[p.ordinal].offset = p.offset;
	k->params[p.ordinal].size = r->attribute == INFO_KPARAM_INFO ? p.packed >> 18 : v2.size;
	return 0;
}

static int read_params(struct cubin *c, struct image_kernel *k, const struct elf_section *s)
{
	unsigned char *have;
	struct info_record rec;
	size_t at = 0;
	int r;

	while ((r = next_record(c, s, &at, &rec)) == 1)
		k->nparams += record_is_param(&rec);
	if (r || !k->nparams)
		return r;
	k->params = image_code_alloc(c->code, k->nparams, sizeof *k->params);
	have = calloc(k->nparams, 1);
	if (!k->params || !have) {
		free(have);
		return cubin_fail_memory(c);
	}
	for (at = 0, r = 1; r == 1 && (r = next_record(c, s, &at, &rec)) == 1;)
		if (record_is_param(&rec) && (r = add_param(c, k, &rec, have)) == 0)
			r = 1;
	free(have);
	return r;
}

static void read_triple(uint32_t *to, const struct info_record *r)
{
	for (unsigned i = 0; i < 3 && 4 * i + 4 <= r->size; i++)
		to[i] = get32(r->payload, 4 * i);
}

static void apply_kernel_record(struct image_kernel *k, const struct info_record *r)
{
	switch (r->attribute) {
	case INFO_MAX_THREADS:
		read_triple(k->max_threads, r);
		break;
	case INFO_REQNTID:
		read_triple(k->req_threads, r);
		break;
	case INFO_CTA_PER_CLUSTER:
		read_triple(k->cluster, r);
		break;
	case INFO_CBANK_PARAM_SIZE:
		k->param_bytes = r->value;
		break;
	case INFO_MAXREG_COUNT:
		k->max_regs = r->value == 255 ? 0 : r->value;
		break;
	case INFO_EXPLICIT_CLUSTER:
		k->explicit_cluster = true;
		break;
	case INFO_BLOCKS_ARE_CLUSTERS:
		k->blocks_are_clusters = true;
		break;
	case INFO_MAX_CLUSTER_RANK:
		k->max_cluster_rank = r->value;
		break;
	case INFO_NUM_BARRIERS:
		k->barriers = r->value;
		break;
	}
}

static int check_params(struct cubin *c, struct image_kernel *k)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < k->nparams; i++)
		if (k->params[i].offset + k->params[i].size > end)
			end = k->params[i].offset + k->params[i].size;
	if (!k->param_bytes)
		k->param_bytes = end;
	return end <= k->param_bytes ? 0 : cubin_fail(c, "a parameter lies outside the parameter buffer");
}

static int read_kernel_info(struct cubin *c, const struct elf_section *s)
{
	struct image_kernel *k = cubin_find_kernel(c, s->name + strlen(".nv.info."));
	struct info_record rec;
	size_t at = 0;
	int r;

	if (!k || !s->data)
		return 0; /* of a device function */
	if (k->params)
		return cubin_fail(c, "a kernel is described twice");
	r = read_params(c, k, s);
	while (!r && (r = next_record(c, s, &at, &rec)) == 1) {
		apply_kernel_record(k, &rec);
		r = 0;
	}
	return r ? r : check_params(c, k);
}

static int read_module_info(struct cubin *c, const struct elf_section *s)
{
	struct image_kernel *k;
	struct info_record rec;
	size_t at = 0;
	int r;

	if (!s->data)
		return 0;
	while ((r = next_record(c, s, &at, &rec)) == 1) {
		if (rec.size < 8 || rec.value >= c->nsymbols || !c->kernel_of[rec.value])
			continue;
		k = &c->code->kernels[c->kernel_of[rec.value] - 1];
		if (rec.attribute == INFO_REGCOUNT)
			k->regs = get32(rec.payload, 4);
		else if (rec.attribute == INFO_FRAME_SIZE)
			k->local_bytes = get32(rec.payload, 4);
	}
	return r;
}

static int read_kernel_shared(struct cubin *c, const struct elf_section *s)
{
	struct image_kernel *k = cubin_find_kernel(c, s->name + strlen(".nv.shared."));
	/* The device linker adds the reserved bytes to the section. */
	uint64_t reserved = c->code->sm >= 90 && !c->code->relocatable ? CUBIN_RESERVED_SHARED : 0;

	if (!k)
		return 0;
	if (s->size > UINT32_MAX)
		return cubin_fail(c, "shared memory of a kernel exceeds 4 GiB");
	k->shared_bytes = s->size > reserved ? s->size - reserved : 0;
	return 0;
}

static int read_sections(struct cubin *c)
{
	struct elf_section s;
	int r = 0;

	c->info_left = c->elf.size;
	for (uint32_t i = 1; i < c->elf.nsections && !r; i++) {
		if (c->roles[i] < SECTION_MODULE_INFO)
			continue;
		if (image_elf_section(&c->elf, i, &s))
			return cubin_fail(c, "a section lies outside the file");
		if (s.data && s.size > c->info_left)
			return cubin_fail(c, "sections overlap");
		if (s.data)
			c->info_left -= s.size;
		if (c->roles[i] == SECTION_MODULE_INFO)
			r = read_module_info(c, &s);
		else
			r = c->roles[i] == SECTION_KERNEL_INFO ? read_kernel_info(c, &s) : read_kernel_shared(c, &s);
	}
	return r;
}

static int read_cubin(struct cubin *c, const void *data, size_t size)
{
	int r;

	if (image_cubin_target(data, size, &c->code->sm))
		return cubin_fail(c, "the ELF file is not a cubin");
	if (image_elf_init(&c->elf, data, size))
		return cubin_fail(c, "malformed section headers");
	c->code->relocatable = get16(data, offsetof(Elf64_Ehdr, e_type)) == ET_REL;
	r = classify_sections(c);
	if (!r)
		r = read_symbols(c);
	return r ? r : read_sections(c);
}

int image_cubin_read(struct image_code **code, const void *data, size_t size, struct image_error *err)
{
	struct cubin c = {.err = err};
	int r;

	*code = NULL;
	if (err)
		memset(err, 0, sizeof *err);
	if (image_sniff(data, size) != IMAGE_CUBIN)
		return image_fail(err, -ENOTSUP, "not a cubin");
	if (size > IMAGE_MAX)
		return image_fail(err, -E2BIG, "a cubin of %zu bytes is larger than the limit of %zu", size, IMAGE_MAX);
	/* A list entry is larger than the symbol it describes, but not 16 times. Names may overlap in a hostile file. */
	c.code = image_code_create(IMAGE_CUBIN, size * 16);
	if (!c.code)
		return cubin_fail_memory(&c);
	r = read_cubin(&c, data, size);
	free(c.roles);
	free(c.kernel_of);
	free(c.index);
	if (r) {
		image_code_destroy(c.code);
		return r;
	}
	image_code_sort(c.code);
	*code = c.code;
	return 0;
}
