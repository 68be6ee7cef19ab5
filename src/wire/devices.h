/* devices.h - the answer to WIRE_DEVICES. */
#pragma once

#include "abi/cuda.h"

#define WIRE_DEVICES_MAX 16
#define WIRE_ATTRIBUTES  160

struct wire_device {
	char name[256];
	char pci[32];
	CUuuid uuid;
	size_t memory;
	int attribute[WIRE_ATTRIBUTES];
	uint8_t known[WIRE_ATTRIBUTES]; /* the driver has this attribute */
};

struct wire_devices {
	int count;
	int version; /* of the driver underneath */
	struct wire_device device[WIRE_DEVICES_MAX];
};
