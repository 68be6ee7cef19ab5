/*
 * api.h - reads an .api file, which declares every entry point of one library.
 *
 * Each entry point is one line:
 *
 *	nr class since twin name(args)		a function; a result type other than the library's precedes the name
 *	nr alias since twin name = target	an older name of the same function
 *	nr data  -     -    name(type)		an exported object
 *
 * Lines about the whole library precede the entry points: its name, SONAME and result type, and its error codes for
 * a bad argument and for an entry point that is not implemented; the error code of the stub library; the version node
 * of the exported symbols, if they have one:
 *
 *	library cuda libcuda.so.1 CUresult CUDA_ERROR_INVALID_VALUE CUDA_ERROR_NOT_SUPPORTED
 *	stub CUDA_ERROR_STUB_LIBRARY
 *	node libcudart.so.13
 *
 * An argument is its C declaration.  A pointer has a direction before it and, unless it points to one element, a
 * length: in(count) const T *x, out? T *x (may be NULL), in(str) const char *x.  The comment at the top of
 * api/cuda.api explains classes, directions and lengths.
 *
 * The file of a runtime library has a line "runtime".  It describes several major versions at once, nothing of it
 * travels to a server, and pointers have no directions:
 *
 *	class majors twin name(args)		api/cudart.api explains the columns  On bad input the reader prints file:line and the reason,
 * and exits with status 1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MAX_ARGS    32
#define MAX_ENTRIES 2000
#define MAX_TYPES   100

enum dir { BY_VALUE, IN, OUT, INOUT, HOST };
enum twin { NO_TWIN, PTSZ, PTDS };

/* How a call travels to a server: the class word without its suffix. */
enum route { SYNC, ASYNC, HAND, LOCAL, NONE, OWNER, ALIAS, DATA, PLAIN, INIT, CONTEXT };

struct arg {
	char *type; /* as C writes it, "const void *" */
	char *name;
	enum dir dir;
	bool opt;
	bool drop; /* by value: the call destroys this handle */
	char *len; /* NULL: one element */
};

struct entry {
	int line;
	int nr;
	char *class; /* as written: "sync:client" */
	enum route route;
	bool client_by_hand; /* remote_X is written by hand */
	bool server_by_hand; /* serve_X is written by hand */
	int since;
	int majors; /* runtime library: bit 0 for CUDA 12, bit 1 for CUDA 13; other libraries: 0 */
	enum twin twin;
	int twin_since;
	char *result; /* result type */
	char *name;
	char *target; /* alias: the current name of the function */
	char *object; /* data: type of the object */
	char *driver; /* runtime library: the driver's function that does the work, or NULL */
	struct arg args[MAX_ARGS];
	int nargs;
};

/* Contents of the file; never freed. */
extern char *library, *soname, *result;
extern char *bad_argument, *unsupported; /* error codes: NULL for a mandatory pointer; not implemented */
extern char *stub_result, *node;         /* NULL if the file has no such line */
extern struct entry entries[MAX_ENTRIES];
extern int nentries;
extern bool is_runtime; /* the file has a line "runtime" */

void api_parse(const char *path); /* exits with status 1 on an error */
char *api_copy(const char *s, size_t n);
void api_trim(char *s);                                              /* removes white space at the end */
int api_find_arg(const struct entry *e, const char *name, size_t n); /* index, or -1 */
const struct entry *api_find(const char *name);                      /* NULL: no such entry point */

/* Is a message of this call generated: class sync or async? */
bool api_has_message(const struct entry *e);

/* Kinds of types, by the lists at the top of the file. */
bool api_is_handle(const char *type);
bool api_is_address(const char *type);
bool api_is_struct(const char *type);
bool api_is_callback(const char *type);
bool api_is_deep(const char *type); /* a struct that contains pointers or handles */
const char *api_handle(int i);      /* the i-th handle type, or NULL */

/* The type that a pointer points to: "const void *" -> "void", "CUstream *" -> "CUstream". */
void api_pointee(const char *type, char *out, size_t size);
