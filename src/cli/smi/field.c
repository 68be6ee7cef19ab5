/* The table of fields (fields.def). */
#include "cli/smi/value.h"

#include <string.h>

static const struct field fields[] = {
#define FIELD_ROW(name, other, unit, get, what) {name, other, unit, get, what},
#include "cli/smi/fields.def"
#undef FIELD_ROW
};

#define FIELDS (sizeof fields / sizeof *fields)

static bool name_equals(const char *name, const char *text, size_t length)
{
	return name && strlen(name) == length && !strncmp(name, text, length);
}

const struct field *field_find(const char *name, size_t length)
{
	for (size_t i = 0; i < FIELDS; i++)
		if (name_equals(fields[i].name, name, length) || name_equals(fields[i].other, name, length))
			return &fields[i];
	return NULL;
}

const struct field *field_at(unsigned i)
{
	return i < FIELDS ? &fields[i] : NULL;
}

bool field_text(const struct field *f, const struct smi_gpu *g, bool units, char text[SMI_TEXT])
{
	char value[SMI_TEXT] = "";
	nvmlReturn_t r = f->get(g, f->what, value);

	if (r)
		snprintf(text, SMI_TEXT, "%s", value_missing(r));
	else
		snprintf(text, SMI_TEXT, units && f->unit ? "%.200s %s" : "%.200s", value, f->unit);
	return r;
}
