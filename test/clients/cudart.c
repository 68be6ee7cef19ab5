/*
 * NVIDIA's runtime of any release on our driver: cudart SONAME.
 *
 * The program registers a fatbin with PTX, its kernel and its variable by hand, as nvcc's host code does, so that it
 * works with runtimes of all releases.
 */
#include "test/clients/client.h"

struct dim {
	unsigned x, y, z;
};

static int (*cudaRuntimeGetVersion)(int *);
static int (*cudaDriverGetVersion)(int *);
static int (*cudaGetDeviceCount)(int *);
static int (*cudaDeviceGetAttribute)(int *, int, int);
static int (*cudaMalloc)(void **, size_t);
static int (*cudaFree)(void *);
static int (*cudaMemcpy)(void *, const void *, size_t, int);
static int (*cudaMemcpyAsync)(void *, const void *, size_t, int, void *);
static int (*cudaMemcpyToSymbol)(const void *, const void *, size_t, size_t, int);
static int (*cudaMemcpyFromSymbol)(void *, const void *, size_t, size_t, int);
static int (*cudaStreamCreate)(void **);
static int (*cudaStreamSynchronize)(void *);
static int (*cudaStreamDestroy)(void *);
static int (*cudaEventCreate)(void **);
static int (*cudaEventRecord)(void *, void *);
static int (*cudaEventElapsedTime)(float *, void *, void *);
static int (*cudaEventDestroy)(void *);
static int (*cudaDeviceSynchronize)(void);
static int (*cudaDeviceReset)(void);
static int (*cudaGetLastError)(void);
static int (*cudaSetDevice)(int);
static int (*cudaLaunchKernel)(const void *, struct dim, struct dim, void **, size_t, void *);
static int (*cudaGetDeviceProperties)(void *, int);
static int (*cudaHostAlloc)(void **, size_t, unsigned);
static int (*cudaFreeHost)(void *);
static int (*cudaMallocManaged)(void **, size_t, unsigned);
static int (*cudaMallocAsync)(void **, size_t, void *);
static int (*cudaFreeAsync)(void *, void *);
static int (*cudaMemsetAsync)(void *, int, size_t, void *);
static int (*cudaMemGetInfo)(size_t *, size_t *);
static int (*cudaLaunchHostFunc)(void *, void (*)(void *), void *);
static int (*cudaFuncGetAttributes)(void *, const void *);
static int (*cudaFuncSetAttribute)(const void *, int, int);
static int (*cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(int *, const void *, int, size_t, unsigned);
static int (*cudaStreamBeginCapture)(void *, int);
static int (*cudaStreamEndCapture)(void *, void **);
static int (*cudaGraphInstantiateWithFlags)(void **, void *, unsigned long long);
static int (*cudaGraphLaunch)(void *, void *);
static int (*cudaGraphExecDestroy)(void *);
static int (*cudaGraphDestroy)(void *);
static void **(*__cudaRegisterFatBinary)(void *);
static void (*__cudaRegisterFatBinaryEnd)(void **);
static void (*__cudaUnregisterFatBinary)(void **);
static void (*__cudaRegisterFunction)(
	void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
static void (*__cudaRegisterVar)(void **, char *, char *, const char *, int, size_t, int, int);

static void find_all(void *l)
{
	FIND(l, cudaRuntimeGetVersion), FIND(l, cudaDriverGetVersion), FIND(l, cudaGetDeviceCount);
	FIND(l, cudaDeviceGetAttribute), FIND(l, cudaMalloc), FIND(l, cudaFree), FIND(l, cudaMemcpy);
	FIND(l, cudaMemcpyAsync), FIND(l, cudaMemcpyToSymbol), FIND(l, cudaMemcpyFromSymbol);
	FIND(l, cudaStreamCreate), FIND(l, cudaStreamSynchronize), FIND(l, cudaStreamDestroy);
	FIND(l, cudaEventCreate), FIND(l, cudaEventRecord), FIND(l, cudaEventElapsedTime), FIND(l, cudaEventDestroy);
	FIND(l, cudaDeviceSynchronize), FIND(l, cudaDeviceReset), FIND(l, cudaGetLastError), FIND(l, cudaSetDevice);
	FIND(l, cudaLaunchKernel), FIND(l, __cudaRegisterFatBinary), FIND(l, __cudaRegisterFatBinaryEnd);
	FIND(l, __cudaUnregisterFatBinary), FIND(l, __cudaRegisterFunction), FIND(l, __cudaRegisterVar);
	FIND(l, cudaHostAlloc), FIND(l, cudaFreeHost), FIND(l, cudaMallocManaged), FIND(l, cudaMallocAsync);
	FIND(l, cudaFreeAsync), FIND(l, cudaMemsetAsync), FIND(l, cudaMemGetInfo), FIND(l, cudaLaunchHostFunc);
	FIND(l, cudaFuncGetAttributes), FIND(l, cudaFuncSetAttribute);
	FIND(l, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags), FIND(l, cudaStreamBeginCapture);
	FIND(l, cudaStreamEndCapture), FIND(l, cudaGraphInstantiateWithFlags), FIND(l, cudaGraphLaunch);
	FIND(l, cudaGraphExecDestroy), FIND(l, cudaGraphDestroy);
}

#define PTX \
	".version 6.0\n.target sm_50\n.address_size 64\n" \
	".visible .global .align 4 .u32 offset = 5;\n" \
	".visible .entry plus(.param .u64 out, .param .u32 value)\n{\n" \
	"	.reg .b32 %r<4>;\n	.reg .b64 %rd<4>;\n" \
	"	ld.param.u64 %rd1, [out];\n	ld.param.u32 %r1, [value];\n" \
	"	ld.global.u32 %r2, [offset];\n	add.u32 %r1, %r1, %r2;\n	mov.u32 %r3, %tid.x;\n" \
	"	add.u32 %r1, %r1, %r3;\n" \
	"	cvta.to.global.u64 %rd1, %rd1;\n	mul.wide.u32 %rd2, %r3, 4;\n	add.u64 %rd1, " \
	"%rd1, %rd2;\n" \
	"	st.global.u32 [%rd1], %r1;\n	ret;\n}\n"

/* The layout of abi/fatbin.h, written out for one entry of uncompressed PTX. */
static const struct __attribute__((aligned(8))) {
	uint32_t magic;
	uint16_t version, header;
	uint64_t size;
	uint16_t kind, one;
	uint32_t entry_header;
	uint64_t payload;
	uint32_t packed, options;
	uint16_t minor, major;
	uint32_t sm, name, name_size;
	uint64_t flags, zero, raw;
	char text[(sizeof PTX + 7) / 8 * 8];
} fatbin = {
	.magic = 0xBA55ED50,
	.version = 1,
	.header = 16,
	.size = 64 + (sizeof PTX + 7) / 8 * 8,
	.kind = 1,
	.one = 0x101,
	.entry_header = 64,
	.payload = (sizeof PTX + 7) / 8 * 8,
	.major = 6,
	.sm = 50,
	.flags = 0x11,
	.text = PTX,
};

static struct {
	uint32_t magic, version;
	const void *data;
	void *more;
} wrapper = {0x466243B1, 1, &fatbin, NULL};

/* The runtime identifies the kernel and the variable by these addresses. */
static char plus, offset;

static void **register_code(void)
{
	void **code = __cudaRegisterFatBinary(&wrapper);

	__cudaRegisterFunction(code, &plus, (char *)"plus", "plus", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterVar(code, &offset, (char *)"offset", "offset", 0, 4, 0, 0);
	__cudaRegisterFatBinaryEnd(code);
	return code;
}

static void launch(int *out, int value, void *stream)
{
	struct {
		int *out;
		int value;
	} p = {out, value};
	void *args[] = {&p.out, &p.value};

	CHECK_EQ(cudaLaunchKernel(&plus, (struct dim){1, 1, 1}, (struct dim){64, 1, 1}, args, 0, stream), 0);
	expect_launch("plus", 1, 1, 1, 64, 1, 1, &p, 12);
}

/* Functions whose name or signature changed between releases are looked up with dlsym. */
static void about_device(void *library)
{
	static char properties[8192]; /* the largest has about 1100 bytes; all begin with the name */
	int (*get)(void *, int) = (int (*)(void *, int))dlsym(library, "cudaGetDeviceProperties_v2");

	if (!get)
		FIND(library, cudaGetDeviceProperties), get = cudaGetDeviceProperties;
	CHECK_EQ(get(properties, 0), 0);
	CHECK(properties[0] && strlen(properties) < 256);
	printf("device: %.255s\n", properties);
}

/* Pinned, managed, stream-ordered and pitched memory; attributes of a kernel; occupancy; a host function. */
static void called(void *flag)
{
	*(int *)flag = 1;
}

static void use_more(void)
{
	char attributes[512] = "", in[64] = "bytes that go a long way round", out[64] = "";
	void *pinned = NULL, *managed = NULL, *ordered = NULL;
	int blocks = 0, flag = 0;
	size_t available = 0, total = 0;

	CHECK_EQ(cudaHostAlloc(&pinned, 4096, 0), 0);
	CHECK_EQ(cudaMallocManaged(&managed, 4096, 1), 0);
	CHECK_EQ(cudaMallocAsync(&ordered, 4096, NULL), 0);
	CHECK_EQ(cudaMemsetAsync(ordered, 0, 4096, NULL), 0);
	memcpy(pinned, in, sizeof in);
	CHECK_EQ(cudaMemcpyAsync(ordered, pinned, sizeof in, 1, NULL), 0);
	CHECK_EQ(cudaMemcpyAsync(managed, ordered, sizeof in, 3, NULL), 0);
	CHECK_EQ(cudaLaunchHostFunc(NULL, called, &flag), 0);
	CHECK_EQ(cudaStreamSynchronize(NULL), 0);
	CHECK_EQ(flag, 1);
	memcpy(out, managed, sizeof out);
	CHECK(!memcmp(in, out, sizeof in));
	CHECK_EQ(cudaFreeAsync(ordered, NULL), 0);
	CHECK_EQ(cudaFree(managed), 0);
	CHECK_EQ(cudaFreeHost(pinned), 0);
	CHECK_EQ(cudaMemGetInfo(&available, &total), 0);
	CHECK(available > 0 && available <= total);
	CHECK_EQ(cudaFuncGetAttributes(attributes, &plus), 0);
	CHECK_EQ(cudaFuncSetAttribute(&plus, 8, 65536), 0);
	CHECK_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, &plus, 64, 0, 0), 0);
	CHECK(blocks > 0);
}

/* Capture a stream into a graph and launch the graph twice. */
static void use_graph(void)
{
	void *stream, *graph = NULL, *exec = NULL;
	int *p = NULL, in[64] = {9}, out[64] = {0};

	CHECK_EQ(cudaStreamCreate(&stream), 0);
	CHECK_EQ(cudaMalloc((void **)&p, sizeof in), 0);
	CHECK_EQ(cudaStreamBeginCapture(stream, 0), 0);
	CHECK_EQ(cudaMemcpyAsync(p, in, sizeof in, 1, stream), 0);
	launch(p, 3000, stream);
	expect_launch("plus", 1, 1, 1, 64, 1, 1, NULL, 0);
	CHECK_EQ(cudaStreamEndCapture(stream, &graph), 0);
	CHECK_EQ(cudaGraphInstantiateWithFlags(&exec, graph, 0), 0);
	CHECK_EQ(cudaGraphLaunch(exec, stream), 0);
	CHECK_EQ(cudaGraphLaunch(exec, stream), 0);
	CHECK_EQ(cudaStreamSynchronize(stream), 0);
	CHECK_EQ(cudaMemcpy(out, p, sizeof out, 2), 0);
	CHECK_EQ(out[0], expect_results() ? 3000 + 77 : 9);
	CHECK_EQ(cudaGraphExecDestroy(exec), 0);
	CHECK_EQ(cudaGraphDestroy(graph), 0);
	CHECK_EQ(cudaFree(p), 0);
	CHECK_EQ(cudaStreamDestroy(stream), 0);
}

static void use(int seed)
{
	int in[64], out[64] = {0}, *p = NULL, value = 0;
	void *stream, *start, *end;
	float ms = -1;

	for (int i = 0; i < 64; i++)
		in[i] = seed + i;
	CHECK_EQ(cudaMalloc((void **)&p, sizeof in), 0);
	CHECK_EQ(cudaMemcpy(p, in, sizeof in, 1), 0);
	CHECK_EQ(cudaMemcpy(out, p, sizeof out, 4), 0);
	CHECK(!memcmp(in, out, sizeof in));
	CHECK_EQ(cudaStreamCreate(&stream), 0);
	CHECK_EQ(cudaEventCreate(&start), 0);
	CHECK_EQ(cudaEventCreate(&end), 0);
	CHECK_EQ(cudaEventRecord(start, stream), 0);
	launch(p, seed, stream);
	CHECK_EQ(cudaEventRecord(end, stream), 0);
	CHECK_EQ(cudaMemcpyAsync(out, p, sizeof out, 2, stream), 0);
	CHECK_EQ(cudaStreamSynchronize(stream), 0);
	CHECK_EQ(cudaEventElapsedTime(&ms, start, end), 0);
	CHECK(ms >= 0);
	if (expect_results())
		CHECK(out[0] == seed + 5 && out[63] == seed + 68);
	value = 77;
	CHECK_EQ(cudaMemcpyToSymbol(&offset, &value, 4, 0, 1), 0);
	value = 0;
	CHECK_EQ(cudaMemcpyFromSymbol(&value, &offset, 4, 0, 2), 0);
	CHECK_EQ(value, 77);
	CHECK_EQ(cudaEventDestroy(start), 0);
	CHECK_EQ(cudaEventDestroy(end), 0);
	CHECK_EQ(cudaStreamDestroy(stream), 0);
	CHECK_EQ(cudaDeviceSynchronize(), 0);
	CHECK_EQ(cudaFree(p), 0);
}

int main(int argc, char **argv)
{
	int runtime = 0, driver = 0, count = 0, processors = 0;

	if (argc != 2)
		return 1;
	void *library = client_open(argv[1]);
	find_all(library);
	void **code = register_code();
	CHECK_EQ(cudaRuntimeGetVersion(&runtime), 0);
	CHECK_EQ(cudaDriverGetVersion(&driver), 0);
	CHECK_EQ(cudaGetDeviceCount(&count), 0);
	CHECK_EQ(cudaDeviceGetAttribute(&processors, 16, 0), 0);
	CHECK(count > 0 && processors > 0);
	printf("runtime %d on driver %d: %d devices\n", runtime, driver, count);
	if (failures)
		return 1;
	CHECK_EQ(cudaSetDevice(0), 0);
	about_device(library);
	use(1000);
	printf("passed: memory, streams, events, a variable and a launch\n");
	use_more();
	printf("passed: pinned, managed and stream-ordered memory, a host function, attributes, occupancy\n");
	use_graph();
	printf("passed: a captured graph, launched twice\n");
	CHECK_EQ(cudaDeviceReset(), 0);
	use(2000);
	printf("passed: memory, streams, events, a variable and a launch after a device reset\n");
	CHECK_EQ(cudaGetLastError(), 0);
	failures += check_launches();
	__cudaUnregisterFatBinary(code);
	return RESULT();
}
