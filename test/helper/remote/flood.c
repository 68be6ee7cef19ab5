/*
 * A flood of silent connections: flood ADDRESS COUNT opens COUNT connections to a server, prints "ready", and sends nothing.
 * Connections that the server closes are opened again, until stdin ends.  If the process may not have so many
 * descriptors, it closes its oldest connections first.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "transport/private.h"

#define TIMEOUT_NS 60000000000ull
#define ROUND_MS   20
#define ROUND_MAX  200 /* connections that are opened again in a round */

static const char *address;

static void connection_open(struct pollfd *p)
{
	char error[LINK_ERROR_TEXT];

	p->events = POLLIN;
	p->fd = address_connect(address, wait_now() + TIMEOUT_NS, error);
	if (p->fd < 0)
		fprintf(stderr, "%s\n", error), exit(1);
}

static unsigned descriptors_allowed(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l))
		return 64;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	return l.rlim_cur > 1u << 20 ? 1u << 20 : (unsigned)l.rlim_cur - 16;
}

int main(int argc, char **argv)
{
	unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 0, allowed = descriptors_allowed();
	unsigned kept = count < allowed ? count : allowed;
	struct pollfd *all = calloc(kept + 1, sizeof *all);

	if (!count || !all)
		return 2;
	address = argv[1];
	for (unsigned i = 0; i < count; i++) {
		if (i >= kept)
			close(all[i % kept].fd);
		connection_open(&all[i % kept]);
	}
	printf("ready\n");
	fflush(stdout);
	all[kept] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
	for (;;) {
		poll(all, kept + 1, 0);
		if (all[kept].revents)
			return 0;
		for (unsigned i = 0, again = 0; i < kept && again < ROUND_MAX; i++)
			if (all[i].revents) {
				close(all[i].fd);
				connection_open(&all[i]);
				again++;
			}
		poll(&all[kept], 1, ROUND_MS);
	}
}
