/*
 * api.h - an .api file, read: the only place where an entry point is declared.
 *
 * One line an entry point:
 *
 *	nr class since twin name(args)		a function; another result type than the library's stands before the name
 *	nr alias since twin name = target	an older name of the same function
 *	nr data  -     -    name(type)		an exported object
 *
 * Before them, of the library as a whole: its name, SONAME and result type, and what it answers to a bad argument
 * and to what is not implemented; what a stub answers; the version node of its names, if they have one:
 *
 *	library cuda libcuda.so.1 CUresult CUDA_ERROR_INVALID_VALUE CUDA_ERROR_NOT_SUPPORTED
 *	stub CUDA_ERROR_STUB_LIBRARY
 *	node libcudart.so.13
 *
 * An argument is its C declaration; a pointer has a direction before it and, where it is not one
 * element, a length: in(count) const T *x, out? T *x (may be NULL), in(str) const char *x.
 * doc/adding-a-call.md explains the words.  Bad input ends with file:line and a sentence.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MAX_ARGS    32
#define MAX_ENTRIES 2000
#define MAX_TYPES   100

enum dir { BY_VALUE, IN, OUT, INOUT, HOST };
enum twin { NO_TWIN, PTSZ, PTDS };

struct arg {
	char *type; /* as C writes it, "const void *" */
	char *name;
	enum dir dir;
	bool opt;
	bool drop; /* by value: the call ends this handle */
	char *len; /* NULL: one element */
};

struct entry {
	int line;
	int nr;
	char *class;
	int since;
	enum twin twin;
	int twin_since;
	char *result; /* its type */
	char *name;
	char *target; /* alias of this */
	char *object; /* data: its type */
	struct arg args[MAX_ARGS];
	int nargs;
};

/* The whole file; everything lives until exit. */
extern char *library, *soname, *result;
extern char *bad_argument, *unsupported; /* names of results: a NULL that must not be; not implemented */
extern char *stub_result, *node;         /* NULL if the file says nothing of them */
extern struct entry entries[MAX_ENTRIES];
extern int nentries;

void api_parse(const char *path); /* or exits 1 */
char *api_copy(const char *s, size_t n);
void api_trim(char *s);                                              /* white space at the end */
int api_find_arg(const struct entry *e, const char *name, size_t n); /* index or -1 */
/* What a type is, by the lists at the top of the file. */
bool api_is_handle(const char *type);
bool api_is_address(const char *type);
bool api_is_struct(const char *type);
bool api_is_callback(const char *type);
bool api_is_deep(const char *type); /* a struct with pointers or handles inside */
const char *api_handle(int i);      /* the i-th handle type, or NULL */

/* The element a pointer points to: "const void *" -> "void", "CUstream *" -> "CUstream". */
void api_pointee(const char *type, char *out, size_t size);
