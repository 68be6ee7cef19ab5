/* Whatever a log, a trace, a service's file or a program holds, the readers of doctor answer or pass it over. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "cli/doctor/program/loader_log.h"
#include "loader/dlopen_names.h"
#include "cli/doctor/ollama/systemd_unit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_lines(char *text)
{
	struct events e = {0};
	struct calls c = {0};
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		events_line(&e, line, "/usr/lib/gangway");
		calls_line(&c, line);
	}
	for (size_t i = 0; i < e.nasked && i < 8; i++)
		events_loaded(&e, e.asked[i].pid, e.asked[i].name);
	events_finish(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct dlopen_names names = {0};
	struct unit unit = {0};

	if (!text)
		abort();
	dlopen_names_scan((const char *)data, size, &names);
	for (unsigned i = 0; i < names.n; i++)
		dlopen_names_remove(&names, names.name[i]);
	memcpy(text, data, size);
	text[size] = 0;
	unit_parse(&unit, text);
	for (unsigned i = 0; i < unit.n; i++)
		if (!strchr(unit.environment[i], '='))
			abort();
	if (unit.environment[unit.n])
		abort();
	unit_finish(&unit);
	memcpy(text, data, size);
	text[size] = 0;
	read_lines(text);
	free(text);
	return 0;
}
