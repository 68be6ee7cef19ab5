/*
 * usage.h - how much each process uses of the devices that we drive ourselves, and which clients a server has. Each
 * process publishes its own usage; all processes of the same user can read it.
 *
 *	process A ─ writes ─▶ /dev/shm/gangway-1000/cpu-A-NS	a file that A keeps locked (flock)
 *	process B ─ lists the folder, and reads each page once
 *
 * A page is a file and not a memfd behind /proc/A/fd, because sandboxed and undumpable processes cannot look there. Its
 * mode is 0400, so that no other process opens it for writing by mistake. A process needs no cleanup, however it ends: its
 * lock is then free, and the next reader removes the page. Pages that nobody reads are removed by new processes and by
 * readers of other pages, a few at a time. Processes in other pid namespaces are not visible.
 *
 * Any process of this user can change the folder, so its content is untrusted: links are not followed, pages are copied
 * before use, and any number is accepted as a number.
 *
 * GANGWAY_USAGE names another folder; with 0, this process publishes nothing and sees only itself.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define USAGE_DEVICES 64
#define USAGE_SLOTS   16 /* 1/15 s each: the past second */
#define USAGE_TEXT    64

enum usage_work { USAGE_KERNELS, USAGE_MEMORY, USAGE_WORKS }; /* running kernels; copying or setting memory */

/* Busy time of the past second. */
struct usage_busy {
	_Atomic uint64_t since;             /* start of the present work, CLOCK_MONOTONIC in ns; 0 if idle */
	_Atomic uint64_t slot[USAGE_SLOTS]; /* upper half: slot number; lower half: busy microseconds */
};

struct usage_device {
	_Atomic uint64_t memory; /* bytes */
	_Atomic uint64_t contexts;
	struct usage_busy busy[USAGE_WORKS];
};

/* The client of a server's worker. */
struct usage_client {
	int32_t pid; /* in our namespace if `known`, otherwise as the client reports it */
	uint32_t uid;
	uint8_t known;         /* the kernel reported pid and uid */
	uint8_t onlooker;      /* uses NVML only */
	char from[USAGE_TEXT]; /* its address; "" for this machine */
};

struct usage_page {
	uint64_t magic;
	uint32_t size, pid;
	char kind[16]; /* "cpu" or "null" for a device in use; "served" for a client of a server */
	struct usage_client client;
	struct usage_device device[USAGE_DEVICES];
};

struct usage;

/* Returns this process's page of a kind, which is never freed; NULL if usage cannot be published. */
struct usage *usage_open(const char *kind);

/* These do nothing if `u` is NULL. `more` may be negative. */
void usage_memory(struct usage *u, int device, int64_t more);
void usage_contexts(struct usage *u, int device, int more);
void usage_begin(struct usage *u, int device, enum usage_work work);
void usage_end(struct usage *u, int device, enum usage_work work);
void usage_client(struct usage *u, const struct usage_client *client);

/*
 * Call `f` with a copy of each page of this kind, including our own, in no particular order, until it returns false.
 */
void usage_each(const char *kind, bool (*f)(const struct usage_page *page, void *arg), void *arg);

/* Memory that all processes hold on a device, except process `without` (0: no exception). */
uint64_t usage_total(const char *kind, int device, pid_t without);

/* Busy time in percent of the past second. */
unsigned usage_percent(const struct usage_device *d, enum usage_work work);
