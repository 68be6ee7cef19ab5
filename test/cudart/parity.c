/*
 * Makes calls of a CUDA runtime, also with illegal arguments, and prints the results: parity SONAME [PART...].
 *
 * The test runs it with NVIDIA's runtime and with ours and compares the outputs. The code of the program is PTX in a fatbin
 * that it registers by hand, as nvcc's constructors do.
 */
#include "test/cudart/parity.h"

#include <dlfcn.h>

#include "abi/fatbin.h"

static void *library;

void *parity_find(const char *name)
{
	void *p = dlsym(library, name);

	if (!p) {
		printf("%s is missing\n", name);
		exit(1);
	}
	return p;
}

void parity_result(const char *call, cudaError_t e)
{
	cudaError_t last = RT(cudaGetLastError)();

	printf("%s: %d", call, (int)e);
	if (last != e)
		printf(", last error %d", (int)last);
	printf("\n");
	fflush(stdout);
}

#define PTX \
	".version 6.0\n.target sm_50\n.address_size 64\n" \
	".visible .global .align 4 .u32 offset[4] = {5, 6, 7, 8};\n" \
	".visible .global .attribute(.managed) .align 4 .u32 shared_value = 11;\n" \
	".visible .entry plus(.param .u64 out, .param .u32 value)\n{\n" \
	"	.reg .b32 %r<4>;\n	.reg .b64 %rd<4>;\n" \
	"	ld.param.u64 %rd1, [out];\n	ld.param.u32 %r1, [value];\n" \
	"	ld.global.u32 %r2, [offset];\n	add.u32 %r1, %r1, %r2;\n	mov.u32 %r3, %tid.x;\n" \
	"	add.u32 %r1, %r1, %r3;\n	cvta.to.global.u64 %rd1, %rd1;\n" \
	"	mul.wide.u32 %rd2, %r3, 4;\n	add.u64 %rd1, %rd1, %rd2;\n" \
	"	st.global.u32 [%rd1], %r1;\n	ret;\n}\n" \
	".visible .entry crash()\n{\n	.reg .b64 %rd<2>;\n	mov.u64 %rd1, 0;\n	st.global.u64 [%rd1], " \
	"%rd1;\n	ret;\n}\n"
#define PTX_SIZE ((sizeof PTX + 7) / 8 * 8)

static const struct __attribute__((aligned(8))) {
	struct fatbin_header header;
	uint16_t kind, one;
	uint32_t header_size;
	uint64_t payload;
	uint32_t packed, options;
	uint16_t minor, major;
	uint32_t sm, name, name_size;
	uint64_t flags, zero, raw;
	char text[PTX_SIZE];
} fatbin = {
	.header = {FATBIN_MAGIC, FATBIN_VERSION, 16, 64 + PTX_SIZE},
	.kind = FATBIN_PTX,
	.one = 0x101,
	.header_size = 64,
	.payload = PTX_SIZE,
	.major = 6,
	.sm = 50,
	.flags = FATBIN_64BIT | FATBIN_LINUX,
	.text = PTX,
};

static struct fatbin_wrapper wrapper = {FATBIN_WRAPPER_MAGIC, FATBIN_WRAPPER_PLAIN, &fatbin, NULL};
char parity_plus, parity_crash, parity_missing, parity_offset, parity_nowhere;
int *parity_managed;

static void **register_code(void)
{
	void **code = RT(__cudaRegisterFatBinary)(&wrapper);

	RT(__cudaRegisterFunction)(code, &parity_plus, "plus", "plus", -1, NULL, NULL, NULL, NULL, NULL);
	RT(__cudaRegisterFunction)(code, &parity_crash, "crash", "crash", -1, NULL, NULL, NULL, NULL, NULL);
	RT(__cudaRegisterFunction)(code, &parity_missing, "no", "no", -1, NULL, NULL, NULL, NULL, NULL);
	RT(__cudaRegisterVar)(code, &parity_offset, "offset", "offset", 0, 16, 0, 0);
	RT(__cudaRegisterVar)(code, &parity_nowhere, "nowhere", "nowhere", 0, 4, 0, 0);
	RT(__cudaRegisterManagedVar)(code, (void **)&parity_managed, "shared_value", "shared_value", 0, 4, 0, 0);
	RT(__cudaRegisterFatBinaryEnd)(code);
	return code;
}

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{"device", parity_device}, {"memory", parity_memory}, {"copy", parity_copy}, {"array", parity_array},
	{"stream", parity_stream}, {"launch", parity_launch}, {"graph", parity_graph}, {"node", parity_node},
	{"error", parity_error}, /* last: the context is lost */
};

int main(int argc, char **argv)
{
	library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library) {
		printf("%s\n", argc > 1 ? dlerror() : "usage: parity SONAME [PART...]");
		return 1;
	}
	void **code = register_code();
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		bool wanted = argc == 2;
		for (int a = 2; a < argc; a++)
			wanted |= !strcmp(argv[a], parts[i].name);
		if (!wanted)
			continue;
		printf("== %s\n", parts[i].name);
		parts[i].run();
	}
	RT(__cudaUnregisterFatBinary)(code);
	return 0;
}
