/* gangway top --once: prints the status as text or JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include "top/top.h"
#include "util/text.h"

static void print_text_device(const struct top_device *d)
{
	char used[16], all[16];

	printf("%2u  %-32s ", d->index, d->name);
	if (d->measured)
		printf("%3u %%  %9s of %s\n", d->busy, top_format_bytes((double)d->used, used),
			top_format_bytes((double)d->memory, all));
	else
		printf("   -   %9s of %s\n", "-", top_format_bytes((double)d->memory, all));
}

static void print_text_client(const struct top_client *c)
{
	char user[16], memory[16], quota[16], host[16], up[16], down[16];

	top_format_user(c->user, user, sizeof user);
	printf("%8d %-10.10s %-16.16s %3u %10s %9s %9s %7" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64
	       " %10s %10s %6" PRIu64 "\n",
		c->pid, user, *c->program ? c->program : "-", c->device, top_format_bytes((double)c->memory, memory),
		top_format_quota(c, quota), top_format_bytes((double)c->host, host), c->objects, c->count.calls,
		c->count.trips, c->count.launches, top_format_bytes((double)c->count.up, up),
		top_format_bytes((double)c->count.down, down), c->count.errors);
}

void top_print_text(const struct top *t)
{
	printf("%s serves %s on %s: %u of at most %u clients%s\n\n", t->build, t->served, t->address, t->nclients,
		t->most, t->draining ? ", refusing new ones" : "");
	printf("     DEVICE                          BUSY     MEMORY\n");
	for (unsigned i = 0; i < t->ndevices; i++)
		print_text_device(&t->devices[i]);
	printf("\n     PID USER       PROGRAM          DEV     MEMORY     QUOTA      HOST OBJECTS      CALLS      "
	       "TRIPS   LAUNCHES       "
	       "  UP       DOWN "
	       "ERRORS\n");
	for (unsigned i = 0; i < t->nlines; i++)
		print_text_client(&t->clients[i]);
	if (t->left_out)
		printf("and %u more\n", t->left_out);
}

static void print_json_device(const struct top_device *d)
{
	printf("\n    {\"index\": %u, \"name\": ", d->index);
	json_text(stdout, d->name);
	printf(", \"uuid\": ");
	json_text(stdout, d->uuid);
	printf(", \"memory\": %" PRIu64, d->memory);
	if (d->measured)
		printf(", \"memory_used\": %" PRIu64 ", \"utilization\": %u}", d->used, d->busy);
	else
		printf(", \"memory_used\": null, \"utilization\": null}");
}

static void print_json_client(const struct top_client *c)
{
	char user[32], quota[24] = "null";

	if (c->quota)
		snprintf(quota, sizeof quota, "%" PRIu64, c->quota);
	top_format_user(c->user, user, sizeof user);
	printf("\n    {\"worker\": %d, \"pid\": %d, \"user\": ", c->worker, c->pid);
	json_text(stdout, user);
	printf(", \"program\": ");
	json_text(stdout, c->program);
	printf(", \"transport\": \"%s\", \"since\": %" PRIu64 ", \"device\": %u, \"memory\": %" PRIu64
	       ", \"quota\": %s, \"host_memory\": %" PRIu64 ", \"host_memory_quota\": %" PRIu64
	       ", \"objects\": %" PRIu64 ", \"objects_max\": %" PRIu64 ", \"calls\": %" PRIu64
	       ", \"round_trips\": %" PRIu64 ", \"launches\": %" PRIu64 ", \"bytes_up\": %" PRIu64
	       ", \"bytes_down\": %" PRIu64 ", \"errors\": %" PRIu64 "}",
		c->local ? "shared memory" : "tcp", c->since, c->device, c->memory, quota, c->host, c->host_quota,
		c->objects, c->objects_max, c->count.calls, c->count.trips, c->count.launches, c->count.up,
		c->count.down, c->count.errors);
}

void top_print_json(const struct top *t)
{
	printf("{\n  \"server\": {\"address\": ");
	json_text(stdout, t->address);
	printf(", \"version\": ");
	json_text(stdout, t->build);
	printf(", \"device\": ");
	json_text(stdout, t->served);
	printf(", \"clients\": %u, \"clients_max\": %u, \"draining\": %s},\n  \"devices\": [", t->nclients, t->most,
		t->draining ? "true" : "false");
	for (unsigned i = 0; i < t->ndevices; i++) {
		printf(i ? "," : "");
		print_json_device(&t->devices[i]);
	}
	printf("],\n  \"clients\": [");
	for (unsigned i = 0; i < t->nlines; i++) {
		printf(i ? "," : "");
		print_json_client(&t->clients[i]);
	}
	printf("]\n}\n");
}
