#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/doctor/program/loader_log.h"

#define FIELDS 6

/* Fields end at tabs; what does not fit is cut.  How many there were. */
static int split(const char *line, char fields[FIELDS][EVENT_TEXT])
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

static void *room(struct events *e, void *list, size_t n, size_t size)
{
	void *larger = n < EVENTS_MAX ? realloc(list, (n + 1) * size) : NULL;

	if (!larger)
		e->cut = true;
	return larger;
}

static struct started *process(struct events *e, int pid)
{
	for (size_t i = e->nstarted; i-- > 0;) /* a pid may be used again: the last one counts */
		if (e->started[i].pid == pid)
			return &e->started[i];
	return NULL;
}

static void take_start(struct events *e, int pid, const char *program)
{
	struct started *list = room(e, e->started, e->nstarted, sizeof *list);

	if (!list)
		return;
	e->started = list;
	list[e->nstarted] = (struct started){.pid = pid};
	snprintf(list[e->nstarted++].program, EVENT_TEXT, "%s", program);
}

static void take_asked(struct events *e, int pid, char fields[FIELDS][EVENT_TEXT])
{
	struct asked *list = room(e, e->asked, e->nasked, sizeof *list);

	if (!list)
		return;
	e->asked = list;
	struct asked *a = &list[e->nasked++];
	*a = (struct asked){.pid = pid};
	memcpy(a->name, fields[2], EVENT_TEXT);
	memcpy(a->by, fields[3], EVENT_TEXT);
	snprintf(a->how, sizeof a->how, "%.15s", fields[4]);
	memcpy(a->answer, fields[5], EVENT_TEXT);
}

/* A file that was mapped is the answer to the last question of that process which it may be an answer to. */
static void take_loaded(struct events *e, int pid, char fields[FIELDS][EVENT_TEXT], const char *ours)
{
	const char *name = basename(fields[2]);
	struct started *s = process(e, pid);
	size_t n = strlen(ours);

	for (size_t i = e->nasked; i-- > 0;) {
		struct asked *a = &e->asked[i];

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

void events_line(struct events *e, const char *line, const char *ours)
{
	char fields[FIELDS][EVENT_TEXT];
	int n = split(line, fields), pid = n > 1 ? atoi(fields[1]) : 0;

	if (n >= 3 && !strcmp(fields[0], "start"))
		take_start(e, pid, fields[2]);
	else if (n >= 6 && !strcmp(fields[0], "asked"))
		take_asked(e, pid, fields);
	else if (n >= 4 && !strcmp(fields[0], "loaded"))
		take_loaded(e, pid, fields, ours);
}

void events_finish(struct events *e)
{
	free(e->asked);
	free(e->started);
	*e = (struct events){0};
}

bool events_loaded(const struct events *e, int pid, const char *name)
{
	for (size_t i = 0; i < e->nasked; i++)
		if (e->asked[i].pid == pid && e->asked[i].loaded[0] &&
			(!strcmp(basename(e->asked[i].loaded), basename(name)) ||
				!strcmp(basename(e->asked[i].name), basename(name))))
			return true;
	return false;
}

/* ---- the trace ---- */

/* Answers that a program reckons with: they are questions. */
static bool is_question(const char *call)
{
	static const char *const names[] = {"cuGetProcAddress", "cuCtxGetDevice(", "cuCtxGetCurrent", "cuStreamQuery",
		"cuEventQuery", "cuPointerGet", "cuGetExportTable", "cuDeviceGetAttribute", "cuDeviceCanAccessPeer",
		"cuCtxGetId"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(call, names[i], strlen(names[i])))
			return true;
	return false;
}

void calls_line(struct calls *c, const char *line)
{
	static const char device[] = "# gangway: device ";
	const char *call = strstr(line, "] "), *result;

	if (line[0] != '[' || !call)
		return;
	call += 2;
	if (!strncmp(call, device, sizeof device - 1)) {
		snprintf(c->device, sizeof c->device, "%s", call + sizeof device - 1);
	} else if (call[0] == '#') {
		if (strstr(call, "no device:") || strstr(call, "cannot run") || strstr(call, "failed:") ||
			strstr(call, "no code"))
			snprintf(c->note, sizeof c->note, "%s", call + 2);
	} else {
		c->count++;
		result = strstr(call, " = CUDA_ERROR_");
		if (!result || is_question(call))
			return;
		if (!c->failed++)
			snprintf(c->first, sizeof c->first, "%s", call);
		snprintf(c->last, sizeof c->last, "%s", call);
	}
}
