/*
 * The integrity check of NVIDIA's runtimes (12 and later), which verifies that driver and private tables belong
 * together: HMAC (RFC 2104) with MD2 (RFC 1319) over values that both sides know.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "front/front.h"
#include "wire/trace.h"

#define BLOCK 16

struct md2 {
	uint8_t state[48], sum[BLOCK], buf[BLOCK];
	unsigned used;
};

/* The permutation of 0..255 in RFC 1319, derived from the digits of pi. */
/* clang-format off */
static const uint8_t pi[256] = {
	 41,  46,  67, 201, 162, 216, 124,   1,  61,  54,  84, 161, 236, 240,   6,  19,
	 98, 167,   5, 243, 192, 199, 115, 140, 152, 147,  43, 217, 188,  76, 130, 202,
	 30, 155,  87,  60, 253, 212, 224,  22, 103,  66, 111,  24, 138,  23, 229,  18,
	190,  78, 196, 214, 218, 158, 222,  73, 160, 251, 245, 142, 187,  47, 238, 122,
	169, 104, 121, 145,  21, 178,   7,  63, 148, 194,  16, 137,  11,  34,  95,  33,
	128, 127,  93, 154,  90, 144,  50,  39,  53,  62, 204, 231, 191, 247, 151,   3,
	255,  25,  48, 179,  72, 165, 181, 209, 215,  94, 146,  42, 172,  86, 170, 198,
	 79, 184,  56, 210, 150, 164, 125, 182, 118, 252, 107, 226, 156, 116,   4, 241,
	 69, 157, 112,  89, 100, 113, 135,  32, 134,  91, 207, 101, 230,  45, 168,   2,
	 27,  96,  37, 173, 174, 176, 185, 246,  28,  70,  97, 105,  52,  64, 126,  15,
	 85,  71, 163,  35, 221,  81, 175,  58, 195,  92, 249, 206, 186, 197, 234,  38,
	 44,  83,  13, 110, 133,  40, 132,   9, 211, 223, 205, 244,  65, 129,  77,  82,
	106, 220,  55, 200, 108, 193, 171, 250,  36, 225, 123,   8,  12, 189, 177,  74,
	120, 136, 149, 139, 227,  99, 232, 109, 233, 203, 213, 254,  59,   0,  29,  57,
	242, 239, 183,  14, 102,  88, 208, 228, 166, 119, 114, 248, 235, 117,  75,  10,
	 49,  68,  80, 180, 143, 237,  31,  26, 219, 153, 141,  51, 159,  17, 131,  20,
};
/* clang-format on */

static void md2_block(struct md2 *m, const uint8_t *in)
{
	uint8_t t = 0, last = m->sum[BLOCK - 1];

	for (int i = 0; i < BLOCK; i++) {
		m->state[BLOCK + i] = in[i];
		m->state[2 * BLOCK + i] = in[i] ^ m->state[i];
	}
	for (int round = 0; round < 18; round++) {
		for (int i = 0; i < 48; i++)
			t = m->state[i] ^= pi[t];
		t += round;
	}
	for (int i = 0; i < BLOCK; i++)
		last = m->sum[i] ^= pi[in[i] ^ last];
}

static void md2_add(struct md2 *m, const void *data, size_t n)
{
	const uint8_t *p = data;

	while (n--) {
		m->buf[m->used++] = *p++;
		if (m->used == BLOCK) {
			md2_block(m, m->buf);
			m->used = 0;
		}
	}
}

static void md2_end(struct md2 *m, uint8_t out[BLOCK])
{
	uint8_t pad = BLOCK - m->used, sum[BLOCK];

	memset(m->buf + m->used, pad, pad);
	md2_block(m, m->buf);
	memcpy(sum, m->sum, BLOCK);
	md2_block(m, sum);
	memcpy(out, m->state, BLOCK);
}

static const uint8_t hmac_key[BLOCK] = {
	0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52, 0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};

static void hmac_begin(struct md2 *m, uint8_t pad)
{
	memset(m, 0, sizeof *m);
	for (int i = 0; i < BLOCK; i++) {
		uint8_t b = hmac_key[i] ^ pad;
		md2_add(m, &b, 1);
	}
}

/* Adds the values that the runtime hashes, too, in the same order. */
static CUresult md2_add_values(struct md2 *m, uint32_t version, uint64_t seconds)
{
	int count = 0;
	struct {
		uint32_t driver, version, pid, thread;
		uint64_t runtime, integrity, function, seconds;
	} head = {
		FRONT_CUDA_VERSION,
		version,
		getpid(),
		(uint32_t)pthread_self(),
		(uintptr_t)front_runtime_table,
		(uintptr_t)front_integrity_table,
		(uintptr_t)front_integrity_table[1],
		seconds,
	};

	md2_add(m, &head, sizeof head);
	CUresult r = front_device()->cuDeviceGetCount(&count);
	for (int dev = 0; dev < count && !r; dev++) {
		static const CUdevice_attribute pci[] = {
			CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
			CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
			CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
		};
		struct {
			CUuuid uuid;
			int32_t pci[3];
		} d = {0};

		r = front_device()->cuDeviceGetUuid(&d.uuid, dev);
		for (int i = 0; i < 3 && !r; i++)
			r = front_device()->cuDeviceGetAttribute(&d.pci[i], pci[i], dev);
		md2_add(m, &d, sizeof d);
	}
	return r;
}

CUresult front_integrity_answer(uint32_t version, uint64_t seconds, uint8_t out[16])
{
	static const uint8_t fixed[BLOCK] = {
		0x5c, 0x67, 0xcb, 0x03, 0x1c, 0x18, 0x41, 0x33, 0xe8, 0xd1, 0x4c, 0x1f, 0xaa, 0x83, 0xd3, 0x8e};
	struct md2 m;
	uint8_t inner[BLOCK];

	trace_note("integrity check, version %u", version);
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (version % 10 < 2) {
		memcpy(out, fixed, BLOCK);
		if (version % 10 == 1)
			out[7] = 0x18;
		return CUDA_SUCCESS;
	}
	hmac_begin(&m, 0x36);
	CUresult r = md2_add_values(&m, version, seconds);
	md2_end(&m, inner);
	hmac_begin(&m, 0x5c);
	md2_add(&m, inner, BLOCK);
	md2_end(&m, out);
	return r;
}
