/* apigen.h - what modes of apigen print with, and the modes that have a file of their own. */
#pragma once

#include "api.h"

const char *suffix(const struct entry *e);  /* of its twin's name */
const char *returns(const struct entry *e); /* the type of its result, as it stands before a name */
void params(const struct entry *e);         /* as a declaration has them */
void names(const struct entry *e);          /* of the parameters, as a call has them */
void head(const char *what);                /* the first line of what is printed */
/* Calls f for each function that is exported: every line and its twin. */
void each_function(void (*f)(const struct entry *e, const char *twin));

/* apitrace.c */
void mode_trace(void);

/* apicoverage.c; after each list of functions, NAME=FILE, has been read. */
void coverage_read(const char *spec);
void mode_coverage(void);
void mode_coverage_table(void);

/* apiwire.c; prefix is the argument behind the file, or NULL. */
extern const char *prefix;
void wire_structs(void);
void wire_client(void);
void wire_server(void);
