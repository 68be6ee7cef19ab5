/* Load an image from a file, run its kernel k and check the number that it stores: load-file FILE NUMBER */
#include "test/cpu/device.h"

int main(int argc, char **argv)
{
	unsigned number = 0;
	CUdeviceptr p = 0;
	void *args[] = {&p};
	CUfunction f = NULL;
	CUmodule m = NULL;

	if (argc != 3)
		return 1;
	device_start();
	OK(cuModuleLoad(&m, argv[1]));
	OK(cuModuleGetFunction(&f, m, "k"));
	OK(cuMemAlloc_v2(&p, sizeof number));
	OK(device_launch(f, 1, 1, NULL, args));
	OK(cuMemcpyDtoH_v2(&number, p, sizeof number));
	CHECK_EQ(number, strtoul(argv[2], NULL, 0));
	return RESULT();
}
