/* Print the result of cuInit, called through a library. */
#include <stdio.h>

int part(void);

int main(void)
{
	printf("cuInit %d\n", part());
	return 0;
}
