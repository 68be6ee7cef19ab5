#include <stddef.h>
#include "util/errors.h"

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
#define ERROR(name, value, text) {value, #name, text},
#include "abi/errors.def"
#undef ERROR
};

static int find(int code)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == code)
			return i;
	return -1;
}

const char *result_name(int code)
{
	int i = find(code);

	return i < 0 ? NULL : errors[i].name;
}

const char *result_text(int code)
{
	int i = find(code);

	return i < 0 ? NULL : errors[i].text;
}
