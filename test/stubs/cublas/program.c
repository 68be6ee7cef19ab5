/* Print the result of cublasCreate, called through a library. */
#include <stdio.h>

int multiplies(void);

int main(void)
{
	printf("cublasCreate %d\n", multiplies());
	return 0;
}
