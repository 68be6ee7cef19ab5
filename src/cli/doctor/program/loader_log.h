/*
 * loader_log.h - the libraries that a program requested and got, read from the log of our audit library (format:
 * audit/log.h), and the CUDA calls that failed, read from the trace.
 *
 * Both files are untrusted, because the examined program can write to them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define EVENTS_MAX 4096
#define EVENT_TEXT 512

struct library_request {
	int pid;
	char name[EVENT_TEXT], by[EVENT_TEXT]; /* by: the requesting object, "-" for the program */
	char how[16];                          /* redirected, ours, other, kept, own, absent */
	char answer[EVENT_TEXT];               /* the name that the loader used */
	char loaded[EVENT_TEXT];               /* the file; "" if not found or already loaded */
	char found[16];                        /* how the loader found it */
};

struct process_start {
	int pid;
	char program[EVENT_TEXT];
	unsigned ours, others; /* loaded libcuda.so files: ours and others */
};

struct loader_events {
	struct library_request *asked;
	size_t nasked;
	struct process_start *started;
	size_t nstarted;
	bool cut; /* events beyond EVENTS_MAX were dropped */
};

struct call_summary {
	unsigned long count, failed;
	char first[EVENT_TEXT], last[EVENT_TEXT]; /* first and last failed call, as traced; or "" */
	char note[2 * EVENT_TEXT];                /* the last trace note about a failure; or "" */
	char device[EVENT_TEXT];
};

/* Add a line of the log, without its newline. `ours` is the folder of our libraries. */
void loader_events_add_line(struct loader_events *e, const char *line, const char *ours);
void loader_events_finish(struct loader_events *e);

/* Has the process loaded a file of this name, whoever requested it? */
bool loader_events_has_loaded(const struct loader_events *e, int pid, const char *name);

void call_summary_add_line(struct call_summary *c, const char *line);
