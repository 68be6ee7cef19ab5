/* The readers of doctor parse or skip any content of a log, a trace, a service file or a program. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "cli/doctor/program/loader_log.h"
#include "loader/dlopen_names.h"
#include "cli/doctor/ollama/systemd_unit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_lines(char *text)
{
	struct loader_events e = {0};
	struct call_summary c = {0};
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		loader_events_add_line(&e, line, "/usr/lib/gangway");
		call_summary_add_line(&c, line);
	}
	for (size_t i = 0; i < e.nasked && i < 8; i++)
		loader_events_has_loaded(&e, e.asked[i].pid, e.asked[i].name);
	loader_events_finish(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct dlopen_names names = {0};
	struct systemd_unit unit = {0};

	if (!text)
		abort();
	dlopen_names_scan((const char *)data, size, &names);
	for (unsigned i = 0; i < names.n; i++)
		dlopen_names_remove(&names, names.name[i]);
	memcpy(text, data, size);
	text[size] = 0;
	systemd_unit_parse(&unit, text);
	for (unsigned i = 0; i < unit.n; i++)
		if (!strchr(unit.environment[i], '='))
			abort();
	if (unit.environment[unit.n])
		abort();
	systemd_unit_finish(&unit);
	memcpy(text, data, size);
	text[size] = 0;
	read_lines(text);
	free(text);
	return 0;
}
