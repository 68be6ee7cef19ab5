/* Prints what cublasCreate answers, asked through a library. */
#include <stdio.h>

int multiplies(void);

int main(void)
{
	printf("cublasCreate %d\n", multiplies());
	return 0;
}
