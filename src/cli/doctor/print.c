/*
 * print.c - findings for people, most important first, and for machines.
 *
 * What is printed holds names and texts of others: control characters would speak to the terminal, and bytes that are
 * no UTF-8 would break JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/doctor/doctor.h"
#include "util/note.h"

static const char *const words[] = {[WRONG] = "wrong", [LOOK] = "look", [FINE] = "fine", [FACT] = "fact"};
static const char *const colours[] = {[WRONG] = "\033[1;31m", [LOOK] = "\033[1;33m", [FINE] = "\033[32m", [FACT] = "\033[2m"};

/* ---- printable ---- */

/* The bytes of the character at s; 0: it is none that may be printed. */
static size_t character(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;

	if (n == 1)
		return p[0] >= ' ' && p[0] != 127;
	for (size_t i = 1; i < n; i++)
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	if (n == 2 && p[0] == 0xc2 && p[1] < 0xa0) /* control characters, again */
		return 0;
	if (n == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))) /* too long; half of a pair */
		return 0;
	if (n == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)))
		return 0;
	return n;
}

static void put_text(const char *s)
{
	while (*s) {
		size_t n = character(s);

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
		size_t n = character(s);
		s += n ? n : 1;
	}
	return w;
}

static void put_json(const char *s)
{
	putchar('"');
	while (*s) {
		size_t n = character(s);
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (n)
			fwrite(s, 1, n, stdout);
		else if (c < 0x80)
			printf("\\u%04x", c);
		else
			fputs("\\ufffd", stdout);
		s += n ? n : 1;
	}
	putchar('"');
}

/* ---- for people ---- */

#define INDENT 18 /* of what stands under a finding */

static void pad(size_t n)
{
	while (n--)
		putchar(' ');
}

static bool coloured(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
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
	printf("%s%-5s%s  %-10s ", colour ? colours[f->status] : "", words[f->status], colour ? "\033[0m" : "", f->probe);
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
	bool colour = coloured();

	put_summary(count(d, WRONG), count(d, LOOK));
	for (enum status s = WRONG; s <= FACT; s++) {
		bool first = true;

		for (size_t i = 0; i < d->nfindings; i++) {
			if (d->findings[i].status != s)
				continue;
			if (first || s <= LOOK)
				putchar('\n');
			first = false;
			put_finding(&d->findings[i], colour);
		}
	}
}

/* ---- for machines ---- */

static void json_finding(const struct finding *f)
{
	printf("{\"status\":\"%s\",\"probe\":", words[f->status]);
	put_json(f->probe);
	printf(",\"text\":");
	put_json(f->text);
	printf(",\"more\":[");
	for (size_t i = 0; i < f->nmore; i++) {
		printf("%s", i ? "," : "");
		put_json(f->more[i]);
	}
	printf("],\"fix\":");
	if (f->fix)
		put_json(f->fix);
	else
		printf("null");
	printf(",\"facts\":{");
	for (size_t i = 0; i < f->nfacts; i++) {
		printf("%s", i ? "," : "");
		put_json(f->facts[i][0]);
		putchar(':');
		put_json(f->facts[i][1]);
	}
	printf("},\"table\":[");
	for (size_t j = 0; j < f->nrows; j++) {
		printf("%s{", j ? "," : "");
		for (int i = 0; i < CELLS && f->columns[i]; i++) {
			printf("%s", i ? "," : "");
			put_json(f->columns[i]);
			putchar(':');
			put_json(f->rows[j][i]);
		}
		putchar('}');
	}
	printf("]}");
}

void print_json(const struct doctor *d)
{
	bool first = true;

	printf("{\"gangway\":");
	put_json(note_build);
	printf(",\"ok\":%s,\"wrong\":%u,\"look\":%u,\"findings\":[", doctor_is_wrong(d) ? "false" : "true", count(d, WRONG),
		count(d, LOOK));
	for (enum status s = WRONG; s <= FACT; s++)
		for (size_t i = 0; i < d->nfindings; i++)
			if (d->findings[i].status == s) {
				printf("%s\n", first ? "" : ",");
				json_finding(&d->findings[i]);
				first = false;
			}
	printf("\n]}\n");
}
