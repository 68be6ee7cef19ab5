/*
 * events.h - what a program asked the loader for, and what it got, read from the log of our audit library
 * (audit/log.h has its form), and the CUDA calls that failed, from the trace.
 *
 * Trust: none.  Both are files that the program itself could write to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define EVENTS_MAX 4096
#define EVENT_TEXT 512

struct asked {
	int pid;
	char name[EVENT_TEXT], by[EVENT_TEXT]; /* by: "-" is the program */
	char how[16];                          /* redirected, ours, other, kept, own, absent */
	char answer[EVENT_TEXT];               /* what the loader went on with */
	char loaded[EVENT_TEXT];               /* the file it took; "": none, or it was there already */
	char found[16];                        /* by which search */
};

struct started {
	int pid;
	char program[EVENT_TEXT];
	unsigned ours, others; /* files called libcuda.so that were mapped: ours, and not ours */
};

struct events {
	struct asked *asked;
	size_t nasked;
	struct started *started;
	size_t nstarted;
	bool cut; /* there were more */
};

struct calls {
	unsigned long count, failed;
	char first[EVENT_TEXT], last[EVENT_TEXT]; /* calls that failed, as the trace has them; "" */
	char note[EVENT_TEXT];                    /* the last remark about something that cannot be done; "" */
	char device[EVENT_TEXT];
};

/* One line, without its end.  `ours`: the folder of our libraries. */
void events_line(struct events *e, const char *line, const char *ours);
void events_finish(struct events *e);

/* Was a file of this name loaded in this process, whoever asked for it? */
bool events_loaded(const struct events *e, int pid, const char *name);

void calls_line(struct calls *c, const char *line);
