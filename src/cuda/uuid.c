#include "cuda/uuid.h"

#include <stdio.h>

void uuid_text(const unsigned char uuid[16], char text[UUID_TEXT])
{
	char *to = text + sprintf(text, "GPU-");

	for (int i = 0; i < 16; i++)
		to += sprintf(to, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}
