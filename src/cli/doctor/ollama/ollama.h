/* ollama.h - what there is of Ollama on a machine. */
#pragma once

#include "cli/doctor/ollama/systemd_unit.h"

struct doctor;
struct finding;

#define OLLAMA_BACKENDS 8

enum generation { OLLAMA_A, OLLAMA_B, OLLAMA_C, OLLAMA_UNKNOWN };

struct ollama {
	bool there;
	char program[PATH_MAX];
	enum generation generation;
	struct unit unit;
	char folder[PATH_MAX]; /* lib/ollama; "": none */
	char backends[OLLAMA_BACKENDS][PATH_MAX];
	unsigned nbackends;
};

/* Fills d->ollama, and makes the service's environment the one in question. */
void ollama_find(struct doctor *d);
void ollama_finish(struct doctor *d);

/* A variable of the service, or of the person who starts it. */
void ollama_set(const struct doctor *d, struct finding *f, const char *variable, const char *value);

/* ollama_user.c */
void ollama_check_user(struct doctor *d);
