/*
 * nvml.h - NVML's calls as bytes: between libnvidia-ml.so.1 and a worker of a server.
 *
 * Over a link of its own, of the same kind as libcuda's.  A plain call is WIRE_NVML and its number in api/nvml.api,
 * its arguments as gen/nvml_wire.h has them.  The values of an answer come with a failure, too: a list that does
 * not fit says how long it is.
 *
 * A device is named as all our devices are (backend/nvml/backend.h): its index does not change when a link is lost
 * and made anew, so that a program may keep what it was given.
 */
#pragma once

#include <stdint.h>
#include "abi/nvml.h"
#include "gen/nvml_wire.h"

#define WIRE_NVML       200000 /* op of a plain call: this and its number */
#define WIRE_NVML_PLAIN 1000   /* the numbers in api/nvml.api are below this */

enum wire_nvml_op {
#define OP(number, op, serve) op = number,
#include "wire/nvml_ops.def"
#undef OP
	WIRE_NVML_END
};

#define WIRE_NVML_OPS_FIRST WIRE_NVML_DEVICES

#define WIRE_NVML_DEVICES_MAX 16 /* as WIRE_DEVICES_MAX: the same ones */

struct wire_nvml_device {
	char name[256];
	char uuid[96];
	nvmlPciInfo_t pci;
};

struct wire_nvml_devices {
	uint32_t count;
	char driver[80];
	struct wire_nvml_device device[WIRE_NVML_DEVICES_MAX];
};

struct wire_nvml_ask {
	uint64_t device;
	uint32_t what;  /* enum process_kind; a slot of the private table */
	uint32_t first; /* of processes: the first wanted */
};

struct wire_nvml_process {
	uint32_t pid, instance, compute_instance, kernels, copies, unused;
	uint64_t memory;
};

#define WIRE_NVML_PROCESSES_MAX 1024 /* are told of, so many at a time: */
#define WIRE_NVML_PAGE          64

/* The answer to WIRE_NVML_PROCESSES. */
struct wire_nvml_processes {
	uint32_t count; /* in all */
	uint32_t here;  /* of them in this answer */
	struct wire_nvml_process process[WIRE_NVML_PAGE];
};

/* The answer to WIRE_NVML_HIDDEN: one of the two. */
struct wire_nvml_hidden {
	uint32_t number;
	char text[80];
};

/*
 * WIRE_NVML_BATCH: several queries in one frame, and their answers, in the same order:
 *
 *	frame up	| wire_request | wire_nvml_query | arguments | wire_nvml_query | arguments | ...
 *	frame down	| wire_reply   | wire_nvml_answer | values | wire_nvml_answer | values | ...
 *
 * Arguments and values are those of the plain calls, padded.  The length of the frame gives the number of queries.
 */
#define WIRE_NVML_BATCH_MAX  32 /* queries in a frame */
#define WIRE_NVML_BATCH_ARGS 32 /* largest size of one query's arguments, in bytes */

struct wire_nvml_query {
	uint32_t op;
	uint32_t size; /* bytes of arguments that follow, with padding: a multiple of 8 */
};

struct wire_nvml_answer {
	int32_t value; /* result of the call */
	uint32_t size; /* bytes of values that follow */
};
