/*
 * trace.h - GANGWAY_TRACE: every call on one line, with arguments, result and microseconds.
 *
 *	GANGWAY_TRACE=1		to stderr
 *	GANGWAY_TRACE=2		to stderr, and a line when a call begins
 *	GANGWAY_TRACE=FILE	appended to a file
 *
 * Off, it costs nothing: the traced table is not there.  Pointers are the application's own, in its
 * own process; out-arguments are only read after a call that succeeded.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include "gen/cuda_ops.h"

struct trace_arg {
	const char *name;
	char dir;  /* v by value, i in, o out, x inout, p an address nobody follows */
	char kind; /* d signed, u unsigned, h handle or address, s string, f float, p bytes, S a struct's address */
	unsigned size;
	int len; /* index of the argument that counts elements; -1 one element; -2 not a plain count */
};

struct trace_call {
	const char *name;
	int nargs;
	const struct trace_arg *args;
};

/* True when GANGWAY_TRACE is set: then calls through cuda_trace_ops are printed and go on to `behind`. */
bool trace_start(const struct cuda_ops *behind);

uint64_t trace_begin(const struct trace_call *c, const uint64_t *a);
void trace_end(const struct trace_call *c, const uint64_t *a, int result, uint64_t start);

/* A remark on a line of its own, when tracing. */
void trace_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void trace_vnote(const char *who, const char *format, va_list args);
