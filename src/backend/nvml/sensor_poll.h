/*
 * sensor_poll.h - reads the sensors of a monitor's poll in one request.
 *
 * A monitor makes the same calls every second, one after the other, and would wait for the server at each of them.  The
 * client remembers the calls of the last poll.  When the next poll begins, its first call fetches the values of all:
 *
 *	a call ─▶ its value arrived with another call, less than 10 ms ago?  return that value, once
 *	          otherwise, did the last poll have this call?  fetch the poll's values in one request, keep them
 *	          otherwise, ask for this value alone
 *
 * Only sensors are read before their call (sensor.h), each as often as the poll before called it.  So the server reads
 * at most twice as many values as the program asked for, in no more requests.  A poll ends after 20 ms without a call,
 * or when a call repeats.
 *
 * The caller holds the lock of the link, and passes the time in ms of a monotonic clock.
 *
 * Trust: replies of the server are checked.
 */
#pragma once

#include <stdbool.h>
#include "wire/nvml.h"
#include "wire/pack.h"

#define SENSOR_VALUE_MAX 64 /* bytes of one value */

/* One request for several values, and its reply. */
struct sensor_batch {
	size_t size, expected; /* bytes of the request and of the reply; size 0: no batch */
	uint8_t bytes[WIRE_NVML_BATCH_MAX * (sizeof(struct wire_nvml_query) + WIRE_NVML_BATCH_ARGS)];
	uint8_t answer[WIRE_NVML_BATCH_MAX * (sizeof(struct wire_nvml_answer) + SENSOR_VALUE_MAX)];
};

/* false: every value is asked for alone. */
void sensor_poll_enable(bool enable);

/* A call begins.  True: `out` and `result` have its value. */
bool sensor_poll_find(uint64_t now, unsigned op, const void *args, size_t size, unsigned nin,
	const struct wire_piece *out, unsigned nout, int *result);

/* The request that fetches the value of this call in a batch with others. */
void sensor_poll_collect(struct sensor_batch *batch);

/* The reply, of `expected` bytes, has arrived.  False: it is malformed.  sensor_poll_result then has the call's value. */
bool sensor_poll_store(uint64_t now, const struct sensor_batch *batch);
bool sensor_poll_result(uint64_t now, const struct wire_piece *out, unsigned nout, int *result);

/* The call returns to the program. */
void sensor_poll_done(uint64_t now);

/* Forgets all polls; also in a child that forked during any of these functions. */
void sensor_poll_clear(void);
