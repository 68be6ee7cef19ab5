/* gangway serve: reads the options and runs the server. */
#include <getopt.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "server/daemon/server.h"
#include "server/worker/worker.h"
#include "server/sandbox/sandbox.h"
#include "transport/transport.h"
#include "transport/default_socket.h"
#include "host/env_number.h"

#define LISTEN_MAX 8

/* User numbers that no distribution gives to people, services or containers. */
#define ISOLATE_FIRST 1879048192u
#define ISOLATE_LAST  2147483647u

static const char usage[] =
	"usage: gangway serve [--on DEVICE] [--listen ADDRESS]... [--group NAME] [--clients N]\n"
	"                     [--clients-per-user N] [--spares N] [--memory SIZE] [--host-memory SIZE]\n"
	"                     [--objects N] [--image-cache SIZE] [--clear] [--spin-us N] [--metrics ADDRESS]\n"
	"                     [--sandbox auto|strict|off] [--isolate user] [--dumpable]\n\n"
	"Share this machine's device with other processes, containers and machines. Each client gets a worker\n"
	"process of its own. The server runs in the foreground and logs to standard error, one line per event.\n\n"
	"  --on DEVICE       the device to share: nvidia (default), cpu or null\n"
	"  --listen ADDRESS  unix:PATH or tcp://HOST:PORT; repeat it for several addresses. Default: %s\n"
	"                    tcp://:PORT listens on loopback only. TCP has no encryption and no authentication:\n"
	"                    everyone who can reach the port can use the device. Use loopback, an ssh tunnel,\n"
	"                    or a network that you trust\n"
	"  --group NAME      let members of this group use the unix sockets. Default: only their owner\n"
	"  --clients N       serve at most N clients at a time (default %d); refuse further ones\n"
	"  --clients-per-user N\n"
	"                    serve at most N clients of each user of the unix sockets, and of each address over TCP.\n"
	"                    Default: no limit for the only user and on loopback; with --group and for other\n"
	"                    machines three quarters of --clients\n"
	"  --spares N        keep N workers ready that have already opened the device (default %d)\n"
	"  --memory SIZE     limit each client to SIZE of each device's memory: 8G, 512M or 50%%. To the client,\n"
	"                    the device has this size; it gets CUDA_ERROR_OUT_OF_MEMORY for more\n"
	"  --host-memory SIZE limit the memory of this machine that a client's worker holds for it: pinned and "
	"managed\n"
	"                    memory, code, staging. A size, or a percentage of the machine's memory (default %d%%)\n"
	"  --objects N       limit the allocations, streams, events, modules, graph nodes and other objects of each\n"
	"                    client (default %d)\n"
	"  --image-cache SIZE\n"
	"                    keep at most SIZE of code on disk for clients that load it again (default 8G; 0: none).\n"
	"                    One client fills at most a sixteenth\n"
	"  --clear           clear device memory before a client gets it, whether or not the driver does. This costs\n"
	"                    time, and graphs cannot have allocation nodes\n"
	"  --spin-us N       poll for N microseconds before a worker sleeps (default $GANGWAY_SPIN_US, or %u)\n"
	"  --metrics ADDRESS answer GET /metrics (Prometheus) and /status (JSON) on unix:PATH or tcp://HOST:PORT.\n"
	"                    For each unix socket PATH, PATH.status always answers them\n"
	"  --sandbox MODE    auto (default): a worker gives up all rights that its device does not need, as far as\n"
	"                    this kernel can take them; strict: do not serve unless it can take all of them; off: "
	"take\n"
	"                    none. The server logs which layers are on\n"
	"  --isolate user[=FIRST-LAST]\n"
	"                    run the workers of each user, and of each TCP address, as a user of their own with a "
	"number\n"
	"                    from FIRST to LAST (default %u-%u). Only root can do this\n"
	"  --dumpable        let workers leave core dumps, and let processes of the same user debug them: for finding\n"
	"                    bugs only, because then a worker that a client has taken over can read the others\n"
	"  --help            show this text\n\n"
	"SIGTERM refuses new clients and ends the server after its last client; a second SIGTERM ends it at once.\n";

/* tcp://:PORT means tcp://127.0.0.1:PORT. */
static const char *address_complete(const char *address, char full[64])
{
	if (strncmp(address, "tcp://:", 7))
		return address;
	snprintf(full, 64, "tcp://127.0.0.1:%s", address + 7);
	return full;
}

static bool parse_number(const char *text, unsigned least, unsigned most, unsigned *n)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	*n = (unsigned)value;
	return *text >= '0' && *text <= '9' && !*end && value >= least && value <= most;
}

/* A size in bytes, or 0. */
static bool parse_bytes(const char *text, uint64_t *bytes)
{
	struct quota_size size = {0};
	bool ok = !strcmp(text, "0") || (quota_read(text, &size) && !size.percent);

	*bytes = size.bytes;
	return ok;
}

static const struct option options[] = {
	{"on", required_argument, NULL, 'o'},
	{"listen", required_argument, NULL, 'l'},
	{"group", required_argument, NULL, 'g'},
	{"clients", required_argument, NULL, 'c'},
	{"clients-per-user", required_argument, NULL, 'C'},
	{"spares", required_argument, NULL, 's'},
	{"memory", required_argument, NULL, 'M'},
	{"host-memory", required_argument, NULL, 'H'},
	{"objects", required_argument, NULL, 'O'},
	{"image-cache", required_argument, NULL, 'I'},
	{"clear", no_argument, NULL, 'z'},
	{"spin-us", required_argument, NULL, 'u'},
	{"metrics", required_argument, NULL, 'm'},
	{"dumpable", no_argument, NULL, 'd'},
	{"sandbox", required_argument, NULL, 'b'},
	{"isolate", required_argument, NULL, 'i'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static int find_group(const char *name, gid_t *id)
{
	struct group *g = getgrnam(name);

	if (!g)
		return cli_fail("there is no group %s; create it with groupadd, or name another one", name);
	*id = g->gr_gid;
	return 0;
}

/* user or user=FIRST-LAST */
static int parse_isolate(const char *text, struct server_config *config)
{
	unsigned first = ISOLATE_FIRST, last = ISOLATE_LAST;
	int end = 0;

	if (strcmp(text, "user") && (sscanf(text, "user=%u-%u%n", &first, &last, &end) != 2 || text[end] || !first ||
					    first > last || last == (uid_t)-1))
		return cli_usage("serve", "--isolate %s: not user or user=FIRST-LAST", text);
	if (geteuid())
		return cli_fail("--isolate user: only root can run workers as other users");
	config->isolate_first = first;
	config->isolate_last = last;
	return 0;
}

/* The kernel writes a core with the rights of the worker, which Landlock would refuse. */
static bool landlock_avoided(const struct server_config *config)
{
	return config->dumpable;
}

/* Sets the layers of the sandbox.  Returns 0, or an exit status after printing an error. */
static int choose_sandbox(const char *mode, struct server_config *config)
{
	char missing[SANDBOX_TEXT];

	config->sandbox = strcmp(mode, "off") ? sandbox_offered() : 0;
	if (strcmp(mode, "strict")) {
		config->sandbox &= landlock_avoided(config) ? ~(unsigned)SANDBOX_LANDLOCK : SANDBOX_ALL;
		return 0;
	}
	sandbox_describe(SANDBOX_ALL & ~config->sandbox, missing);
	return config->sandbox == SANDBOX_ALL ? 0
					      : cli_fail("--sandbox strict: this kernel or this build lacks the "
							 "layers: %s; --sandbox auto serves "
							 "without them",
							missing);
}

/* Read one option. Returns 0, or an exit status after printing an error. */
static int parse_option(int c, struct server_config *config, const char **listen, int *n, const char **sandbox)
{
	static char full[LISTEN_MAX + 1][64];

	switch (c) {
	case 'o':
		config->device = optarg;
		return 0;
	case 'l':
		if (*n == LISTEN_MAX)
			return cli_usage("serve", "more than %d addresses with --listen", LISTEN_MAX);
		listen[*n] = address_complete(optarg, full[*n]);
		(*n)++;
		return 0;
	case 'g':
		return find_group(optarg, &config->group);
	case 'm':
		config->metrics = address_complete(optarg, full[LISTEN_MAX]);
		return 0;
	case 'c':
		return parse_number(optarg, 1, 65536, &config->clients)
			       ? 0
			       : cli_usage("serve", "--clients %s: not a number from 1 to 65536", optarg);
	case 'C':
		return parse_number(optarg, 1, 65536, &config->clients_per_user)
			       ? 0
			       : cli_usage("serve", "--clients-per-user %s: not a number from 1 to 65536", optarg);
	case 'd':
		config->dumpable = true;
		return 0;
	case 'M':
		return quota_read(optarg, &config->memory)
			       ? 0
			       : cli_usage("serve", "--memory %s: not a size such as 8G, 512M or 50%%", optarg);
	case 'b':
		*sandbox = optarg;
		return !strcmp(optarg, "auto") || !strcmp(optarg, "strict") || !strcmp(optarg, "off")
			       ? 0
			       : cli_usage("serve", "--sandbox %s: not auto, strict or off", optarg);
	case 'i':
		return parse_isolate(optarg, config);
	case 'H':
		return quota_read(optarg, &config->host_memory)
			       ? 0
			       : cli_usage("serve", "--host-memory %s: not a size such as 8G, 512M or 50%%", optarg);
	case 'I':
		return parse_bytes(optarg, &config->image_cache)
			       ? 0
			       : cli_usage("serve", "--image-cache %s: not a size such as 8G or 512M, nor 0", optarg);
	case 'z':
		config->clear = true;
		return 0;
	case 'O':
		return parse_number(optarg, 1, 16000000, &config->objects)
			       ? 0
			       : cli_usage("serve", "--objects %s: not a number from 1 to 16000000", optarg);
	case 's':
		return parse_number(optarg, 0, 1024, &config->spares)
			       ? 0
			       : cli_usage("serve", "--spares %s: not a number from 0 to 1024", optarg);
	default:
		return parse_number(optarg, 0, ENV_SPIN_US_MAX, &config->spin_us)
			       ? 0
			       : cli_usage("serve", "--spin-us %s: not a number from 0 to %d", optarg, ENV_SPIN_US_MAX);
	}
}

int cmd_serve(int argc, char **argv)
{
	const char *listen[LISTEN_MAX + 1] = {0};
	unsigned spin = env_number(ENV_SPIN_US, ENV_SPIN_US_MAX, link_defaults(true).spin_us);
	struct server_config config = {.device = "nvidia",
		.listen = listen,
		.group = (gid_t)-1,
		.clients = SERVER_CLIENTS,
		.spares = SERVER_SPARES,
		.host_memory.percent = SERVER_HOST,
		.objects = SERVER_OBJECTS,
		.image_cache = SERVER_IMAGES,
		.spin_us = spin};
	const char *sandbox = "auto";
	char place[256];
	int c, r, n = 0;

	default_socket_address(place, sizeof place);
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (c == ':' || c == '?')
			return cli_bad_option("serve", c, argv, options);
		if (c == 'h') {
			printf(usage, place, SERVER_CLIENTS, SERVER_SPARES, SERVER_HOST, SERVER_OBJECTS,
				link_defaults(true).spin_us, ISOLATE_FIRST, ISOLATE_LAST);
			return 0;
		}
		r = parse_option(c, &config, listen, &n, &sandbox);
		if (r)
			return r;
	}
	if (optind < argc)
		return cli_unexpected("serve", argv[optind]);
	if (strcmp(config.device, "nvidia") && strcmp(config.device, "cpu") && strcmp(config.device, "null"))
		return cli_usage("serve", "cannot share the device %s; use nvidia, cpu or null", config.device);
	if (!n)
		listen[0] = place;
	r = choose_sandbox(sandbox, &config);
	return r ? r : server_run(&config) ? 1 : 0;
}

int cmd_worker(int argc, char **argv)
{
	(void)argc, (void)argv;
	worker_main();
	return cli_fail("only gangway serve starts gangway worker");
}
