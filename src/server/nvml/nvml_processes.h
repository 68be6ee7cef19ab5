/*
 * nvml_list.h - which processes on a device a client is shown, and by which number.
 *
 * On the device are workers of ours, each for a client, and programs that do not come through us.  A worker is shown as
 * its client.  Who asks over a unix socket is known by the kernel's word, and sees what is its own user's; root and
 * the server's own user see all that is on this machine.  Over TCP nobody is known: it sees clients that come from the
 * same address.  Numbers of processes are those of the one who asks: what has no number there is left out.
 */
#pragma once

#include <stdbool.h>
#include "gen/nvml_ops.h"
#include "transport/transport.h"
#include "host/usage.h"
#include "wire/nvml.h"

/* Where a client's socket comes from; "": from this machine. */
void nvml_list_address(int socket, char from[USAGE_TEXT]);

/* So that others may know for whom this worker works. */
void nvml_list_client(const struct link_peer *peer, const char *from);

/* Whether the client only looks at the device: its worker is shown to nobody then. */
void nvml_list_onlooker(bool is);

/* What the client holds of a device, by all of its workers that tell it. */
uint64_t nvml_list_held(unsigned device);

/* `ask` is the client's word, but for the device. */
nvmlReturn_t nvml_list(const struct nvml_ops *ops, nvmlDevice_t device, const struct wire_nvml_ask *ask,
	const struct link_peer *asks, struct wire_nvml_processes *page);
