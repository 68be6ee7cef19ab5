/* The generated part of the NVML client: call_nvmlX, which sends one call, and the ops table. */
#include "backend/nvml/remote.h"

#define call_sync(op, ...)    remote_ask(WIRE_NVML + (op), __VA_ARGS__)
#define client_reject_reply() NVML_ERROR_UNKNOWN

#include "gen/nvml_client.inc"

/* Class owner changes the machine for everybody: a client of a server has no permission. */
static nvmlReturn_t owner_only(void)
{
	return NVML_ERROR_NO_PERMISSION;
}

#include "gen/nvml_client_table.inc"
