/* Replacements of nvrtcGetCUBIN and nvrtcGetCUBINSize that return PTX in a fatbin. */
#include "audit/follow/nvrtc.h"

#include "abi/fatbin.h"
#include "audit/base.h"
#include "audit/follow/symbol.h"

#define NVRTC_SUCCESS 0

typedef int get_size_fn(void *program, size_t *size);
typedef int get_fn(void *program, char *to);

/*
 * The functions of the NVRTCs in this process: PyTorch and CuPy may each bring their own. A program of one NVRTC
 * must not be passed to another, so each NVRTC has replacements of its own; a fourth one is left alone.
 */
struct nvrtc {
	uintptr_t base; /* where the library was loaded; 0: unused */
	get_size_fn *cubin_size, *ptx_size;
	get_fn *ptx;
};

#define NVRTC_MAX 3

static struct nvrtc nvrtcs[NVRTC_MAX];
static bool active;

void nvrtc_start(void)
{
	const char *wanted = start_variable("GANGWAY_KEEP_PTX");

	active = wanted && text_equal(wanted, "1");
}

bool nvrtc_is_library(const char *name)
{
	return active && text_starts(text_last_part(name), "libnvrtc.so");
}

enum { HEADERS = sizeof(struct fatbin_header) + sizeof(struct fatbin_entry) };

static size_t align_to_8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* The size of a fatbin with the program's PTX; 0, as from NVRTC, if the architecture is virtual: callers then ask for PTX. */
static int keep_cubin_size(const struct nvrtc *l, void *program, size_t *size)
{
	size_t text;
	int r = l->cubin_size(program, size);

	if (r != NVRTC_SUCCESS || !*size)
		return r;
	r = l->ptx_size(program, &text);
	if (r == NVRTC_SUCCESS && text)
		*size = HEADERS + align_to_8(text);
	return r;
}

static unsigned read_number(const char *s)
{
	unsigned n = 0;

	for (; *s >= '0' && *s <= '9' && n < 10000; s++)
		n = n * 10 + (unsigned)(*s - '0');
	return n;
}

/* The rest of a text behind the first occurrence of `word`; "" if there is none. */
static const char *text_behind(const char *text, const char *word)
{
	for (; *text; text++)
		if (text_starts(text, word))
			return text + text_length(word);
	return "";
}

/* .version 9.0, .target sm_90a: NVRTC writes both directives in this form, at the beginning. */
static void entry_describe(struct fatbin_entry *entry, const char *text)
{
	const char *version = text_behind(text, "\n.version "), *target = text_behind(version, "\n.target sm_");

	entry->sm = read_number(target);
	entry->major = (uint16_t)read_number(version);
	while (*version >= '0' && *version <= '9')
		version++;
	entry->minor = *version == '.' ? (uint16_t)read_number(version + 1) : 0;
	while (*target >= '0' && *target <= '9')
		target++;
	entry->flags |= *target == 'a' ? FATBIN_ARCH_SPECIFIC : *target == 'f' ? FATBIN_FAMILY : 0;
}

static int keep_cubin(const struct nvrtc *l, void *program, char *to)
{
	struct fatbin_header h = {.magic = FATBIN_MAGIC, .version = FATBIN_VERSION, .header_size = sizeof h};
	struct fatbin_entry entry = {.kind = FATBIN_PTX,
		.version = FATBIN_ENTRY_VERSION,
		.header_size = sizeof entry,
		.flags = FATBIN_64BIT | FATBIN_CUDA | FATBIN_LINUX};
	size_t size, text;
	int r = l->cubin_size(program, &size);

	if (r != NVRTC_SUCCESS || !size)
		return r;
	r = l->ptx_size(program, &text);
	if (r == NVRTC_SUCCESS)
		r = l->ptx(program, to + HEADERS);
	if (r != NVRTC_SUCCESS || !text)
		return r;
	to[HEADERS + text - 1] = 0;
	for (size_t i = text; i < align_to_8(text); i++)
		to[HEADERS + i] = 0;
	entry_describe(&entry, to + HEADERS);
	entry.payload_size = align_to_8(text);
	h.size = sizeof entry + entry.payload_size;
	__builtin_memcpy(to, &h, sizeof h);
	__builtin_memcpy(to + sizeof h, &entry, sizeof entry);
	return r;
}

#define REPLACEMENTS(i) \
	static int keep_cubin_size_##i(void *program, size_t *size) \
	{ \
		return keep_cubin_size(&nvrtcs[i], program, size); \
	} \
	static int keep_cubin_##i(void *program, char *to) \
	{ \
		return keep_cubin(&nvrtcs[i], program, to); \
	}

REPLACEMENTS(0)
REPLACEMENTS(1)
REPLACEMENTS(2)

bool nvrtc_is_replaced(const char *name)
{
	return active && (text_equal(name, "nvrtcGetCUBIN") || text_equal(name, "nvrtcGetCUBINSize"));
}

/* The number of a library, which gets one at its first use; -1: none is left, or a function is missing. */
static int library_number(const struct link_map *map)
{
	int i = 0;

	while (i < NVRTC_MAX && nvrtcs[i].base && nvrtcs[i].base != map->l_addr)
		i++;
	if (i == NVRTC_MAX || nvrtcs[i].base)
		return i == NVRTC_MAX ? -1 : i;
	nvrtcs[i].cubin_size = (get_size_fn *)symbol_find(map, "nvrtcGetCUBINSize");
	nvrtcs[i].ptx_size = (get_size_fn *)symbol_find(map, "nvrtcGetPTXSize");
	nvrtcs[i].ptx = (get_fn *)symbol_find(map, "nvrtcGetPTX");
	if (!nvrtcs[i].cubin_size || !nvrtcs[i].ptx_size || !nvrtcs[i].ptx)
		return -1;
	nvrtcs[i].base = map->l_addr;
	return i;
}

/* ld.so calls this under its lock. */
uintptr_t nvrtc_replace(const char *name, const struct link_map *map, uintptr_t address)
{
	static const struct {
		get_size_fn *size;
		get_fn *get;
	} replacements[NVRTC_MAX] = {
		{keep_cubin_size_0, keep_cubin_0},
		{keep_cubin_size_1, keep_cubin_1},
		{keep_cubin_size_2, keep_cubin_2},
	};
	int i = nvrtc_is_library(map->l_name) ? library_number(map) : -1;

	if (i < 0)
		return address;
	return text_equal(name, "nvrtcGetCUBIN") ? (uintptr_t)replacements[i].get : (uintptr_t)replacements[i].size;
}
