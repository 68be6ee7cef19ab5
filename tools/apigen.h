/* apigen.h - helpers that the modes of apigen share, and the modes that are not in apigen.c. */
#pragma once

#include "api.h"

const char *twin_suffix(const struct entry *e); /* "_ptsz", "_ptds" or "" */
const char *result_type(const struct entry *e); /* ready for a name behind it: "CUresult ", "const char *" */
void print_params(const struct entry *e);       /* as a declaration has them */
void print_names(const struct entry *e);        /* of the parameters, as a call has them */
void print_head(const char *what);              /* the first line of a generated file */

/* Calls f for each exported function: every line with an empty `twin`, then its twin with the suffix. */
void each_function(void (*f)(const struct entry *e, const char *twin));

/* The optional argument behind the file name: NULL, or a prefix for the names that a mode prints. */
extern const char *prefix;

/* apitable.c: ops tables and the prototypes of the functions in them */
void mode_header(void);
void mode_table(void);
void mode_local_header(void);
void mode_local_table(void);
void mode_client_header(void);
void mode_client_table(void);
void mode_complete(void);

/* apiruntime.c: of a runtime library; the argument behind the file name is the major version */
bool runtime_exports(const struct entry *e); /* does the chosen version export it? True for other libraries */
void mode_runtime_header(void);
void mode_runtime_exports(void);
void mode_runtime_protos(void);

/* apitrace.c */
void mode_trace(void);

/* apicoverage.c: coverage_read takes one NAME=FILE, a list of the functions that one device implements. */
void coverage_read(const char *spec);
void mode_coverage(void);
void mode_coverage_table(void);

/* apiwire.c: messages */
void mode_wire(void);
void mode_client(void);
void mode_server_header(void);
void mode_server(void);
