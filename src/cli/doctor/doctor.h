/*
 * doctor.h - gangway doctor: a table of probes, each a small function that looks at one thing and says what
 *it found.
 *
 *	probes[] ─ look(d) ─► findings ─► text, most important first, or JSON
 *	             │
 *	           world: files, environment and process of whoever is in question
 *
 * A probe says nothing about what does not concern it: one cause is one finding, said by the probe that is
 *nearest to it.  What is wrong ends with the one command that fixes it.
 *
 * Trust: none in what is read.  Files, environments and programs belong to whoever has the problem; their
 *bytes are checked before use, and made printable before they are printed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "loader/closure.h"
#include "cli/doctor/device.h"
#include "loader/library.h"
#include "loader/sysroot.h"

enum status {
	WRONG, /* it will not work like this */
	LOOK,  /* it may not do what you want */
	FINE,
	FACT, /* neither good nor bad */
};

/* Rows of a table: the cells, in the order of its columns. */
#define CELLS 4

struct finding {
	const char *probe;
	enum status status;
	char *text;
	char **more; /* further sentences */
	size_t nmore;
	char *fix;         /* a command */
	char *(*facts)[2]; /* for machines: a word and what it is */
	size_t nfacts;
	const char *const *columns; /* CELLS of them, NULL where there are fewer; or NULL: no table */
	char *(*rows)[CELLS];
	size_t nrows;
};

enum subject {
	ON_MACHINE = 1, /* no program is in question */
	ON_PROGRAM = 2,
	ON_PROCESS = 4,
	ON_OLLAMA = 8,
};

struct doctor {
	struct sysroot sysroot;
	enum subject subject;
	char **argv;            /* ON_PROGRAM: the program and its arguments */
	char program[4096];     /* the file in question, as its world names it; "" if there is none */
	bool start;             /* a program may be started */
	unsigned seconds;       /* how long it may run */
	char ours[4096];        /* where our libraries are; "" if that is not known */
	struct closure closure; /* of the program, once it has been looked at */
	struct device_facts device;
	bool asked;            /* device has been asked; otherwise nothing of it is known */
	bool server_wrong;     /* the server is what keeps the device from opening */
	bool go;               /* the program is made by Go */
	size_t static_finding; /* from 1: the one that says that it can be given no library; 0: there is none */
	struct ollama *ollama; /* ON_OLLAMA */
	bool colour;
	const char *probe; /* that is looking now */
	struct finding *findings;
	size_t nfindings;
};

struct probe {
	const char *name;
	unsigned subjects; /* whom it concerns */
	unsigned brief;    /* for whom bare facts are left out */
	void (*look)(struct doctor *d);
};

/* A finding of the probe that is looking; it is valid until the next one. */
struct finding *say(struct doctor *d, enum status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void more(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fix(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tell(struct finding *f, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
void table(struct finding *f, const char *const columns[CELLS]);
void row(struct finding *f, const char *const cells[CELLS]); /* copied; NULL is an empty one */

bool doctor_is_wrong(const struct doctor *d);
void doctor_settle(struct finding *f);                 /* nothing has to be done about it */
void doctor_drop_facts(struct doctor *d, size_t from); /* of those from this one on */
void doctor_free_findings(struct doctor *d);

void print_text(const struct doctor *d);
void print_json(const struct doctor *d);

/* ---- What several probes need ---- */

/* The command that takes the way to a file off the loader's path; "" if there is no such command. */
void search_path_command(const struct doctor *d, const struct found_library *found, char *command, size_t size);

/* The command that brings a library that is nowhere. */
void fix_missing(const struct doctor *d, struct finding *f, const char *name);

/* The command that takes a variable out of the environment in question. */
void fix_unset(const struct doctor *d, struct finding *f, const char *variable);

/* "podman", "docker", ...; NULL: in none. */
const char *container_kind(const struct sysroot *sys);

/* "1.5 GiB" into text, which is returned. */
char *bytes_text(unsigned long long bytes, char text[32]);

/* ---- The probes, by file ---- */

/* subject.c */
void probe_program(struct doctor *d);
void probe_code(struct doctor *d);
/* needs.c */
void probe_needs(struct doctor *d);
/* start.c */
void probe_start(struct doctor *d);
/* process.c */
void probe_process(struct doctor *d);
void process_each(struct doctor *d, void (*each)(struct doctor *d, const char *path)); /* files it has mapped */
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
