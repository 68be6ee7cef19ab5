/*
 * The format in which nvcc packs device code: a wrapper in the program's data points to a fatbin, which is a header
 * followed by entries, one for each architecture and kind.
 *
 *	wrapper ──> header │ entry │ options, names │ payload (padded to 8) │ entry │ ... │ payload
 *	            16     │ ≥ 64  ................ │ payload_size
 *	                     <── header_size ──────>
 *
 * Trust: the wrapper is part of the application and is as trusted as the application. Everything it points to may come
 * from a file: check every size and offset.
 */
#pragma once

#include <stdint.h>

#define FATBIN_WRAPPER_MAGIC  0x466243b1u
#define FATBIN_WRAPPER_PLAIN  1 /* data: the fatbin; more: a file name or NULL */
#define FATBIN_WRAPPER_LINKED 2 /* data: the linked fatbin; more: NULL-terminated array of its parts */

struct fatbin_wrapper {
	uint32_t magic;
	uint32_t version;
	const void *data;
	const void *more;
};

#define FATBIN_MAGIC   0xba55ed50u
#define FATBIN_VERSION 1

struct fatbin_header {
	uint32_t magic;
	uint16_t version;
	uint16_t header_size;
	uint64_t size; /* bytes behind the header */
};

enum fatbin_kind {
	FATBIN_PTX = 1,
	FATBIN_ELF = 2,
	FATBIN_LTOIR = 8,
	FATBIN_SET =
		0x4757, /* Gangway's own: the payload is several fatbins, each aligned to 8, which are linked at load time */
};

enum fatbin_flag {
	FATBIN_64BIT = 0x1,
	FATBIN_DEBUG = 0x2,
	FATBIN_CUDA = 0x4,
	FATBIN_OPENCL = 0x8,
	FATBIN_LINUX = 0x10,
	FATBIN_MAC = 0x20,
	FATBIN_WINDOWS = 0x40,
	FATBIN_OLD_COMPRESSION = 0x1000,
	FATBIN_LZ4 = 0x2000, /* one raw block, no frame */
	FATBIN_ZSTD = 0x8000,
	FATBIN_SCRAMBLED = 0x10000,      /* LTO-IR; not readable as plain zstd */
	FATBIN_ARCH_SPECIFIC = 0x100000, /* sm_90a: this architecture only */
	FATBIN_FAMILY = 0x200000,        /* sm_100f: this family only */
	FATBIN_SM100 = 0x1000000,        /* seen on every ELF for sm_100 and later */
};

#define FATBIN_ENTRY_VERSION 0x0101

struct fatbin_entry {
	uint16_t kind;
	uint16_t version;
	uint32_t header_size;     /* the payload starts this far from the entry's start */
	uint64_t payload_size;    /* as stored, padded to 8; the next entry follows it */
	uint32_t compressed_size; /* exact; 0: not compressed */
	uint32_t options;         /* offset of a struct fatbin_span; 0: none */
	uint16_t minor;           /* of the PTX version */
	uint16_t major;
	uint32_t sm;
	uint32_t name; /* of the source file: offset and length */
	uint32_t name_size;
	uint64_t flags;
	uint64_t hash; /* LTO-IR only */
	uint64_t size; /* uncompressed; 0: not compressed */
};

struct fatbin_span {
	uint32_t offset;
	uint32_t size;
};

_Static_assert(sizeof(struct fatbin_wrapper) == 24, "as the compiler writes it");
_Static_assert(sizeof(struct fatbin_header) == 16, "as fatbinary writes it");
_Static_assert(sizeof(struct fatbin_entry) == 64, "as fatbinary writes it");

/*
 * Inside a cubin, an ELF file of machine 190. The SM is in e_flags: bits 8..23 with CUBIN_OSABI, the low byte
 * with CUBIN_OSABI_OLD.
 */
#define CUBIN_MACHINE     190
#define CUBIN_OSABI       0x41 /* CUDA 13 */
#define CUBIN_OSABI_OLD   0x33 /* CUDA 12 and before */
#define CUBIN_ABI         8
#define CUBIN_ABI_OLD     7
#define CUBIN_STO_KERNEL  0x10 /* in st_other of a function: may be launched */
#define CUBIN_STO_MANAGED 0x04 /* in st_other of an object */

/* From sm_90 on, .nv.shared.<kernel> begins with this many bytes that the driver reserves. */
#define CUBIN_RESERVED_SHARED 1024

/* A record of .nv.info and .nv.info.<kernel>. With INFO_SIZED, value is the size of the payload that follows. */
struct cubin_info {
	uint8_t format;
	uint8_t attribute;
	uint16_t value;
};

enum cubin_info_format {
	INFO_NONE = 1,
	INFO_BYTE = 2,
	INFO_U16 = 3,
	INFO_SIZED = 4,
};

enum cubin_info_attribute {
	INFO_MAX_THREADS = 0x05, /* x, y, z: __launch_bounds__ */
	INFO_PARAM_CBANK = 0x0a, /* symbol, u16 offset, u16 size */
	INFO_EXTERNS = 0x0f,
	INFO_REQNTID = 0x10,          /* x, y, z */
	INFO_FRAME_SIZE = 0x11,       /* symbol, bytes of local memory */
	INFO_MIN_STACK_SIZE = 0x12,   /* symbol, bytes */
	INFO_KPARAM_INFO = 0x17,      /* struct cubin_kparam */
	INFO_CBANK_PARAM_SIZE = 0x19, /* u16: all parameters together */
	INFO_MAXREG_COUNT = 0x1b,
	INFO_MAX_STACK_SIZE = 0x23, /* symbol, bytes */
	INFO_COOP_GROUP_OFFSETS = 0x28,
	INFO_REGCOUNT = 0x2f, /* symbol, registers; in .nv.info only */
	INFO_CUDA_API_VERSION = 0x37,
	INFO_CTA_PER_CLUSTER = 0x3d, /* x, y, z */
	INFO_EXPLICIT_CLUSTER = 0x3e,
	INFO_MAX_CLUSTER_RANK = 0x3f,
	INFO_KPARAM_INFO_V2 = 0x45, /* struct cubin_kparam_v2: parameters beyond 4 KB */
	INFO_NUM_BARRIERS = 0x4c,
};

/* The records are in reverse order: the last parameter comes first. */
struct cubin_kparam {
	uint32_t index;
	uint16_t ordinal;
	uint16_t offset;
	uint32_t packed; /* size << 18 | constant bank << 12 | space << 8 */
};

struct cubin_kparam_v2 {
	uint32_t index;
	uint16_t ordinal;
	uint16_t offset;
	uint16_t size;
	uint16_t attributes;
};
