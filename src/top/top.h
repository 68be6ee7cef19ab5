/*
 * top.h - gangway top: shows a server's devices and clients, once or live.
 *
 *	ask.c    GET /status.txt, POST /clients/PID/end ── over unix:PATH.status or a --metrics address
 *	model.c  two answers ──▶ rates, order, history
 *	device.c memory and utilisation, from the NVML of the same server
 *	once.c   as text or JSON		view.c   as a terminal's screen (ncurses)
 *
 * The server's answer is untrusted: fields are numbers or short texts, and their number is limited.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOP_TEXT    64
#define TOP_CLIENTS 1024 /* further clients are only counted, in `left_out` */
#define TOP_DEVICES 16
#define TOP_HISTORY 60

struct top_count { /* totals since the client connected */
	uint64_t calls, trips, launches, errors, up, down;
};

struct top_client {
	int worker, pid, user; /* -1 if unknown */
	char program[TOP_TEXT];
	bool local;
	uint64_t since; /* seconds since 1970 */
	unsigned device;
	uint64_t memory, quota;                          /* quota 0: no limit */
	uint64_t host, host_quota, objects, objects_max; /* of all devices of the client */
	bool looked; /* `seen` is valid: the memory that all clients use, as this client's worker saw it */
	uint64_t seen;
	struct top_count count;
	double calls, trips, launches, up, down; /* per second */
};

struct top_device {
	unsigned index;
	char name[TOP_TEXT], uuid[TOP_TEXT];
	uint64_t memory, quota; /* quota of each client; 0: no limit */
	bool measured;          /* `used` and `busy` are valid */
	uint64_t used;
	unsigned busy;                                          /* percent */
	uint8_t past_used[TOP_HISTORY], past_busy[TOP_HISTORY]; /* percent; the newest is last */
};

struct top {
	char address[512]; /* of the server's status */
	char build[TOP_TEXT], served[TOP_TEXT];
	unsigned nclients, most; /* present and maximum number of clients */
	bool draining;
	double at; /* time of the request, in seconds */
	unsigned ndevices;
	struct top_device devices[TOP_DEVICES];
	unsigned nlines, left_out;
	struct top_client clients[TOP_CLIENTS]; /* one line for each client and device */
};

/* ask.c: return 0, or -errno and a message. */
#define TOP_ERROR 320
int server_get_status(const char *address, char **text, char error[TOP_ERROR]);
int server_end_client(const char *address, int worker, char error[TOP_ERROR]);

/* model.c */
enum top_order { TOP_BY_MEMORY, TOP_BY_CALLS, TOP_BY_LAUNCHES, TOP_BY_BYTES, TOP_BY_AGE, TOP_BY_PID, TOP_ORDERS };
extern const char *const top_order_names[TOP_ORDERS];
int top_read(struct top *t, const char *text);               /* -EPROTO if the text is no status */
void top_remove_client(struct top *t, int pid);              /* hides our own NVML client */
void top_rates(struct top *now, const struct top *before);   /* and history; `before` may be NULL */
void top_sort(struct top *t, enum top_order order, bool up); /* largest first, unless `up` */
void top_format_user(int user, char *name, size_t size);
const char *top_format_bytes(double n, char text[16]); /* "1.2 GiB" */
const char *top_format_quota(const struct top_client *c, char text[16]);

/*
 * device.c: measures the devices through the server's NVML; without NVML, nothing is measured. With a quota, NVML reports
 * only our own quota: the server's status then contains the memory that our worker saw at its last query, so a first
 * measurement takes two requests.
 */
void top_open_nvml(const char *server, const char *library_dir);
void top_measure_devices(struct top *t);

/* once.c */
void top_print_text(const struct top *t);
void top_print_json(const struct top *t);

/* view.c: runs until the user quits. Returns 0, or -errno and a message. */
int top_run_view(struct top *t, double seconds, char error[TOP_ERROR]);
