/* The list of findings, kept until all probes have run. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/doctor/doctor.h"

/* Exit if out of memory: doctor has nothing to lose. */
static void *check_memory(void *p)
{
	if (!p) {
		fputs("gangway: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

static void *list_grow(void *list, size_t n, size_t size)
{
	return check_memory(realloc(list, (n + 1) * size));
}

static char *format_text(const char *format, va_list args)
{
	char *text;

	return check_memory(vasprintf(&text, format, args) < 0 ? NULL : text);
}

struct finding *finding_add(struct doctor *d, enum finding_status status, const char *format, ...)
{
	va_list ap;

	d->findings = list_grow(d->findings, d->nfindings, sizeof *d->findings);
	struct finding *f = &d->findings[d->nfindings++];
	*f = (struct finding){.probe = d->probe, .status = status};
	va_start(ap, format);
	f->text = format_text(format, ap);
	va_end(ap);
	return f;
}

void finding_detail(struct finding *f, const char *format, ...)
{
	va_list ap;

	f->more = list_grow(f->more, f->nmore, sizeof *f->more);
	va_start(ap, format);
	f->more[f->nmore++] = format_text(format, ap);
	va_end(ap);
}

void finding_fix(struct finding *f, const char *format, ...)
{
	va_list ap;

	free(f->fix);
	va_start(ap, format);
	f->fix = format_text(format, ap);
	va_end(ap);
}

void finding_fact(struct finding *f, const char *key, const char *format, ...)
{
	va_list ap;

	f->facts = list_grow(f->facts, f->nfacts, sizeof *f->facts);
	va_start(ap, format);
	f->facts[f->nfacts][0] = (char *)key;
	f->facts[f->nfacts++][1] = format_text(format, ap);
	va_end(ap);
}

void finding_table(struct finding *f, const char *const columns[TABLE_COLUMNS])
{
	f->columns = columns;
}

void finding_row(struct finding *f, const char *const cells[TABLE_COLUMNS])
{
	f->rows = list_grow(f->rows, f->nrows, sizeof *f->rows);
	for (int i = 0; i < TABLE_COLUMNS; i++)
		f->rows[f->nrows][i] = check_memory(strdup(cells[i] ? cells[i] : ""));
	f->nrows++;
}

bool doctor_is_wrong(const struct doctor *d)
{
	for (size_t i = 0; i < d->nfindings; i++)
		if (d->findings[i].status == STATUS_WRONG)
			return true;
	return false;
}

void finding_settle(struct finding *f)
{
	f->status = STATUS_FACT;
	free(f->fix);
	f->fix = NULL;
}

static void finding_free(struct finding *f)
{
	for (size_t i = 0; i < f->nmore; i++)
		free(f->more[i]);
	for (size_t i = 0; i < f->nfacts; i++)
		free(f->facts[i][1]);
	for (size_t i = 0; i < f->nrows; i++)
		for (int k = 0; k < TABLE_COLUMNS; k++)
			free(f->rows[i][k]);
	free(f->text);
	free(f->more);
	free(f->facts);
	free(f->fix);
	free(f->rows);
}

void doctor_drop_facts(struct doctor *d, size_t from)
{
	size_t kept = from;

	for (size_t i = from; i < d->nfindings; i++)
		if (d->findings[i].status == STATUS_FACT)
			finding_free(&d->findings[i]);
		else
			d->findings[kept++] = d->findings[i];
	d->nfindings = kept;
}

void doctor_free_findings(struct doctor *d)
{
	for (size_t i = 0; i < d->nfindings; i++)
		finding_free(&d->findings[i]);
	free(d->findings);
	d->findings = NULL;
	d->nfindings = 0;
}
