/* hostmem.h - host memory that client and worker map at the same address. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;

/* Is all of the range memory that this session shares with its client? */
bool hostmem_holds(struct session *s, uint64_t address, uint64_t size);
