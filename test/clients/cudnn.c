/* cuDNN: a handle, an activation and a convolution. */
#include "test/clients/client.h"

enum { NCHW = 0, FLOAT = 0, RELU = 1, CROSS_CORRELATION = 1, IMPLICIT_GEMM = 0 };

static size_t (*cudnnGetVersion)(void);
static const char *(*cudnnGetErrorString)(int);
static int (*cudnnCreate)(void **);
static int (*cudnnDestroy)(void *);
static int (*cudnnCreateTensorDescriptor)(void **);
static int (*cudnnSetTensor4dDescriptor)(void *, int, int, int, int, int, int);
static int (*cudnnCreateActivationDescriptor)(void **);
static int (*cudnnSetActivationDescriptor)(void *, int, int, double);
static int (*cudnnActivationForward)(void *, void *, const void *, void *, const void *, const void *, void *, void *);
static int (*cudnnCreateFilterDescriptor)(void **);
static int (*cudnnSetFilter4dDescriptor)(void *, int, int, int, int, int, int);
static int (*cudnnCreateConvolutionDescriptor)(void **);
static int (*cudnnSetConvolution2dDescriptor)(void *, int, int, int, int, int, int, int, int);
static int (*cudnnConvolutionForward)(void *, const void *, void *, const void *, void *, const void *, void *, int,
	void *, size_t, const void *, void *, void *);

static void find_all(void *l)
{
	FIND(l, cudnnGetVersion), FIND(l, cudnnGetErrorString), FIND(l, cudnnCreate), FIND(l, cudnnDestroy);
	FIND(l, cudnnCreateTensorDescriptor), FIND(l, cudnnSetTensor4dDescriptor);
	FIND(l, cudnnCreateActivationDescriptor), FIND(l, cudnnSetActivationDescriptor);
	FIND(l, cudnnActivationForward), FIND(l, cudnnCreateFilterDescriptor), FIND(l, cudnnSetFilter4dDescriptor);
	FIND(l, cudnnCreateConvolutionDescriptor), FIND(l, cudnnSetConvolution2dDescriptor);
	FIND(l, cudnnConvolutionForward);
}

#define DONE(call) \
	do { \
		int r_ = (call); \
		if (r_) { \
			fprintf(stderr, "%s:%d: %s: %d %s\n", __FILE__, __LINE__, #call, r_, cudnnGetErrorString(r_)); \
			failures++; \
		} \
	} while (0)

#define SIDE     16
#define CHANNELS 4

static const float one = 1, zero = 0;
static float input[CHANNELS * SIDE * SIDE], output[CHANNELS * SIDE * SIDE], weights[CHANNELS * CHANNELS * 9];

static void *tensor(void)
{
	void *t = NULL;

	DONE(cudnnCreateTensorDescriptor(&t));
	DONE(cudnnSetTensor4dDescriptor(t, NCHW, FLOAT, 1, CHANNELS, SIDE, SIDE));
	return t;
}

static void activation(void *handle, CUdeviceptr in, CUdeviceptr out)
{
	void *t = tensor(), *relu = NULL;
	int before = client_launches();

	DONE(cudnnCreateActivationDescriptor(&relu));
	DONE(cudnnSetActivationDescriptor(relu, RELU, 0, 0.0));
	DONE(cudnnActivationForward(handle, relu, &one, t, (void *)in, &zero, t, (void *)out));
	CHECK_EQ(d.cuCtxSynchronize(), 0);
	CHECK_EQ(d.cuMemcpyDtoH_v2(output, out, sizeof output), 0);
	for (int i = 0; i < CHANNELS * SIDE * SIDE && expect_results(); i++)
		CHECK(output[i] == (input[i] > 0 ? input[i] : 0));
	client_step("activation", before);
}

/* Only the middle weight of each filter's own channel is 1: the output is the input. */
static void convolution(void *handle, CUdeviceptr in, CUdeviceptr out)
{
	void *t = tensor(), *filter = NULL, *how = NULL;
	int before = client_launches();

	for (int i = 0; i < CHANNELS; i++)
		weights[(i * CHANNELS + i) * 9 + 4] = 1;
	CUdeviceptr w = client_upload(weights, sizeof weights);
	DONE(cudnnCreateFilterDescriptor(&filter));
	DONE(cudnnSetFilter4dDescriptor(filter, FLOAT, NCHW, CHANNELS, CHANNELS, 3, 3));
	DONE(cudnnCreateConvolutionDescriptor(&how));
	DONE(cudnnSetConvolution2dDescriptor(how, 1, 1, 1, 1, 1, 1, CROSS_CORRELATION, FLOAT));
	DONE(cudnnConvolutionForward(
		handle, &one, t, (void *)in, filter, (void *)w, how, IMPLICIT_GEMM, NULL, 0, &zero, t, (void *)out));
	CHECK_EQ(d.cuCtxSynchronize(), 0);
	CHECK_EQ(d.cuMemcpyDtoH_v2(output, out, sizeof output), 0);
	for (int i = 0; i < CHANNELS * SIDE * SIDE && expect_results(); i++)
		CHECK(fabsf(output[i] - input[i]) < 0.001f);
	client_step("convolution", before);
}

int main(int argc, char **argv)
{
	void *handle = NULL;

	if (argc != 2)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	find_all(client_open(argv[1]));
	client_driver();
	printf("cuDNN %zu\n", cudnnGetVersion());
	DONE(cudnnCreate(&handle));
	if (failures)
		return 1;
	printf("handle\n");
	for (int i = 0; i < CHANNELS * SIDE * SIDE; i++)
		input[i] = i % 11 - 5;
	CUdeviceptr in = client_upload(input, sizeof input), out = client_upload(output, sizeof output);
	activation(handle, in, out);
	convolution(handle, in, out);
	DONE(cudnnDestroy(handle));
	return RESULT();
}
