/*
 * top.h - `gangway top`: a server's devices and clients, once or live.
 *
 *	ask.c    GET /status.txt, POST /clients/PID/end ── over unix:PATH.status or a --metrics address
 *	model.c  two answers ──▶ rates, order, history
 *	device.c memory and utilisation, from the NVML of the same server
 *	once.c   as text or JSON		view.c   as a terminal's screen (ncurses)
 *
 * The server's answer is not trusted: fields are numbers or short texts, and there are only so many of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOP_TEXT    64
#define TOP_CLIENTS 1024 /* what comes behind is not shown, and counted in `left_out` */
#define TOP_DEVICES 16
#define TOP_HISTORY 60

struct top_count { /* since a client has come */
	uint64_t calls, trips, launches, errors, up, down;
};

struct top_client {
	int worker, pid, user; /* -1: not known */
	char program[TOP_TEXT];
	bool local;
	uint64_t since; /* seconds since 1970 */
	unsigned device;
	uint64_t memory, quota; /* quota 0: there is none */
	bool looked;            /* this client's worker, and saw what all use of the device: */
	uint64_t seen;
	struct top_count count;
	double calls, trips, launches, up, down; /* a second */
};

struct top_device {
	unsigned index;
	char name[TOP_TEXT], uuid[TOP_TEXT];
	uint64_t memory, quota; /* quota: for each client; 0: there is none */
	bool measured;          /* used and busy are */
	uint64_t used;
	unsigned busy;                                          /* percent */
	uint8_t past_used[TOP_HISTORY], past_busy[TOP_HISTORY]; /* percent, the newest last */
};

struct top {
	char address[512]; /* where the server tells */
	char build[TOP_TEXT], served[TOP_TEXT];
	unsigned nclients, most; /* clients there are, and may be */
	bool draining;
	double at; /* seconds: when it was asked */
	unsigned ndevices;
	struct top_device devices[TOP_DEVICES];
	unsigned nlines, left_out;
	struct top_client clients[TOP_CLIENTS]; /* one for each device that a client uses */
};

/* ask.c: 0, or -errno and a sentence. */
#define TOP_ERROR 320
int ask_status(const char *address, char **text, char error[TOP_ERROR]);
int ask_end(const char *address, int worker, char error[TOP_ERROR]);

/* model.c */
enum top_order { TOP_BY_MEMORY, TOP_BY_CALLS, TOP_BY_LAUNCHES, TOP_BY_BYTES, TOP_BY_AGE, TOP_BY_PID, TOP_ORDERS };
extern const char *const top_order_names[TOP_ORDERS];
int top_read(struct top *t, const char *text); /* -EPROTO: it makes no sense */
void top_leave_out(struct top *t, int pid); /* we look at the server's NVML as a client does: that one is not shown */
void top_rates(struct top *now, const struct top *before);   /* and history; before may be NULL */
void top_sort(struct top *t, enum top_order order, bool up); /* greatest first, unless up */
void top_user(int user, char *name, size_t size);
const char *top_bytes(double n, char text[16]); /* "1.2 GiB" */
const char *top_quota(const struct top_client *c, char text[16]);

/*
 * device.c: what the server's NVML says of each device.  Without one nothing is measured.  Where there is a quota NVML
 * tells us ours: then the status has what our worker saw when it was last asked, so that it takes two looks.
 */
void device_open(const char *server, const char *library_dir);
void device_measure(struct top *t);

/* once.c */
void once_text(const struct top *t);
void once_json(const struct top *t);

/* view.c: until the user has seen enough; 0 or -errno and a sentence. */
int view_run(struct top *t, double seconds, char error[TOP_ERROR]);
