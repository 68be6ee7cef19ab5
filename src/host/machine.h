/*
 * machine.h - what is true of this machine: memory, clock, processor name, and its identity.
 */
#pragma once

#include <stddef.h>

size_t machine_memory(void); /* bytes this process may use: RAM, or the control group's limit */
int machine_clock_khz(void); /* the fastest the processor says it runs */
size_t machine_cache(void);  /* bytes of the last level of cache; 0: the kernel does not say */
const char *machine_cpu_name(char *name, size_t size); /* returns name */

/* A UUID that is the same each time for (machine, what, ordinal), and different for others. */
void machine_uuid(const char *what, int ordinal, unsigned char uuid[16]);
