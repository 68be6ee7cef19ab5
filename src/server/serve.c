/* Who serves which call: the plain ones are generated (serve_cuX), ours are written by hand. */
#include "server/msg.h"

#include "gen/cuda_server.inc"

static const struct served ours[] = {
	{WIRE_DEVICES, serve_devices, true},	  {WIRE_FUNCTION, serve_function, true}, {WIRE_LOAD, serve_load, true},
	{WIRE_LAUNCH, serve_launch, false},	  {WIRE_COPY_UP, serve_copy_up, false},
	{WIRE_COPY_DOWN, serve_copy_down, false}, {WIRE_SYNC, serve_sync, false},
	{WIRE_WAKE, serve_wake, false},		  {WIRE_WINDOW, serve_window, true},	 {WIRE_HOST_MAP, serve_host_map, true},
	{WIRE_HOST_UNMAP, serve_host_unmap, true},
};

#define PLAIN 1024

static const struct served *by_number[PLAIN];
static const struct served *by_own_number[WIRE_OPS_END - WIRE_DEVICES];

void serve_init(void)
{
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		by_number[plain[i].op] = &plain[i];
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		by_own_number[ours[i].op - WIRE_DEVICES] = &ours[i];
}

const struct served *serve_find(unsigned op)
{
	if (op < PLAIN)
		return by_number[op];
	return op >= WIRE_DEVICES && op < WIRE_OPS_END ? by_own_number[op - WIRE_DEVICES] : NULL;
}
