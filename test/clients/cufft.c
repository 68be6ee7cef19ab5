/* cuFFT of any release: a complex-to-complex plan, executed forward and backward. */
#include "test/clients/client.h"

enum { COMPLEX = 0x29, FORWARD = -1, INVERSE = 1 };

static int (*cufftGetVersion)(int *);
static int (*cufftPlan1d)(int *, int, int, int);
static int (*cufftExecC2C)(int, void *, void *, int);
static int (*cufftDestroy)(int);

static void transform(int n)
{
	float *in = calloc(2 * n, sizeof *in), *out = calloc(2 * n, sizeof *out);
	size_t size = 2 * n * sizeof *in;
	int plan = -1, before = client_launches();
	char what[64];

	for (int i = 0; i < n; i++)
		in[2 * i] = i % 13;
	CUdeviceptr p = client_upload(in, size);
	CHECK_EQ(cufftPlan1d(&plan, n, COMPLEX, 1), 0);
	CHECK_EQ(cufftExecC2C(plan, (void *)p, (void *)p, FORWARD), 0);
	CHECK_EQ(cufftExecC2C(plan, (void *)p, (void *)p, INVERSE), 0);
	CHECK_EQ(d.cuCtxSynchronize(), 0);
	CHECK_EQ(d.cuMemcpyDtoH_v2(out, p, size), 0);
	for (int i = 0; i < 2 * n && expect_results(); i++)
		CHECK(fabsf(out[i] / n - in[i]) < 0.01f);
	CHECK_EQ(cufftDestroy(plan), 0);
	snprintf(what, sizeof what, "%d points, forward and inverse", n);
	client_step(what, before);
	d.cuMemFree_v2(p);
	free(in), free(out);
}

int main(int argc, char **argv)
{
	int version = 0;

	if (argc != 2)
		return 1;
	void *l = client_open(argv[1]);
	FIND(l, cufftGetVersion), FIND(l, cufftPlan1d), FIND(l, cufftExecC2C), FIND(l, cufftDestroy);
	client_driver();
	CHECK_EQ(cufftGetVersion(&version), 0);
	printf("cuFFT %d\n", version);
	transform(1024);
	transform(1000);
	transform(1 << 18);
	return RESULT();
}
