/* gangway top: reads the options, fetches the first status and starts the display. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli/cli.h"
#include "top/top.h"
#include "transport/default_socket.h"

static const char usage[] =
	"usage: gangway top [--on ADDRESS] [--delay SECONDS] [--once [--json]]\n\n"
	"Show the clients of a server: the device memory they hold, and their calls, round trips, launches and\n"
	"copied bytes per second.\n\n"
	"  --on ADDRESS     unix:PATH, the socket of the server; or tcp://HOST:PORT, the address given to\n"
	"                   gangway serve --metrics. Default: the server of this user or of the system\n"
	"  --delay SECONDS  the time between updates (default 1)\n"
	"  --once           print once, with totals since each client connected\n"
	"  --json           with --once: print JSON\n"
	"  --help           show this text\n\n"
	"Keys: up and down select a client, k ends its session (root and the server's user only), s and r sort,\n"
	"h shows help, q quits.\n";

static const struct option options[] = {
	{"on", required_argument, NULL, 'o'},
	{"delay", required_argument, NULL, 'd'},
	{"once", no_argument, NULL, '1'},
	{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct top_options {
	const char *server;
	double delay;
	bool once, json, help;
};

static int parse_options(int argc, char **argv, struct top_options *q)
{
	char *end;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1)
		switch (c) {
		case 'o':
			q->server = optarg;
			break;
		case 'd':
			q->delay = strtod(optarg, &end);
			if (*end || !(q->delay >= 0.1 && q->delay <= 3600))
				return cli_usage("top", "--delay %s: not a number of seconds from 0.1 to 3600", optarg);
			break;
		case '1':
			q->once = true;
			break;
		case 'j':
			q->json = true;
			break;
		case 'h':
			q->help = true;
			break;
		default:
			return cli_bad_option("top", c, argv, options);
		}
	if (optind < argc)
		return cli_unexpected("top", argv[optind]);
	return q->json && !q->once ? cli_usage("top", "--json needs --once") : 0;
}

/* Find the server and the address on which it reports its status. */
static int find_server(const struct top_options *q, char *server, size_t size, char *address, size_t address_size)
{
	if (q->server)
		snprintf(server, size, "%s", q->server);
	else if (!default_socket_find(server, size))
		return cli_fail("found no running server of this user or of the system; start gangway serve, or use "
				"--on ADDRESS");
	snprintf(address, address_size, "%s%s", server, strncmp(server, "unix:", 5) ? "" : ".status");
	return 0;
}

static int read_status(struct top *t)
{
	char error[TOP_ERROR], *text;

	if (server_get_status(t->address, &text, error))
		return cli_fail("%s", error);
	int r = top_read(t, text);
	free(text);
	return r ? cli_fail("%s does not answer with the status of a Gangway server", t->address) : 0;
}

static bool has_quota(const struct top *t)
{
	for (unsigned i = 0; i < t->ndevices; i++)
		if (t->devices[i].quota)
			return true;
	return false;
}

static int top_init(struct top *t, const char *server)
{
	char dir[4096];
	struct timespec now;
	int r = read_status(t);

	if (r)
		return r;
	clock_gettime(CLOCK_MONOTONIC, &now);
	t->at = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	if (!strncmp(server, "unix:", 5) && cli_library_dir(dir, sizeof dir))
		top_open_nvml(server, dir);
	top_measure_devices(t);
	if (has_quota(t)) {
		r = read_status(t);
		if (r)
			return r;
		top_measure_devices(t);
	}
	top_remove_client(t, (int)getpid());
	top_rates(t, NULL);
	top_sort(t, TOP_BY_MEMORY, false);
	return 0;
}

int cmd_top(int argc, char **argv)
{
	static struct top t;
	struct top_options q = {.delay = 1};
	char server[256], error[TOP_ERROR];
	int r = parse_options(argc, argv, &q);

	if (r || q.help) {
		if (!r)
			fputs(usage, stdout);
		return r;
	}
	r = find_server(&q, server, sizeof server, t.address, sizeof t.address);
	r = r ? r : top_init(&t, server);
	if (r)
		return r;
	if (q.once) {
		(q.json ? top_print_json : top_print_text)(&t);
		return fflush(stdout) ? cli_fail("cannot write to standard output") : 0;
	}
	return top_run_view(&t, q.delay, error) ? cli_fail("%s", error) : 0;
}
