#include "server/daemon/status.h"

#include <inttypes.h>
#include <string.h>
#include "util/json.h"
#include "util/build_note.h"

static bool serves(const struct worker *w)
{
	return w->state == WORKER_BUSY && w->stats && atomic_load(&w->stats->connected);
}

const struct worker *status_worker(const struct status *s, int pid)
{
	const struct worker *w = s->pool->workers;

	while (w && (w->pid != pid || !serves(w)))
		w = w->next;
	return w;
}

/* A worker's text may lack its end. */
static const char *text_of(const char from[STATS_TEXT], char to[STATS_TEXT])
{
	snprintf(to, STATS_TEXT, "%.*s", STATS_TEXT - 1, from);
	return to;
}

static struct stats_client client_of(const struct worker *w)
{
	struct stats_client c = w->stats->client;

	c.program[STATS_TEXT - 1] = c.build[STATS_TEXT - 1] = 0;
	return c;
}

static unsigned device_count(const struct stats *s)
{
	uint32_t n = atomic_load(&s->ndevices);

	return n < STATS_DEVICES ? n : STATS_DEVICES;
}

static void print_uuid(FILE *out, const uint8_t uuid[16])
{
	fputs("GPU-", out);
	for (int i = 0; i < 16; i++)
		fprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* Any worker that has opened the device knows what it is. */
static const struct stats *knowing(const struct status *s)
{
	const struct worker *w = s->pool->workers;

	while (w && (!w->stats || !device_count(w->stats)))
		w = w->next;
	return w ? w->stats : NULL;
}

/* ---- Prometheus ---- */

/* A label's value: backslash, quotation mark and line feed are escaped, the rest of what is odd is a point. */
static void label(FILE *out, const char *text)
{
	for (; *text; text++)
		if (*text == '\\' || *text == '"')
			fprintf(out, "\\%c", *text);
		else
			fputc((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f ? '.' : *text, out);
}

/* name{client="…",device="0"…  and no closing brace. */
static void series(FILE *out, const char *name, const struct worker *w, unsigned device)
{
	struct stats_client c = client_of(w);

	fprintf(out, "gangway_%s{worker=\"%d\",client=\"%d\",user=\"%d\",program=\"", name, w->pid, c.pid, c.uid);
	label(out, c.program);
	fprintf(out, "\",device=\"%u\"", device);
}

static void describe(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP gangway_%s %s\n# TYPE gangway_%s %s\n", name, help, name, type);
}

#define FIELD(f) offsetof(struct stats_device, f)

static const struct family {
	const char *name, *type, *extra, *help; /* help NULL: another series of the one before */
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
	{"memory_peak_bytes", "gauge", "", "The most it has held", FIELD(peak)},
};

static const struct times_family {
	const char *name, *help;
	size_t field;
} times_families[] = {
	{"queue_wait_seconds", "From a call's arrival until it is taken (sampled; shared memory only)", FIELD(wait)},
	{"execution_seconds", "In the driver, for one call (sampled)", FIELD(run)},
};

/* Devices that the client has used: the first, and others it has called. */
static bool used(const struct worker *w, unsigned device)
{
	return device < device_count(w->stats) && (!device || stats_read(&w->stats->device[device].calls));
}

static const void *field(const struct worker *w, unsigned device, size_t at)
{
	return (const char *)&w->stats->device[device] + at;
}

static void print_times(FILE *out, const struct times_family *f, const struct worker *w, unsigned device)
{
	const struct stats_times *t = field(w, device, f->field);
	char name[64];
	uint64_t count = 0;

	snprintf(name, sizeof name, "%s_bucket", f->name);
	for (unsigned i = 0; i < STATS_BUCKETS; i++) {
		count += stats_read(&t->bucket[i]);
		series(out, name, w, device);
		fprintf(out, ",le=\"%g\"} %" PRIu64 "\n", stats_bucket_end(i), count);
	}
	count += stats_read(&t->bucket[STATS_BUCKETS]);
	series(out, name, w, device);
	fprintf(out, ",le=\"+Inf\"} %" PRIu64 "\n", count);
	snprintf(name, sizeof name, "%s_sum", f->name);
	series(out, name, w, device);
	fprintf(out, "} %.9g\n", stats_read(&t->sum_ns) / 1e9);
	snprintf(name, sizeof name, "%s_count", f->name);
	series(out, name, w, device);
	fprintf(out, "} %" PRIu64 "\n", count);
}

static void print_family(FILE *out, const struct status *s, const struct family *f)
{
	if (f->help)
		describe(out, f->name, f->type, f->help);
	for (const struct worker *w = s->pool->workers; w; w = w->next)
		for (unsigned d = 0; serves(w) && d < STATS_DEVICES; d++)
			if (used(w, d)) {
				series(out, f->name, w, d);
				fprintf(out, "%s} %" PRIu64 "\n", f->extra, stats_read(field(w, d, f->field)));
			}
}

static void print_quotas(FILE *out, const struct status *s)
{
	describe(out, "memory_quota_bytes", "gauge", "Device memory that the client may hold (gangway serve --memory)");
	for (const struct worker *w = s->pool->workers; w; w = w->next)
		for (unsigned d = 0; serves(w) && d < STATS_DEVICES; d++)
			if (used(w, d) && w->stats->info[d].quota) {
				series(out, "memory_quota_bytes", w, d);
				fprintf(out, "} %" PRIu64 "\n", w->stats->info[d].quota);
			}
}

static void single(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
	describe(out, name, type, help);
	fprintf(out, "gangway_%s %" PRIu64 "\n", name, value);
}

void status_metrics(const struct status *s, FILE *out)
{
	single(out, "clients", "gauge", "Clients that are being served", s->pool->busy);
	single(out, "clients_max", "gauge", "How many there may be at one time", s->pool->config->clients);
	single(out, "spare_workers", "gauge", "Workers that wait for a client", s->pool->spares);
	single(out, "connections_total", "counter", "Clients that have come", s->connections);
	single(out, "draining", "gauge", "1: no new clients are taken", s->draining);
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		print_family(out, s, &families[i]);
	print_quotas(out, s);
	for (size_t i = 0; i < sizeof times_families / sizeof *times_families; i++) {
		describe(out, times_families[i].name, "histogram", times_families[i].help);
		for (const struct worker *w = s->pool->workers; w; w = w->next)
			for (unsigned d = 0; serves(w) && d < STATS_DEVICES; d++)
				if (used(w, d))
					print_times(out, &times_families[i], w, d);
	}
}

/* ---- JSON ---- */

static void json_devices(FILE *out, const struct stats *s)
{
	char name[STATS_TEXT];

	for (unsigned i = 0; i < device_count(s); i++) {
		fprintf(out, "%s\n    {\"index\": %u, \"name\": ", i ? "," : "", i);
		json_text(out, text_of(s->info[i].name, name));
		fprintf(out, ", \"uuid\": \"");
		print_uuid(out, s->info[i].uuid);
		fprintf(out, "\", \"memory\": %" PRIu64 "}", s->info[i].memory);
	}
}

static void json_use(FILE *out, const struct worker *w, unsigned device)
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
	struct stats_client c = client_of(w);
	const char *comma = "";

	fprintf(out, "\n    {\"worker\": %d, \"pid\": %d, \"user\": %d, \"program\": ", w->pid, c.pid, c.uid);
	json_text(out, c.program);
	fprintf(out, ", \"build\": ");
	json_text(out, c.build);
	fprintf(out, ", \"transport\": \"%s\", \"since\": %" PRIu64 ", \"use\": [", c.local ? "shared memory" : "tcp",
		c.since);
	for (unsigned d = 0; d < STATS_DEVICES; d++)
		if (used(w, d)) {
			fputs(comma, out);
			json_use(out, w, d);
			comma = ",";
		}
	fprintf(out, "]}");
}

void status_json(const struct status *s, FILE *out)
{
	const struct server_config *c = s->pool->config;
	const char *comma = "";

	fprintf(out, "{\n  \"server\": {\"version\": ");
	json_text(out, note_build);
	fprintf(out, ", \"device\": ");
	json_text(out, c->device);
	fprintf(out,
		", \"clients\": %u, \"clients_max\": %u, \"connections\": %" PRIu64
		", \"draining\": %s},\n  \"devices\": [",
		s->pool->busy, c->clients, s->connections, s->draining ? "true" : "false");
	if (knowing(s))
		json_devices(out, knowing(s));
	fprintf(out, "],\n  \"clients\": [");
	for (const struct worker *w = s->pool->workers; w; w = w->next)
		if (serves(w)) {
			fputs(comma, out);
			json_client(out, w);
			comma = ",";
		}
	fprintf(out, "]\n}\n");
}

/* ---- Text ---- */

/* A field's value: no tab, no line end. */
static void plain(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\t%s=", name);
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '.' : *text, out);
}

static void number(FILE *out, const char *name, uint64_t value)
{
	fprintf(out, "\t%s=%" PRIu64, name, value);
}

static void text_devices(FILE *out, const struct stats *s)
{
	char name[STATS_TEXT];

	for (unsigned i = 0; i < device_count(s); i++) {
		fputs("device", out);
		number(out, "index", i);
		plain(out, "name", text_of(s->info[i].name, name));
		fputs("\tuuid=", out);
		print_uuid(out, s->info[i].uuid);
		number(out, "memory", s->info[i].memory);
		number(out, "quota", s->info[i].quota);
		fputc('\n', out);
	}
}

static void text_client(FILE *out, const struct worker *w, unsigned device)
{
	const struct stats_device *d = &w->stats->device[device];
	struct stats_client c = client_of(w);

	fprintf(out, "client\tworker=%d\tpid=%d\tuser=%d", w->pid, c.pid, c.uid);
	plain(out, "program", c.program);
	number(out, "local", c.local);
	number(out, "since", c.since);
	number(out, "device", device);
	number(out, "calls", stats_read(&d->calls));
	number(out, "trips", stats_read(&d->answers));
	number(out, "launches", stats_read(&d->launches));
	number(out, "errors", stats_read(&d->errors));
	number(out, "up", stats_read(&d->up));
	number(out, "down", stats_read(&d->down));
	number(out, "memory", stats_read(&d->memory));
	number(out, "quota", w->stats->info[device].quota);
	number(out, "looked", atomic_load(&w->stats->info[device].looked));
	number(out, "seen", stats_read(&w->stats->info[device].used));
	fputc('\n', out);
}

void status_text(const struct status *s, FILE *out)
{
	fputs("server", out);
	plain(out, "build", note_build);
	plain(out, "device", s->pool->config->device);
	number(out, "clients", s->pool->busy);
	number(out, "most", s->pool->config->clients);
	number(out, "draining", s->draining);
	fputc('\n', out);
	if (knowing(s))
		text_devices(out, knowing(s));
	for (const struct worker *w = s->pool->workers; w; w = w->next)
		for (unsigned d = 0; serves(w) && d < STATS_DEVICES; d++)
			if (used(w, d))
				text_client(out, w, d);
}
