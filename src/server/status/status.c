/* Formats the parent's status as Prometheus text, JSON, and plain text. */
#include "server/status/status.h"

#include <inttypes.h>
#include <string.h>
#include "server/status/status_view.h"
#include "util/text.h"
#include "util/build_note.h"

const struct worker *status_worker(const struct status *s, int pid)
{
	const struct worker *w = s->pool->workers;

	while (w && (w->pid != pid || !worker_serves(w)))
		w = w->next;
	return w;
}

/* A copy of a worker's text, which may lack its NUL. */
static const char *worker_text(const char from[STATS_TEXT], char to[STATS_TEXT])
{
	snprintf(to, STATS_TEXT, "%.*s", STATS_TEXT - 1, from);
	return to;
}

static struct stats_client worker_client(const struct worker *w)
{
	struct stats_client c = w->stats->client;

	c.program[STATS_TEXT - 1] = c.build[STATS_TEXT - 1] = 0;
	return c;
}

static void uuid_print(FILE *out, const uint8_t uuid[16])
{
	fputs("GPU-", out);
	for (int i = 0; i < 16; i++)
		fprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* Any worker that has opened the device describes it. */
static const struct stats *stats_with_devices(const struct status *s)
{
	const struct worker *w = s->pool->workers;

	while (w && (!w->stats || !stats_device_count(w->stats)))
		w = w->next;
	return w ? w->stats : NULL;
}

/* ---- Prometheus ---- */

/* The value of a label: backslash and quotation mark are escaped, control and non-ASCII characters become a point. */
static void label_print(FILE *out, const char *text)
{
	for (; *text; text++)
		if (*text == '\\' || *text == '"')
			fprintf(out, "\\%c", *text);
		else
			fputc((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f ? '.' : *text, out);
}

/* Prints name{worker="…",… without the closing brace. */
static void client_series_print(FILE *out, const char *name, const struct worker *w)
{
	struct stats_client c = worker_client(w);

	fprintf(out, "gangway_%s{worker=\"%d\",client=\"%d\",user=\"%d\",program=\"", name, w->pid, c.pid, c.uid);
	label_print(out, c.program);
	fputc('"', out);
}

static void series_print(FILE *out, const char *name, const struct worker *w, unsigned device)
{
	client_series_print(out, name, w);
	fprintf(out, ",device=\"%u\"", device);
}

static void family_describe(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP gangway_%s %s\n# TYPE gangway_%s %s\n", name, help, name, type);
}

#define FIELD(f) offsetof(struct stats_device, f)

static const struct family {
	const char *name, *type, *extra, *help; /* help NULL: a further series of the family before it */
	size_t field;
} families[] = {
	{"calls_total", "counter", "", "Calls that the client has made", FIELD(calls)},
	{"round_trips_total", "counter", "", "Calls that the client has waited for", FIELD(answers)},
	{"launches_total", "counter", "", "Kernels and graphs launched", FIELD(launches)},
	{"errors_total", "counter", "", "Calls that failed", FIELD(errors)},
	{"copied_bytes_total", "counter", ",direction=\"up\"", "Bytes copied to the device (up) and from it (down)",
		FIELD(up)},
	{"copied_bytes_total", "counter", ",direction=\"down\"", NULL, FIELD(down)},
	{"memory_bytes", "gauge", "", "Device memory that the client holds", FIELD(memory)},
	{"memory_peak_bytes", "gauge", "", "The most device memory that the client has held", FIELD(peak)},
};

static const struct times_family {
	const char *name, *help;
	size_t field;
} times_families[] = {
	{"queue_wait_seconds",
		"Time from the arrival of a call until the worker takes it (sampled; shared memory only)", FIELD(wait)},
	{"execution_seconds", "Time in the driver for one call (sampled)", FIELD(run)},
};

/* A client uses the first device, and others if it has made calls there. */
static bool worker_uses_device(const struct worker *w, unsigned device)
{
	return device < stats_device_count(w->stats) && (!device || stats_read(&w->stats->device[device].calls));
}

static const void *counter_address(const struct worker *w, unsigned device, size_t at)
{
	return (const char *)&w->stats->device[device] + at;
}

static void times_print(FILE *out, const struct times_family *f, const struct worker *w, unsigned device)
{
	const struct stats_times *t = counter_address(w, device, f->field);
	char name[64];
	uint64_t count = 0;

	snprintf(name, sizeof name, "%s_bucket", f->name);
	for (unsigned i = 0; i < STATS_BUCKETS; i++) {
		count += stats_read(&t->bucket[i]);
		series_print(out, name, w, device);
		fprintf(out, ",le=\"%g\"} %" PRIu64 "\n", stats_bucket_end(i), count);
	}
	count += stats_read(&t->bucket[STATS_BUCKETS]);
	series_print(out, name, w, device);
	fprintf(out, ",le=\"+Inf\"} %" PRIu64 "\n", count);
	snprintf(name, sizeof name, "%s_sum", f->name);
	series_print(out, name, w, device);
	fprintf(out, "} %.9g\n", stats_read(&t->sum_ns) / 1e9);
	snprintf(name, sizeof name, "%s_count", f->name);
	series_print(out, name, w, device);
	fprintf(out, "} %" PRIu64 "\n", count);
}

static void family_print(FILE *out, const struct status_view *v, const struct family *f)
{
	if (f->help)
		family_describe(out, f->name, f->type, f->help);
	for (const struct worker **at = v->workers, *w; (w = *at); at++)
		for (unsigned d = 0; d < STATS_DEVICES; d++)
			if (worker_uses_device(w, d)) {
				series_print(out, f->name, w, d);
				fprintf(out, "%s} %" PRIu64 "\n", f->extra,
					stats_read(counter_address(w, d, f->field)));
			}
}

static void quotas_print(FILE *out, const struct status_view *v)
{
	family_describe(
		out, "memory_quota_bytes", "gauge", "Device memory that the client may hold (gangway serve --memory)");
	for (const struct worker **at = v->workers, *w; (w = *at); at++)
		for (unsigned d = 0; d < STATS_DEVICES; d++)
			if (worker_uses_device(w, d) && w->stats->info[d].quota) {
				series_print(out, "memory_quota_bytes", w, d);
				fprintf(out, "} %" PRIu64 "\n", w->stats->info[d].quota);
			}
}

/* Numbers of a client that do not belong to a device. */
static void client_families_print(FILE *out, const struct status_view *v)
{
	static const struct {
		const char *name, *help;
		size_t field;
	} all[] = {
		{"host_memory_bytes", "Host memory of the worker that the client holds",
			offsetof(struct stats, host_memory)},
		{"host_memory_peak_bytes", "The most host memory that the client has held",
			offsetof(struct stats, host_peak)},
		{"host_memory_quota_bytes", "Host memory that the client may hold (gangway serve --host-memory)",
			offsetof(struct stats, host_quota)},
		{"objects", "Objects that the client holds", offsetof(struct stats, objects)},
		{"objects_max", "Objects that the client may hold (gangway serve --objects)",
			offsetof(struct stats, object_quota)},
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		family_describe(out, all[i].name, "gauge", all[i].help);
		for (const struct worker **at = v->workers, *w; (w = *at); at++) {
			client_series_print(out, all[i].name, w);
			fprintf(out, "} %" PRIu64 "\n",
				stats_read((const void *)((const char *)w->stats + all[i].field)));
		}
	}
}

static void gauge_print(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
	family_describe(out, name, type, help);
	fprintf(out, "gangway_%s %" PRIu64 "\n", name, value);
}

static void metrics_print(const struct status *s, const struct status_view *v, FILE *out)
{
	gauge_print(out, "clients", "gauge", "Clients that are being served", s->pool->busy);
	gauge_print(out, "clients_max", "gauge", "The largest number of clients at one time", s->pool->config->clients);
	gauge_print(out, "spare_workers", "gauge", "Workers that wait for a client", s->pool->spares);
	gauge_print(out, "connections_total", "counter", "Clients that have connected", s->connections);
	gauge_print(out, "draining", "gauge", "1 if no new clients are accepted", s->draining);
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		family_print(out, v, &families[i]);
	quotas_print(out, v);
	client_families_print(out, v);
	for (size_t i = 0; i < sizeof times_families / sizeof *times_families; i++) {
		family_describe(out, times_families[i].name, "histogram", times_families[i].help);
		for (const struct worker **at = v->workers, *w; (w = *at); at++)
			for (unsigned d = 0; d < STATS_DEVICES; d++)
				if (worker_uses_device(w, d))
					times_print(out, &times_families[i], w, d);
	}
}

/* ---- JSON ---- */

static void json_devices(FILE *out, const struct stats *s)
{
	char name[STATS_TEXT];

	for (unsigned i = 0; i < stats_device_count(s); i++) {
		fprintf(out, "%s\n    {\"index\": %u, \"name\": ", i ? "," : "", i);
		json_text(out, worker_text(s->info[i].name, name));
		fprintf(out, ", \"uuid\": \"");
		uuid_print(out, s->info[i].uuid);
		fprintf(out, "\", \"memory\": %" PRIu64 "}", s->info[i].memory);
	}
}

static void json_device_use(FILE *out, const struct worker *w, unsigned device)
{
	const struct stats_device *d = &w->stats->device[device];

	fprintf(out,
		"\n      {\"device\": %u, \"calls\": %" PRIu64 ", \"round_trips\": %" PRIu64 ", \"launches\": %" PRIu64
		", \"errors\": %" PRIu64 ", \"bytes_up\": %" PRIu64 ", \"bytes_down\": %" PRIu64
		", \"memory\": %" PRIu64 ", \"memory_peak\": %" PRIu64 ", \"quota\": ",
		device, stats_read(&d->calls), stats_read(&d->answers), stats_read(&d->launches),
		stats_read(&d->errors), stats_read(&d->up), stats_read(&d->down), stats_read(&d->memory),
		stats_read(&d->peak));
	if (w->stats->info[device].quota)
		fprintf(out, "%" PRIu64 "}", w->stats->info[device].quota);
	else
		fprintf(out, "null}");
}

static void json_client(FILE *out, const struct worker *w)
{
	struct stats_client c = worker_client(w);
	const char *comma = "";

	fprintf(out, "\n    {\"worker\": %d, \"pid\": %d, \"user\": %d, \"program\": ", w->pid, c.pid, c.uid);
	json_text(out, c.program);
	fprintf(out, ", \"build\": ");
	json_text(out, c.build);
	fprintf(out, ", \"transport\": \"%s\", \"since\": %" PRIu64,
		!w->pid   ? "various"
		: c.local ? "shared memory"
			  : "tcp",
		c.since);
	fprintf(out,
		", \"host_memory\": %" PRIu64 ", \"host_memory_peak\": %" PRIu64 ", \"host_memory_quota\": %" PRIu64
		", \"objects\": %" PRIu64 ", \"objects_max\": %" PRIu64 ", \"use\": [",
		stats_read(&w->stats->host_memory), stats_read(&w->stats->host_peak), stats_read(&w->stats->host_quota),
		stats_read(&w->stats->objects), stats_read(&w->stats->object_quota));
	for (unsigned d = 0; d < STATS_DEVICES; d++)
		if (worker_uses_device(w, d)) {
			fputs(comma, out);
			json_device_use(out, w, d);
			comma = ",";
		}
	fprintf(out, "]}");
}

static void json_print(const struct status *s, const struct status_view *v, FILE *out)
{
	const struct server_config *c = s->pool->config;
	const char *comma = "";

	fprintf(out, "{\n  \"server\": {\"version\": ");
	json_text(out, build_note_text);
	fprintf(out, ", \"device\": ");
	json_text(out, c->device);
	fprintf(out,
		", \"clients\": %u, \"clients_max\": %u, \"connections\": %" PRIu64
		", \"draining\": %s},\n  \"devices\": [",
		s->pool->busy, c->clients, s->connections, s->draining ? "true" : "false");
	if (stats_with_devices(s))
		json_devices(out, stats_with_devices(s));
	fprintf(out, "],\n  \"clients\": [");
	for (const struct worker **at = v->workers; *at; at++) {
		fputs(comma, out);
		json_client(out, *at);
		comma = ",";
	}
	fprintf(out, "]\n}\n");
}

/* ---- Text ---- */

/* Prints a field: control characters become a point. */
static void field_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\t%s=", name);
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '.' : *text, out);
}

static void field_number(FILE *out, const char *name, uint64_t value)
{
	fprintf(out, "\t%s=%" PRIu64, name, value);
}

static void text_devices(FILE *out, const struct stats *s)
{
	char name[STATS_TEXT];

	for (unsigned i = 0; i < stats_device_count(s); i++) {
		fputs("device", out);
		field_number(out, "index", i);
		field_text(out, "name", worker_text(s->info[i].name, name));
		fputs("\tuuid=", out);
		uuid_print(out, s->info[i].uuid);
		field_number(out, "memory", s->info[i].memory);
		field_number(out, "quota", s->info[i].quota);
		fputc('\n', out);
	}
}

static void text_client(FILE *out, const struct worker *w, unsigned device)
{
	const struct stats_device *d = &w->stats->device[device];
	struct stats_client c = worker_client(w);

	fprintf(out, "client\tworker=%d\tpid=%d\tuser=%d", w->pid, c.pid, c.uid);
	field_text(out, "program", c.program);
	field_number(out, "local", c.local);
	field_number(out, "since", c.since);
	field_number(out, "device", device);
	field_number(out, "calls", stats_read(&d->calls));
	field_number(out, "trips", stats_read(&d->answers));
	field_number(out, "launches", stats_read(&d->launches));
	field_number(out, "errors", stats_read(&d->errors));
	field_number(out, "up", stats_read(&d->up));
	field_number(out, "down", stats_read(&d->down));
	field_number(out, "memory", stats_read(&d->memory));
	field_number(out, "quota", w->stats->info[device].quota);
	field_number(out, "host", stats_read(&w->stats->host_memory));
	field_number(out, "hostquota", stats_read(&w->stats->host_quota));
	field_number(out, "objects", stats_read(&w->stats->objects));
	field_number(out, "objectsmax", stats_read(&w->stats->object_quota));
	field_number(out, "looked", atomic_load(&w->stats->info[device].looked));
	field_number(out, "seen", stats_read(&w->stats->info[device].used));
	fputc('\n', out);
}

static void text_print(const struct status *s, const struct status_view *v, FILE *out)
{
	fputs("server", out);
	field_text(out, "build", build_note_text);
	field_text(out, "device", s->pool->config->device);
	field_number(out, "clients", s->pool->busy);
	field_number(out, "most", s->pool->config->clients);
	field_number(out, "draining", s->draining);
	fputc('\n', out);
	if (stats_with_devices(s))
		text_devices(out, stats_with_devices(s));
	for (const struct worker **at = v->workers, *w; (w = *at); at++)
		for (unsigned d = 0; d < STATS_DEVICES; d++)
			if (worker_uses_device(w, d))
				text_client(out, w, d);
}

/* ---- The view of one peer ---- */

static void view_print(const struct status *s, const struct peer *viewer, FILE *out,
	void (*print)(const struct status *s, const struct status_view *v, FILE *out))
{
	struct status_view *v = status_view_create(s->pool, viewer);

	if (v)
		print(s, v, out);
	status_view_destroy(v);
}

void status_metrics(const struct status *s, const struct peer *viewer, FILE *out)
{
	view_print(s, viewer, out, metrics_print);
}

void status_json(const struct status *s, const struct peer *viewer, FILE *out)
{
	view_print(s, viewer, out, json_print);
}

void status_text(const struct status *s, const struct peer *viewer, FILE *out)
{
	view_print(s, viewer, out, text_print);
}
