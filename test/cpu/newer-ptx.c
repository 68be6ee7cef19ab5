/*
 * PTX for newer devices than the CPU device reports: of an image without older PTX, the oldest text runs whose instructions
 * are all known; of texts for one architecture only, the same, if there is nothing else.
 */
#include "test/cpu/device.h"
#include "test/image/make.h"

/* A kernel that stores a number, so that the test sees which text was taken. */
#define TEXT(target, more, number) \
	".version 9.0\n.target " target "\n.address_size 64\n" \
	".visible .entry k(.param .u64 p)\n{\n" \
	".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p];\n" more "st.global.u32 [%a], " #number ";\n" \
	"ret; }\n"
#define UNKNOWN "frobnicate.b32 %r, %r;\n"

struct text {
	unsigned sm;
	uint64_t flags;
	const char *ptx;
};

#define ARCH_SPECIFIC 0x100000 /* the flag of sm_90a in a fatbin */

static unsigned stored_number(const void *image)
{
	unsigned number = 0;
	CUdeviceptr p = 0;
	void *args[] = {&p};
	CUfunction f = NULL;
	CUmodule m = NULL;
	CUresult r = cuModuleLoadData(&m, image);

	if (r)
		return (unsigned)r;
	OK(cuModuleGetFunction(&f, m, "k"));
	OK(cuMemAlloc_v2(&p, sizeof number));
	OK(device_launch(f, 1, 1, NULL, args));
	OK(cuMemcpyDtoH_v2(&number, p, sizeof number));
	OK(cuMemFree_v2(p));
	OK(cuModuleUnload(m));
	return number;
}

static unsigned taken(const struct text *texts, size_t n)
{
	struct bytes *b = calloc(1, sizeof *b);
	size_t fatbin = make_fatbin(b);

	for (size_t i = 0; i < n; i++)
		make_entry(b, &(struct make_entry){.kind = 1,
				      .sm = texts[i].sm,
				      .flags = texts[i].flags,
				      .data = texts[i].ptx,
				      .size = strlen(texts[i].ptx) + 1});
	make_end(b, fatbin);
	unsigned number = stored_number(b->data);
	free(b);
	return number;
}

#define TAKEN(...) taken((const struct text[]){__VA_ARGS__}, sizeof((struct text[]){__VA_ARGS__}) / sizeof(struct text))

int main(void)
{
	static const struct text specific = {90, ARCH_SPECIFIC, TEXT("sm_90a", "", 1090)};
	static const struct text unknown = {100, 0, TEXT("sm_100", UNKNOWN, 1100)};
	static const struct text old = {75, 0, TEXT("sm_75", "", 1075)};
	static const struct text newer = {120, 0, TEXT("sm_120", "", 1120)};
	static const struct text newest = {121, 0, TEXT("sm_121", "", 1121)};

	device_start();
	CHECK_EQ(TAKEN(newest, newer, old), 1075);
	CHECK_EQ(TAKEN(newest, newer, specific), 1120);
	CHECK_EQ(TAKEN(newest, unknown), 1121);
	CHECK_EQ(TAKEN(unknown, specific), 1090);
	CHECK_EQ(TAKEN(specific), 1090);
	CHECK_EQ(TAKEN(unknown), CUDA_ERROR_INVALID_PTX);
	CHECK_EQ(stored_number(TEXT("sm_121", "", 2121)), 2121);
	return RESULT();
}
