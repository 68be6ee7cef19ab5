/* ollama.h - an installation of Ollama. */
#pragma once

#include "cli/doctor/ollama/systemd_unit.h"

struct doctor;
struct finding;

#define OLLAMA_BACKENDS 8

enum ollama_generation { OLLAMA_A, OLLAMA_B, OLLAMA_C, OLLAMA_UNKNOWN };

struct ollama {
	bool found;
	char program[PATH_MAX];
	enum ollama_generation generation;
	struct systemd_unit unit;
	char folder[PATH_MAX]; /* lib/ollama; "" if missing */
	char backends[OLLAMA_BACKENDS][PATH_MAX];
	unsigned nbackends;
};

/* Find Ollama and fill d->ollama. If it is a service, examine the environment of the service. */
void ollama_find(struct doctor *d);
void ollama_finish(struct doctor *d);

/* Add the command that sets a variable of the service, or of the user's shell. */
void ollama_fix_variable(const struct doctor *d, struct finding *f, const char *variable, const char *value);

/* ollama_user.c */
void ollama_check_user(struct doctor *d);
