/* A server of another build, with another protocol: oldserver SOCKET */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>
#include "transport/transport.h"

int main(int argc, char **argv)
{
	struct link_config config = link_defaults(true);
	char address[512], error[LINK_ERROR_TEXT];
	struct link *link;

	if (argc < 2)
		return 2;
	config.build = "gangway 0.0.9 0123456789ab api 0123456789ab";
	config.protocol = 1;
	snprintf(address, sizeof address, "unix:%s", argv[1]);
	int fd = link_listen(address, 0600, error);
	if (fd < 0)
		return fprintf(stderr, "%s\n", error), 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		poll(&p, 1, -1);
		int client = link_accept(fd);
		if (client >= 0 && !link_serve(&link, client, &config, error))
			link_destroy(link);
	}
}
