/* Parse the status of a server; rates, order and history. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "top/top.h"

const char *const top_order_names[TOP_ORDERS] = {"memory", "calls", "launches", "bytes", "age", "pid"};

/* ---- Parsing: one record per line, fields separated by tabs ---- */

/* Returns the value of a field in a line that ends at `end`, or NULL. */
static const char *find_field(const char *line, const char *end, const char *name, size_t *size)
{
	size_t length = strlen(name);

	for (const char *p = line; (p = memchr(p, '\t', (size_t)(end - p))) && end - ++p > (ptrdiff_t)length;)
		if (!strncmp(p, name, length) && p[length] == '=') {
			const char *stop = memchr(p, '\t', (size_t)(end - p));

			p += length + 1;
			*size = (size_t)((stop ? stop : end) - p);
			return p;
		}
	return NULL;
}

static void read_text(const char *line, const char *end, const char *name, char to[TOP_TEXT])
{
	size_t size = 0;
	const char *p = find_field(line, end, name, &size);

	snprintf(to, TOP_TEXT, "%.*s", p ? (int)(size < TOP_TEXT ? size : TOP_TEXT - 1) : 0, p ? p : "");
	for (; *to; to++) /* safe for a terminal */
		if ((unsigned char)*to < 0x20 || (unsigned char)*to >= 0x7f)
			*to = '.';
}

static uint64_t read_number(const char *line, const char *end, const char *name)
{
	size_t size;
	const char *p = find_field(line, end, name, &size);

	return p ? strtoull(p, NULL, 10) : 0;
}

static int read_int(const char *line, const char *end, const char *name)
{
	return (int)(int64_t)read_number(line, end, name);
}

static void read_device(struct top *t, const char *line, const char *end)
{
	struct top_device *d = &t->devices[t->ndevices];

	if (t->ndevices == TOP_DEVICES)
		return;
	*d = (struct top_device){.index = (unsigned)read_number(line, end, "index"),
		.memory = read_number(line, end, "memory"),
		.quota = read_number(line, end, "quota")};
	read_text(line, end, "name", d->name);
	read_text(line, end, "uuid", d->uuid);
	t->ndevices++;
}

static void read_client(struct top *t, const char *line, const char *end)
{
	struct top_client *c = &t->clients[t->nlines];

	if (t->nlines == TOP_CLIENTS) {
		t->left_out++;
		return;
	}
	*c = (struct top_client){
		.worker = read_int(line, end, "worker"),
		.pid = read_int(line, end, "pid"),
		.user = read_int(line, end, "user"),
		.local = read_number(line, end, "local"),
		.since = read_number(line, end, "since"),
		.device = (unsigned)read_number(line, end, "device"),
		.memory = read_number(line, end, "memory"),
		.quota = read_number(line, end, "quota"),
		.host = read_number(line, end, "host"),
		.host_quota = read_number(line, end, "hostquota"),
		.objects = read_number(line, end, "objects"),
		.objects_max = read_number(line, end, "objectsmax"),
		.looked = read_number(line, end, "looked"),
		.seen = read_number(line, end, "seen"),
		.count = {read_number(line, end, "calls"), read_number(line, end, "trips"),
			read_number(line, end, "launches"), read_number(line, end, "errors"),
			read_number(line, end, "up"), read_number(line, end, "down")},
	};
	read_text(line, end, "program", c->program);
	t->nlines++;
}

static void read_server(struct top *t, const char *line, const char *end)
{
	read_text(line, end, "build", t->build);
	read_text(line, end, "device", t->served);
	t->nclients = (unsigned)read_number(line, end, "clients");
	t->most = (unsigned)read_number(line, end, "most");
	t->draining = read_number(line, end, "draining");
}

int top_read(struct top *t, const char *all)
{
	bool server = false;

	t->ndevices = t->nlines = t->left_out = 0;
	while (*all) {
		const char *end = all + strcspn(all, "\n");

		if (!strncmp(all, "server\t", 7))
			read_server(t, all, end), server = true;
		else if (!strncmp(all, "device\t", 7))
			read_device(t, all, end);
		else if (!strncmp(all, "client\t", 7))
			read_client(t, all, end);
		all = *end ? end + 1 : end;
	}
	return server ? 0 : -EPROTO;
}

void top_remove_client(struct top *t, int pid)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < t->nlines; i++)
		if (t->clients[i].pid != pid)
			t->clients[kept++] = t->clients[i];
		else if (t->nclients)
			t->nclients--;
	t->nlines = kept;
}

/* ---- Rates ---- */

static const struct top_client *find_same_client(const struct top *t, const struct top_client *c)
{
	for (unsigned i = 0; i < t->nlines; i++)
		if (t->clients[i].worker == c->worker && t->clients[i].device == c->device)
			return &t->clients[i];
	return NULL;
}

static double compute_rate(uint64_t now, uint64_t before, double seconds)
{
	return now > before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

static void client_compute_rates(struct top_client *c, const struct top_client *old, double seconds)
{
	c->calls = compute_rate(c->count.calls, old->count.calls, seconds);
	c->trips = compute_rate(c->count.trips, old->count.trips, seconds);
	c->launches = compute_rate(c->count.launches, old->count.launches, seconds);
	c->up = compute_rate(c->count.up, old->count.up, seconds);
	c->down = compute_rate(c->count.down, old->count.down, seconds);
}

static uint8_t compute_percent(uint64_t part, uint64_t whole)
{
	return whole && part < whole ? (uint8_t)((double)part * 100 / (double)whole) : whole ? 100 : 0;
}

static void device_add_history(struct top_device *d, const struct top_device *old)
{
	if (old) {
		memcpy(d->past_used, old->past_used + 1, TOP_HISTORY - 1);
		memcpy(d->past_busy, old->past_busy + 1, TOP_HISTORY - 1);
	}
	d->past_used[TOP_HISTORY - 1] = compute_percent(d->used, d->memory);
	d->past_busy[TOP_HISTORY - 1] = d->busy <= 100 ? (uint8_t)d->busy : 100;
}

void top_rates(struct top *now, const struct top *before)
{
	for (unsigned i = 0; before && i < now->nlines; i++) {
		const struct top_client *old = find_same_client(before, &now->clients[i]);

		if (old)
			client_compute_rates(&now->clients[i], old, now->at - before->at);
	}
	for (unsigned i = 0; i < now->ndevices; i++)
		device_add_history(&now->devices[i], before && i < before->ndevices ? &before->devices[i] : NULL);
}

/* ---- Order ---- */

static enum top_order sort_order;
static bool sort_up;

static double sort_weight(const struct top_client *c)
{
	switch (sort_order) {
	case TOP_BY_CALLS:
		return c->calls;
	case TOP_BY_LAUNCHES:
		return c->launches;
	case TOP_BY_BYTES:
		return c->up + c->down;
	case TOP_BY_AGE:
		return -(double)c->since;
	case TOP_BY_PID:
		return c->pid;
	default:
		return (double)c->memory;
	}
}

static int compare_clients(const void *a, const void *b)
{
	const struct top_client *x = a, *y = b;
	double wx = sort_weight(x), wy = sort_weight(y);

	if (wx != wy)
		return (wx > wy) == sort_up ? 1 : -1;
	return x->worker != y->worker ? (x->worker > y->worker ? 1 : -1) : (int)x->device - (int)y->device;
}

void top_sort(struct top *t, enum top_order order, bool up)
{
	sort_order = order;
	sort_up = up;
	qsort(t->clients, t->nlines, sizeof *t->clients, compare_clients);
}

/* ---- Formatting ---- */

void top_format_user(int user, char *name, size_t size)
{
	struct passwd *p = user < 0 ? NULL : getpwuid((uid_t)user);

	if (p)
		snprintf(name, size, "%s", p->pw_name);
	else if (user < 0)
		snprintf(name, size, "-");
	else
		snprintf(name, size, "%d", user);
}

const char *top_format_bytes(double n, char out[16])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	unsigned i = 0;

	while (n >= 1024 && i < sizeof units / sizeof *units - 1)
		n /= 1024, i++;
	snprintf(out, 16, i && n < 100 ? "%.1f %s" : "%.0f %s", n, units[i]);
	return out;
}

const char *top_format_quota(const struct top_client *c, char out[16])
{
	return c->quota ? top_format_bytes((double)c->quota, out) : "-";
}
