/*
 * machine.h - memory, processor and identity of this machine.
 */
#pragma once

#include <stddef.h>

size_t machine_memory(void); /* bytes that this process may use: RAM, or the limit of its control group */
unsigned machine_processors(
	void);               /* that this process may use at once: its affinity, and the quota of its control group */
int machine_clock_khz(void); /* maximum clock of the processor */
size_t machine_cache(void);  /* bytes of the last-level cache; 0 if unknown */
const char *machine_cpu_name(char *name, size_t size); /* returns name */

/* A UUID that depends only on the machine, `what` and `ordinal`. */
void machine_uuid(const char *what, int ordinal, unsigned char uuid[16]);
