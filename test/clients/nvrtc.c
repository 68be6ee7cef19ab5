/* NVRTC of any release: compile a kernel for the device, load it and launch it. */
#include "test/clients/client.h"

static int (*nvrtcVersion)(int *, int *);
static int (*nvrtcCreateProgram)(void **, const char *, const char *, int, const char *const *, const char *const *);
static int (*nvrtcCompileProgram)(void *, int, const char *const *);
static int (*nvrtcGetPTXSize)(void *, size_t *);
static int (*nvrtcGetPTX)(void *, char *);
static int (*nvrtcGetCUBINSize)(void *, size_t *);
static int (*nvrtcGetCUBIN)(void *, char *);
static int (*nvrtcGetProgramLogSize)(void *, size_t *);
static int (*nvrtcGetProgramLog)(void *, char *);
static int (*nvrtcDestroyProgram)(void **);

static const char source[] = "struct pair { char tag; double weight; };\n"
			     "extern \"C\" __global__ void ramp(float *out, pair p, short step)\n"
			     "{\n"
			     "	out[threadIdx.x] = p.tag + p.weight + step * threadIdx.x;\n"
			     "}\n";

static void find_all(void *l)
{
	FIND(l, nvrtcVersion), FIND(l, nvrtcCreateProgram), FIND(l, nvrtcCompileProgram), FIND(l, nvrtcGetPTXSize);
	FIND(l, nvrtcGetPTX), FIND(l, nvrtcGetCUBINSize), FIND(l, nvrtcGetCUBIN), FIND(l, nvrtcGetProgramLogSize);
	FIND(l, nvrtcGetProgramLog), FIND(l, nvrtcDestroyProgram);
}

static char *compile(const char *option, bool cubin)
{
	size_t size = 0;
	void *program = NULL;
	char *code;

	CHECK_EQ(nvrtcCreateProgram(&program, source, "ramp.cu", 0, NULL, NULL), 0);
	int r = nvrtcCompileProgram(program, 1, &option);
	if (r) {
		char log[4096] = "";

		nvrtcGetProgramLogSize(program, &size);
		if (size < sizeof log)
			nvrtcGetProgramLog(program, log);
		fprintf(stderr, "nvrtcCompileProgram answers %d: %s\n", r, log);
		exit(1);
	}
	CHECK_EQ(cubin ? nvrtcGetCUBINSize(program, &size) : nvrtcGetPTXSize(program, &size), 0);
	code = calloc(1, size + 1);
	CHECK_EQ(cubin ? nvrtcGetCUBIN(program, code) : nvrtcGetPTX(program, code), 0);
	CHECK_EQ(nvrtcDestroyProgram(&program), 0);
	printf("%s: %zu bytes\n", option, size);
	return code;
}

static void run(char *code)
{
	struct {
		CUdeviceptr out;
		struct {
			char tag;
			double weight;
		} p;
		short step;
	} p;
	float out[32] = {0};
	CUmodule module = NULL;
	CUfunction f = NULL;
	void *args[] = {&p.out, &p.p, &p.step};

	memset(&p, 0, sizeof p);
	p.out = client_upload(out, sizeof out);
	p.p.tag = 3, p.p.weight = 0.5, p.step = 2;
	CHECK_EQ(d.cuModuleLoadData(&module, code), 0);
	CHECK_EQ(d.cuModuleGetFunction(&f, module, "ramp"), 0);
	CHECK_EQ(d.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL), 0);
	expect_launch("ramp", 1, 1, 1, 32, 1, 1, &p, 26);
	CHECK_EQ(d.cuCtxSynchronize(), 0);
	CHECK_EQ(d.cuMemcpyDtoH_v2(out, p.out, sizeof out), 0);
	if (expect_results())
		CHECK(out[0] == 3.5f && out[31] == 65.5f);
	CHECK_EQ(d.cuModuleUnload(module), 0);
	CHECK_EQ(d.cuMemFree_v2(p.out), 0);
	free(code);
}

int main(int argc, char **argv)
{
	int major = 0, minor = 0;

	if (argc < 2)
		return 1;
	find_all(client_open(argv[1]));
	client_driver();
	CHECK_EQ(nvrtcVersion(&major, &minor), 0);
	printf("NVRTC %d.%d\n", major, minor);
	run(compile(argc > 2 ? argv[2] : "--gpu-architecture=compute_75", false));
	if (argc > 3)
		run(compile(argv[3], true));
	failures += check_launches();
	return RESULT();
}
