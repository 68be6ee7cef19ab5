/*
 * A peer of another version: other_version ADDRESS BUILD sends a hello to a server and prints the answer;
 * other_version --serve ADDRESS BUILD is a server of that version.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include "transport/transport.h"

static int serve(const char *address, struct link_config *config)
{
	char error[LINK_ERROR_TEXT];
	struct link *link;
	int fd = link_listen(address, 0600, error);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (fd < 0)
		return fprintf(stderr, "%s\n", error), 1;
	puts("ready");
	fflush(stdout);
	while (poll(&p, 1, -1) > 0) {
		int client = link_accept(fd);

		if (client >= 0 && !link_serve(&link, client, config, error))
			link_destroy(link);
	}
	return 1;
}

int main(int argc, char **argv)
{
	bool server = argc == 4 && !strcmp(argv[1], "--serve");
	struct link_config config = link_defaults(server);
	char error[LINK_ERROR_TEXT];
	struct link *link;

	if (argc != 3 && !server)
		return 2;
	config.build = argv[argc - 1];
	config.protocol = 1;
	if (server)
		return serve(argv[2], &config);
	if (!link_connect(&link, argv[1], &config, error))
		return puts("accepted"), 0;
	return printf("%s\n", error), 1;
}
