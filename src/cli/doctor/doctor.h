/*
 * doctor.h - gangway doctor: a table of probes. Each probe is a small function that checks one thing and reports its
 * findings.
 *
 *	probes[] ─ check(d) ─► findings ─► text, most important first, or JSON
 *	             │
 *	           sysroot: the files, environment and process that are examined
 *
 * A probe is silent about causes that another probe reports: each cause leads to one finding, of the probe closest to
 * it. A finding with status "wrong" has a command that fixes it.
 *
 * Files, environments and programs are untrusted: their bytes are checked before use, and made printable before they
 * are printed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "loader/closure.h"
#include "cli/device_query.h"
#include "loader/library.h"
#include "loader/sysroot.h"

enum finding_status {
	STATUS_WRONG, /* programs will fail */
	STATUS_LOOK,  /* programs may not do what the user expects */
	STATUS_FINE,
	STATUS_FACT, /* neither good nor bad */
};

#define TABLE_COLUMNS 4

struct finding {
	const char *probe;
	enum finding_status status;
	char *text;
	char **more; /* further lines of text */
	size_t nmore;
	char *fix;         /* a shell command */
	char *(*facts)[2]; /* for JSON: key and value */
	size_t nfacts;
	const char *const *columns; /* TABLE_COLUMNS titles, NULL for unused ones; NULL without a table */
	char *(*rows)[TABLE_COLUMNS];
	size_t nrows;
};

enum subject {
	ON_MACHINE = 1, /* no particular program */
	ON_PROGRAM = 2,
	ON_PROCESS = 4,
	ON_OLLAMA = 8,
};

struct doctor {
	struct sysroot sysroot;
	enum subject subject;
	char **argv;            /* ON_PROGRAM: the program and its arguments */
	char program[4096];     /* the examined program, as a path inside the sysroot; or "" */
	bool may_start;         /* the program may be started */
	unsigned seconds;       /* how long it may run */
	char library_dir[4096]; /* the folder of our libraries; "" if unknown */
	struct closure closure; /* of the program; empty before probe_program */
	struct device_facts device;
	bool device_known;     /* `device` is valid */
	bool server_wrong;     /* the device does not open because of its server */
	bool is_go;            /* the program is written in Go */
	size_t static_finding; /* 1 + index of the finding about a static program; 0 if there is none */
	struct ollama *ollama; /* ON_OLLAMA */
	bool colour;
	const char *probe; /* the probe that runs now */
	struct finding *findings;
	size_t nfindings;
};

struct probe {
	const char *name;
	unsigned subjects; /* the subjects for which it runs: ON_... */
	unsigned brief;    /* the subjects for which its facts are dropped */
	void (*check)(struct doctor *d);
};

/* Add a finding of the current probe. The pointer is valid until the next call. */
struct finding *finding_add(struct doctor *d, enum finding_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void finding_detail(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void finding_fix(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void finding_fact(struct finding *f, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
void finding_table(struct finding *f, const char *const columns[TABLE_COLUMNS]);
void finding_row(struct finding *f, const char *const cells[TABLE_COLUMNS]); /* copied; NULL is an empty cell */

bool doctor_is_wrong(const struct doctor *d);          /* is there a finding with STATUS_WRONG? */
void finding_settle(struct finding *f);                /* make it a mere fact */
void doctor_drop_facts(struct doctor *d, size_t from); /* remove facts with this index or above */
void doctor_free_findings(struct doctor *d);

void doctor_print_text(const struct doctor *d);
void doctor_print_json(const struct doctor *d);

/* ---- used by several probes ---- */

/* The command that removes a file from the loader's search path; "" if there is no such command. */
void search_path_command(const struct doctor *d, const struct found_library *found, char *command, size_t size);

/* Add the command that provides a missing library. */
void fix_missing_library(const struct doctor *d, struct finding *f, const char *name);

/* Add the command that removes a variable from the examined environment. */
void fix_unset_variable(const struct doctor *d, struct finding *f, const char *variable);

/* Find a file of an installation of Gangway in the system under --root: "/libcuda.so.1". Returns false if none has it. */
bool install_find_in_root(const struct doctor *d, const char *file, char path[4096]);

/* Does the examined system have an NVIDIA GPU or driver? */
bool vendor_gpu_present(struct doctor *d);

/* "podman", "docker", ...; NULL outside of containers. */
const char *container_kind(const struct sysroot *sys);

/* Write "1.5 GiB" to `text`, and return it. */
char *format_bytes(unsigned long long bytes, char text[32]);

/* ---- the probes, by file ---- */

/* subject.c */
void probe_program(struct doctor *d);
void probe_code(struct doctor *d);
/* needs.c */
void probe_needs(struct doctor *d);
/* start.c */
void probe_start(struct doctor *d);
/* process.c */
void probe_process(struct doctor *d);
void process_each_mapped_file(
	struct doctor *d, void (*each)(struct doctor *d, const char *path)); /* except deleted ones */
/* ollama.c */
void probe_ollama(struct doctor *d);
void probe_ollama_device(struct doctor *d);
/* install.c */
void probe_install(struct doctor *d);
void probe_cache_folder(struct doctor *d);
/* libraries.c */
void probe_stubs(struct doctor *d);
void probe_preload(struct doctor *d);
void probe_libraries(struct doctor *d);
void probe_cache(struct doctor *d);
/* server.c */
void probe_server(struct doctor *d);
void probe_device(struct doctor *d);
/* vendor.c */
void probe_vendor(struct doctor *d);
/* machine.c */
void probe_limits(struct doctor *d);
void probe_container(struct doctor *d);
void probe_virtual(struct doctor *d);
