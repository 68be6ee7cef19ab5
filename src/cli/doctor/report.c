/* report.c - what the probes found, kept until all have looked. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/doctor/doctor.h"

/* One command for a person: out of memory is not something to go on from. */
static void *had(void *p)
{
	if (!p) {
		fputs("gangway: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

static void *grown(void *list, size_t n, size_t size)
{
	return had(realloc(list, (n + 1) * size));
}

static char *format_text(const char *format, va_list args)
{
	char *text;

	return had(vasprintf(&text, format, args) < 0 ? NULL : text);
}

struct finding *say(struct doctor *d, enum status status, const char *format, ...)
{
	va_list ap;

	d->findings = grown(d->findings, d->nfindings, sizeof *d->findings);
	struct finding *f = &d->findings[d->nfindings++];
	*f = (struct finding){.probe = d->probe, .status = status};
	va_start(ap, format);
	f->text = format_text(format, ap);
	va_end(ap);
	return f;
}

void more(struct finding *f, const char *format, ...)
{
	va_list ap;

	f->more = grown(f->more, f->nmore, sizeof *f->more);
	va_start(ap, format);
	f->more[f->nmore++] = format_text(format, ap);
	va_end(ap);
}

void fix(struct finding *f, const char *format, ...)
{
	va_list ap;

	free(f->fix);
	va_start(ap, format);
	f->fix = format_text(format, ap);
	va_end(ap);
}

void tell(struct finding *f, const char *key, const char *format, ...)
{
	va_list ap;

	f->facts = grown(f->facts, f->nfacts, sizeof *f->facts);
	va_start(ap, format);
	f->facts[f->nfacts][0] = (char *)key;
	f->facts[f->nfacts++][1] = format_text(format, ap);
	va_end(ap);
}

void table(struct finding *f, const char *const columns[CELLS])
{
	f->columns = columns;
}

void row(struct finding *f, const char *const cells[CELLS])
{
	f->rows = grown(f->rows, f->nrows, sizeof *f->rows);
	for (int i = 0; i < CELLS; i++)
		f->rows[f->nrows][i] = had(strdup(cells[i] ? cells[i] : ""));
	f->nrows++;
}

bool doctor_is_wrong(const struct doctor *d)
{
	for (size_t i = 0; i < d->nfindings; i++)
		if (d->findings[i].status == WRONG)
			return true;
	return false;
}

void doctor_settle(struct finding *f)
{
	f->status = FACT;
	free(f->fix);
	f->fix = NULL;
}

static void free_finding(struct finding *f)
{
	for (size_t i = 0; i < f->nmore; i++)
		free(f->more[i]);
	for (size_t i = 0; i < f->nfacts; i++)
		free(f->facts[i][1]);
	for (size_t i = 0; i < f->nrows; i++)
		for (int k = 0; k < CELLS; k++)
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
		if (d->findings[i].status == FACT)
			free_finding(&d->findings[i]);
		else
			d->findings[kept++] = d->findings[i];
	d->nfindings = kept;
}

void doctor_free_findings(struct doctor *d)
{
	for (size_t i = 0; i < d->nfindings; i++)
		free_finding(&d->findings[i]);
	free(d->findings);
	d->findings = NULL;
	d->nfindings = 0;
}
