/*
 * nvml_processes.h - which processes on a device a client sees, and under which process id.
 *
 * On a device are workers of Gangway servers, each for one client, and other programs.  A worker appears as its
 * client.  The kernel vouches for a client on a unix socket: it sees the processes of its own user; root and the
 * server's user see all processes of this machine.  A client over TCP has no identity: it sees clients from the same
 * address.  Process ids are those of the asking client's pid namespace; a process without an id there is left out.
 */
#pragma once

#include <stdbool.h>
#include "server/nvml/nvml.h"

/* The address that a client's socket comes from; "": this machine. */
void nvml_client_address(int socket, char from[USAGE_TEXT]);

/* Publishes for whom this worker works, for other workers to read. */
void nvml_client_publish(struct nvml_state *n, const struct link_peer *peer, const char *from);

/* A client that only watches the device: no other client sees its worker. */
void nvml_client_set_onlooker(struct nvml_state *n, bool onlooker);

/* The bytes that the client holds on a device, in all of its workers. */
uint64_t nvml_client_held(const struct nvml_state *n, unsigned device);

/* One page of the list.  `ask` comes from the client; `device` has been checked. */
nvmlReturn_t nvml_processes_list(struct nvml_state *n, nvmlDevice_t device, const struct wire_nvml_ask *ask,
	const struct link_peer *asking, struct wire_nvml_processes *page);
