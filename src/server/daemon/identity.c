/* Finds the identity of a peer. */
#include "server/daemon/identity.h"

#include <stdint.h>
#include <sys/random.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static bool peer_user(int fd, struct identity *who)
{
	struct ucred c;
	socklen_t size = sizeof c;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &size))
		return false;
	who->uid = c.uid;
	snprintf(who->name, sizeof who->name, "user %u", c.uid);
	return true;
}

static void address_v4(const void *address, struct identity *who)
{
	char text[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, address, text, sizeof text);
	snprintf(who->name, sizeof who->name, "address %s", text);
	who->loopback = *(const uint8_t *)address == 127;
}

static void address_v6(struct in6_addr a, struct identity *who)
{
	char text[INET6_ADDRSTRLEN];

	if (IN6_IS_ADDR_V4MAPPED(&a)) {
		address_v4(a.s6_addr + 12, who);
		return;
	}
	who->loopback = IN6_IS_ADDR_LOOPBACK(&a);
	memset(a.s6_addr + 8, 0, 8);
	inet_ntop(AF_INET6, &a, text, sizeof text);
	snprintf(who->name, sizeof who->name, "address %s", who->loopback ? "::1" : text);
}

static bool peer_identify(int fd, struct identity *who)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage room;
	} a;
	socklen_t size = sizeof a;

	if (getpeername(fd, &a.any, &size))
		return false;
	if (a.any.sa_family == AF_UNIX)
		return peer_user(fd, who);
	who->over_tcp = true;
	if (a.any.sa_family == AF_INET)
		address_v4(&a.v4.sin_addr, who);
	else if (a.any.sa_family == AF_INET6)
		address_v6(a.v6.sin6_addr, who);
	return who->name[0];
}

struct identity *identity_of(struct identities *all, int fd)
{
	struct identity found = {0}, *who = all->list;

	if (!peer_identify(fd, &found))
		return NULL;
	while (who && strcmp(who->name, found.name))
		who = who->next;
	if (who || !(who = malloc(sizeof *who)))
		return who;
	*who = found;
	who->next = all->list;
	all->list = who;
	return who;
}

static bool user_is_free(const struct identities *all, uid_t user)
{
	const struct identity *who = all->list;

	while (who && who->worker != user)
		who = who->next;
	return !who;
}

uid_t identity_worker_user(struct identities *all, struct identity *who, uid_t first, uid_t last)
{
	uint64_t count = (uint64_t)last - first + 1;
	uint64_t start = 0;

	if (who->worker)
		return who->worker;
	/* A random start: files that workers of an earlier server have left belong to others. */
	if (!all->next && getrandom(&start, sizeof start, GRND_NONBLOCK) == sizeof start)
		all->next = first + (uid_t)(start % count);
	for (uint64_t i = 0; i < count && !who->worker; i++) {
		uid_t user = all->next >= first && all->next <= last ? all->next : first;
		all->next = user + 1;
		if (user_is_free(all, user))
			who->worker = user;
	}
	return who->worker;
}

void identity_release(struct identities *all, struct identity *who)
{
	struct identity **at = &all->list;

	if (!who || who->pending || who->clients)
		return;
	while (*at && *at != who)
		at = &(*at)->next;
	if (*at)
		*at = who->next;
	free(who);
}
