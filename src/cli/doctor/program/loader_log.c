/* Parse the log of our audit library and the trace of CUDA calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/doctor/program/loader_log.h"

#define FIELDS 6

/* Split a line at tabs; long fields are cut. Returns the number of fields. */
static int split_fields(const char *line, char fields[FIELDS][EVENT_TEXT])
{
	int n = 0;

	while (n < FIELDS) {
		size_t length = strcspn(line, "\t\n");

		snprintf(fields[n++], EVENT_TEXT, "%.*s", (int)(length < EVENT_TEXT ? length : EVENT_TEXT - 1), line);
		if (line[length] != '\t')
			break;
		line += length + 1;
	}
	return n;
}

static void *list_grow(struct loader_events *e, void *list, size_t n, size_t size)
{
	void *larger = n < EVENTS_MAX ? realloc(list, (n + 1) * size) : NULL;

	if (!larger)
		e->cut = true;
	return larger;
}

static struct process_start *find_process(struct loader_events *e, int pid)
{
	for (size_t i = e->nstarted; i-- > 0;) /* pids are reused: the last one counts */
		if (e->started[i].pid == pid)
			return &e->started[i];
	return NULL;
}

static void add_start(struct loader_events *e, int pid, const char *program)
{
	struct process_start *list = list_grow(e, e->started, e->nstarted, sizeof *list);

	if (!list)
		return;
	e->started = list;
	list[e->nstarted] = (struct process_start){.pid = pid};
	snprintf(list[e->nstarted++].program, EVENT_TEXT, "%s", program);
}

static void add_request(struct loader_events *e, int pid, char fields[FIELDS][EVENT_TEXT])
{
	struct library_request *list = list_grow(e, e->asked, e->nasked, sizeof *list);

	if (!list)
		return;
	e->asked = list;
	struct library_request *a = &list[e->nasked++];
	*a = (struct library_request){.pid = pid};
	memcpy(a->name, fields[2], EVENT_TEXT);
	memcpy(a->by, fields[3], EVENT_TEXT);
	snprintf(a->how, sizeof a->how, "%.15s", fields[4]);
	memcpy(a->answer, fields[5], EVENT_TEXT);
}

/* A loaded file answers the last matching request of the process. */
static void add_loaded(struct loader_events *e, int pid, char fields[FIELDS][EVENT_TEXT], const char *ours)
{
	const char *name = basename(fields[2]);
	struct process_start *s = find_process(e, pid);
	size_t n = strlen(ours);

	for (size_t i = e->nasked; i-- > 0;) {
		struct library_request *a = &e->asked[i];

		if (a->pid != pid || a->loaded[0] || strcmp(basename(a->answer), name))
			continue;
		memcpy(a->loaded, fields[2], EVENT_TEXT);
		snprintf(a->found, sizeof a->found, "%.15s", fields[3]);
		break;
	}
	if (!s || strncmp(name, "libcuda.so", 10))
		return;
	if (n && !strncmp(fields[2], ours, n) && fields[2][n] == '/')
		s->ours++;
	else
		s->others++;
}

void loader_events_add_line(struct loader_events *e, const char *line, const char *ours)
{
	char fields[FIELDS][EVENT_TEXT];
	int n = split_fields(line, fields), pid = n > 1 ? atoi(fields[1]) : 0;

	if (n >= 3 && !strcmp(fields[0], "start"))
		add_start(e, pid, fields[2]);
	else if (n >= 6 && !strcmp(fields[0], "asked"))
		add_request(e, pid, fields);
	else if (n >= 4 && !strcmp(fields[0], "loaded"))
		add_loaded(e, pid, fields, ours);
}

void loader_events_finish(struct loader_events *e)
{
	free(e->asked);
	free(e->started);
	*e = (struct loader_events){0};
}

bool loader_events_has_loaded(const struct loader_events *e, int pid, const char *name)
{
	for (size_t i = 0; i < e->nasked; i++)
		if (e->asked[i].pid == pid && e->asked[i].loaded[0] &&
			(!strcmp(basename(e->asked[i].loaded), basename(name)) ||
				!strcmp(basename(e->asked[i].name), basename(name))))
			return true;
	return false;
}

/* ---- trace ---- */

/* Is this a query that programs expect to fail? */
static bool is_query_call(const char *call)
{
	static const char *const names[] = {"cuGetProcAddress", "cuCtxGetDevice(", "cuCtxGetCurrent", "cuStreamQuery",
		"cuEventQuery", "cuPointerGet", "cuGetExportTable", "cuDeviceGetAttribute", "cuDeviceCanAccessPeer",
		"cuCtxGetId"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(call, names[i], strlen(names[i])))
			return true;
	return false;
}

void call_summary_add_line(struct call_summary *c, const char *line)
{
	static const char device[] = "# gangway: device ", prefix[] = "# gangway: ";
	const char *call = strstr(line, "] "), *result;

	if (line[0] != '[' || !call)
		return;
	call += 2;
	if (!strncmp(call, device, sizeof device - 1)) {
		snprintf(c->device, sizeof c->device, "%s", call + sizeof device - 1);
	} else if (call[0] == '#') {
		if (strstr(call, "no device:") || strstr(call, "cannot run") || strstr(call, "failed:") ||
			strstr(call, "no code"))
			snprintf(c->note, sizeof c->note, "%s",
				call + (strncmp(call, prefix, sizeof prefix - 1) ? 2 : sizeof prefix - 1));
	} else {
		c->count++;
		result = strstr(call, " = CUDA_ERROR_");
		if (!result || is_query_call(call))
			return;
		if (!c->failed++)
			snprintf(c->first, sizeof c->first, "%s", call);
		snprintf(c->last, sizeof c->last, "%s", call);
	}
}
