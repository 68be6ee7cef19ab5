/* setting.h - numbers that the user gives in the environment. */
#pragma once

/* `otherwise` if the variable is unset, no number, or more than `most`. */
unsigned setting_number(const char *variable, unsigned most, unsigned otherwise);

/* How long a wait spins before it sleeps: GANGWAY_SPIN_US, 0 to 10 s. */
#define SETTING_SPIN     "GANGWAY_SPIN_US"
#define SETTING_SPIN_MAX 10000000

/* Connections of a client to a server over TCP: GANGWAY_CONNECTIONS, 1 to 9. */
#define SETTING_CONNECTIONS     "GANGWAY_CONNECTIONS"
#define SETTING_CONNECTIONS_MAX 9

/* GANGWAY_NVML_AHEAD=0: a client of a server sends each NVML query in a frame of its own instead of batching a poll. */
#define SETTING_AHEAD "GANGWAY_NVML_AHEAD"
