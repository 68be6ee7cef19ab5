/* The table of instructions accepts every mnemonic of forms.txt up to milestone 3. */
#include "ptx/ptx.h"

#include <stdio.h>
#include <string.h>

static int check(const char *milestone, const char *form)
{
	char why[200];
	bool known = ptx_mnemonic_known(form, why, sizeof why);

	if (known == (strcmp(milestone, "M4") != 0))
		return 0;
	if (!known)
		fprintf(stderr, "%s %s: %s\n", milestone, form, why);
	return !known;
}

int main(int argc, char **argv)
{
	char line[300], milestone[8], form[256];
	FILE *f = fopen(argc > 1 ? argv[1] : "forms.txt", "r");
	int bad = 0, n = 0;

	if (!f)
		return perror("forms.txt"), 1;
	while (fgets(line, sizeof line, f)) {
		if (line[0] == '#' || sscanf(line, "%7s %255s", milestone, form) != 2)
			continue;
		n++;
		bad += check(milestone, form);
	}
	fclose(f);
	printf("%d forms, %d missing\n", n, bad);
	return bad || n < 600;
}
