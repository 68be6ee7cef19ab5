/*
 * check.h - device memory in the checked mode (gangway run --check): which bytes are initialized, which allocations
 * were freed.
 *
 * Memory of cuMemAlloc has a shadow, a byte for each byte, that tells what has been written.  Freed memory stays in
 * quarantine for a while: its addresses are not given out again, and its pages are dropped.  A page behind each
 * allocation belongs to no other one.  Other kinds of memory count as initialized; of their frees, only the addresses
 * are remembered.
 *
 * All functions are cheap and do nothing while the mode is off.  Those that only read are safe in any thread.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct range;
struct quarantined;

enum { CHECK_FREED = 1024 }; /* freed allocations that are remembered */

struct check_state {
	atomic_bool on;
	pthread_mutex_t lock; /* a leaf: protects what follows */
	struct {
		uint64_t base, size;
	} freed[CHECK_FREED]; /* a ring */
	unsigned nfreed;      /* in all */
	struct quarantined *first, **end;
	uint64_t quarantine; /* bytes in it */
	void *log;           /* of the engine that reports */
};

void soft_check_begin(void *log); /* switches the mode on, before the first allocation */
void *soft_check_log(void);       /* NULL: the mode is off */

/* For engines: the allocation that contains addr. written: see struct check_memory; valid until it leaves quarantine. */
bool soft_check_find(uint64_t addr, uint64_t *base, uint64_t *size, uint8_t **written);
/* The freed allocation that contained addr, most recent first; false: none is remembered. */
bool soft_check_freed(uint64_t addr, uint64_t *base, uint64_t *size);
/* Calls f for every allocation that the application should have freed. */
void soft_check_leaks(void (*f)(uint64_t addr, uint64_t size, const char *kind, void *arg), void *arg);

/* ---- hooks in the driver ---- */

uint64_t check_padding(void);                     /* bytes to allocate behind each block of device memory */
void check_allocated(struct range *r);            /* gives the range its shadow */
bool check_quarantine(struct range *r);           /* true: r, with its memory, is in quarantine and will be freed */
bool check_quarantine_empty(void);                /* memory is short: frees it all; false: there was none */
void check_forget(uint64_t base, uint64_t size);  /* remembers the address of an allocation that was freed */
void check_written(uint64_t addr, uint64_t size); /* a command has written the bytes */
void check_written_somewhere(void);               /* code other than PTX has: all memory counts as initialized */
