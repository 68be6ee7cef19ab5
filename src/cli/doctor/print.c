/*
 * print.c - findings for people, most important first, and for machines.
 *
 * What is printed holds names and texts of others: control characters would speak to the terminal, and bytes
 * that are no UTF-8 would break JSON.
 */
#include <stdio.h>
#include <string.h>
#include "cli/doctor/doctor.h"
#include "util/json.h"
#include "util/build_note.h"
#include "util/utf8.h"

static const char *const words[] = {[WRONG] = "wrong", [LOOK] = "look", [FINE] = "fine", [FACT] = "fact"};
static const char *const colours[] = {
	[WRONG] = "\033[1;31m", [LOOK] = "\033[1;33m", [FINE] = "\033[32m", [FACT] = "\033[2m"};

/* ---- printable ---- */

static void put_text(const char *s)
{
	while (*s) {
		size_t n = utf8_printable(s);

		if (n)
			fwrite(s, 1, n, stdout);
		else
			putchar('?');
		s += n ? n : 1;
	}
}

static size_t width(const char *s)
{
	size_t w = 0;

	for (; *s; w++) {
		size_t n = utf8_printable(s);
		s += n ? n : 1;
	}
	return w;
}

/* ---- for people ---- */

#define INDENT 18 /* of what stands under a finding */

static void pad(size_t n)
{
	while (n--)
		putchar(' ');
}

static void put_row(char *const cells[CELLS], const size_t widths[CELLS])
{
	int last = 0;

	for (int i = 0; i < CELLS; i++)
		if (cells[i] && *cells[i])
			last = i;
	pad(INDENT);
	for (int i = 0; i <= last; i++) {
		put_text(cells[i] ? cells[i] : "");
		if (i < last)
			pad(widths[i] + 2 - width(cells[i] ? cells[i] : ""));
	}
	putchar('\n');
}

static void put_table(const struct finding *f)
{
	size_t widths[CELLS] = {0};

	for (int i = 0; i < CELLS; i++) {
		widths[i] = f->columns[i] ? width(f->columns[i]) : 0;
		for (size_t j = 0; j < f->nrows; j++)
			if (width(f->rows[j][i]) > widths[i])
				widths[i] = width(f->rows[j][i]);
	}
	if (f->nrows)
		put_row((char *const *)f->columns, widths);
	for (size_t j = 0; j < f->nrows; j++)
		put_row(f->rows[j], widths);
}

static void put_finding(const struct finding *f, bool colour)
{
	printf("%s%-5s%s  %-10s ", colour ? colours[f->status] : "", words[f->status], colour ? "\033[0m" : "",
		f->probe);
	put_text(f->text);
	putchar('\n');
	for (size_t i = 0; i < f->nmore; i++) {
		pad(INDENT);
		put_text(f->more[i]);
		putchar('\n');
	}
	if (f->fix) {
		pad(INDENT);
		printf("%sfix:%s ", colour ? "\033[1m" : "", colour ? "\033[0m" : "");
		put_text(f->fix);
		putchar('\n');
	}
	if (f->columns)
		put_table(f);
}

static unsigned count(const struct doctor *d, enum status status)
{
	unsigned n = 0;

	for (size_t i = 0; i < d->nfindings; i++)
		n += d->findings[i].status == status;
	return n;
}

static void put_summary(unsigned wrong, unsigned look)
{
	if (wrong)
		printf("%u thing%s wrong", wrong, wrong == 1 ? " is" : "s are");
	else
		printf("Nothing is wrong");
	if (look)
		printf(", %u to look at", look);
	printf(".\n");
}

void print_text(const struct doctor *d)
{
	put_summary(count(d, WRONG), count(d, LOOK));
	for (enum status s = WRONG; s <= FACT; s++) {
		bool first = true;

		for (size_t i = 0; i < d->nfindings; i++) {
			if (d->findings[i].status != s)
				continue;
			if (first || s <= LOOK)
				putchar('\n');
			first = false;
			put_finding(&d->findings[i], d->colour);
		}
	}
}

/* ---- for machines ---- */

static void json_finding(const struct finding *f)
{
	printf("{\"status\":\"%s\",\"probe\":", words[f->status]);
	json_text(stdout, f->probe);
	printf(",\"text\":");
	json_text(stdout, f->text);
	printf(",\"more\":[");
	for (size_t i = 0; i < f->nmore; i++) {
		printf("%s", i ? "," : "");
		json_text(stdout, f->more[i]);
	}
	printf("],\"fix\":");
	if (f->fix)
		json_text(stdout, f->fix);
	else
		printf("null");
	printf(",\"facts\":{");
	for (size_t i = 0; i < f->nfacts; i++) {
		printf("%s", i ? "," : "");
		json_text(stdout, f->facts[i][0]);
		putchar(':');
		json_text(stdout, f->facts[i][1]);
	}
	printf("},\"table\":[");
	for (size_t j = 0; j < f->nrows; j++) {
		printf("%s{", j ? "," : "");
		for (int i = 0; i < CELLS && f->columns[i]; i++) {
			printf("%s", i ? "," : "");
			json_text(stdout, f->columns[i]);
			putchar(':');
			json_text(stdout, f->rows[j][i]);
		}
		putchar('}');
	}
	printf("]}");
}

void print_json(const struct doctor *d)
{
	bool first = true;

	printf("{\"gangway\":");
	json_text(stdout, note_build);
	printf(",\"ok\":%s,\"wrong\":%u,\"look\":%u,\"findings\":[", doctor_is_wrong(d) ? "false" : "true",
		count(d, WRONG), count(d, LOOK));
	for (enum status s = WRONG; s <= FACT; s++)
		for (size_t i = 0; i < d->nfindings; i++)
			if (d->findings[i].status == s) {
				printf("%s\n", first ? "" : ",");
				json_finding(&d->findings[i]);
				first = false;
			}
	printf("\n]}\n");
}
