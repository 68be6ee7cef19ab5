#include <getopt.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "server/daemon/server.h"
#include "transport/transport.h"
#include "transport/default_socket.h"
#include "util/env_number.h"

#define LISTEN_MAX 8

static const char usage[] =
	"usage: gangway serve [--on DEVICE] [--listen ADDRESS]... [--group NAME] [--clients N] [--spares N]\n"
	"                     [--memory SIZE] [--spin-us N] [--metrics ADDRESS]\n\n"
	"Offers this machine's device to other processes, containers and machines; each client gets a process\n"
	"of its own. Runs in the foreground and logs to stderr, one line an event.\n\n"
	"  --on DEVICE       nvidia (default), cpu or null: what the clients' programs run on\n"
	"  --listen ADDRESS  unix:PATH, or tcp://HOST:PORT; may be given several times. Without it: %s\n"
	"                    tcp://:PORT is this machine's loopback only. TCP is neither encrypted nor\n"
	"                    authenticated yet: whoever reaches the port may use the device. Keep it on loopback,\n"
	"                    in an ssh tunnel, or on a network where you trust everybody\n"
	"  --group NAME      members of this group may use the unix sockets, too; else only their owner may\n"
	"  --clients N       at one time, at most (%d); more are refused and told so\n"
	"  --spares N        workers that have opened the device and wait for a client (%d)\n"
	"  --memory SIZE     of each device for each client, at most: 8G, 512M, or 50%% of the device. A client that\n"
	"                    wants more gets CUDA_ERROR_OUT_OF_MEMORY, and is told that the device has so much\n"
	"  --spin-us N       how long a worker looks for work before it sleeps (GANGWAY_SPIN_US; else %u)\n"
	"  --metrics ADDRESS unix:PATH or tcp://HOST:PORT: answers GET /metrics (Prometheus) and /status (JSON).\n"
	"                    Beside a unix socket PATH that is always told on PATH.status\n"
	"  --help            this text\n\n"
	"SIGTERM takes no new clients and ends with the last one; a second SIGTERM ends at once.\n";

/* tcp://:PORT is tcp://127.0.0.1:PORT. */
static const char *complete(const char *address, char full[64])
{
	if (strncmp(address, "tcp://:", 7))
		return address;
	snprintf(full, 64, "tcp://127.0.0.1:%s", address + 7);
	return full;
}

static bool number(const char *text, unsigned least, unsigned most, unsigned *n)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	*n = (unsigned)value;
	return *text >= '0' && *text <= '9' && !*end && value >= least && value <= most;
}

static const struct option options[] = {
	{"on", required_argument, NULL, 'o'},
	{"listen", required_argument, NULL, 'l'},
	{"group", required_argument, NULL, 'g'},
	{"clients", required_argument, NULL, 'c'},
	{"spares", required_argument, NULL, 's'},
	{"memory", required_argument, NULL, 'M'},
	{"spin-us", required_argument, NULL, 'u'},
	{"metrics", required_argument, NULL, 'm'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static int find_group(const char *name, gid_t *id)
{
	struct group *g = getgrnam(name);

	if (!g)
		return cli_fail("there is no group %s", name);
	*id = g->gr_gid;
	return 0;
}

/* One option; 0, or the exit status. */
static int take(int c, struct server_config *config, const char **listen, int *n)
{
	static char full[LISTEN_MAX + 1][64];

	switch (c) {
	case 'o':
		config->device = optarg;
		return 0;
	case 'l':
		if (*n == LISTEN_MAX)
			return cli_usage("serve", "more than %d addresses", LISTEN_MAX);
		listen[*n] = complete(optarg, full[*n]);
		(*n)++;
		return 0;
	case 'g':
		return find_group(optarg, &config->group);
	case 'm':
		config->metrics = complete(optarg, full[LISTEN_MAX]);
		return 0;
	case 'c':
		return number(optarg, 1, 65536, &config->clients) ? 0 : cli_usage("serve", "--clients %s?", optarg);
	case 'M':
		return quota_read(optarg, &config->memory)
			       ? 0
			       : cli_usage("serve", "--memory %s? Say 8G, 512M or 50%%", optarg);
	case 's':
		return number(optarg, 0, 1024, &config->spares) ? 0 : cli_usage("serve", "--spares %s?", optarg);
	default:
		return number(optarg, 0, SETTING_SPIN_MAX, &config->spin_us)
			       ? 0
			       : cli_usage("serve", "--spin-us %s?", optarg);
	}
}

int cmd_serve(int argc, char **argv)
{
	const char *listen[LISTEN_MAX + 1] = {0};
	unsigned spin = setting_number(SETTING_SPIN, SETTING_SPIN_MAX, link_defaults(true).spin_us);
	struct server_config config = {.device = "nvidia",
		.listen = listen,
		.group = (gid_t)-1,
		.clients = SERVER_CLIENTS,
		.spares = SERVER_SPARES,
		.spin_us = spin};
	char place[256];
	int c, r, n = 0;

	default_socket_address(place, sizeof place);
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (c == ':')
			return cli_usage("serve", "%s needs a value", argv[optind - 1]);
		if (c == '?')
			return cli_usage("serve", "there is no option %s", argv[optind - 1]);
		if (c == 'h') {
			printf(usage, place, SERVER_CLIENTS, SERVER_SPARES, link_defaults(true).spin_us);
			return 0;
		}
		r = take(c, &config, listen, &n);
		if (r)
			return r;
	}
	if (optind < argc)
		return cli_usage("serve", "what is %s for?", argv[optind]);
	if (strcmp(config.device, "nvidia") && strcmp(config.device, "cpu") && strcmp(config.device, "null"))
		return cli_usage("serve", "%s is no device that can be served", config.device);
	if (!n)
		listen[0] = place;
	return server_run(&config) ? 1 : 0;
}
