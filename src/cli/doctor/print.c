/*
 * Print the findings as text, most important first, or as JSON.
 *
 * The findings contain untrusted names: control characters could control the terminal, and invalid UTF-8 would break
 * JSON. Both are replaced.
 */
#include <stdio.h>
#include <string.h>
#include "cli/doctor/doctor.h"
#include "util/text.h"
#include "util/build_note.h"

static const char *const status_words[] = {
	[STATUS_WRONG] = "wrong", [STATUS_LOOK] = "look", [STATUS_FINE] = "fine", [STATUS_FACT] = "fact"};
static const char *const status_colours[] = {[STATUS_WRONG] = "\033[1;31m",
	[STATUS_LOOK] = "\033[1;33m",
	[STATUS_FINE] = "\033[32m",
	[STATUS_FACT] = "\033[2m"};

/* ---- printable text ---- */

static void print_printable(const char *s)
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

static size_t text_width(const char *s)
{
	size_t w = 0;

	for (; *s; w++) {
		size_t n = utf8_printable(s);
		s += n ? n : 1;
	}
	return w;
}

/* ---- text ---- */

#define INDENT 18 /* of the lines below a finding */

static void print_blanks(size_t n)
{
	while (n--)
		putchar(' ');
}

static void print_row(char *const cells[TABLE_COLUMNS], const size_t widths[TABLE_COLUMNS])
{
	int last = 0;

	for (int i = 0; i < TABLE_COLUMNS; i++)
		if (cells[i] && *cells[i])
			last = i;
	print_blanks(INDENT);
	for (int i = 0; i <= last; i++) {
		print_printable(cells[i] ? cells[i] : "");
		if (i < last)
			print_blanks(widths[i] + 2 - text_width(cells[i] ? cells[i] : ""));
	}
	putchar('\n');
}

static void print_table(const struct finding *f)
{
	size_t widths[TABLE_COLUMNS] = {0};

	for (int i = 0; i < TABLE_COLUMNS; i++) {
		widths[i] = f->columns[i] ? text_width(f->columns[i]) : 0;
		for (size_t j = 0; j < f->nrows; j++)
			if (text_width(f->rows[j][i]) > widths[i])
				widths[i] = text_width(f->rows[j][i]);
	}
	if (f->nrows)
		print_row((char *const *)f->columns, widths);
	for (size_t j = 0; j < f->nrows; j++)
		print_row(f->rows[j], widths);
}

static void print_finding(const struct finding *f, bool colour)
{
	printf("%s%-5s%s  %-10s ", colour ? status_colours[f->status] : "", status_words[f->status],
		colour ? "\033[0m" : "", f->probe);
	print_printable(f->text);
	putchar('\n');
	for (size_t i = 0; i < f->nmore; i++) {
		print_blanks(INDENT);
		print_printable(f->more[i]);
		putchar('\n');
	}
	if (f->fix) {
		print_blanks(INDENT);
		printf("%sfix:%s ", colour ? "\033[1m" : "", colour ? "\033[0m" : "");
		print_printable(f->fix);
		putchar('\n');
	}
	if (f->columns)
		print_table(f);
}

static unsigned count_findings(const struct doctor *d, enum finding_status status)
{
	unsigned n = 0;

	for (size_t i = 0; i < d->nfindings; i++)
		n += d->findings[i].status == status;
	return n;
}

static void print_summary(unsigned wrong, unsigned look)
{
	if (wrong)
		printf("%u thing%s wrong", wrong, wrong == 1 ? " is" : "s are");
	else
		printf("Nothing is wrong");
	if (look)
		printf(", %u to look at", look);
	printf(".\n");
}

void doctor_print_text(const struct doctor *d)
{
	print_summary(count_findings(d, STATUS_WRONG), count_findings(d, STATUS_LOOK));
	for (enum finding_status s = STATUS_WRONG; s <= STATUS_FACT; s++) {
		bool first = true;

		for (size_t i = 0; i < d->nfindings; i++) {
			if (d->findings[i].status != s)
				continue;
			if (first || s <= STATUS_LOOK)
				putchar('\n');
			first = false;
			print_finding(&d->findings[i], d->colour);
		}
	}
}

/* ---- JSON ---- */

static void print_json_finding(const struct finding *f)
{
	printf("{\"status\":\"%s\",\"probe\":", status_words[f->status]);
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
		for (int i = 0; i < TABLE_COLUMNS && f->columns[i]; i++) {
			printf("%s", i ? "," : "");
			json_text(stdout, f->columns[i]);
			putchar(':');
			json_text(stdout, f->rows[j][i]);
		}
		putchar('}');
	}
	printf("]}");
}

void doctor_print_json(const struct doctor *d)
{
	bool first = true;

	printf("{\"gangway\":");
	json_text(stdout, build_note_text);
	printf(",\"ok\":%s,\"wrong\":%u,\"look\":%u,\"findings\":[", doctor_is_wrong(d) ? "false" : "true",
		count_findings(d, STATUS_WRONG), count_findings(d, STATUS_LOOK));
	for (enum finding_status s = STATUS_WRONG; s <= STATUS_FACT; s++)
		for (size_t i = 0; i < d->nfindings; i++)
			if (d->findings[i].status == s) {
				printf("%s\n", first ? "" : ",");
				print_json_finding(&d->findings[i]);
				first = false;
			}
	printf("\n]}\n");
}
