/*
 * usage.h - who uses the devices that we drive ourselves, and who is served: told by each process, read by all
 * processes of the same user.
 *
 *	process A ─ writes ─▶ a sealed memfd of its own
 *	/dev/shm/gangway-1000/cpu-A-NS ─▶ /proc/A/fd/N		a link, which ends with the process
 *	process B ─ reads the folder, and each page once
 *
 * A page is written by its process alone: it cannot be made shorter, and nobody else can write it.  Nothing has to
 * be cleaned up when a process dies, in whatever way: its link leads nowhere then, and whoever reads it takes it
 * away; those that nobody reads are found in turns, by whoever comes or reads others.  A process in another pid
 * namespace is not seen.
 *
 * Trust: whatever lies in the folder may have been put there by any process of this user.  Links are only
 * followed into /proc, what is found is copied before it is looked at, and a number is believed to be a number.
 *
 * GANGWAY_USAGE: another folder; 0: this process tells nothing and sees itself alone.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define USAGE_DEVICES 64
#define USAGE_SLOTS   16 /* of the past second: 1/15 s each */
#define USAGE_TEXT    64

enum usage_work { USAGE_KERNELS, USAGE_MEMORY, USAGE_WORKS }; /* kernels run; memory is copied, set or used by those */

/* When something was at work: since when it is, if it is, and for how long it was, lately. */
struct usage_busy {
	_Atomic uint64_t since;             /* CLOCK_MONOTONIC, ns; 0: it is not */
	_Atomic uint64_t slot[USAGE_SLOTS]; /* which one, above; microseconds in it, below */
};

struct usage_device {
	_Atomic uint64_t memory; /* bytes */
	_Atomic uint64_t contexts;
	struct usage_busy busy[USAGE_WORKS];
};

/* On whose behalf a process works: a server's worker. */
struct usage_client {
	int32_t pid; /* in our namespace where `known`, else as it says itself */
	uint32_t uid;
	uint8_t known;         /* pid and uid are the kernel's word */
	uint8_t onlooker;      /* it only asks about the device, and does not use it */
	char from[USAGE_TEXT]; /* where it has connected from; "": this machine */
};

struct usage_page {
	uint64_t magic;
	uint32_t size, pid;
	char kind[16]; /* "cpu", "null": a device that is used; "served": a client */
	struct usage_client client;
	struct usage_device device[USAGE_DEVICES];
};

struct usage;

/* This process's page of one kind; NULL: it cannot be had, and the others will not know.  For ever. */
struct usage *usage_open(const char *kind);

/* All of these do nothing for NULL. */
void usage_memory(struct usage *u, int device, int64_t more);
void usage_contexts(struct usage *u, int device, int more);
void usage_begin(struct usage *u, int device, enum usage_work work);
void usage_end(struct usage *u, int device, enum usage_work work);
void usage_client(struct usage *u, const struct usage_client *client);

/*
 * Calls `f` with a copy of the page of each process that has one of this kind, this process too, until it returns
 * false.  In no order.
 */
void usage_each(const char *kind, bool (*f)(const struct usage_page *page, void *arg), void *arg);

/* What all of them together hold of a device; `without`: not counting this process (0: all). */
uint64_t usage_total(const char *kind, int device, pid_t without);

/* How much of the past second something was at work, in percent. */
unsigned usage_percent(const struct usage_device *d, enum usage_work work);
