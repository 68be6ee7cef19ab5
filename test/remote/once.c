/* Loads a module of 1 MB; sent-once.sh checks the frames that this program sends. */
#include "driver.h"

int main(void)
{
	size_t size = 1 << 20;
	char *big = malloc(size + 1);
	CUmodule m;
	CUfunction f;

	start();
	memset(big, '\n', size);
	memcpy(big, ptx, sizeof ptx - 1);
	big[size] = 0;
	OK(cuModuleLoadData(&m, big));
	OK(cuModuleGetFunction(&f, m, "add"));
	OK(cuModuleUnload(m));
	free(big);
	return RESULT();
}
