/* env_number.h - numbers in environment variables. */
#pragma once

/* The value of a variable, or `otherwise` if it is unset, not a number, or greater than `most`. */
unsigned env_number(const char *variable, unsigned most, unsigned otherwise);

/* Microseconds that a wait polls before it sleeps. */
#define ENV_SPIN_US     "GANGWAY_SPIN_US"
#define ENV_SPIN_US_MAX 10000000

/* Connections of a client to a server over TCP, from 1. */
#define ENV_CONNECTIONS     "GANGWAY_CONNECTIONS"
#define ENV_CONNECTIONS_MAX 9

/* GANGWAY_NVML_BATCH=0: a client of a server sends each NVML query in a frame of its own instead of batching a poll. */
#define ENV_NVML_BATCH "GANGWAY_NVML_BATCH"
