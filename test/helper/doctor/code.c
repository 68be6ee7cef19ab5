/*
 * A library that contains only GPU code in nvcc's format. CODE is a list of entries:
 *	-DCODE="ENTRY(FATBIN_ELF, 90) ENTRY(FATBIN_PTX, 75)"
 * The machine code is not executable; no test runs it.
 */
#include "abi/fatbin.h"

#define TEXT ".version 8.0\n.target sm_50\n.address_size 64\n.visible .entry k() { ret; }\n"

struct piece {
	struct fatbin_entry entry;
	char payload[128];
};

#define ENTRY(k, arch) \
	{{.kind = k, \
		 .version = FATBIN_ENTRY_VERSION, \
		 .header_size = sizeof(struct fatbin_entry), \
		 .payload_size = 128, \
		 .minor = 0, \
		 .major = 8, \
		 .sm = arch, \
		 .flags = FATBIN_64BIT | FATBIN_CUDA | FATBIN_LINUX}, \
		TEXT},

static const struct piece list[] = {CODE};

/* nvcc 13 puts an empty fatbin like this one first if device code was not linked. */
static const struct fatbin_header empty
	__attribute__((section(".nv_fatbin"), used)) = {FATBIN_MAGIC, FATBIN_VERSION, sizeof(struct fatbin_header), 0};

#ifdef RUNTIME
/* Programs linked with libcudadevrt have this fatbin: code for named GPUs and PTX for newer ones. */
#define RUNTIME_TEXT \
	".version 9.0\n.target sm_121\n.address_size 64\n.entry _0_22_cuda_device_runtime_cu_memset() { ret; }\n"
static const struct {
	struct fatbin_header header;
	struct piece piece[1];
} runtime __attribute__((section(".nv_fatbin"), used)) = {
	{FATBIN_MAGIC, FATBIN_VERSION, sizeof(struct fatbin_header), sizeof(struct piece)},
	{{{.kind = FATBIN_PTX,
		  .version = FATBIN_ENTRY_VERSION,
		  .header_size = sizeof(struct fatbin_entry),
		  .payload_size = 128,
		  .minor = 0,
		  .major = 9,
		  .sm = 121,
		  .flags = FATBIN_64BIT | FATBIN_CUDA | FATBIN_LINUX},
		RUNTIME_TEXT}},
};
#endif

static const struct {
	struct fatbin_header header;
	struct piece pieces[sizeof list / sizeof *list];
} fatbin __attribute__((section(".nv_fatbin"), used)) = {
	{FATBIN_MAGIC, FATBIN_VERSION, sizeof(struct fatbin_header), sizeof list},
	{CODE},
};
