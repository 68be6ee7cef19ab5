/* Parse an environment variable as a decimal number. */
#include <errno.h>
#include <stdlib.h>
#include "host/env_number.h"

unsigned env_number(const char *variable, unsigned most, unsigned otherwise)
{
	const char *text = secure_getenv(variable);
	unsigned long n;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return otherwise;
	errno = 0;
	n = strtoul(text, &end, 10);
	return *end || errno || n > most ? otherwise : (unsigned)n;
}
