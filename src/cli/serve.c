#include <getopt.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "server/server.h"
#include "util/place.h"

#define LISTEN_MAX 8

static const char usage[] =
	"usage: gangway serve [--on DEVICE] [--listen ADDRESS]... [--group NAME]\n\n"
	"Offers this machine's device to other processes, containers and machines; each client gets a process\n"
	"of its own. Runs in the foreground and logs to stderr.\n\n"
	"  --on DEVICE       nvidia (default), or null: what the clients' programs run on\n"
	"  --listen ADDRESS  unix:PATH or tcp://HOST:PORT; may be given several times. Without it: %s\n"
	"                    TCP is neither encrypted nor authenticated yet: keep it on loopback or on a\n"
	"                    network where you trust everybody\n"
	"  --group NAME      members of this group may use the unix sockets, too\n\n"
	"SIGTERM takes no new clients and ends with the last one; a second SIGTERM ends at once.\n";

static void warn_tcp(const char *address)
{
	if (strncmp(address, "tcp://", 6) || !strncmp(address, "tcp://127.", 10) || !strncmp(address, "tcp://localhost", 15) ||
		!strncmp(address, "tcp://[::1]", 11))
		return;
	fprintf(stderr,
		"gangway: %s is reachable from other machines. What goes over it is not encrypted, and whoever\n"
		"gangway: reaches it may use the device.\n",
		address);
}

int cmd_serve(int argc, char **argv)
{
	static const struct option options[] = {
		{"on", required_argument, NULL, 'o'},
		{"listen", required_argument, NULL, 'l'},
		{"group", required_argument, NULL, 'g'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *listen[LISTEN_MAX + 1] = {0};
	struct server_config config = {.device = "nvidia", .listen = listen, .group = (gid_t)-1};
	char place[256];
	struct group *g;
	int c, n = 0;

	place_socket(place, sizeof place);
	opterr = 0;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			config.device = optarg;
			break;
		case 'l':
			if (n == LISTEN_MAX)
				return cli_usage("serve", "more than %d addresses", LISTEN_MAX);
			listen[n++] = optarg;
			warn_tcp(optarg);
			break;
		case 'g':
			g = getgrnam(optarg);
			if (!g)
				return cli_fail("there is no group %s", optarg);
			config.group = g->gr_gid;
			break;
		case 'h':
			printf(usage, place);
			return 0;
		default:
			return cli_usage("serve", "there is no option %s", argv[optind - 1]);
		}
	}
	if (optind < argc)
		return cli_usage("serve", "what is %s for?", argv[optind]);
	if (strcmp(config.device, "nvidia") && strcmp(config.device, "cpu") && strcmp(config.device, "null"))
		return cli_usage("serve", "%s is no device that can be served", config.device);
	if (!n)
		listen[0] = place;
	return server_run(&config) ? 1 : 0;
}
