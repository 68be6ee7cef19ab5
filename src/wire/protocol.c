/* The version of the protocol. */
#include <stdlib.h>
#include "gen/version.h"
#include "wire/protocol.h"

#define MESSAGES 11 /* raise it when something in wire.h, devices.h or nvml.h changes its meaning or size */

uint64_t wire_protocol(void)
{
	return strtoull(GANGWAY_API, NULL, 16) << 8 | MESSAGES;
}
