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
	"Shows what a server's clients do, live: memory, calls, round trips, launches and bytes, a second.\n\n"
	"  --on ADDRESS     unix:PATH, where the server listens, or tcp://HOST:PORT, where it tells its metrics\n"
	"                   (gangway serve --metrics). Without it: this user's or the system's server\n"
	"  --delay SECONDS  between two looks (1)\n"
	"  --once           print it once, with numbers since each client has come\n"
	"  --json           the same for scripts\n"
	"  --help           this text\n\n"
	"Keys: up and down choose a client, k ends it (the server's user and root only), s and r sort, q leaves.\n";

static const struct option options[] = {
	{"on", required_argument, NULL, 'o'},
	{"delay", required_argument, NULL, 'd'},
	{"once", no_argument, NULL, '1'},
	{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct request {
	const char *server;
	double delay;
	bool once, json, help;
};

static int parse(int argc, char **argv, struct request *q)
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
				return cli_usage("top", "--delay %s? From 0.1 to 3600 seconds", optarg);
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
		case ':':
			return cli_usage("top", "%s needs a value", argv[optind - 1]);
		default:
			return cli_usage("top", "there is no option %s", argv[optind - 1]);
		}
	if (optind < argc)
		return cli_usage("top", "what is %s for?", argv[optind]);
	return q->json && !q->once ? cli_usage("top", "--json goes with --once") : 0;
}

/* The server whose status is asked for, and where it tells it. */
static int find_server(const struct request *q, char *server, size_t size, char *address, size_t address_size)
{
	if (q->server)
		snprintf(server, size, "%s", q->server);
	else if (!default_socket_find(server, size))
		return cli_fail("no server of this user's or the system's is running: gangway serve, or --on ADDRESS");
	snprintf(address, address_size, "%s%s", server, strncmp(server, "unix:", 5) ? "" : ".status");
	return 0;
}

static int read_status(struct top *t)
{
	char error[TOP_ERROR], *text;

	if (ask_status(t->address, &text, error))
		return cli_fail("%s", error);
	int r = top_read(t, text);
	free(text);
	return r ? cli_fail("%s: this is no gangway server's status", t->address) : 0;
}

static bool has_quota(const struct top *t)
{
	for (unsigned i = 0; i < t->ndevices; i++)
		if (t->devices[i].quota)
			return true;
	return false;
}

static int look(struct top *t, const char *server)
{
	char dir[4096];
	struct timespec now;
	int r = read_status(t);

	if (r)
		return r;
	clock_gettime(CLOCK_MONOTONIC, &now);
	t->at = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	if (!strncmp(server, "unix:", 5) && cli_library_dir(dir, sizeof dir))
		device_open(server, dir);
	device_measure(t);
	if (has_quota(t)) {
		r = read_status(t);
		if (r)
			return r;
		device_measure(t);
	}
	top_leave_out(t, (int)getpid());
	top_rates(t, NULL);
	top_sort(t, TOP_BY_MEMORY, false);
	return 0;
}

int cmd_top(int argc, char **argv)
{
	static struct top t;
	struct request q = {.delay = 1};
	char server[256], error[TOP_ERROR];
	int r = parse(argc, argv, &q);

	if (r || q.help) {
		if (!r)
			fputs(usage, stdout);
		return r;
	}
	r = find_server(&q, server, sizeof server, t.address, sizeof t.address);
	r = r ? r : look(&t, server);
	if (r)
		return r;
	if (q.once) {
		(q.json ? once_json : once_text)(&t);
		return fflush(stdout) ? cli_fail("cannot write") : 0;
	}
	return view_run(&t, q.delay, error) ? cli_fail("%s", error) : 0;
}
