/*
 * nvml_ahead.h - questions that take a vendor's NVML long, asked before the client that asks them every second does.
 *
 * Most values a driver has at hand; a few it fetches from the GPU, for milliseconds (energy, the highest clock, PCIe's
 * replays, the speed of a fan that is not there).  Who polls pays that each time.  Here a thread of the worker
 * learns when the next poll is due and reads those values shortly before, so that the answer is there:
 *
 *	a client's question ─▶ read at most 30 ms ago?  that ─▶ answer
 *	                       no: the vendor is asked ─▶ took long?  remembered ─▶ the thread, before the next time
 *
 * Only sensors and counters that move by themselves are read ahead (backend/nvml/sensor.h).  A client that does not come as
 * expected is waited for a little, then nothing is read until it asks again: who asks nothing costs nothing.
 * GANGWAY_NVML_AHEAD=0 in the server's environment: always ask the vendor.
 */
#pragma once

#include "server/session/message.h"

/* How an answer is made: as it is for the client itself. */
typedef void ahead_fn(struct msg *m);

/* The answer to a plain call, by `make` or from what was read ahead of it. */
void nvml_ahead(struct msg *m, ahead_fn *make);
