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
#include <string.h>

/* Tables without pointers: the library is in every process, and a pointer is a relocation. */
struct trace_arg {
	uint16_t name; /* offset in the names */
	char dir;      /* v by value, i in, o out, x inout, p an address nobody follows */
	char kind;     /* d signed, u unsigned, h handle or address, s string, f float, p bytes, S a struct's address */
	uint16_t size; /* of one element; 65535: at least that */
	int8_t len;    /* index of the argument that counts elements; -1 one element; -2 not a plain count */
};

struct trace_call {
	uint16_t first; /* its arguments in the table of arguments */
	uint16_t nargs;
};

/* A call for printing. */
struct trace_entry {
	const char *name, *names;
	const struct trace_arg *args;
	int nargs;
	const char *(*result)(int code); /* names what it returns; NULL: no such name */
};

/* True when GANGWAY_TRACE is set: then calls are to go through the traced table of their library. */
bool trace_on(void);

uint64_t trace_begin(const struct trace_entry *c, const uint64_t *a);
void trace_end(const struct trace_entry *c, const uint64_t *a, int result, uint64_t start);

/* A remark on a line of its own, when tracing. */
void trace_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void trace_vnote(const char *who, const char *format, va_list args);

/* An argument that is a float, for the tables. */
static inline uint64_t trace_float(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof bits);
	return bits;
}
